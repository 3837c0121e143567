"""Files as each released minor version wrote them, and what they must give for ever.

``python tests/released.py`` writes the folder of this version: ``tests/models/0.1``, with a file of
each kind, some rows, and what the file gives for them. ``nox -s models`` does so with the oldest
dependencies, so that all newer ones can read the files.
"""

import contextlib
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    AUCRanker,
    HingeClassifier,
    MulticlassAUCClassifier,
    ScoreSketch,
    load,
    penalties,
    save,
    solvers,
)
from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.basics.container import kind_of
from aucmax.cli import main
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.files import load_moments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments
from aucmax.streams.state import Settings, State, advance, load_state, save_state

FOLDER = Path(__file__).parent / "models"
EXPECTED = "expected.json"
ROWS, FEATURES = 120, ["x1", "x2", "x3", "x4"]
STREAM = Settings(target="y", freeze=50)


def version() -> str:
    """Return this version as major.minor."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    return ".".join(tomllib.loads(text)["project"]["version"].split(".")[:2])


def frame() -> pd.DataFrame:
    """Return rows with a column of text, and labels of two and of three kinds."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=ROWS)
    X = (rng.normal(size=(ROWS, 4)) + np.outer(kind == 2, [1.5, 0.5, 0, -0.5])).round(3)
    rows = pd.DataFrame(X, columns=FEATURES)
    rows["city"] = np.array(["Bonn", "Köln", "Ulm"])[rng.integers(3, size=ROWS)]
    return rows.assign(kind=kind, y=(kind == 2).astype(int))


def models() -> dict[str, Any]:
    """Return models that are not fitted, of each class and with what they may hold."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    exact = solvers.Exact
    weighted = penalties.Weighted(penalties.ElasticNet(0.1), [0.0, 1.0, 1.0, 2.0])
    return {
        "square": AUCClassifier(0.1),
        "squared_hinge": AUCClassifier(0.1, l1_ratio=0.5, loss="squared_hinge"),
        "logistic": AUCClassifier(0.1, loss="logistic", within="pooled"),
        "hinge_loss": AUCClassifier(0.1, loss="hinge"),
        "directions": AUCClassifier(0.1, solver=exact(covariance="frequent_directions", rank=2)),
        "diagonal": AUCClassifier(0.1, solver=exact(covariance="diagonal")),
        "spam": AUCClassifier(0.1, solver=solvers.SPAM(n_epochs=3), random_state=0),
        "weighted": AUCClassifier(penalty=weighted),
        "mcp": AUCClassifier(penalty=penalties.MCP(0.1, 3.0)),
        "bounded": AUCClassifier(0.1, coef_bounds=(0, np.inf)),
        "tuned": AUCClassifierCV(alphas=[0.01, 0.1], cv=folds),
        "ranker": AUCRanker(0.1, loss="squared_hinge"),
        "hinge": HingeClassifier(0.01, max_iter=200, random_state=0),
        "scorecard": Scorecard(Binning(max_bins=4)),
        "splines": make_pipeline(SplineFeatures(), AUCClassifier(0.1)),
        "pipeline": make_pipeline(StandardScaler(), AUCClassifier(0.1)),
    }


def statistics() -> dict[str, Any]:
    """Return statistics of no rows."""
    return {
        "class_moments": ClassMoments(),
        "diagonal_moments": DiagonalMoments(),
        "directions_moments": FrequentDirections(2),
    }


# ---- what a file gives


def scores(path: Path, rows: pd.DataFrame) -> Any:
    """Return the scores that a model in a file gives rows."""
    model = load(path)
    taken = getattr(model, "feature_names_in_", FEATURES)
    given = rows[list(taken)] if hasattr(model, "feature_names_in_") else rows[FEATURES].to_numpy()
    return model.decision_function(given)


def sums(path: Path, rows: pd.DataFrame) -> Any:
    """Return the counts, means and variances that a file of class statistics has."""
    held = load_moments(path)
    return np.concatenate([held.counts, np.ravel(held.means), np.ravel(held.variances)])


def streamed(path: Path, rows: pd.DataFrame) -> Any:
    """Return the scores that a stream, where a file has it, gives rows."""
    scorer = load_state(path, STREAM).learner.scorer
    return [scorer.score(row) for row in rows[FEATURES].to_dict("records")]


def sketched(path: Path, rows: pd.DataFrame) -> Any:
    """Return the AUC and its interval of a sketch of scores."""
    return ScoreSketch.load(path).auc()[:3]


GIVES: dict[str | None, Callable[[Path, pd.DataFrame], Any]] = {
    "model": scores,
    "moments": sums,
    "diagonal": sums,
    "directions": sums,
    "stream": streamed,
    "scores": sketched,
}


def given(path: Path, rows: pd.DataFrame) -> list[float]:
    """Return what a file of any kind gives for rows."""
    return np.ravel(GIVES[kind_of(path)](path, rows)).tolist()


# ---- writing


def write(folder: Path) -> None:
    """Write a file of each kind into a folder, and what they give."""
    folder.mkdir(parents=True)
    rows = frame()
    X, y = rows[FEATURES].to_numpy(), rows["y"].to_numpy()
    for name, model in models().items():
        save(model.fit(X, y), folder / f"{name}.aucmax")
    save(MulticlassAUCClassifier().fit(X, rows["kind"]), folder / "multiclass.aucmax")
    for name, held in statistics().items():
        held.update(X, y).save(folder / f"{name}.aucmax")
    ScoreSketch(bins=50).update(y, X[:, 0]).save(folder / "sketch.aucmax")
    save_state(advance(0, _lines(rows), State(STREAM), _no_bad), folder / "stream.aucmax")
    _train(
        rows.drop(columns="kind").assign(x4=rows["x4"].where(rows["x4"] > -1)),
        folder / "table.aucmax",
    )
    seen = rows[::10].drop(columns=["kind", "y"])
    found = {path.name: given(path, seen) for path in sorted(folder.glob("*.aucmax"))}
    text = json.dumps({"rows": seen.to_dict("list"), "gives": found}, ensure_ascii=False)
    (folder / EXPECTED).write_text(text + "\n", encoding="utf-8")


def _lines(rows: pd.DataFrame) -> Iterator[bytes]:
    for row in rows[[*FEATURES, "y"]].to_dict("records"):
        yield json.dumps(row).encode() + b"\n"


def _no_bad(line: int, why: str) -> None:
    raise ValueError(f"line {line}: {why}")


def _train(rows: pd.DataFrame, path: Path) -> None:
    """Fit on the command line, whose models take tables with text and gaps."""
    table = path.with_suffix(".csv")
    rows.to_csv(table, index=False)
    with contextlib.suppress(SystemExit):
        main(["train", str(table), "--target", "y", "--one-hot", "--impute", "-o", str(path)])
    table.unlink()


if __name__ == "__main__":
    write(FOLDER / version())
