"""The tables and figures that ``aucmax reproduce`` can regenerate, by name."""

from aucmax.experiments import (
    crossing,
    opauc_figures,
    opauc_tables,
    sadmm_figures,
    spam_table,
    vrspam_figure,
    vrspam_table,
)
from aucmax.experiments.figures import FigureSpec
from aucmax.experiments.tables import TableSpec

__all__ = ["CATALOGUE"]

CATALOGUE: dict[str, TableSpec | FigureSpec] = {
    spec.name: spec
    for spec in (
        spam_table.TABLE,
        vrspam_table.TABLE,
        opauc_tables.ONLINE,
        opauc_tables.BATCH,
        opauc_tables.HIGHDIM,
        vrspam_figure.FIGURE,
        sadmm_figures.RATE,
        sadmm_figures.L1,
        sadmm_figures.L2,
        opauc_figures.TIME,
        opauc_figures.STEPSIZE,
        opauc_figures.LAMBDA,
        opauc_figures.RANK_FIGURE,
        opauc_figures.ITERATIONS,
        crossing.FIGURE,
    )
}
