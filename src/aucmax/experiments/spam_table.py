"""The table of the SPAM poster (Natole, Ying & Lyu 2018)."""

from aucmax.experiments.protocol import Protocol
from aucmax.experiments.sources import prepared
from aucmax.experiments.tables import Remark, TableSpec, remarks

SHIFTED = Remark(
    "the published columns of this row are another paper's, shifted by one (erratum 8)"
)
GROUPED = Remark(
    "which classes form the positive one was drawn at random and is not known (erratum 9)"
)
DELTA = Remark(
    "near the AUC of the difference of the class means: too strong a penalty (erratum 12)", 1
)
COPIED = Remark("this figure is the OPAUC paper's, on features scaled to [−1, 1] (erratum 9)")

TABLE = TableSpec(
    name="spam-table",
    title="Test AUC of SPAM and its rivals: Natole, Ying & Lyu 2018, the poster's table",
    published="spam",
    sources=prepared("SPAM"),
    methods=["SPAM-L2", "SPAM-NET", "SOLAM", "OPAUC", "OAM_seq", "B-LS-SVM", "class means"],
    protocol=Protocol(runs=1, folds=5, tuning="nested", tune_rows=5000, coarse=False, seed=0),
    remarks={
        **remarks(SHIFTED, ["fourclass"], ["SOLAM", "OPAUC", "OAM_seq"]),
        **remarks(
            COPIED,
            ["splice", "a9a", "acoustic", "ijcnn1", "covtype", "sector", "news20"],
            ["OPAUC", "OAM_seq", "B-LS-SVM"],
        ),
        **remarks(GROUPED, ["usps", "mnist", "acoustic", "covtype"]),
        **remarks(DELTA, ["sector", "news20"]),
    },
)
