"""The table of the SPAM poster (Natole, Ying & Lyu 2018)."""

from aucmax.experiments.protocol import Protocol
from aucmax.experiments.sources import Source
from aucmax.experiments.tables import Remark, TableSpec

HALVES = ("random-halves", 0)

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
    sources=[
        Source("diabetes", None, ("minmax", "unit-norm")),
        Source("fourclass", None, "unit-norm"),
        Source("german", None, "unit-norm"),
        Source("splice", None, ("minmax", "unit-norm")),
        Source("usps", HALVES, "unit-norm"),
        Source("a9a", None, "unit-norm"),
        Source("mnist", HALVES, "unit-norm"),
        Source("acoustic", HALVES, "unit-norm", split="train"),
        Source("ijcnn1", None, "unit-norm"),
        Source("covtype", None, ("minmax", "unit-norm")),
        Source("sector", HALVES, "unit-norm"),
        Source("news20", HALVES, "unit-norm"),
    ],
    methods=["SPAM-L2", "SPAM-NET", "SOLAM", "OPAUC", "OAM_seq", "B-LS-SVM", "class means"],
    protocol=Protocol(runs=1, folds=5, tuning="nested", tune_rows=5000, coarse=False, seed=0),
    remarks={
        ("fourclass", "SOLAM"): SHIFTED,
        ("fourclass", "OPAUC"): SHIFTED,
        ("fourclass", "OAM_seq"): SHIFTED,
        **{
            (data, name): COPIED
            for data in ("splice", "a9a", "acoustic", "ijcnn1", "covtype", "sector", "news20")
            for name in ("OPAUC", "OAM_seq", "B-LS-SVM")
        },
        ("usps", "*"): GROUPED,
        ("mnist", "*"): GROUPED,
        ("acoustic", "*"): GROUPED,
        ("covtype", "*"): GROUPED,
        ("sector", "*"): DELTA,
        ("news20", "*"): DELTA,
    },
)
