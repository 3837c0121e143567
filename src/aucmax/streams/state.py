"""What a stream has come to: one value, of which the bytes read so far are a part.

`advance` makes the next of (offset, lines, state). Cut the lines as you like: the state after them
has the same bits. It is saved whole or not at all, so a stream that is killed goes on from the last
state that was saved, and ends with the bits of one that never was.
"""

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.container import pack, unpack
from aucmax.basics.errors import ModelFileError
from aucmax.streams.formats import Parser, cells_of, parser
from aucmax.streams.learner import Scorer, StreamLearner
from aucmax.streams.rules import MomentsRule, Rule, SpamRule
from aucmax.streams.tally import Tally, bins_of

__all__ = [
    "Baseline",
    "Prediction",
    "Settings",
    "State",
    "advance",
    "load_state",
    "save_state",
    "summary",
]

_KIND = "stream"


@dataclass(frozen=True)
class Settings:
    """What a stream is begun with, and cannot change.

    ``freeze`` is the row after which the first model is frozen; the others are those of
    `StreamLearner`, the rules and `parser`.
    """

    format: str = "ndjson"
    target: str | None = None
    drop: tuple[str, ...] = ()
    sep: str = ","
    positive: Any = None
    learner: str = "moments"
    alpha: float = 3e-4
    l1_ratio: float = 0.0
    standardize: float = 0.5
    half_life: float | None = None
    refresh: float = 0.05
    freeze: int = 1000
    weight: str | None = None
    encoding: str = "utf-8"

    def rule(self) -> Rule:
        """Return how blocks are learnt."""
        if self.learner == "spam":
            return SpamRule(self.alpha, self.l1_ratio)
        return MomentsRule(
            alpha=self.alpha, l1_ratio=self.l1_ratio, standardize=self.standardize, tol=1e-10
        )


@dataclass
class Baseline:
    """The model that was frozen after some rows, and what was known of the classes by then.

    ``counts`` and ``rows`` (2,), ``means`` and ``variances`` (2, d) by code, in ``known``; nothing
    with SPAM.
    """

    rows: int
    scorer: Scorer
    known: dict[str, np.ndarray]


@dataclass
class State:
    """Where a stream is, and all that it has learnt.

    Attributes
    ----------
    offset, lines : int
        Bytes and lines read.
    rows, bad : int
        Lines learnt, and lines that were no rows.
    header : list of str
        The names of CSV.
    learner : StreamLearner
    tally : Tally
        Of all rows, each scored before it was learnt.
    pair : Tally
        Of the rows since the freeze, decayed: the frozen model, then the one that is learnt.
    baseline : Baseline
        None until the freeze.
    extra : dict
        What a caller keeps beside, such as how much of its own output belongs to this state.
    """

    settings: Settings
    offset: int = 0
    lines: int = 0
    rows: int = 0
    bad: int = 0
    header: list[str] | None = None
    baseline: Baseline | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.settings
        self.learner = StreamLearner(given.rule(), given.half_life, given.refresh, given.positive)
        self.tally = Tally(1)
        self.pair = Tally(2, given.half_life or np.inf)

    @property
    def positive(self) -> int | None:
        """The code of the label that is ranked first, once both have come."""
        classes = self.learner.classes
        return self.learner.labels[classes[1]] if len(classes) == 2 else None

    def parser(self) -> Parser:
        """Return what makes rows of lines."""
        given = self.settings
        return parser(
            given.format, given.target, given.drop, given.sep, self.header, given.weight,
            given.encoding,
        )  # fmt: skip


class Prediction(NamedTuple):
    """What was said of a row before it was learnt.

    ``score`` is the log-odds of the positive label, were both as frequent: scores of one model and
    the next compare. ``probability`` is that of the positive label.
    """

    line: int
    label: Any
    score: float
    probability: float


def advance(
    offset: int,
    lines: Iterable[bytes],
    state: State,
    on_bad: Callable[[int, str], None],
    on_row: Callable[[Prediction], None] | None = None,
) -> State:
    """Score each row, then learn it; return the state behind the last line.

    Parameters
    ----------
    offset : int
        Where the first line begins, which must be where ``state`` ended.
    lines : iterable of bytes
        Whole lines.
    state : State
        It is used up.
    on_bad : callable
        Told the number of a line that is no row, and why. If it raises, the state is the one before
        that line.
    on_row : callable, optional
        Told what was said of each row that is learnt.
    """
    if offset != state.offset:
        raise ValueError(f"these lines begin at byte {offset}, the state ended at {state.offset}.")
    scored = _Scored(state, on_row)
    try:
        for line in lines:
            try:
                scored.take(line)
            except (ValueError, RecursionError) as error:
                on_bad(state.lines + 1, str(error).rstrip("."))
                state.bad += 1
            state.lines += 1
            state.offset += len(line)
    finally:
        scored.count()
    return state


class _Scored:
    """Rows that were scored and learnt, and are not counted in the tallies yet."""

    def __init__(self, state: State, on_row: Callable[[Prediction], None] | None) -> None:
        self.state, self._parse = state, None if _awaits_header(state) else state.parser()
        self._on_row = on_row
        self._clear()

    def _clear(self) -> None:
        self._codes: list[int] = []
        self._weights: list[float] = []
        self._scores: list[float] = []
        self._frozen: list[float] = []

    def take(self, line: bytes) -> None:
        """Take a line; ValueError where it is no row, which then has changed nothing."""
        state = self.state
        if state.lines == 0 and state.settings.encoding == "utf-8":
            line = line.removeprefix(b"\xef\xbb\xbf")
        if self._parse is None:
            header = _names(line.decode(state.settings.encoding), state.settings.sep)
            state.header = header
            try:
                self._parse = state.parser()
            except ValueError:
                state.header = None
                raise
            return
        row = self._parse(line)
        if row is None:
            return
        learner, baseline = state.learner, state.baseline
        scorer = learner.scorer
        raw = scorer.score(row.features)
        if baseline is not None:
            frozen = baseline.scorer.slope * baseline.scorer.score(row.features)
        learner.learn(row.features, row.label, row.weight)
        self._codes.append(learner.labels[row.label])
        self._weights.append(row.weight)
        self._scores.append(scorer.slope * raw)
        if baseline is not None:
            self._frozen.append(frozen)
        if self._on_row is not None:
            said = scorer.slope * raw, scorer.probability(raw)
            self._on_row(Prediction(state.lines + 1, row.label, *said))
        state.rows += 1
        if baseline is None and state.rows >= state.settings.freeze and learner.scorer.weights:
            self.count()
            state.baseline = Baseline(state.rows, learner.scorer, summary(learner))

    def count(self) -> None:
        """Count the rows in the tallies."""
        codes, weight = np.array(self._codes, dtype=np.int64), np.array(self._weights)
        bins = bins_of(np.array(self._scores))
        self.state.tally.add(codes, bins[None, :], weight)
        if self.state.baseline is not None:
            self.state.pair.add(codes, np.stack([bins_of(np.array(self._frozen)), bins]), weight)
        self._clear()


def summary(learner: StreamLearner) -> dict[str, np.ndarray]:
    """Return what `Baseline` has of the classes; nothing with SPAM."""
    moments = learner.coded_moments()
    if moments is None:
        return {}
    return {
        "counts": moments.counts,
        "rows": moments.effective_rows,
        "means": moments.means,
        "variances": moments.variances,
    }


def _awaits_header(state: State) -> bool:
    return state.settings.format == "csv" and state.header is None


def _names(line: str, sep: str) -> list[str]:
    names = cells_of(line.strip("\r\n"), sep)
    for i, name in enumerate(names):
        if not name or name in names[:i]:
            raise ValueError(f"the header has {name!r} twice, or a column without a name")
    return names


# ---- files


def save_state(state: State, path: str | PathLike[str]) -> None:
    """Write a state; an old file stays until the new one is complete.

    Parameters
    ----------
    state : State
    path : path
    """
    learner, baseline = state.learner, state.baseline
    parts = {"learner": learner.arrays(), "tally": state.tally.arrays, "pair": state.pair.arrays}
    if baseline is not None:
        parts["baseline"] = baseline.known
    meta = {
        "settings": state.settings.__dict__,
        "offset": state.offset,
        "lines": state.lines,
        "rows": state.rows,
        "bad": state.bad,
        "header": state.header,
        "names": learner.names,
        "labels": list(learner.labels.items()),
        "baseline": None if baseline is None else [baseline.rows, *baseline.scorer],
        "extra": state.extra,
    }
    buffer = io.BytesIO()
    arrays = {f"{a} {b}": values for a, part in parts.items() for b, values in part.items()}
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    pack(path, _KIND, json.dumps(meta).encode() + b"\n" + buffer.getvalue())


def load_state(path: str | PathLike[str], settings: Settings) -> State:
    """Return a state that `save_state` wrote.

    Parameters
    ----------
    path : path
    settings : Settings
        Those that it must have been begun with; ValueError names one that differs.
    """
    head, _, body = unpack(path, _KIND).partition(b"\n")
    try:
        meta = json.loads(head)
        begun = Settings(**meta["settings"] | {"drop": tuple(meta["settings"]["drop"])})
        parts: dict[str, dict[str, np.ndarray]] = {}
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            for name in arrays:
                part, _, rest = name.partition(" ")
                parts.setdefault(part, {})[rest] = arrays[name]
        state = State(begun)
        for name in ("offset", "lines", "rows", "bad", "header", "extra"):
            setattr(state, name, meta[name])
        labels = {label: code for label, code in meta["labels"]}
        state.learner.restore(meta["names"], labels, parts["learner"])
        state.tally.arrays, state.pair.arrays = parts["tally"], parts["pair"]
        if meta["baseline"] is not None:
            rows, *scorer = meta["baseline"]
            state.baseline = Baseline(rows, Scorer(*scorer), parts.get("baseline", {}))
    except Exception as error:  # whatever a parser raises on a damaged body
        what = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(f"{path}: not a readable state of a stream ({what}).") from error
    for name, value in settings.__dict__.items():
        if value != getattr(begun, name):
            raise ValueError(
                f"{path}: was begun with {name}={getattr(begun, name)!r}, not {value!r}; give the "
                "same settings, or another file to begin anew."
            )
    return state
