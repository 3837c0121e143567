"""Table 1 of the VRSPAM paper (Dan & Sahoo, "Variance reduced stochastic proximal algorithm …")."""

from aucmax.experiments.protocol import Protocol
from aucmax.experiments.sources import prepared
from aucmax.experiments.tables import Remark, TableSpec, remarks

ROW = Remark("this row is LETTER's (erratum 7)")
SWAPPED = Remark("this row, of the first version only, is USPS's (erratum 7)")
FEATURES = Remark(
    "it requires other features, another grouping, or rows in both parts (erratum 11)", -1
)
TWICE = Remark("rows of the test file are rows of the training file too (erratum 10)")
COPIED = Remark("this figure is the SPAM poster's, where halves of the classes were random")

TABLE = TableSpec(
    name="vrspam-table",
    title="Test AUC of VRSPAM and its rivals: Dan & Sahoo, Table 1 of both versions",
    published="vrspam",
    sources=prepared("VRSPAM"),
    methods=["VRSPAM-L2", "VRSPAM-NET", "SPAM-L2", "SPAM-NET", "SOLAM", "OPAUC"],
    protocol=Protocol(runs=20, folds=0, tuning="nested", tune_rows=5000, coarse=False, seed=0),
    remarks={
        **remarks(ROW, ["usps"]),
        **remarks(SWAPPED, ["letter"]),
        **remarks(TWICE, ["w8a"]),
        **remarks(COPIED, ["acoustic", "mnist"], ["SPAM-L2", "SPAM-NET", "SOLAM", "OPAUC"]),
        **remarks(FEATURES, ["splice"], ["VRSPAM-L2", "VRSPAM-NET"]),
    },
)
