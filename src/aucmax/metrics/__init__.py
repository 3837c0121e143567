"""Measures of a ranking: the area under the ROC curve, its intervals and tests, and curves."""

from aucmax.metrics.binned import BinnedAUC
from aucmax.metrics.curves import precision_recall_curve, roc_curve
from aucmax.metrics.degrees import concordance
from aucmax.metrics.folded import cv_auc_interval
from aucmax.metrics.from_moments import MomentAUC, moment_auc
from aucmax.metrics.intervals import (
    AUCDifference,
    AUCInterval,
    AUCTest,
    auc_difference,
    auc_interval,
    auc_test,
)
from aucmax.metrics.measured import (
    MeasureInterval,
    MeasureTest,
    average_precision_interval,
    average_precision_test,
    precision_at_k_interval,
    precision_at_k_test,
    recall_at_fpr_interval,
    recall_at_fpr_test,
    recall_at_k_interval,
    recall_at_k_test,
)
from aucmax.metrics.multiclass import multiclass_auc
from aucmax.metrics.ranking import (
    average_precision,
    partial_auc,
    precision_at_k,
    recall_at_fpr,
    recall_at_k,
    roc_auc,
)
from aucmax.metrics.stability import ks_statistic, population_stability
from aucmax.metrics.stratified import (
    stratified_auc,
    stratified_auc_test,
)
from aucmax.metrics.unlabelled import unlabelled_auc

__all__ = [
    "AUCDifference",
    "AUCInterval",
    "AUCTest",
    "BinnedAUC",
    "MeasureInterval",
    "MeasureTest",
    "MomentAUC",
    "auc_difference",
    "auc_interval",
    "auc_test",
    "average_precision",
    "average_precision_interval",
    "average_precision_test",
    "concordance",
    "cv_auc_interval",
    "ks_statistic",
    "moment_auc",
    "multiclass_auc",
    "partial_auc",
    "population_stability",
    "precision_at_k",
    "precision_at_k_interval",
    "precision_at_k_test",
    "precision_recall_curve",
    "recall_at_fpr",
    "recall_at_fpr_interval",
    "recall_at_fpr_test",
    "recall_at_k",
    "recall_at_k_interval",
    "recall_at_k_test",
    "roc_auc",
    "roc_curve",
    "stratified_auc",
    "stratified_auc_test",
    "unlabelled_auc",
]
