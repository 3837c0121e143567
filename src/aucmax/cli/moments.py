"""``aucmax moments``: files of class moments, which add and subtract, and models fitted to them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from aucmax.cli.common import (
    check_folder,
    counted,
    fit_facts,
    help_of,
    listed,
    load_model,
    number_or_word,
    show_page,
    working,
)
from aucmax.cli.errors import tell
from aucmax.cli.front import plain_rows, rows_for
from aucmax.cli.options import Json, MaxIter, Tol, Weighing, given_file, spread
from aucmax.datasets import find_label
from aucmax.datasets.bunch import Labels
from aucmax.estimators import AUCClassifier
from aucmax.files.models import save
from aucmax.files.moments import load_moments, read_bounds
from aucmax.report.page import Page, ResultTable, Section
from aucmax.solvers import Exact
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.disclosure import FEWEST, disclosure
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.private import BoundedSums

__all__ = ["moments"]


class Kept(StrEnum):
    """What is kept of the covariances."""

    full = "full"
    diagonal = "diagonal"


Files = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="Files as 'aucmax train' takes them; their rows add."),
]
Moments = Annotated[
    Path, typer.Argument(metavar="MOMENTS", help="Written by 'aucmax moments build' or the others.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save the moments.")
]
Align = Annotated[
    bool,
    typer.Option(
        "--align", help="Put features that have the same names in the order of the first file."
    ),
]
MinRows = Annotated[
    int,
    typer.Option(
        "--min-rows",
        min=1,
        help="Fewest rows of a class, or with one value of a 0/1 feature: with fewer the file "
        "could show a row, and is not written. 1 allows all.",
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="MODEL",
        help="Take the columns that this model takes, with its values for text, gaps and dates.",
    ),
]

moments = typer.Typer(rich_markup_mode="rich", add_completion=False)


def _moments() -> None:
    """Sum rows up in small files that add and subtract, and fit models to these.

    A file of moments has the weight, mean and covariance of each class, with the names of features
    and labels, and no rows. That is all the pairwise square loss needs: shards of a table, or
    hospitals, each build a file, and the model fitted to the merged file is the model of all rows.

    Examples:

        aucmax moments build a.csv --target ill -o a.moments

        aucmax moments merge a.moments b.moments -o both.moments

        aucmax moments fit both.moments -o model.aucmax
    """


def _build(
    data: Files,
    reading: Weighing,
    out: Out,
    like: Like = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Features of svmlight files, which may lack the last of them."),
    ] = None,
    covariance: Annotated[
        Kept, typer.Option(help="diagonal keeps variances only: O(d) numbers for d features.")
    ] = Kept.full,
    align: Align = False,
    min_rows: MinRows = FEWEST,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Add noise, so that the file is differentially private with this epsilon; needs "
            "bounds and --labels."
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(help="With --epsilon: above 0, normal noise, which is less than Laplace's."),
    ] = 0.0,
    bounds: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="With --epsilon: what all features lie between; values outside are clipped.",
        ),
    ] = None,
    bounds_file: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Bounds of each feature: lines of feature,low,high."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="With --epsilon: all labels, separated by commas."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Sum the rows of files up, and save the moments of each class.

    All labels of the file are kept; which is positive is said when a model is fitted. Columns are
    numbers: what stands for missing values or text would have to be the same in all shards, so it
    is taken from a model that one of them has trained, with --like.

    With --epsilon E the file is E-differentially private with respect to adding or removing one
    row (with --delta D, (E, D)-differentially private). Labels, bounds and names are public, and
    bounds must not be taken from the rows. Of E, a tenth goes to the counts, three tenths to the
    sums, six tenths to the second moments; with D these are shares of rho (zCDP). Each file built
    of the same rows spends its E again.

    Examples:

        aucmax moments build a.csv --target ill -o a.moments

        aucmax moments build b.csv --like model.aucmax -o b.moments

        aucmax moments build a.csv --epsilon 1 --bounds 0 1 --labels no,yes -o a.moments
    """
    check_folder(out, *map(Path, data))
    private = {"--bounds": bounds, "--bounds-file": bounds_file, "--labels": labels}
    read = _Reader(reading, None if like is None else load_model(like), features, as_json)
    if epsilon is None:
        for flag, value in {**private, "--delta": delta or None}.items():
            if value is not None:
                raise ValueError(f"{flag} is for a private release; give --epsilon, too.")
        total = _summed(data, read, covariance, align)
    else:
        if labels is None or (bounds is None) == (bounds_file is None):
            raise ValueError(
                "--epsilon needs what does not come from the rows: all labels (--labels no,yes) "
                "and bounds of the features (--bounds LOW HIGH, or --bounds-file CSV)."
            )
        if reading.weight is not None or covariance is not Kept.full:
            raise ValueError("--epsilon is for rows without weights, and full covariances.")
        box: Any = bounds_file if bounds is None else bounds
        total = _bounded(data, read, listed(labels), box).release(epsilon, delta)
    _save(total, out, min_rows)
    show_page(_page(total, out), as_json)


def _merge(
    files: Annotated[list[Path], typer.Argument(metavar="MOMENTS...", help="The files to add.")],
    out: Out,
    align: Align = False,
    min_rows: MinRows = FEWEST,
    as_json: Json = False,
) -> None:
    """Add files of moments: as if all rows had been in one.

    Features must have the same names, in the same order unless --align is given. The label of a
    class without rows in one file may be missing there.

    Example:

        aucmax moments merge a.moments b.moments c.moments -o all.moments
    """
    check_folder(out)
    total = load_moments(files[0])
    for path in files[1:]:
        total = _sum(total, load_moments(path), path, align)
    _save(total, out, min_rows)
    show_page(_page(total, out), as_json)


def _subtract(
    total: Annotated[Path, typer.Argument(metavar="TOTAL", help="Moments of all rows.")],
    part: Annotated[Path, typer.Argument(metavar="PART", help="Moments of some of these.")],
    out: Out,
    align: Align = False,
    min_rows: MinRows = FEWEST,
    as_json: Json = False,
) -> None:
    """Take the rows of one file of moments out of another: a hospital, or a day, leaves.

    What is left must be enough rows of each class, or none.

    Example:

        aucmax moments subtract all.moments b.moments -o rest.moments
    """
    check_folder(out)
    whole, gone = load_moments(total), load_moments(part)
    with _told_of(part, whole, gone):
        left = whole - (_aligned(gone, whole) if align else gone)
    _save(left, out, min_rows)
    show_page(_page(left, out), as_json)


def _fit(
    file: Moments,
    output: Annotated[
        Path, typer.Option("--out", "-o", metavar="MODEL", help="Where to save the model.")
    ],
    alpha: Annotated[float | None, typer.Option(help="Penalty strength, 0 or more.")] = None,
    l1_ratio: Annotated[
        float | None, typer.Option(help="Share of the l1 penalty, from 0 to 1.")
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="How much the spread of the positives counts beside that of the negatives, 0 to "
            "1, or pooled.",
        ),
    ] = None,
    standardize: Annotated[
        float | None,
        typer.Option(help="From 0 (features as given) to 1 (features of equal spread)."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="The label to rank first, against all others; else the larger of two numbers, the "
            "one of two words that has less weight.",
        ),
    ] = None,
    like: Like = None,
    tol: Tol = 1e-4,
    max_iter: MaxIter = 1000,
    as_json: Json = False,
) -> None:
    """Fit a model to a file of moments: the same as to its rows, with the square loss.

    What 'aucmax moments build --like MODEL' was given is to be given here, too: the model's steps
    for text, gaps and dates become those of the new one.

    Example:

        aucmax moments fit all.moments --alpha 0.001 -o model.aucmax
    """
    check_folder(output, file)
    held = load_moments(file)
    held, label = _two_classes(held, positive, file)
    settings: dict[str, Any] = {
        "alpha": alpha,
        "l1_ratio": l1_ratio,
        "within": number_or_word(within),
        "standardize": standardize,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    model = AUCClassifier(**given, tol=tol, max_iter=max_iter, positive=label)
    steps = [] if like is None else _steps(load_model(like), held, like)
    if steps:
        held.feature_names = None  # behind the steps, which name them
    model.fit_moments(held)
    report = {
        "model": str(output),
        "moments": str(file),
        "positive": label,
        "negative": next(other for other in held.classes.tolist() if other != label),
        "features": held.n_features,
        **{name: getattr(model, name) for name in ("loss", "within", "l1_ratio", "alpha")},
        "standardize": model.standardize_,
        "solver": model.solver_,
        "iterations": int(model.n_iter_),
        "objective": model.objective_,
        "optimality": model.optimality_,
    }
    whole: Any = model
    if steps:
        from sklearn.pipeline import Pipeline

        whole = Pipeline([*steps, ("model", model)])
    save(whole, output)
    facts = [
        ("positive", f"{report['positive']}, against {report['negative']}"),
        ("features", f"{report['features']:,}"),
        (
            "settings",
            f"standardize {report['standardize']:g}, within {report['within']}, l1 ratio "
            f"{report['l1_ratio']:g}, alpha {report['alpha']:.3g}",
        ),
        *fit_facts(report),
        ("saved", report["model"]),
    ]
    sections = [Section("The model", tables=[ResultTable.facts(facts)])]
    show_page(Page(f"Fitted to {file}", "", sections, data=report), as_json)


def _show(
    file: Moments,
    top: Annotated[int, typer.Option(min=0, help="How many features to list.")] = 20,
    as_json: Json = False,
) -> None:
    """Show a file of moments: its classes, and the features that tell them apart best.

    Example:

        aucmax moments show a.moments --top 5
    """
    show_page(_page(load_moments(file), file, top), as_json)


moments.callback(help=help_of(_moments))(_moments)
_COMMANDS: dict[str, Callable[..., None]] = {
    "build": _build,
    "merge": _merge,
    "subtract": _subtract,
    "fit": _fit,
    "show": _show,
}
for _name, _command in _COMMANDS.items():
    moments.command(_name, help=help_of(_command))(spread(_command))


# ---- rows


class _Table(NamedTuple):
    """Rows of numbers, and the file they are from."""

    path: str
    X: Any
    y: Labels
    weight: np.ndarray | None
    names: list[str] | None


@dataclass(frozen=True)
class _Reader:
    """How files are read: as they are, or as a model takes them."""

    reading: Weighing
    model: Any
    features: int | None
    quiet: bool

    def __call__(self, data: list[str]) -> Iterator[_Table]:
        with working("reading", self.quiet) as now:
            for path in data:
                now(f"reading {given_file(path).name}")
                yield from self._parts(path)

    def _parts(self, path: str) -> Iterator[_Table]:
        if self.model is None:
            for rows in plain_rows(path, self.reading, self.features):
                y = Labels(rows.target, rows.target_name)
                yield _Table(path, rows.data, y, rows.weight, rows.feature_names)
            return
        rows = rows_for(self.model, given_file(path), self.reading, labels="required")
        X, names = rows.data, getattr(rows.data, "column_names", None)
        if hasattr(self.model, "steps"):
            X, names = self.model[:-1].transform(X), _names(self.model)
        yield _Table(path, X, Labels(rows.target, rows.target_name), rows.weight, names)


def _summed(data: list[str], read: _Reader, covariance: Kept, align: bool) -> ClassStatistics:
    """Return the moments of the rows of files."""
    kind = ClassMoments if covariance is Kept.full else DiagonalMoments
    total: ClassStatistics | None = None
    for rows in read(data):
        part = kind(feature_names=rows.names)
        _check_memory(part, rows)
        part.update(rows.X, rows.y, rows.weight)
        total = part if total is None else _sum(total, part, rows.path, align)
    assert total is not None
    return total


def _bounded(data: list[str], read: _Reader, labels: list[str], box: Any) -> BoundedSums:
    """Return the exact sums of the rows of files, which are only to be released with noise."""
    sums: BoundedSums | None = None
    for rows in read(data):
        _check_memory(ClassMoments(), rows)
        try:
            if sums is None:
                names = rows.names or [str(j + 1) for j in range(rows.X.shape[1])]
                bounds = read_bounds(box, names) if isinstance(box, Path) else box
                sums = BoundedSums(_announced(labels, rows.y), bounds, rows.names)
            sums.update(rows.X, rows.y)
        except ValueError as error:
            raise ValueError(f"{rows.path}: {error}") from None
    assert sums is not None
    return sums


def _check_memory(empty: ClassStatistics, rows: _Table) -> None:
    """Raise ValueError where covariances would not fit."""
    labels, d = len(np.unique(rows.y)), rows.X.shape[1]
    size = empty.nbytes(d) * labels / 2
    if size > Exact.max_moment_bytes:
        raise ValueError(
            f"{rows.path}: the covariances of {d:,} features and {labels} labels would take "
            f"{size / 1e9:.1f} GB; keep variances only, with --covariance diagonal."
        )


def _names(model: Any) -> list[str] | None:
    """Return what the features are called after the steps of a model."""
    try:
        return [str(name) for name in model[:-1].get_feature_names_out()]
    except (AttributeError, ValueError):  # not every transformer has names
        return None


def _steps(model: Any, held: ClassStatistics, path: Path) -> list[Any]:
    """Return the steps of a model for moments of what comes out of them."""
    if not hasattr(model, "steps"):
        return []
    names = _names(model)
    if names != held.feature_names:
        raise ValueError(
            f"{path}: its steps give other features than the moments have; give the model with "
            "which they were built."
        )
    return list(model.steps[:-1])


def _announced(words: list[str], y: np.ndarray) -> list[Any]:
    """Return the labels of a command line as the rows have theirs: numbers or text."""
    if y.dtype.kind not in "iufb":
        return words
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(f"--labels {','.join(words)}: the labels are numbers.") from None
    return [int(number) if number.is_integer() else number for number in numbers]


# ---- moments


def _sum(total: ClassStatistics, part: ClassStatistics, path: Any, align: bool) -> ClassStatistics:
    """Add moments from a file."""
    with _told_of(path, total, part):
        out = total + (_aligned(part, total) if align else part)
    strange = set(part.classes.tolist()) - set(total.classes.tolist())
    if len(out.classes) > max(2, len(total.classes), len(part.classes)):
        tell("warning", f"{path}: the label {strange.pop()!r} is new, and others are missing")
    return out


@contextlib.contextmanager
def _told_of(path: Any, first: ClassStatistics, other: ClassStatistics) -> Iterator[None]:
    """Context in which an error names the file of the other moments, and what helps."""
    mine, names = first.feature_names, other.feature_names
    try:
        if (mine is None) != (names is None):
            raise ValueError(
                f"its features have {'no names' if names is None else 'names'}, and those before "
                f"have {'some' if names is None else 'none'}; give files of the same columns."
            )
        yield
    except ValueError as error:
        moved = mine != names and sorted(mine or []) == sorted(names or [])
        more = " Or put them in order with --align." if moved else ""
        raise ValueError(f"{path}: {error}{more}") from None


def _aligned(part: ClassStatistics, first: ClassStatistics) -> ClassStatistics:
    names = first.feature_names
    return part if names is None else part.aligned(names)


def _save(held: ClassStatistics, out: Path, min_rows: int) -> None:
    """Write moments, unless they would show a row."""
    found = disclosure(held, min_rows)
    if found is not None:
        raise ValueError(
            f"{out}: not written: {found}, fewer than {min_rows}, and the file could show a row; "
            "build it together with other files, leave a rare feature out with --drop, or allow it "
            "with --min-rows."
        )
    held.save(out)


def _two_classes(
    held: ClassStatistics, positive: str | None, path: Path
) -> tuple[ClassStatistics, Any]:
    """Return moments of two classes, and the positive label, chosen as `classes_of` does."""
    labels, counts = held.classes.tolist(), held.counts
    if positive is None:
        if len(labels) != 2:
            raise ValueError(
                f"{path}: has {counted(len(labels), 'label')} ({', '.join(map(str, labels[:5]))}); "
                "a model needs two, or one against all others: name it with --positive LABEL."
            )
        words = held.classes.dtype.kind not in "iufb"
        return held, labels[int(counts[1] <= counts[0]) if words else 1]
    try:
        label = find_label(held.classes, positive)
    except ValueError as error:
        raise ValueError(f"{path}: {error}.") from None
    if len(labels) > 2:
        held = held.relabelled([str(one) if one == label else f"not {label}" for one in labels])
        label = str(label)
    return held, label


# ---- pages


def _page(held: ClassStatistics, path: Path, top: int = 0) -> Page:
    names = held.feature_names or [str(j + 1) for j in range(held.n_features)]
    between = _between(held)
    order = np.argsort(-between, kind="stable")[:top]
    report: dict[str, Any] = {
        "moments": str(path),
        "covariance": "full" if held.has_covariances else held.kind,
        "target": held.target_name,
        "features": held.n_features,
        "feature_names": held.feature_names,
        "classes": [
            {"label": label, "weight": weight, "effective_rows": count}
            for label, weight, count in zip(
                held.classes.tolist(), held.counts, held.effective_rows, strict=True
            )
        ],
        "guarantee": held.guarantee,
        "largest": [
            {
                "feature": names[j],
                "between": between[j],
                "means": held.means[:, j],
                "deviations": np.sqrt(held.variances[:, j]),
            }
            for j in order
        ],
    }
    facts = [
        ("moments", str(path)),
        ("features", f"{held.n_features:,}" + ("" if held.has_covariances else f" ({held.kind})")),
    ]
    if held.target_name is not None:
        facts.append(("target", held.target_name))
    facts += [
        (f"class {one['label']}", f"weight {one['weight']:,.6g}" + _effective(one))
        for one in report["classes"]
    ]
    if held.guarantee is not None:
        facts.append(("private", _guarantee(held.guarantee)))
    sections = [Section("Moments", tables=[ResultTable.facts(facts)])]
    if report["largest"]:
        head = ("feature", *(f"mean of {label}" for label in held.classes.tolist()), "between")
        cells = [
            (one["feature"], *(f"{mean:.4g}" for mean in one["means"]), f"{one['between']:.1%}")
            for one in report["largest"]
        ]
        caption = "between: the share of a feature's variance that is between the classes"
        sections[0].tables.append(ResultTable(head, cells, caption))
    return Page(f"The moments {path}", "", sections, data=report)


def _between(held: ClassStatistics) -> np.ndarray:
    """Return the share of each feature's variance that lies between the classes, shape (d,)."""
    if not held.counts.any():
        return np.zeros(held.n_features)
    p = held.counts / held.counts.sum()
    between = p @ (held.means - p @ held.means) ** 2
    whole = between + p @ held.variances
    return between / np.where(whole > 0.0, whole, 1.0)


def _effective(one: dict[str, Any]) -> str:
    weight, rows = float(one["weight"]), float(one["effective_rows"])
    return "" if abs(weight - rows) <= 1e-9 * weight else f", {rows:,.3g} effective rows"


def _guarantee(held: dict[str, Any]) -> str:
    epsilon, delta = held["epsilon"], held["delta"]
    what = f"({epsilon:g}, {delta:g})" if delta else f"{epsilon:g}"
    return (
        f"{what}-differentially private for one row more or less; the noise of the class sizes has "
        f"the standard deviation {held['noise_of_counts']:.3g}"
    )
