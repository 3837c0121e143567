"""The computations and the report of ``aucmax demo``: rare events, with every number computed now.

It needs none of the packages for the command line: ``print(plain(computed(0).page()))`` works
without them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from aucmax import metrics
from aucmax.estimators import AUCClassifier, AUCClassifierCV
from aucmax.experiments.rivals import BalancedLogisticRegression
from aucmax.experiments.trial import timed_fit
from aucmax.metrics import AUCInterval
from aucmax.metrics.scored import Scored
from aucmax.report.comparison import Difference, paired_test
from aucmax.report.curves import ScoredSets, gains_figure
from aucmax.report.operating import operating_points
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, inline, optional, unlisted
from aucmax.report.text import auc_text, difference_text, interval_text, p_words
from aucmax.statistics.moments import ClassMoments

__all__ = ["NEXT", "Data", "Demo", "computed"]

HELD_OUT = 0.4
FOLDS = 5
LOSSES = ("square",)  # with which the tuned model can merge and forget
ALERTS = (20, 50, 100, 200)
SITES = 3
NEXT = (
    "aucmax train your.csv --target label -o model.aucmax",
    "aucmax evaluate model.aucmax holdout.csv --logistic your.csv --html page.html",
    "aucmax show model.aucmax",
)
RANKS = {"tie": "equally well (a tie)", "better": "better", "worse": "worse"}

PAYMENTS, FRAUDS, FEATURES, CUSTOMERS = 50_000, 200, 30, 2_000
KINDS = 3  # of fraud
EIGHTS = 87  # of 174; the others are left out


class Data(NamedTuple):
    """A data set in two parts; y is 1 for the class to rank first, else 0."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Side:
    """A tuned model on held-out rows."""

    auc: AUCInterval = inline()
    seconds: float  # to tune and refit
    settings_tried: int
    alpha: float | None = optional()
    standardize: float | None = optional()
    C: float | None = optional()
    standardized: bool | None = optional()


@dataclass(frozen=True, kw_only=True)
class Duel:
    """Both sides tuned on the same folds of a data set, and tested on the same rows."""

    data: str
    training_rows: int
    test_rows: int
    test_positives: int
    features: int
    aucmax: Side
    logistic_regression: Side
    times_as_fast: float
    test: Difference = inline()

    def __str__(self) -> str:
        return (
            f"{self.training_rows:,} training rows, {self.test_rows:,} test rows, {self.features} "
            "features"
        )


@dataclass(frozen=True, kw_only=True)
class Alerts:
    """What checking the rows with the highest scores finds."""

    alerts: int
    hits: int
    recall: float
    lift: float
    false_alarms_per_hit: float | None


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A model after a customer's rows were deleted, compared with a fit without them."""

    customer: int
    rows: int
    frauds: int
    seconds: float
    difference: float  # from the fit without them, relative to its largest coefficient
    had_moved: float  # the same for the model with them

    def __str__(self) -> str:
        return (
            f"Customer {self.customer} wants to be forgotten: {self.rows} payments, {self.frauds} "
            f"of them fraud.\nForgotten in {1e3 * self.seconds:.1f} ms, without reading any other "
            f"row. A fit without\nthem gives the same model, to "
            f"{digits_that_agree(self.difference)} digits; before, it was {self.had_moved:.1%} off."
        )


@dataclass(frozen=True, kw_only=True)
class Merging:
    """The model merged from the moments of several sites, compared with that of all rows."""

    sites: int
    bytes_sent: int
    bytes_of_rows: int
    difference: float
    auc: float
    auc_of_one_site: float

    def __str__(self) -> str:
        return (
            f"Each of {self.sites} sites sends {self.bytes_sent / 1e3:.0f} kB of sums, and none of "
            f"its {self.bytes_of_rows / 1e6:.1f} MB of rows. Added up,\nthey give the model of all "
            f"rows, to {digits_that_agree(self.difference)} digits: "
            f"test AUC {auc_text(self.auc)}; one\n"
            f"site alone has {auc_text(self.auc_of_one_site)}."
        )


@dataclass(frozen=True, kw_only=True)
class Demo(Report):
    """The report of ``aucmax demo``, 80 columns wide as text, with one figure for a browser."""

    seed: int
    comparison: Sequence[Duel]
    alerts: Sequence[Alerts]
    deletion: Deletion
    merging: Merging
    next: Sequence[str] = NEXT
    seconds: float
    held_out: Mapping[str, Scored] = unlisted()  # payments, by scorer

    def page(self, command: str = "aucmax demo") -> Page:
        """Return the page; ``command`` is what was run."""
        payments, digits = self.comparison
        points = [operating_points(name, test) for name, test in self.held_out.items()]
        commands = "\n".join(f"  {command}" for command in NEXT)
        took = f"seed {self.seed}, {self.seconds:.1f} seconds in all"
        data = [
            ("data", f"{duel.data} ({source}): {duel}")
            for duel, source in ((payments, "generated"), (digits, "scikit-learn"))
        ]
        best = self.alerts[2]
        return Page(
            "Rare events with aucmax",
            f"Rare events: {FRAUDS} frauds among {PAYMENTS:,} card payments, generated. Every "
            "number here\nwas computed by this run.",
            [
                self._tuned(),
                self._alerted(),
                Section("3  A customer's rows deleted, exactly", str(self.deletion)),
                Section("4  Three sites, one model, no row shared", str(self.merging)),
                Section("5  Next, on a file of your own", f"{commands}\n\n{took}"),
                Section("Choosing how many payments to check", points=points, on_terminal=False),
            ],
            provenance=provenance(command, data, self.seed),
            verdict=f"The first {best.alerts} of {payments.test_rows:,} payments hold {best.hits} "
            f"of {payments.test_positives} frauds. Tuned {_times(payments.times_as_fast)} as fast "
            f"as logistic regression, and ranks {RANKS[payments.test.verdict]}.",
        )

    def _tuned(self) -> Section:
        rows: list[tuple[str, ...]] = []
        heads = []
        for duel in self.comparison:
            heads.append(len(rows))
            rows.append((duel.data, "", "", f"{duel.test_positives} of {duel.test_rows:,} rows"))
            sides = {"aucmax": duel.aucmax, "logistic regression": duel.logistic_regression}
            for name, side in sides.items():
                auc, low, high, _ = side.auc
                interval = interval_text(low, high)
                rows.append((f"  {name}", f"{side.seconds:.2f}", auc_text(auc), interval))
            test, faster = duel.test, _times(duel.times_as_fast)
            summary = f"  {faster} as fast; {test.verdict}, {p_words(test.p_value)}"
            rows.append((summary, "", *difference_text(test.difference, test.low, test.high)))
        payments = self.comparison[0]
        ours, theirs = payments.aucmax.settings_tried, payments.logistic_regression.settings_tried
        caption = (
            f"Seconds to choose among {ours} settings (square loss; logistic: {theirs}) by "
            f"{FOLDS} folds\nand to refit, on one thread. Logistic regression: scikit-learn, "
            f"class-balanced.\nAUC on the {HELD_OUT:.0%} held out, p by DeLong's test, a tie "
            "unless p < 0.05.\nThe digits are real; half of the 8s are left out."
        )
        head = ("", "seconds", "test AUC", "95 % interval")
        title = "1  Tuned in a fraction of the usual time"
        return Section(title, tables=[ResultTable(head, rows, caption, heads)])

    def _alerted(self) -> Section:
        payments = self.comparison[0]
        rows = [
            (
                f"{at.alerts:,}",
                f"{at.hits} of {payments.test_positives}",
                f"{at.lift:.0f} times",
                "none found"
                if at.false_alarms_per_hit is None
                else f"{at.false_alarms_per_hit:.1f}",
            )
            for at in self.alerts
        ]
        head = ("alerts a day", "frauds found", "as many as at random", "false alarms per hit")
        caption = f"The {payments.test_rows:,} payments held out, taken as those of one day."
        tests = ScoredSets({name: [test] for name, test in self.held_out.items()})
        return Section(
            "2  What a day's alerts are worth",
            tables=[ResultTable(head, rows, caption)],
            figures=[gains_figure(tests)],
        )


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= 10 else f"{factor:.2g} times"


def digits_that_agree(difference: float) -> int:
    """Return the number of digits that agree, out of about sixteen."""
    return min(15, math.floor(-math.log10(max(difference, 1e-16))))


def computed(seed: int, tell: Callable[[str], object] = lambda task: None) -> Demo:
    """Run the demo.

    Parameters
    ----------
    seed : int
        Of the generated rows, the split and the folds.
    tell : callable
        Called with the name of the next stage.
    """
    started = time.perf_counter()
    # BLAS threads do not help with such small matrices, and slow a busy machine
    with threadpool_limits(1):
        tell("generating payments, loading digits")
        data, customer = payments(seed)
        digits = rare_digits(seed)
        tell("compiling kernels (first run only)")
        for rows in (data, digits):  # fits to few numbers need no kernels
            _warm_up(rows)
        tell("payments: tuning aucmax and logistic regression")
        model, held_out, on_payments = _compared(data, seed)
        tell("digits: tuning aucmax and logistic regression")
        _, _, on_digits = _compared(digits, seed)
        tell("deleting a customer, merging sites")
        return Demo(
            seed=seed,
            comparison=[on_payments, on_digits],
            alerts=alerts(held_out["aucmax"]),
            deletion=_deletion(data, customer, model),
            merging=_merging(data, model),
            seconds=time.perf_counter() - started,
            held_out=held_out,
        )


# ---- the data


def payments(seed: int) -> tuple[Data, np.ndarray]:
    """Generate card payments, some of them fraud, and the customer of each training row.

    The features share factors, have heavy tails (Student's t with 4 degrees of freedom) and units
    of their own. Each of three kinds of fraud shifts about a quarter of them, by a different amount
    in each payment: the truth is neither a model of aucmax nor a logistic regression.
    """
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(PAYMENTS, 6)) @ rng.normal(scale=0.6, size=(6, FEATURES))
    X = rng.standard_t(4, size=(PAYMENTS, FEATURES)) + shared
    is_fraud = rng.permutation(PAYMENTS) < FRAUDS
    moves = rng.normal(scale=1.4, size=(KINDS, FEATURES)) * (rng.random((KINDS, FEATURES)) < 0.25)
    by = rng.uniform(0.5, 1.5, size=(FRAUDS, 1))
    X[is_fraud] += moves[rng.integers(KINDS, size=FRAUDS)] * by * X.std(axis=0)
    X *= np.exp(rng.normal(size=FEATURES))
    name = f"payments, 1 in {PAYMENTS // FRAUDS} fraud"
    customer = rng.integers(CUSTOMERS, size=PAYMENTS)
    data, train = _split(name, X, is_fraud.astype(int), seed)
    return data, customer[train]


def rare_digits(seed: int) -> Data:
    """Return the handwritten digits of scikit-learn, with few of the eights: a real rare class."""
    digits = load_digits()
    is_eight = digits.target == 8
    sampled = ~is_eight
    sampled[np.random.default_rng(seed).permutation(np.flatnonzero(is_eight))[:EIGHTS]] = True
    share = round(np.count_nonzero(sampled) / EIGHTS)
    y = is_eight[sampled].astype(int)
    return _split(f"digits, 1 in {share} an 8", digits.data[sampled], y, seed)[0]


def _split(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[Data, np.ndarray]:
    """Hold some rows out; return the data and the numbers of the training rows."""
    train, test = train_test_split(
        np.arange(len(y)), test_size=HELD_OUT, stratify=y, random_state=seed
    )
    return Data(name, X[train], y[train], X[test], y[test]), train


# ---- the results


def _warm_up(data: Data) -> None:
    """Warm up outside the timed region: compile and import for both sides."""
    model = AUCClassifierCV(losses=LOSSES, cv=2).fit(data.X, data.y).best_estimator_
    model.forget(data.X[:1], data.y[:1]).decision_function(data.X)
    BalancedLogisticRegression(grid=[0.01], cv=2).fit(data.X, data.y)


def _compared(data: Data, seed: int) -> tuple[AUCClassifier, dict[str, Scored], Duel]:
    """Tune both sides on the same folds of the training rows, and test on the held-out rows."""
    ours = AUCClassifierCV(
        losses=LOSSES, cv=StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    )
    theirs = BalancedLogisticRegression(cv=FOLDS, random_state=seed)
    our_seconds, our_test = _tested(ours, data)
    their_seconds, their_test = _tested(theirs, data)
    duel = Duel(
        data=data.name,
        training_rows=len(data.y),
        test_rows=len(data.y_test),
        test_positives=int(data.y_test.sum()),
        features=data.X.shape[1],
        aucmax=Side(
            auc=metrics.auc_interval(data.y_test, our_test.score),
            seconds=our_seconds,
            settings_tried=int(np.isfinite(ours.auc_path_[0]).sum()),
            alpha=ours.alpha_,
            standardize=ours.standardize_,
        ),
        logistic_regression=Side(
            auc=metrics.auc_interval(data.y_test, their_test.score),
            seconds=their_seconds,
            settings_tried=theirs.n_settings_,
            C=theirs.C_,
            standardized=theirs.standardized_,
        ),
        times_as_fast=their_seconds / our_seconds,
        test=paired_test(our_test.positive, our_test.score, their_test.score),
    )
    return ours.best_estimator_, {"aucmax": our_test, "logistic regression": their_test}, duel


def _tested(model: Any, data: Data) -> tuple[float, Scored]:
    """Fit a model; return the seconds that it took, and the scored test rows."""
    seconds = timed_fit(model, data.X, data.y)
    return seconds, Scored(data.y_test == 1, model.decision_function(data.X_test))


def alerts(test: Scored) -> list[Alerts]:
    """Count the positives among the rows with the highest scores."""
    hits = np.cumsum(test.positive[np.argsort(-test.score, kind="stable")])
    return [
        Alerts(
            alerts=k,
            hits=int(hits[k - 1]),
            recall=float(hits[k - 1] / hits[-1]),
            lift=float(hits[k - 1] / k / test.share),
            false_alarms_per_hit=float((k - hits[k - 1]) / hits[k - 1]) if hits[k - 1] else None,
        )
        for k in ALERTS
    ]


def _deletion(data: Data, customer: np.ndarray, tuned: AUCClassifier) -> Deletion:
    """Delete the customer with most frauds from the model, and compare with a fit without them."""
    frauds = np.bincount(customer, data.y, CUSTOMERS)
    chosen = int(np.argmax(frauds + 1e-3 * np.bincount(customer, minlength=CUSTOMERS)))
    deleted = customer == chosen
    model = clone(tuned).fit(data.X, data.y)
    before = clone(tuned).fit(data.X, data.y)
    started = time.perf_counter()
    model.forget(data.X[deleted], data.y[deleted])
    seconds = time.perf_counter() - started
    refit = clone(tuned).fit(data.X[~deleted], data.y[~deleted])
    return Deletion(
        customer=chosen,
        rows=int(deleted.sum()),
        frauds=int(data.y[deleted].sum()),
        seconds=seconds,
        difference=_difference(model, refit),
        had_moved=_difference(before, refit),
    )


def _merging(data: Data, tuned: AUCClassifier) -> Merging:
    """Compare the model merged from three sites with that of all their rows."""
    at_sites = [ClassMoments.from_data(data.X[i::SITES], data.y[i::SITES]) for i in range(SITES)]
    merged = clone(tuned).fit_moments(sum(at_sites, ClassMoments()))
    pooled = clone(tuned).fit(data.X, data.y)
    one_site = clone(tuned).fit_moments(at_sites[0])
    return Merging(
        sites=SITES,
        bytes_sent=at_sites[0].nbytes(data.X.shape[1]),
        bytes_of_rows=data.X[::SITES].nbytes,
        difference=_difference(merged, pooled),
        auc=metrics.roc_auc(data.y_test, merged.decision_function(data.X_test)),
        auc_of_one_site=metrics.roc_auc(data.y_test, one_site.decision_function(data.X_test)),
    )


def _difference(a: AUCClassifier, b: AUCClassifier) -> float:
    """Return the largest difference of two models' coefficients, relative to the largest one."""
    return float(np.max(np.abs(a.coef_ - b.coef_)) / np.max(np.abs(b.coef_)))
