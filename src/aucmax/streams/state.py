"""The state of a stream: one value, which includes the number of bytes read so far.

`advance` computes the next state from (offset, lines, state). The result does not depend on how
the lines are divided into calls. States are saved atomically, so a stream that is killed resumes
from the last saved state, and ends with the same bits as if it had never been killed.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from aucmax.basics.archive import ArraySpec, Specs, named, pack_arrays, part_of, unpack_arrays
from aucmax.basics.checks import LARGEST, is_label, is_whole
from aucmax.basics.container import readable
from aucmax.data.columns import label_as
from aucmax.data.strata import StrataWeight
from aucmax.data.tables.dialect import TITLE_LINES, distinct
from aucmax.estimators import AUCClassifier
from aucmax.estimators.additive_moments import Prior
from aucmax.estimators.inputs import behind
from aucmax.statistics.score_bins import ScoreBins, bins_specs
from aucmax.streams.drift import DriftAlarm
from aucmax.streams.formats import Parser, cells_of, check_roles, parser, text_of
from aucmax.streams.learner import Scorer, StreamLearner
from aucmax.streams.paired import PairedScores
from aucmax.streams.prepared import Prepared
from aucmax.streams.rules import MomentsRule, Rule, rule_of
from aucmax.streams.strata import StrataLearner, StrataRule
from aucmax.streams.stratum_sums import PairedStrata, StratumLosses, StratumSums

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
_ALPHA = 3e-4
_BINS = 4096  # of scores
_OF_STATE = ("alpha", "encoding", "target", "positive")  # kept by a state unless a run gives others
_NUMBERS = ("offset", "digest", "lines", "earlier", "rows", "bad")


@dataclass(frozen=True)
class Settings:
    """Settings of a stream, fixed at its start.

    ``freeze`` is the row after which the first model is frozen; the others are settings of
    `StreamLearner`, the rules and `parser`. If ``target``, ``positive``, ``alpha`` or ``encoding``
    is not given, a resumed stream keeps its own; in a new one α is 3e-4, and lines that are not
    UTF-8 are read as cp1252.
    """

    format: str = "ndjson"
    target: str | None = None
    drop: tuple[str, ...] = ()
    sep: str = ","
    positive: Any = None
    learner: str = "moments"
    alpha: float | None = None
    l1_ratio: float = 0.0
    standardize: float = 0.5
    half_life: float | None = None
    refresh: float = 0.05
    freeze: int = 1000
    weight: str | None = None
    encoding: str | None = None
    strata: str | None = None
    strata_weight: StrataWeight = "positives"

    def __post_init__(self) -> None:
        if self.strata is None and self.strata_weight != "positives":
            raise ValueError("strata_weight= is for streams within strata: name their column.")
        if self.strata is not None and self.learner != "moments":
            raise ValueError(
                f"{self.learner!r} learns from one row after another and takes no strata; use "
                "learner='moments'."
            )
        if self.format == "svmlight":
            self.parser()
        else:
            check_roles(self.target, self.drop, self.weight, self.strata)

    def rule(self, prior: Prior | None = None) -> Rule:
        """Return the rule for learning blocks, for an additive model with its prior."""
        alpha = _ALPHA if self.alpha is None else self.alpha
        if prior is not None and self.learner != "moments":
            raise ValueError("curves and maps are learnt only from moments; use learner='moments'.")
        if prior is None and self.strata is None:
            return rule_of(self.learner, alpha, self.l1_ratio, self.standardize)
        if prior is None:
            names = ("l1_ratio", "standardize")
            settings = {"alpha": alpha} | {name: getattr(self, name) for name in names}
        else:
            settings = prior.settings({"alpha": alpha})
        if self.strata is None:
            return MomentsRule(prior, **settings, tol=1e-10)
        return StrataRule(self.strata_weight, self.strata, prior, **settings, tol=1e-10)

    def learner_of_rows(self) -> StreamLearner:
        """Return a learner that has seen no rows."""
        rule, settings = self.rule(), (self.half_life, self.refresh, self.positive)
        if isinstance(rule, StrataRule):
            return StrataLearner(rule, *settings)
        return StreamLearner(rule, *settings)

    def parser(
        self, header: list[str] | None = None, sep: str | None = None, numbers: bool = True
    ) -> Parser:
        """Return the parser of lines, see `aucmax.streams.formats.parser`."""
        return parser(
            self.format,
            self.target,
            self.drop,
            sep or self.sep,
            header,
            self.weight,
            self.encoding,
            numbers,
            self.strata,
        )


@dataclass
class Baseline:
    """The frozen model, the row of the freeze, and the class statistics at that time.

    ``statistics`` has ``counts`` and ``rows`` (2,), ``means`` and ``variances`` (2, d) by code; it
    is empty with SPAM.
    """

    rows: int
    scorer: Scorer
    statistics: dict[str, np.ndarray]


@dataclass
class State:
    """The position of a stream, and everything it has learnt.

    Attributes
    ----------
    offset, digest : int
        Bytes read of the current input, and their CRC-32.
    lines, earlier : int
        Lines read, and those of them in earlier inputs.
    rows, bad : int
        Lines learnt, and lines that could not be read as rows.
    header : list of str
        The column names of CSV.
    learner : StreamLearner
    prequential : ScoreBins or StratumSums
        The scores of all rows, each scored before it was learnt; within strata, the losses of all
        complete strata.
    pair : PairedScores or PairedStrata
        The scores or losses since the freeze by the frozen and the learning model, decayed.
    drift : DriftAlarm
        For the frozen model's scores of the rows since the freeze, or its losses in strata.
    baseline : Baseline
        None until the freeze.
    prepared : Prepared
        How cells become features; None if cells are plain numbers. Set before the first line.
    titles : int
        The number of lines above the header of CSV.
    held : ndarray, shape (4, m)
        The codes, weights, and scores by the learning and the frozen model, of the open stratum's
        rows.
    alarm_end : int
        The last row of the stratum that raised the drift alarm, or 0.
    extra : dict
        Further data of the caller, such as how much of its output belongs to this state.
    """

    settings: Settings
    offset: int = 0
    digest: int = 0
    lines: int = 0
    earlier: int = 0
    rows: int = 0
    bad: int = 0
    header: list[str] | None = None
    baseline: Baseline | None = None
    prepared: Prepared | None = None
    titles: int = 0
    alarm_end: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.settings.alpha is None:
            self.settings = replace(self.settings, alpha=_ALPHA)
        half_life = self.settings.half_life
        self.learner, self.drift = self.settings.learner_of_rows(), DriftAlarm()
        self.held = np.empty((4, 0))
        self.prequential: Any
        self.pair: Any
        if self.settings.strata is None:
            self.prequential, self.pair = ScoreBins(_BINS), PairedScores(_BINS, half_life)
        else:
            self.prequential, self.pair = StratumSums(), PairedStrata(half_life)

    def prepare(self, prepared: Prepared | None) -> None:
        """Set how cells become features, before the first line."""
        self.prepared = prepared
        if prepared is not None and prepared.prior is not None:
            self.learner.rule = self.settings.rule(prepared.prior)

    @property
    def positive(self) -> int | None:
        """The code of the label to rank first; None until both labels were seen."""
        classes = self.learner.classes
        return self.learner.labels[classes[1]] if len(classes) == 2 else None

    @property
    def alarm(self) -> int | None:
        """The number, among all learnt rows, of the row that raised the drift alarm, or None."""
        row = self.drift.row
        if row is None or self.baseline is None:
            return None
        return self.alarm_end or self.baseline.rows + row

    def up_to_now(self) -> tuple[Any, Any]:
        """Return ``prequential`` and ``pair``, including the rows of the open stratum so far."""
        if not self.held.size or self.positive is None:
            return self.prequential, self.pair
        prequential, pair = deepcopy((self.prequential, self.pair))
        losses = self.losses_of(self.held, [0])
        losses.add_to(prequential, None if self.baseline is None else pair)
        return prequential, pair

    def losses_of(self, held: np.ndarray, starts: list[int]) -> StratumLosses:
        """Return the losses of strata by the learning and the frozen model.

        Parameters
        ----------
        held : ndarray, shape (4, n)
            As the attribute ``held``, for the rows of any strata.
        starts : list of int
            The first row of each stratum.
        """
        codes, weights, *scores = held
        places = np.array(starts, dtype=np.intp)
        weighting = self.settings.strata_weight
        return StratumLosses.of(codes == self.positive, weights, scores, places, weighting)

    def next_input(self) -> None:
        """Continue with a new input, such as the next log file."""
        self.offset, self.digest, self.earlier = 0, 0, self.lines

    def model(self) -> Any:
        """Return the model of all rows so far, for raw tables; ValueError if there is none."""
        moments, settings = self.learner.moments(), self.settings
        moments.target_name = settings.target
        steps = [] if self.prepared is None else self.prepared.steps
        if steps:
            moments.feature_names = None  # the steps in front name them
        prior = None if self.prepared is None else self.prepared.prior
        names = ("alpha", "positive", "strata_weight")
        of_model: dict[str, Any] = {name: getattr(settings, name) for name in names}
        if prior is None:
            return behind(steps, AUCClassifier(**of_model).fit_moments(moments))
        return prior.fitted(moments, of_model)

    def parser(self) -> Parser:
        """Return the parser of lines."""
        return self.settings.parser(self.header, self.sep, self.prepared is None)

    @property
    def sep(self) -> str:
        """The separator of CSV."""
        return self.settings.sep if self.prepared is None else self.prepared.sep


class Prediction(NamedTuple):
    """The prediction for a row before it was learnt.

    ``score`` is the log-odds of the positive label as if both labels were equally frequent, so that
    scores of successive models are comparable. ``probability`` is that of the positive label, or
    None within strata, where it depends on the level of the stratum.
    """

    line: int
    label: Any
    score: float
    probability: float | None


def advance(
    offset: int,
    lines: Iterable[bytes],
    state: State,
    on_bad: Callable[[int, str], None],
    on_row: Callable[[Prediction], None] | None = None,
) -> State:
    """Score each row, then learn it; return the state after the last line.

    Parameters
    ----------
    offset : int
        Position of the first line, which must be where ``state`` ended.
    lines : iterable of bytes
        Complete lines.
    state : State
        Changed in place.
    on_bad : callable
        Called with the number of an invalid line in its input, and the reason. If it raises, the
        state is that before the line.
    on_row : callable, optional
        Called with the prediction for each row that is learnt.
    """
    if offset != state.offset:
        raise ValueError(f"these lines begin at byte {offset}, the state ended at {state.offset}.")
    scored = (_Scored if state.settings.strata is None else _ScoredStrata)(state, on_row)
    try:
        for line in lines:
            try:
                scored.take(line)
            except (ValueError, RecursionError) as error:
                on_bad(state.lines - state.earlier + 1, str(error).rstrip("."))
                state.bad += 1
            state.lines += 1
            state.offset += len(line)
            state.digest = crc32(line, state.digest)
    finally:
        scored.count()
    return state


class _Scored:
    """Rows that were scored and learnt, but whose scores have not been counted yet."""

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
        """Process a line; ValueError if it is invalid, in which case nothing changes."""
        state = self.state
        if state.offset == 0 and state.settings.encoding in (None, "utf-8"):
            line = line.removeprefix(b"\xef\xbb\xbf")
        if state.header is not None and state.lines - state.earlier < TITLE_LINES:
            cells = _cells(line, state)
            if self._is_header(cells) or (state.titles and self._is_title(cells)):
                return
        if self._parse is None:
            if state.lines < state.titles:
                return
            header = _names_of(_cells(line, state))
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
        learner = state.learner
        label = label_as(row.label, {*learner.labels, state.settings.positive})
        features, unfit = row.features, list[str]()
        if state.prepared is not None:
            features, unfit = state.prepared.features(features)
            if not learner.names:  # the first row sets the order of all
                features = dict.fromkeys(state.prepared.names, 0.0) | features
        self._turn(features, label, row.stratum)
        baseline = state.baseline
        scorer = learner.scorer
        raw = scorer.score(features)
        if baseline is not None:
            frozen = baseline.scorer.slope * baseline.scorer.score(features)
        learner.learn(features, label, row.weight)
        if state.prepared is not None:
            state.prepared.unfit.update(unfit)
        self._codes.append(learner.labels[label])
        self._weights.append(row.weight)
        self._scores.append(scorer.slope * raw)
        if baseline is not None:
            self._frozen.append(frozen)
        if self._on_row is not None:
            prediction = scorer.slope * raw, self._probability(scorer, raw)
            self._on_row(Prediction(state.lines + 1, label, *prediction))
        state.rows += 1
        self._learnt()

    def _turn(self, features: dict[str, Any], label: Any, stratum: Any) -> None:
        """Prepare for a row, before it is scored; ValueError if it cannot be learnt."""

    def _learnt(self) -> None:
        """Follow up on a row that was learnt."""
        self._freeze()

    def _probability(self, scorer: Scorer, raw: float) -> float | None:
        return scorer.probability(raw)

    def _freeze(self) -> None:
        """Freeze the model if it is time."""
        state, learner = self.state, self.state.learner
        if (
            state.baseline is None
            and state.rows >= state.settings.freeze
            and learner.scorer.weights
        ):
            self.count()
            state.baseline = Baseline(state.rows, learner.scorer, summary(learner))

    def _is_header(self, cells: list[str]) -> bool:
        """Return whether cells are the header of the next file, with columns in any order."""
        state = self.state
        names, header = state.header or [], distinct([cell.strip() for cell in cells])
        if sorted(header) == sorted(names):
            state.header = header
            self._parse = state.parser()
            return True
        if 2 * len(set(cells) & set(names)) >= len(names):  # names, not values
            raise ValueError(f"this header has other names than {', '.join(names)}")
        return False

    def _is_title(self, cells: list[str]) -> bool:
        """Return whether cells are a title above the header of the next file."""
        names = self.state.header or []
        return len(cells) != len(names) and 2 * sum(map(bool, map(str.strip, cells))) < len(names)

    def count(self) -> None:
        """Count the scores of the rows."""
        state, codes = self.state, np.array(self._codes, dtype=np.int64)
        weight, frozen = np.array(self._weights), np.nan_to_num(self._frozen)
        # log-odds z as e^(asinh(z)/2): the bins near z = 0 are as wide as those near 1
        scores, spread = (np.exp(np.arcsinh(np.nan_to_num(z)) / 2) for z in (self._scores, frozen))
        state.prequential.add(codes, scores, weight)
        if state.baseline is not None:
            state.pair.add(codes, spread, scores, weight)
            state.drift.add(codes, frozen, weight, state.baseline.scorer.intercept)
        self._clear()


class _ScoredStrata(_Scored):
    """Rows of strata; the complete strata have not been counted yet."""

    def __init__(self, state: State, on_row: Callable[[Prediction], None] | None) -> None:
        super().__init__(state, on_row)
        self._hold(state.held)

    def _hold(self, held: np.ndarray) -> None:
        """Begin with the rows of the open stratum."""
        codes, self._weights, self._scores, self._frozen = held.tolist()
        self._codes = [*map(int, codes)]
        self._starts = [0] if codes else []

    def _turn(self, features: dict[str, Any], label: Any, stratum: Any) -> None:
        learner = self.state.learner
        assert isinstance(learner, StrataLearner)
        if learner.begins(features, label, stratum):
            self._starts.append(len(self._codes))
            self._freeze()

    def _learnt(self) -> None:
        if self.state.baseline is None:
            self._frozen.append(0.0)

    def _probability(self, scorer: Scorer, raw: float) -> None:
        """Return None: the probability of a label depends on the level of its stratum."""

    def count(self) -> None:
        """Count the complete strata; hold the rows of the open one."""
        state = self.state
        if not self._starts:
            return
        rows = np.nan_to_num([self._codes, self._weights, self._scores, self._frozen])
        *starts, last = self._starts
        complete, state.held = rows[:, :last], rows[:, last:]
        self._hold(state.held)
        self._starts = [0]
        if not starts:
            return
        losses, baseline = state.losses_of(complete, starts), state.baseline
        losses.add_to(state.prequential, None if baseline is None else state.pair)
        if baseline is not None and state.drift.row is None:
            self._watch(losses, baseline.scorer.intercept)

    def _watch(self, losses: StratumLosses, seed: float) -> None:
        """Pass the AUCs of strata by the frozen model to the alarm."""
        state, drift = self.state, self.state.drift
        units = drift.units
        losses.show(drift, seed)
        if drift.row is not None:
            ends = state.rows - state.held.shape[1] - losses.rows.sum() + losses.rows.cumsum()
            state.alarm_end = int(ends[drift.row - units - 1])


def summary(learner: StreamLearner) -> dict[str, np.ndarray]:
    """Return the class statistics for `Baseline`; empty with SPAM and within strata."""
    moments = learner.coded_moments()
    if moments is None or moments.strata is not None:
        return {}
    return {
        "counts": moments.counts,
        "rows": moments.effective_rows,
        "means": moments.means,
        "variances": moments.variances,
    }


def _awaits_header(state: State) -> bool:
    return state.settings.format == "csv" and state.header is None


def _cells(line: bytes, state: State) -> list[str]:
    return cells_of(text_of(line, state.settings.encoding).strip("\r\n"), state.sep)


def _names_of(cells: list[str]) -> list[str]:
    """Return the names of the columns, given the cells of a header."""
    names = distinct([cell.strip() for cell in cells])
    if not all(names):
        raise ValueError("the header has a column without a name")
    return names


# ---- files


def save_state(state: State, path: str | PathLike[str]) -> None:
    """Write a state; an old file is replaced only when the new one is complete.

    Parameters
    ----------
    state : State
    path : path
    """
    learner, baseline = state.learner, state.baseline
    arrays = named("learner", learner.arrays()) | named("prequential", state.prequential.arrays)
    arrays |= named("pair", state.pair.arrays) | named("drift", state.drift.arrays)
    if state.settings.strata is not None:
        arrays["held"] = state.held
    if baseline is not None:
        arrays |= named("baseline", baseline.statistics)
    facts = {
        "settings": state.settings.__dict__,
        **{name: getattr(state, name) for name in _NUMBERS},
        "header": state.header,
        "names": learner.names,
        "learnt": learner.rule.n_features,
        "labels": list(learner.labels.items()),
        "prequential": state.prequential.facts,
        "pair": state.pair.facts,
        "baseline": None if baseline is None else [baseline.rows, *baseline.scorer],
        "prepared": None if state.prepared is None else state.prepared.facts,
        "titles": state.titles,
        "alarm_end": state.alarm_end,
        "extra": state.extra,
    }
    pack_arrays(path, _KIND, facts, arrays, compressed=False)


def load_state(path: str | PathLike[str], settings: Settings) -> State:
    """Return a state that `save_state` wrote.

    Parameters
    ----------
    path : path
    settings : Settings
        The settings with which it was started; a ValueError names one that differs. A state that
        has not read a line accepts any.

    Raises
    ------
    ModelFileError
        If the file is not a state, is damaged, or is inconsistent.
    """
    with readable(path, "state of a stream"):
        facts, arrays = unpack_arrays(path, _KIND, lambda facts: _specs(facts, _blank(facts)))
        state = _restored(facts, arrays)
    if not state.lines:
        return State(settings, extra=state.extra)
    for name, value in settings.__dict__.items():
        is_left_to_state = value is None and name in _OF_STATE
        if not is_left_to_state and value != getattr(state.settings, name):
            raise ValueError(
                f"{path}: was started with {name}={getattr(state.settings, name)!r}, and this run "
                f"has {name}={value!r}; give the same settings, or another file to start anew."
            )
    return state


def _blank(facts: dict[str, Any]) -> State:
    """Return the state before the first line, with the settings of a file."""
    settings = facts["settings"]
    return State(Settings(**settings | {"drop": tuple(settings["drop"])}))


def _specs(facts: dict[str, Any], blank: State) -> Specs:
    """Return the declarations of the arrays of a state; ValueError if its facts are invalid."""
    names, labels = facts["names"], facts["labels"]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("its feature names are not distinct")
    if [code for _, code in labels] != list(range(len(labels))) or len(labels) > 2:
        raise ValueError("its labels are not two, with the codes 0 and 1")
    if len({label for label, _ in labels if is_label(label)}) < len(labels):
        raise ValueError("its labels are not distinct numbers or words")
    for name in (*_NUMBERS, "learnt", *({"titles", "alarm_end"} & facts.keys())):
        if not is_whole(facts[name]):
            raise ValueError(f"it has {name}={facts[name]!r}, not a whole number")
    if max(facts["rows"] + facts["bad"], facts["earlier"]) > facts["lines"]:
        raise ValueError("it has more rows than lines")
    learner = blank.learner.specs(len(names), facts["learnt"], len(labels))
    specs = named("learner", learner) | named("pair", blank.pair.specs())
    specs |= named("drift", blank.drift.specs)
    if isinstance(blank.prequential, StratumSums):
        return specs | named("prequential", blank.prequential.specs()) | _HELD
    specs |= named("prequential", bins_specs("prequential"))
    if facts["baseline"] is not None and blank.settings.learner == "moments":
        specs |= named("baseline", _BASELINE)
    return specs


def _restored(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> State:
    """Return a state from arrays that match their declarations; ValueError if inconsistent."""
    state = _blank(facts)
    state.prepare(Prepared.of_facts(facts.get("prepared")))
    for name in _NUMBERS:
        setattr(state, name, facts[name])
    state.learner.restore(
        facts["names"], {label: code for label, code in facts["labels"]}, part_of(arrays, "learner")
    )
    state.prequential.restore(facts["prequential"], part_of(arrays, "prequential"))
    state.pair.restore(facts["pair"], part_of(arrays, "pair"))
    state.drift.restore(part_of(arrays, "drift"))
    state.held, state.alarm_end = arrays.get("held", state.held), facts.get("alarm_end", 0)
    if isinstance(state.learner, StrataLearner) and state.learner.n_open != state.held.shape[1]:
        raise ValueError("its held rows are not those of the open stratum")
    state.header = _header_of(facts["header"], state.settings)
    if state.header is not None:
        state.parser()
    if facts["baseline"] is not None:
        state.baseline = _baseline(state, facts["baseline"], part_of(arrays, "baseline"))
    state.titles, state.extra = facts.get("titles", 0), facts["extra"]
    if not isinstance(state.extra, dict) or not all(map(is_whole, state.extra.values())):
        raise ValueError("the sizes of the files beside it are not whole numbers")
    return state


def _header_of(header: Any, settings: Settings) -> list[str] | None:
    """Return the column names of CSV; ValueError if they are invalid, or for another format."""
    if header is None:
        return None
    if settings.format != "csv" or not isinstance(header, list):
        raise ValueError("its header is not that of a CSV file")
    if not all(isinstance(name, str) and name for name in header) or len(set(header)) < len(header):
        raise ValueError("its header does not have distinct names")
    return header


def _baseline(state: State, facts: list[Any], statistics: dict[str, np.ndarray]) -> Baseline:
    """Return the frozen model; ValueError if it cannot be the stream's."""
    rows, weights, intercept, slope, prior, optimality = facts
    numbers = intercept, slope, prior
    if not is_whole(rows) or rows > state.rows:
        raise ValueError(f"it was frozen after {rows!r} of {state.rows} rows")
    names = set(state.learner.names)
    if not isinstance(weights, dict) or not weights.keys() <= names:
        raise ValueError("its frozen model has other features")
    values = [*weights.values(), *numbers]
    if not all(isinstance(value, float) for value in [*values, optimality]):
        raise ValueError("its frozen model has values that are not numbers")
    if not np.isfinite(values).all():
        raise ValueError("its frozen model has NaN or infinite numbers")
    if statistics and statistics["means"].shape[1] > len(names):
        raise ValueError("its frozen classes have other features")
    if statistics and np.any((statistics["counts"] > 0.0) & (statistics["rows"] <= 0.0)):
        raise ValueError("its frozen classes have weight and no rows")
    return Baseline(rows, Scorer(weights, intercept, slope, prior, optimality), statistics)


# rows of the open stratum
_HELD = {"held": ArraySpec((4, "held"))}
# class statistics at the freeze, for the features known by then
_BASELINE = {
    "counts": ArraySpec((2,), low=0.0),
    "rows": ArraySpec((2,), low=0.0),
    "means": ArraySpec((2, "features"), high=LARGEST),
    "variances": ArraySpec((2, "features"), low=0.0, high=LARGEST**2),
}
