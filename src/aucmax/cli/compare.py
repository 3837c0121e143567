"""``aucmax compare``: several algorithms on the same repeated splits of one data set."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from scipy.special import stdtr

from aucmax import metrics
from aucmax.cli._data import (
    Binarize,
    DataArgument,
    Scale,
    ScaleOption,
    TwoClasses,
    two_classes,
    words,
)
from aucmax.cli._shared import (
    Drop,
    Html,
    Json,
    Positive,
    Target,
    check_html,
    command_line,
    console,
    print_json,
    tell,
    working,
)
from aucmax.estimators import AUCClassifier, AUCClassifierCV
from aucmax.losses import LOSSES
from aucmax.objective import Objective
from aucmax.penalties import ElasticNet
from aucmax.problem import MemoryProblem
from aucmax.report.text import auc_text, gap_text, p_text
from aucmax.rows import as_rows
from aucmax.solvers import SOLVERS

__all__ = ["PairedTest", "compare", "resampled_test"]

TUNED, LOGISTIC = "tuned", "logistic"
REFERENCE_TOL = 1e-10
WARM_UP_ROWS = 40  # of each class


def compare(
    data: DataArgument,
    solvers: Annotated[
        str | None,
        typer.Option(
            "--solvers",
            metavar="A,B,…",
            help=f"Which to compare: {', '.join(SOLVERS)}, {TUNED} (AUCClassifierCV), {LOGISTIC} "
            "(scikit-learn's, class-balanced and tuned). All by default.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAME",
            help="The one that the tests compare with; by default the first.",
        ),
    ] = None,
    splits: Annotated[int, typer.Option("--splits", min=1, help="Random splits.")] = 5,
    test_size: Annotated[
        float, typer.Option("--test-size", help="Share of the rows held out in each split.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(min=0, help="Of the splits and the solvers.")] = 0,
    alpha: Annotated[float, typer.Option(help="Strength of the penalty, 0 or more.")] = 1e-4,
    l1_ratio: Annotated[
        float, typer.Option(help="Share of the l1 part of the penalty, from 0 to 1.")
    ] = 0.0,
    loss: Annotated[str, typer.Option(help=f"Pairwise loss: {', '.join(LOSSES)}.")] = "square",
    standardize: Annotated[
        float,
        typer.Option(help="From 0 (features as given) to 1 (features of equal spread)."),
    ] = 0.0,
    scale: ScaleOption = Scale.none,
    tol: Annotated[float, typer.Option(help="Optimality at which to stop.")] = 1e-4,
    max_iter: Annotated[int, typer.Option(help="Most iterations or epochs.")] = 1000,
    target: Target = None,
    positive: Positive = None,
    drop: Drop = None,
    binarize: Binarize = None,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Compare algorithms on the same random splits of one data set.

    Every solver minimises the same objective, at the same alpha; its distance to the true optimum
    is measured on the training rows: optimality (0 at the optimum) and the relative gap of the
    objective, each the largest over the splits. The two that are tuned by cross-validation on
    their training rows, "tuned" and "logistic", choose their own settings. Tests are paired:
    Nadeau and Bengio's corrected resampled t-test over the splits, or DeLong's test where there
    is one split; the verdict is "tie" unless p < 0.05.

    Examples:

        aucmax compare diabetes --standardize 1

        aucmax compare visits.csv --target booked --solvers exact,spam,logistic --html compare.html
    """
    check_html(html)
    names = _named(solvers)
    reference = _reference(against, names)
    if not 0 < test_size < 1:
        raise ValueError(f"--test-size must lie between 0 and 1; got {test_size:g}.")
    setting = Setting(alpha, l1_ratio, loss, standardize, tol, max_iter, seed)
    setting.check()
    with working(f"reading {data}", as_json):
        rows = two_classes(
            data, target=target, positive=positive, drop=drop, binarize=binarize, scale=scale
        )
        parts = _splits(rows, splits, test_size, seed)
    runs = [Run(name, error=_unfit(name, setting)) for name in names]
    for run in runs:
        run.unfit = run.error is not None
    with _bar(len(runs) * splits, as_json) as advance:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for run in (run for run in runs if not run.unfit):
                _warm_up(run, rows, setting)
        for part in parts:
            measure = Measure(rows, part, setting)
            for run in runs:
                advance(f"{run.name}, split {part.number} of {splits}")
                _run(run, rows, part, measure, setting)
            for run in runs:
                run.close(measure)
    report = _report(rows, runs, reference, parts, setting, scale)
    if all(run.error for run in runs):
        raise ValueError(f"none of the algorithms ran; {runs[0].name}: {runs[0].error}")
    if html is not None:
        with working("writing the report", as_json):
            _write_page(html, report, rows, runs, parts, setting)
        report["html"] = str(html)
    if as_json:
        print_json(report)
    else:
        _print(report)


# ---- what is compared


@dataclass(frozen=True)
class Setting:
    """The objective that every solver minimises, and when it stops."""

    alpha: float
    l1_ratio: float
    loss: str
    standardize: float
    tol: float
    max_iter: int
    seed: int

    def model(self, solver: Any, **other: Any) -> AUCClassifier:
        """The estimator for a solver."""
        settings = {"tol": self.tol, "max_iter": self.max_iter, **other}
        return AUCClassifier(
            self.alpha,
            self.l1_ratio,
            loss=self.loss,
            standardize=self.standardize,
            solver=solver,
            random_state=self.seed,
            **settings,
        )

    def check(self) -> None:
        """Raise ValueError for settings that no solver takes."""
        self.model("auto")._settings()


class Split(NamedTuple):
    """Row numbers of one split, counted from 1."""

    number: int
    train: np.ndarray
    test: np.ndarray


@dataclass
class Run:
    """What one algorithm gave, a value per split."""

    name: str
    aucs: list[float] = field(default_factory=list)
    scores: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    optimality: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    warning: str | None = None
    error: str | None = None
    unfit: bool = False  # does not take the loss or the penalty, and was not tried

    @property
    def on_objective(self) -> bool:
        """Whether it minimises the objective of the others."""
        return self.name in SOLVERS

    def close(self, measure: Measure) -> None:
        """Turn the objective of the last split into a gap, now that all have run."""
        if len(self.objectives) > len(self.gaps):
            self.gaps.append(measure.gap(self.objectives[-1]))


class Measure:
    """The objective on the training rows of one split, and the lowest value any solver found."""

    def __init__(self, rows: TwoClasses, part: Split, setting: Setting) -> None:
        X, y = rows.X[part.train], rows.is_positive[part.train]
        problem = MemoryProblem(as_rows(X), np.where(y, 1.0, -1.0)).scaled(setting.standardize)
        self.objective = Objective(
            problem, LOSSES[setting.loss], ElasticNet(setting.alpha, setting.l1_ratio)
        )
        self.lowest = np.inf
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = setting.model("auto", tol=REFERENCE_TOL, max_iter=max(setting.max_iter, 10_000))
            self.value(best.fit(X, y).coef_[0])

    def value(self, coef: np.ndarray) -> float:
        """J at coefficients for the features as given."""
        value = float(self.objective.value(self.objective.problem.from_features(coef)))
        if np.isfinite(value):
            self.lowest = min(self.lowest, value)
        return value

    def gap(self, value: float) -> float:
        """(J − J*) / J*."""
        return (value - self.lowest) / self.lowest if self.lowest > 0 else value - self.lowest


def _named(solvers: str | None) -> list[str]:
    known = [*SOLVERS, TUNED, LOGISTIC]
    if solvers is None:
        return known
    plain = {name.replace("_", ""): name for name in known}
    names = []
    for word in words(solvers):
        name = plain.get(word.lower().replace("-", "").replace("_", ""))
        if name is None:
            raise ValueError(f"--solvers: no algorithm {word!r}; there are {', '.join(known)}.")
        if name not in names:
            names.append(name)
    if not names:
        raise ValueError(f"--solvers names none; there are {', '.join(known)}.")
    return names


def _unfit(name: str, setting: Setting) -> str | None:
    """Why a solver is not for this objective, or None."""
    if name not in SOLVERS:
        return None
    kind = SOLVERS[name]
    if setting.loss not in kind.losses:
        return f"does not take loss {setting.loss}; it takes {', '.join(kind.losses)}"
    if setting.alpha * setting.l1_ratio > 0 and not kind.takes_l1:
        return "does not take an l1 penalty; it takes l1-ratio 0"
    return None


def _reference(against: str | None, names: list[str]) -> str | None:
    if against is None:
        return None
    try:
        (name,) = _named(against)
    except ValueError as error:
        raise ValueError(str(error).replace("--solvers", "--against")) from None
    if name not in names:
        raise ValueError(f"--against {against}: is not among those compared, {', '.join(names)}.")
    return name


def _splits(rows: TwoClasses, splits: int, test_size: float, seed: int) -> list[Split]:
    from sklearn.model_selection import StratifiedShuffleSplit

    positives, n = int(rows.is_positive.sum()), len(rows.y)
    if min(positives, n - positives) < 2:
        raise ValueError(f"{rows.name}: a split needs two rows of each class.")
    shuffled = StratifiedShuffleSplit(splits, test_size=test_size, random_state=seed)
    try:
        parts = list(shuffled.split(np.zeros(n), rows.y))
    except ValueError as error:
        raise ValueError(f"{rows.name}: {error}") from None
    for train, test in parts:
        for part in (train, test):
            if len(np.unique(rows.y[part])) < 2:
                raise ValueError(
                    f"{rows.name}: with --test-size {test_size:g} a part of a split has rows of "
                    "one class only; there are too few of the other."
                )
    return [Split(i, train, test) for i, (train, test) in enumerate(parts, 1)]


# ---- running


@contextlib.contextmanager
def _bar(total: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Turn a progress bar on stderr; yields a function to call before each piece of work."""
    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda words: None
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("compiling kernels", total=total, completed=0)
        started = iter([0] + [1] * total)

        def advance(words: str) -> None:
            progress.update(task, advance=next(started), description=words)

        yield advance


def _estimator(name: str, setting: Setting) -> Any:
    if name == LOGISTIC:
        from aucmax.rivals import BalancedLogisticRegression

        return BalancedLogisticRegression(random_state=setting.seed)
    if name == TUNED:
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(5, shuffle=True, random_state=setting.seed)
        return AUCClassifierCV(cv=folds)
    return setting.model(name)


def _warm_up(run: Run, rows: TwoClasses, setting: Setting) -> None:
    """Compile and import what the clock must not count; what fails will fail again later."""
    kinds = (np.flatnonzero(rows.is_positive), np.flatnonzero(~rows.is_positive))
    few = np.concatenate([kind[:WARM_UP_ROWS] for kind in kinds])
    model = _estimator(run.name, setting)
    if run.name == TUNED:
        model.set_params(alphas=[1.0])
    elif run.name == LOGISTIC:
        model.set_params(Cs=[0.01])
    else:
        model.set_params(max_iter=3)
    with contextlib.suppress(Exception):
        model.fit(rows.X[few], rows.y[few])


def _run(run: Run, rows: TwoClasses, part: Split, measure: Measure, setting: Setting) -> None:
    """One algorithm on one split; after a failure it is left out of the rest."""
    if run.error is not None:
        return
    X, y = rows.X[part.train], rows.y[part.train]
    model = _estimator(run.name, setting)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            started = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - started
        score = model.decision_function(rows.X[part.test])
        auc = metrics.roc_auc(rows.is_positive[part.test], score)
    except Exception as error:
        run.error = " ".join(str(error).split()) or type(error).__name__
        return
    for warning in caught:
        if issubclass(warning.category, UserWarning) and run.warning is None:
            run.warning = " ".join(str(warning.message).split())
    run.aucs.append(auc)
    run.scores.append(np.asarray(score))
    run.seconds.append(seconds)
    if run.on_objective:
        run.optimality.append(float(model.optimality_))
        run.objectives.append(measure.value(model.coef_[0]))


def _course(
    name: str, rows: TwoClasses, part: Split, setting: Setting
) -> tuple[list[float], list[float]]:
    """Passes over the rows of one split and the objective after each."""
    passes: list[float] = []
    values: list[float] = []

    def record(at: Any) -> None:
        passes.append(at.passes)
        values.append(at.objective)

    model = setting.model(name, callback=record)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows.X[part.train], rows.y[part.train])
    return passes, values


# ---- the test


class PairedTest(NamedTuple):
    """A difference of two algorithms over several splits.

    Parameters
    ----------
    difference : float
        The mean difference.
    statistic : float
        In its corrected standard errors.
    p_value : float
        Two-sided.
    """

    difference: float
    statistic: float
    p_value: float


def resampled_test(differences: Sequence[float], test_share: float) -> PairedTest:
    """Corrected resampled t-test for differences over random splits of the same rows.

    Parameters
    ----------
    differences : sequence of float
        One per split, at least two.
    test_share : float
        Number of test rows divided by the number of training rows.

    Returns
    -------
    PairedTest
        The mean difference, its t with len(differences) − 1 degrees of freedom, and p. Where all
        differences are equal, p is that of a sign test (1 if they are 0).

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error. Machine Learning 52, 239-281:
    the variance of the mean is (1/J + n_test/n_train) times the sample variance, because the
    training sets overlap.
    """
    d = np.asarray(differences, dtype=np.float64)
    mean, variance = float(d.mean()), float(d.var(ddof=1))
    if variance <= (1e-14 * max(abs(mean), 1e-300)) ** 2 or np.ptp(d) == 0:
        p = 1.0 if mean == 0 else min(1.0, 2.0 * 0.5 ** len(d))
        return PairedTest(mean, 0.0 if mean == 0 else float(np.copysign(np.inf, mean)), p)
    statistic = mean / np.sqrt((1 / len(d) + test_share) * variance)
    return PairedTest(mean, float(statistic), float(2 * stdtr(len(d) - 1, -abs(statistic))))


def _tested(run: Run, first: Run, rows: TwoClasses, parts: list[Split]) -> PairedTest:
    if len(parts) == 1:
        y = rows.is_positive[parts[0].test]
        return PairedTest(*metrics.auc_test(y, run.scores[0], first.scores[0]))
    share = len(parts[0].test) / len(parts[0].train)
    return resampled_test(np.subtract(run.aucs, first.aucs).tolist(), share)


# ---- the report


def _report(
    rows: TwoClasses,
    runs: list[Run],
    reference: str | None,
    parts: list[Split],
    setting: Setting,
    scale: Scale,
) -> dict[str, Any]:
    done = [run for run in runs if run.error is None]
    first = next((run for run in done if reference in (None, run.name)), None)
    entries = []
    for run in runs:
        status = "unfit" if run.unfit else "failed" if run.error is not None else "done"
        entry: dict[str, Any] = {"name": run.name, "status": status, "error": run.error}
        if run.error is None:
            entry |= {
                "auc": float(np.mean(run.aucs)),
                "auc_std": float(np.std(run.aucs, ddof=1)) if len(parts) > 1 else None,
                "aucs": run.aucs,
                "seconds": float(np.mean(run.seconds)),
                "optimality": max(run.optimality) if run.on_objective else None,
                "gap": max(run.gaps) if run.on_objective else None,
                "warning": run.warning,
            }
            if first is not None and run is not first:
                test = _tested(run, first, rows, parts)
                better = "better" if test.difference > 0 else "worse"
                verdict = better if test.p_value < 0.05 else "tie"
                entry |= {**test._asdict(), "verdict": verdict}
        entries.append(entry)
    return {
        **rows.facts(),
        "splits": len(parts),
        "training_rows": len(parts[0].train),
        "test_rows": len(parts[0].test),
        "seed": setting.seed,
        "alpha": setting.alpha,
        "l1_ratio": setting.l1_ratio,
        "loss": setting.loss,
        "standardize": setting.standardize,
        "scale": scale.value,
        "tol": setting.tol,
        "max_iter": setting.max_iter,
        "against": None if first is None else first.name,
        "test": (
            "DeLong's paired test"
            if len(parts) == 1
            else "Nadeau and Bengio's corrected resampled t-test"
        ),
        "solvers": entries,
    }


def _cells(entry: dict[str, Any]) -> tuple[str, ...]:
    """AUC, std, p, verdict, seconds, optimality and gap as text."""
    std, test = entry["auc_std"], "p_value" in entry
    return (
        auc_text(entry["auc"]),
        "–" if std is None else f"{std:.4f}",
        p_text(entry["p_value"]) if test else "–",
        entry["verdict"] if test else "–",
        _seconds(entry["seconds"]),
        "–" if entry["optimality"] is None else f"{entry['optimality']:.1e}",
        "–" if entry["gap"] is None else gap_text(entry["gap"]),
    )


def _status(entry: dict[str, Any]) -> tuple[str]:
    """What stands for the numbers of one that did not run."""
    return ("–" if entry["status"] == "unfit" else "failed",)


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def _settings_text(report: dict[str, Any]) -> str:
    names = ("loss", "alpha", "l1_ratio", "standardize")
    text = ", ".join(
        f"{name.replace('_', ' ')} {report[name] if name == 'loss' else format(report[name], 'g')}"
        for name in names
    )
    return text if report["scale"] == "none" else f"{text}, rows of unit norm"


def _words(report: dict[str, Any]) -> list[str]:
    """How to read the table."""
    many = report["splits"] > 1
    test_words = (
        f"over the {report['splits']} splits, {report['splits'] - 1} degrees of freedom"
        if many
        else "on the test rows"
    )
    lines = [
        f"p: {report['test']} {test_words}, against {report['against']}; a tie unless p < 0.05, "
        "without correction for the number of tests.",
        f"seconds: one fit, mean of the splits. optimality and gap (J − J*) / J*: on the training "
        f"rows{', the largest of the splits' if many else ''}.",
    ]
    titles = {
        TUNED: f"{TUNED} (AUCClassifierCV)",
        LOGISTIC: f"{LOGISTIC} (scikit-learn's, class-balanced)",
    }
    own = [titles[entry["name"]] for entry in report["solvers"] if entry["name"] in titles]
    if own:
        lines.append(
            f"Settings chosen by cross-validation on the training rows, within the seconds: "
            f"{' and '.join(own)}."
        )
    return lines


def _notes(report: dict[str, Any]) -> list[str]:
    """What went wrong, and what did not converge."""
    notes = [f"{e['name']}: {e['error']}" for e in report["solvers"] if e["status"] == "failed"]
    return notes + [f"{e['name']}: {e['warning']}" for e in report["solvers"] if e.get("warning")]


def _left_out(report: dict[str, Any]) -> list[str]:
    """Solvers that are not for this objective, and why."""
    return [f"{e['name']} {e['error']}." for e in report["solvers"] if e["status"] == "unfit"]


def _print(report: dict[str, Any]) -> None:
    screen = console()
    share = report["positives"] / report["rows"]
    screen.print(
        f"{report['data']}: {report['rows']:,} rows, {report['features']:,} features, "
        f"{100 * share:.3g} % positive (label {report['positive']})"
    )
    plural = "" if report["splits"] == 1 else "s"
    screen.print(
        f"{report['splits']} split{plural}: {report['training_rows']:,} rows to train, "
        f"{report['test_rows']:,} to test; seed {report['seed']}"
    )
    screen.print(f"{_settings_text(report)}\n")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", no_wrap=True)
    heads = ("test AUC", "std", "p", "verdict", "seconds", "opti-\nmality", "gap to\nJ*")
    for head in heads:
        side = "left" if head == "verdict" else "right"
        table.add_column(head, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for entry in report["solvers"]:
        if entry["error"] is None:
            table.add_row(entry["name"], *_cells(entry))
        else:
            table.add_row(entry["name"], *_status(entry))
    screen.print(table)
    screen.print()
    for line in [*_left_out(report), *_words(report)]:
        screen.print(line, style="dim")
    if "html" in report:
        screen.print(f"\nreport written to {report['html']}", soft_wrap=True)
    for note in _notes(report):
        tell("warning", note)


# ---- the page


def _write_page(
    path: Path,
    report: dict[str, Any],
    rows: TwoClasses,
    runs: list[Run],
    parts: list[Split],
    setting: Setting,
) -> None:
    from aucmax.report.page import Page, ResultTable, Section, write_page
    from aucmax.report.provenance import provenance

    heads = ("", "test AUC", "std", "p", "verdict", "seconds", "optimality", "relative gap")
    cells = [
        (entry["name"], *_cells(entry))
        if entry["error"] is None
        else (entry["name"], *_status(entry), *[""] * 6)
        for entry in report["solvers"]
    ]
    best = max((e["auc"] for e in report["solvers"] if e["error"] is None), default=None)
    strong = [
        i
        for i, e in enumerate(report["solvers"])
        if e["error"] is None and auc_text(e["auc"]) == auc_text(best or 0)
    ]
    table = ResultTable(
        heads,
        cells,
        " ".join(["Bold: the highest mean AUC.", *_left_out(report), *_words(report)]),
        strong=strong if len(strong) < len(cells) else (),
        words=(4,),
    )
    sections = [Section("Results", f"{_settings_text(report).capitalize()}.", [table])]
    notes = _notes(report)
    if notes:
        told = [tuple(note.split(": ", 1)) for note in notes]
        sections.append(
            Section("What went wrong", tables=[ResultTable(("", "message"), told, words=(1,))])
        )
    done = [run for run in runs if run.error is None]
    if done:
        sections.append(_curves(report, rows, done, parts))
    plural = "" if len(parts) == 1 else "s"
    facts = [("data", rows.described()), ("splits", f"{len(parts)} random, stratified")]
    page = Page(
        f"Algorithms compared on {rows.name}",
        f"{rows.described()}. {len(parts)} random split{plural} into {len(parts[0].train):,} rows "
        f"to train and {len(parts[0].test):,} to test, the same for all.",
        [*sections, *_convergence(done, rows, parts[0], setting)],
        provenance=provenance(command_line(), facts, setting.seed),
    )
    write_page(page, path)


def _curves(report: dict[str, Any], rows: TwoClasses, done: list[Run], parts: list[Split]) -> Any:
    from aucmax.report import curves, figures
    from aucmax.report.page import Section

    tests = [rows.is_positive[part.test] for part in parts]
    shown = {run.name: list(zip(tests, run.scores, strict=True)) for run in done}
    bands = [name for name in (report["against"], LOGISTIC) if name in shown]
    if len(parts) > 1:
        roc = {name: curves.mean_roc(pairs) for name, pairs in shown.items()}
        pr = {name: curves.mean_precision_recall(pairs) for name, pairs in shown.items()}
        roc_words = "Mean recall over the splits at each false-positive rate. Band: one standard "
        pr_words = "Mean precision over the splits at each recall. Band: one standard "
        tail = f"deviation of the splits to either side, for {' and '.join(bands)}."
    else:
        roc = {name: curves.roc(*pairs[0], 0.95) for name, pairs in shown.items()}
        pr = {name: curves.precision_recall(*pairs[0], 0.95) for name, pairs in shown.items()}
        roc_words = "Band: around each threshold the joint 95 % region of both rates, "
        pr_words = "Band: the 95 % interval for the precision at each threshold, "
        tail = f"from Wilson's binomial intervals; pointwise; for {' and '.join(bands)}."
    details = {run.name: f"AUC {auc_text(float(np.mean(run.aucs)))}" for run in done}
    return Section(
        "Curves",
        drawings=[
            figures.curves_drawing(
                "roc", roc, name="roc", title="ROC curve", caption=roc_words + tail,
                details=details, bands=bands,
            ),
            figures.curves_drawing(
                "precision-recall", pr, name="pr", title="Precision and recall",
                caption=pr_words + tail + " Dotted: the share of positives.",
                bands=bands, share=float(rows.is_positive.mean()),
            ),
        ],
    )  # fmt: skip


def _convergence(done: list[Run], rows: TwoClasses, part: Split, setting: Setting) -> list[Any]:
    """The way of each solver to the optimum, on the first split, from a run of its own."""
    from aucmax.report import figures
    from aucmax.report.page import Section

    solvers = [run for run in done if run.on_objective]
    if not solvers:
        return []
    measure = Measure(rows, part, setting)
    courses = {}
    for run in solvers:
        with contextlib.suppress(Exception):
            passes, values = _course(run.name, rows, part, setting)
            measure.lowest = min(measure.lowest, *values, run.objectives[0])
            courses[run.name] = (passes, values)
    drawing = figures.convergence_drawing(
        {
            name: (passes, [measure.gap(value) for value in values])
            for name, (passes, values) in courses.items()
        },
        name="gap",
        title="Distance to the true optimum",
        caption="Relative gap (J − J*) / J* on the training rows of the first split, from runs "
        f"that stop at optimality {setting.tol:g}; J* is the lowest value found, by the batch "
        f"solver at optimality {REFERENCE_TOL:g}. Below about 1e-14 is rounding.",
    )
    return [Section("Convergence", drawings=[drawing])]
