"""From a command line to rows for a model.

`prepared_rows` opens a file or a data set known by name for a command that learns from two classes.
`rows_for` opens one for a model, which determines the columns and labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aucmax import datasets
from aucmax.basics.doors import Door
from aucmax.cli.common import counted, feature_names, listed, working
from aucmax.cli.large import Large
from aucmax.cli.options import Transforms, given_file
from aucmax.cli.screen import tell
from aucmax.data.bunch import Bunch
from aucmax.data.classes import Classes, classes_of, labelled_of, of_usual_labels
from aucmax.data.columns import Amount, declare, named
from aucmax.data.decisions import Decision, doubts_of_parts
from aucmax.data.digests import DigestCounts, Watch
from aucmax.data.files import exists, files_of, size_of
from aucmax.data.labelled import Labelled
from aucmax.data.large_files import Plan, Room
from aucmax.data.obstacles import TableError
from aucmax.data.readers import reader_of, rows_of
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Part, Source, ahead

if TYPE_CHECKING:
    from aucmax.columns.steps import Stages
    from aucmax.columns.summaries import TableSummary
    from aucmax.estimators.inputs import Inputs
    from aucmax.report.facts import TrainingRows

__all__ = [
    "Prepared", "columns_listed", "encoded", "parts_of_rows", "parts_of_table", "prepared_rows",
    "rows_for", "tell_doubts", "tell_doubts_of_parts",
]  # fmt: skip

_facts = Door("aucmax.report.facts")
_inputs = Door("aucmax.estimators.inputs")
_many_rows = Door("aucmax.estimators.many_rows")
_preparation = Door("aucmax.estimators.preparation")
_steps = Door("aucmax.columns.steps")
_suspicions = Door("aucmax.estimators.suspicions")


@dataclass(frozen=True)
class Prepared:
    """Rows for a model, and the transformers in front of it.

    Parameters
    ----------
    rows : Labelled
        The rows after the steps, as numbers.
    classes : Classes
        The labels as the file names them.
    weight_name : str or None
        The column of the rows' weights.
    room : Room or None
        The memory for rows that are read in parts.
    steps : list of (str, transformer)
        Fitted: what turns the columns into numbers.
    decisions : list of Decision
        The decisions about the table.
    table : Labelled or None
        The rows before the steps.
    labels : ndarray or None
        Their labels in the file.
    sample : Labelled or None
        Some rows of a file in parts before the steps, if a pass has kept them; for plain numbers
        with the columns that may divide the rows.
    summary : TableSummary or None
        The summary of all its rows, if there is a sample.
    digests : DigestCounts or None
        The digests of all its rows, as the model reads them, if the pass knew its columns.
    watch : Watch or None
        The digests of a file of plain numbers in parts, once a pass has read all of its columns.
    before : Prepared or None
        The data before the steps, without the columns that are left out.
    """

    rows: Labelled
    classes: Classes
    weight_name: str | None
    room: Room | None = None
    steps: list[tuple[str, Any]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    table: Labelled | None = None
    labels: np.ndarray | None = None
    sample: Labelled | None = None
    summary: TableSummary | None = None
    digests: DigestCounts | None = None
    watch: Watch | None = None
    before: Prepared | None = None

    def bent(self, additive: Any) -> Prepared:
        """Return the rows as features of an additive model, if there is one."""
        if additive is None:
            return self
        features = additive.best_estimator_[0]
        assert self.before is not None
        raw = self.before.rows
        if raw.in_parts:
            X = _many_rows.by_features(raw.X, features, raw.columns)
        else:
            X = features.transform(raw.named)
        rows = replace(raw, X=X, columns=None)
        decisions = [*self.before.decisions, *features.decisions()]
        steps = [("features", features)]
        return replace(self.before, rows=rows, steps=steps, decisions=decisions)

    def whole(self, model: Any) -> Any:
        """The fitted model and its steps in one pipeline, with the decisions."""
        model.decisions_ = [str(decision) for decision in self.decisions]
        if self.classes.words:
            model.label_words_ = [self.classes.shown(label) for label in self.classes.labels]
        return _inputs.behind(self.steps, model)

    def names(self, model: Any) -> list[str]:
        """Return the names of the features of a fitted model."""
        return feature_names(self.whole(model), model.n_features_in_)

    def facts(self) -> TrainingRows:
        """Return the facts about the data that every report has."""
        rows, classes = self.rows, self.classes
        return _facts.TrainingRows.of(
            rows,
            data=rows.name,
            features=rows.n_features,
            columns=self.steps[0][1].n_features_in_ if self.steps else rows.n_features,
            positive=classes.shown(classes.positive),
            positive_is="rarer" if classes.rarer else None,
            negative=classes.shown(classes.labels[0]),
            weight=self.weight_name,
            strata=rows.strata_name,
            decisions=self.decisions,
        )


# ---- for a command that learns


def prepared_rows(
    data: str,
    reading: Reading,
    transforms: Transforms | None,
    quiet: bool = False,
    large: Large | None = None,
) -> Prepared:
    """Open a file, or a data set by name, as two classes of rows.

    Parameters
    ----------
    data : str
        A path, ``-`` for standard input, or a name or alias that `datasets.names` knows; files
        take precedence.
    reading : Reading
        The options.
    transforms : Transforms or None
        The transforms of the columns, which become numbers; None leaves them as they are.
    quiet : bool
        Do not show that a file is read.
    large : Large, optional
        How large files are read.

    Raises
    ------
    ValueError
        There is no such file or data set, or it does not hold two classes.
    """
    path = given_file(data)
    with working(f"reading {path.name}", quiet):
        try:
            if large is not None and large.plan.takes(path, reading):
                source = large.read(path, _with_own_labels(reading), transforms)
            elif transforms is None and reader_of(path, reading.format).columns is not None:
                source = _of_two_classes(path, reading, text=True, missing=True, dates=True)
            else:
                source = _of_two_classes(path, reading)
        except TableError as error:
            raise _with_worth(error, reading) from None
        source = of_usual_labels(source, reading)
        rows, classes = labelled_of(source, reading)
        table, decisions = rows, list(source.get("decisions") or ())
        if reading.prepare and rows.columns is not None and not rows.in_parts:
            rows, omissions = _preparation.left_out(rows, reading)
            names = {omission.column for omission in omissions}
            decisions = [own for own in decisions if own.column not in names] + omissions
        steps = source.get("steps") or []
        prepared = Prepared(
            rows,
            classes,
            reading.weight,
            source.get("room"),
            steps,
            decisions,
            table,
            source.target,
            _sample(rows, source),
            source.get("summary"),
            source.get("digests"),
            getattr(source.get("table"), "watch", None),
        )
        if rows.in_parts and "table" in source:
            raw = replace(rows, X=source.table, columns=source.table_columns)
            raw.X.replaced = rows.X.replaced
            before = replace(prepared, rows=raw, steps=[], decisions=source.table_decisions)
            return replace(prepared, before=before)
        if transforms is None or rows.in_parts:
            return prepared
        return _transformed(prepared, reading, transforms)


def _sample(rows: Labelled, source: Bunch) -> Labelled | None:
    """Return the rows that a pass over a file in parts has kept."""
    if "some" not in source:
        return None
    places, columns = source.places, source.some_columns
    of_rows: dict[str, Any] = {"positive": rows.positive[places]}
    for name in ("weight", "groups", "time"):
        values = getattr(rows, name)
        of_rows[name] = None if values is None else values[places]
    of_rows["strata"] = None if rows.coded_strata is None else rows.coded_strata.at(places)
    table = declare(source.some.reset_index(drop=True), columns)
    return replace(rows, X=table, columns=columns, statistics=None, store=None, **of_rows)


def _opened(path: Any, reading: Reading, check: Any = None, **more: Any) -> Bunch:
    """The rows of a file, or of a data set known by name; ``more`` are not options."""
    reading = _with_own_labels(reading)
    if isinstance(path, Path) and not path.exists():
        try:
            datasets.about(str(path))
        except ValueError as error:
            if not path.suffix and len(path.parts) == 1:
                raise ValueError(f"{path}: there is no such file, and {error}") from None
        else:
            for name in reading.given():
                raise ValueError(f"{name}= is for files; {path} is a data set known by name.")
            return datasets.load(str(path))
    return rows_of(path, replace(reading, **more), check)


def _with_own_labels(reading: Reading) -> Reading:
    """Return the reading without a choice of classes, so that labels are those of the file."""
    return replace(reading, positive=None, binarize=None)


def _of_two_classes(path: Any, reading: Reading, **more: Any) -> Bunch:
    """The rows of a file, or of a data set; an error also says what is wrong with their labels."""

    def check(first: Bunch) -> None:
        try:
            classes_of(first, reading)
        except TableError:
            raise
        except ValueError:  # a label may come later
            pass

    try:
        return _opened(path, reading, check, **more)
    except TableError as error:
        raise _with_labels(error, reading) from None


def _with_labels(error: TableError, reading: Reading) -> TableError:
    """The same error, with what is wrong with the labels added."""
    if error.found is None or error.found.target is None:
        return error
    try:
        classes_of(error.found, reading)
    except TableError as other:
        remedy = {**(error.remedy or {}), **(other.remedy or {})}
        return TableError(error.path, [*error.obstacles, *other.obstacles], remedy, error.found)
    except ValueError:  # reported once the table is read
        pass
    return error


def _with_worth(error: TableError, reading: Reading) -> TableError:
    """The same error, with the AUC of each column that its remedy leaves out."""
    remedy = dict(error.remedy or {})
    names = remedy.pop("drop", ())
    if not names:
        return error
    lenient = {"prepare": True, "strict": False, "missing": True, "text": True, "dates": True}
    asked = replace(reading, **{**remedy, **lenient})
    try:
        rows = rows_of(error.path, _with_own_labels(asked))
        labelled, _ = labelled_of(of_usual_labels(rows, asked), asked)
    except ValueError:  # because of another problem
        return error
    for obstacle in error.obstacles:
        name = obstacle.column
        auc = _suspicions.auc_alone(labelled, name) if name in names else None
        if auc is not None:
            obstacle.what += f" (alone, the column ranks with AUC {auc:.2f})"
    return TableError(error.path, error.obstacles, error.remedy, error.found)


def _transformed(prepared: Prepared, reading: Reading, transforms: Transforms) -> Prepared:
    """Fit the steps that a model needs in front, and apply them."""
    steps = _preparation.behind_steps(
        prepared.rows, reading, transforms.splines, transforms.scale.value
    )
    decisions = [*prepared.decisions, *steps.decisions]
    return replace(
        prepared, rows=steps.rows, steps=steps.steps, decisions=decisions, before=prepared
    )


# ---- for a model


def rows_for(
    model: Any, data: Any, reading: Reading, *, labels: str, large: Large | None = None
) -> Bunch:
    """Open rows for a model: its features by name if it has names, else by position.

    Parameters
    ----------
    model : estimator
        Fitted.
    data : path or str
        As for `prepared_rows`.
    reading : Reading
        What the options say; the label column is by default the one the model was trained on.
    labels : {"required", "none"}
        As for `datasets.read`.
    large : Large, optional
        What is read in parts, and where, for a model without steps.

    Returns
    -------
    Bunch
        That of `datasets.read`, its ``data`` in the form that the model takes.
    """
    inputs = _inputs.inputs_of(model)
    more = _wanted(model, inputs, reading) | {"labels": labels}
    path = given_file(data)
    if large is not None and large.plan.takes(path, reading):
        rows = large.read(path, replace(_with_own_labels(reading), **more))
        if _steps.parts_of(model)[0]:
            columns = tuple(named(rows.data.feature_names or [], rows.data.columns))
            rows.data = rows.data.mapped(partial(inputs.taken, columns))
        return rows
    rows = _opened(path, reading, **more)
    tell_doubts(rows.decisions, data)
    return _for_model(rows, inputs, data)


def columns_listed(texts: Sequence[str], path: Any, reading: Reading) -> list[str]:
    """Return the columns of files that an option lists: each text is one name, or several.

    A name may contain a comma, if there is such a column.
    """
    several = [text for text in texts if "," in text]
    columns = reader_of(path, reading.format).columns if several and exists(path) else None
    names = set() if columns is None else {*columns(files_of(path)[:1], reading)[0]}
    return [name for text in texts for name in ([text] if text in names else listed(text))]


def tell_doubts(decisions: Sequence[Decision], data: Any) -> None:
    """Warn of the cells of a file that are not used, and of lines that are left out."""
    for decision in decisions:
        if decision.doubtful:
            tell("warning", f"{data}: {decision}")


def tell_doubts_of_parts(rows: Any, data: Any) -> None:
    """Warn of the same in rows in parts, once they have been read; nothing for rows in memory."""
    if isinstance(rows, Source):
        tell_doubts(doubts_of_parts(rows.doubts), data)


def parts_of_rows(
    model: Any,
    data: Any,
    reading: Reading,
    task: Callable[[Bunch], Any],
    plan: Plan,
    n_features: int | None = None,
) -> Iterator[Any]:
    """Yield ``task(rows)`` of rows with their own labels, those of a large file in parts.

    Parameters
    ----------
    model : estimator or None
        The rows are as it takes them; without one they are numbers.
    data, reading
        As for `prepared_rows`, whose errors it raises.
    task, plan
        As for `parts_of_table`.
    n_features : int, optional
        Without a model, the number of features to which rows of an svmlight file are padded, whose
        parts may lack the last ones.
    """
    inputs = None if model is None else _inputs.inputs_of(model)
    if inputs is None:  # numbers without gaps
        reading = replace(reading, missing=False, text=False, dates=False)
    more = {"n_features": n_features} if inputs is None else _wanted(model, inputs, reading)
    prepared = partial(_checked_part, inputs, str(data), task)
    return parts_of_table([data], replace(reading, **more), prepared, plan)


def _checked_part(
    inputs: Inputs | None, data: str, task: Callable[[Bunch], Any], rows: Bunch
) -> Any:
    """Return ``task(rows)`` of numbers that a fit can take, or of rows as a model takes them."""
    if inputs is not None:
        return task(_for_model(rows, inputs, data))
    _preparation.check_sizes(rows.data, rows.feature_names, rows.name)
    return task(rows)


def parts_of_table(
    data: Sequence[Any], reading: Reading, task: Callable[[Bunch], Any], plan: Plan
) -> Iterator[Any]:
    """Yield ``task(rows)`` of the rows of files as they are read, those of a large file in parts.

    The columns of the first file decide for all. A cluster runs the tasks, if the plan has one.

    Parameters
    ----------
    data : sequence of path or str
    reading : Reading
    task : callable
        Of the result of `datasets.read`.
    plan : Plan
        Which files are read in parts, how large these are, and where.
    """
    for name in data:
        path = given_file(name)
        if plan.dask is not None and plan.takes(path, reading):
            source = plan.source(path, reading, one_pass=True)
            about = _about(source, path)
            yield from source.each(_on_table, repeat(()), (task, about))
        else:
            large = exists(path) and (size_of(path) or 0) > plan.part_bytes
            parts = ahead(plan.parts(path, reading)) if large else iter([_opened(path, reading)])
            for rows in parts:
                about = rows
                yield task(rows)
        if about.columns is not None and reading.columns is None:
            reading = replace(reading, columns=about.columns, target=about.target_name, drop=())


def _about(source: Source, path: Any) -> Bunch:
    """Return what the parts of a file have in common, under the names of `datasets.read`."""
    names = source.feature_names
    columns = None if names is None else tuple(named(names, source.columns))
    about = {"columns": columns, "feature_names": names, "target_name": source.target_name}
    sure = [decision for decision in source.decisions if not decision.doubtful]
    return Bunch(name=path.name, decisions=sure, codes=source.codes, **about)


def _on_table(part: Part, task: Callable[[Bunch], Any], about: Bunch) -> Any:
    """Return ``task(rows)`` of a part of a source."""
    decisions = [*about.decisions, *(part.told or {}).get("decisions", [])]
    own = {"data": part.X, "target": part.y, "weight": part.weight, "decisions": decisions}
    return task(Bunch(**(about | own), n_features=part.X.shape[1]))


def _wanted(model: Any, inputs: Inputs, reading: Reading) -> dict[str, Any]:
    """The arguments of `datasets.read` for what a model takes in."""
    arguments = {"missing": False, "text": False, "dates": False} | inputs.arguments
    if reading.decimal is not None and arguments["columns"] is not None:
        arguments["columns"] = [
            replace(column, decimal=reading.decimal) if isinstance(column, Amount) else column
            for column in arguments["columns"]
        ]
    if reading.target is not None:
        return arguments
    last = model[-1] if hasattr(model, "steps") else model
    return arguments | {"target": getattr(last, "target_name_", None)}


def _for_model(rows: Bunch, inputs: Inputs, data: Any) -> Bunch:
    """Return the rows in the form a model needs; raise ValueError if its features are missing."""
    n_features = inputs.arguments["n_features"]
    if rows.n_features != n_features or (inputs.arguments["columns"] and not rows.feature_names):
        raise ValueError(
            f"{data}: has {counted(rows.n_features, 'feature')} without names, but the model was "
            f"trained on other columns ({n_features:,})."
        )
    rows.data = inputs.taken(rows.columns, rows.data)
    return rows


def encoded(stages: Stages) -> Any:
    """Return rows as numbers, from which another model can learn.

    Parameters
    ----------
    stages : Stages
        Of the steps, only those that encode columns or scale rows to unit norm are applied.
    """
    (steps, _), inputs = _steps.parts_of(stages.model), _inputs.inputs_of(stages.model)
    if steps and (steps[0].encodes or inputs.frame):
        return steps[0].for_rivals(stages.rows[0], stages.features)
    return np.asarray(stages.rows[0]) if inputs.arguments["columns"] else stages.rows[0]
