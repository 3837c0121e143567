"""aucmax for river: a classifier that learns from dicts of features, one by one.

Needs river: ``pip install "aucmax[river]"``.
"""

from aucmax.streams.river import AUCClassifier

__all__ = ["AUCClassifier"]
