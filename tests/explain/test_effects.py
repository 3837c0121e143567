"""Effects and their intervals: the sandwich against its oracles; the reasons of single scores."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import stdtrit
from sklearn.linear_model import LogisticRegression

from aucmax import AUCClassifier, AUCClassifierCV, AUCRanker, HingeClassifier, effects, reasons
from aucmax.data.rows import as_rows
from aucmax.explain import feature_effects, row_reasons
from aucmax.explain.feature_effects import labelled, sampling_of
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import MCP, ElasticNet, Weighted
from aucmax.objective.problem import RowsProblem
from aucmax.objective.sandwich import sandwich
from oracles.sandwich import by_pairs, by_weights, jackknife

SMOOTH = ("square", "squared_hinge")


def rows(n=60, d=3, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y[:2] = 0, 1
    return rng.normal(size=(n, d)) * [1, 3, 0.2][:d] + np.outer(y, [1.0, 0.5, 0.0][:d]), y


@pytest.mark.parametrize("name", SMOOTH)
def test_the_sandwich_is_that_of_the_pairs(name):
    X, y = rows()
    loss, bend = LOSSES[name], np.array([0.1, 0.2, 0.3])
    objective = Objective(RowsProblem.of(as_rows(X), 2.0 * y - 1), loss, ElasticNet(1.0, 0.0))
    w = np.array([0.4, 0.1, -0.3])

    def at(kind):
        return lambda t: float(kind(np.array([t]))[0])

    literal = by_pairs(X, y == 1, w, at(loss.derivative), at(loss.curvature), bend)
    assert sandwich(objective, w, bend) == pytest.approx(literal, rel=1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_influences_do_not_depend_on_the_way_to_them(name):
    X, y = rows()
    s = np.random.default_rng(1).exponential(size=len(y))
    for label in (0, 1):
        s[y == label] /= s[y == label].sum()
    loss, sign, z = LOSSES[name], 2.0 * y - 1, X @ [0.4, 0.1, -0.3]
    by_every_pair = super(type(loss), loss).influences(z, sign, s, X)
    own = loss.influences(z, sign, s, X)
    for label in (0, 1):  # up to a constant for each class
        apart = (own - by_every_pair)[y == label]
        assert apart == pytest.approx(np.broadcast_to(apart[0], apart.shape), abs=1e-12)


@pytest.mark.parametrize(
    ("loss", "within", "alpha", "standardize", "rel"),
    [("square", 0.5, 0.03, 0.0, 0.05), ("square", 0.1, 0.03, 0.0, 0.05),
     ("squared_hinge", 0.5, 0.03, 0.0, 0.05), ("logistic", 0.5, 0.03, 0.0, 0.05),
     ("logistic", 0.2, 0.03, 0.0, 0.05),
     ("square", 0.5, 0.5, 1.0, 0.02),
     ("logistic", 0.5, 0.5, 0.5, 0.02)],
)  # fmt: skip
def test_errors_are_those_of_the_jackknife(loss, within, alpha, standardize, rel):
    X, y = rows(160 if rel > 0.02 else 240, share=0.4)
    model = AUCClassifier(alpha, loss=loss, within=within, standardize=standardize, tol=1e-12)
    found = effects(model.fit(X, y), X, y)
    spread = model.spread_
    assert np.all(np.diff(np.abs(found.effect)) <= 0)
    quantile = stdtrit(min(np.bincount(y)) - 1, 0.975)
    error = (found.high - found.low) / 2 / quantile
    literal = jackknife(lambda X, y: model.fit(X, y).coef_[0], X, y) * np.sqrt(spread)
    assert error == pytest.approx(literal[found.feature.astype(int) - 1], rel=rel)


PENALTIES = {
    "l2": {"alpha": 0.5},
    "weak": {"alpha": 1e-3},
    "l1": {"alpha": 0.1, "l1_ratio": 1.0},
    "elastic net": {"alpha": 0.1, "l1_ratio": 0.5},
    "weighted": {"penalty": Weighted(ElasticNet(0.3, 0.1), [0.0, 1.0, 2.0])},
    "mcp": {"penalty": MCP(0.2, 5.0)},
    "bounds": {"alpha": 0.1, "coef_bounds": [(0.0, 0.1), (None, None), (None, None)]},
}


@pytest.mark.parametrize(
    ("loss", "standardize", "penalty"),
    [*(("square", 0.5, name) for name in PENALTIES), ("square", 1.0, "l2"), ("square", 1.0, "l1"),
     ("squared_hinge", 0.5, "l2"), ("squared_hinge", 1.0, "l1"), ("logistic", 0.5, "l2"),
     ("logistic", 1.0, "elastic net"), ("logistic", 0.5, "bounds")],
)  # fmt: skip
def test_covariances_are_those_of_rows_a_little_heavier(loss, standardize, penalty):
    X, y = rows(30)
    weight = np.random.default_rng(1).uniform(0.3, 2.0, len(y))
    settings = {"loss": loss, "standardize": standardize, "tol": 1e-13}
    model = AUCClassifier(**settings, **PENALTIES[penalty])
    literal = by_weights(lambda weight: model.fit(X, y, weight).coef_[0].copy(), y, weight)
    model.fit(X, y, weight)
    sampling = sampling_of(*labelled(model, X, y, weight, None))
    errors = np.sqrt(np.diag(literal)[sampling.features])
    apart = sampling.covariance - literal[np.ix_(sampling.features, sampling.features)]
    assert np.max(np.abs(apart) / np.outer(errors, errors)) < 1e-5
    of_sparse = sampling_of(*labelled(model, sp.csr_array(X), y, weight, None)).covariance
    assert of_sparse == pytest.approx(sampling.covariance, rel=1e-9)


def test_intervals_cover_about_as_often_as_they_say():
    model = AUCClassifier(0.1, standardize=0.0)
    X, y = rows(200_000, seed=99)
    truth = model.fit(X, y).coef_[0]
    held, tries = np.zeros(3), 300
    for seed in range(tries):
        X, y = rows(200, seed=seed)
        found = effects(model.fit(X, y), X, y)
        target = (truth * np.sqrt(model.spread_))[found.feature.astype(int) - 1]
        held[found.feature.astype(int) - 1] += (found.low <= target) & (target <= found.high)
    assert np.all((held / tries > 0.91) & (held / tries < 0.98))


def test_a_sample_of_the_rows_stands_for_all(monkeypatch):
    X, y = rows(20_000, share=0.02)
    model = AUCClassifier(0.01, within="pooled").fit(X, y)
    whole = effects(model, X, y)
    monkeypatch.setattr(feature_effects, "MAX_CELLS", 3 * 4000)
    some = effects(model, X, y)
    assert np.array_equal(some.effect, whole.effect)
    assert some.high - some.low == pytest.approx(whole.high - whole.low, rel=0.1)
    assert not np.array_equal(some.high, whole.high)
    sign = np.where(y == 1, 1, -1)
    taken = feature_effects.sample(sign, 500)
    assert len(np.unique(taken)) == len(taken) == 500
    assert np.count_nonzero(y[taken]) == 250


@pytest.mark.parametrize("standardize", [0.0, 0.5, 1.0])
def test_units_and_shifts_change_nothing(standardize):
    X, y = rows(300)
    model = AUCClassifier(0.01, standardize=standardize)
    plain = effects(model.fit(X, y), X, y)
    moved = effects(model.fit(X + 100, y), X + 100, y)
    assert moved.low == pytest.approx(plain.low, rel=1e-6)
    if standardize == 1.0:
        factor = np.array([1e4, 1.0, 1e-4])
        other = effects(model.fit(X * factor, y), X * factor, y)
        assert other.effect == pytest.approx(plain.effect)
        assert other.high == pytest.approx(plain.high)
    twice = effects(model.fit(X, y), X, y, np.full(300, 2.0))  # not 600 rows
    assert twice.high == pytest.approx(plain.high)


def test_what_a_penalty_holds_has_no_interval():
    X, y = rows(300)
    model = AUCClassifier(0.3, 1.0).fit(X, y)
    found = effects(model, X, y)
    assert np.array_equal(np.isfinite(found.low), found.coef != 0)
    assert 0 < np.count_nonzero(found.coef) < 3
    assert found.note == ""
    bounded = AUCClassifier(0.01, coef_bounds=(0.0, 1e-3)).fit(X, y)
    assert effects(bounded, X, y).note.startswith("No intervals: every coefficient")
    rows_alone = HingeClassifier(0.01, random_state=0).fit(X, y)
    assert effects(rows_alone, X, y).note.startswith("No intervals: a HingeClassifier minimises")


def test_rows_models_and_labels_of_other_kinds():
    X, y = rows(300)
    model = AUCClassifier(0.01).fit(X, y)
    plain = effects(model, X, y)
    sparse = effects(model, sp.csr_array(X), y)
    assert sparse.low == pytest.approx(plain.low)
    tuned = AUCClassifierCV(alphas=[0.01], losses=("square",), standardize=(0.5,)).fit(X, y)
    assert effects(tuned, X, y).effect == pytest.approx(plain.effect)
    other = effects(LogisticRegression().fit(X, y), X, y)
    assert np.all(np.isnan(other.low))
    assert "objective of a LogisticRegression is not known" in other.note
    kinked = effects(AUCClassifier(0.01, loss="hinge").fit(X, y), X, y)
    assert "kinks" in kinked.note
    few = np.r_[np.flatnonzero(y == 1)[:1], np.flatnonzero(y == 0)]
    alone = effects(model, X[few], y[few])
    assert "a class has only one row" in alone.note
    with pytest.raises(ValueError, match=r"must hold the labels \[0, 1\]"):
        effects(model, X, y + 1)
    with pytest.raises(ValueError, match="AUCRanker has no classes; give an AUCClassifier"):
        effects(AUCRanker().fit(X, y), X, y)
    # those that the jackknife above goes through
    assert [name for name, loss in LOSSES.items() if loss.weighs] == ["square", "logistic"]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_reasons_add_up_to_the_score(kind, monkeypatch):
    monkeypatch.setattr(row_reasons, "CELLS_PER_BLOCK", 100)  # several parts
    X, y = rows(80)
    model = AUCClassifier(0.01).fit(X, y)
    found, opposite = reasons(model, kind(X), 3), reasons(model, kind(-X), 3)
    middle = model.decision_function(X.mean(axis=0, keepdims=True))[0]
    for row, why, why_not, score in zip(
        X, found, opposite, model.decision_function(X), strict=True
    ):
        assert sum(r.raised for r in why) - sum(r.raised for r in why_not) == pytest.approx(
            score - middle
        )
        assert [r.raised for r in why] == sorted((r.raised for r in why), reverse=True)
        assert all(r.raised > 0 and r.value == row[int(r.feature) - 1] for r in why)
    assert [why[:1] for why in found] == reasons(model, kind(X), 1)
    named = reasons(model, kind(X), mean=np.zeros(3), feature_names=["a", "b", "c"])
    assert {r.feature for why in named for r in why} == {"a", "b", "c"}
    with pytest.raises(ValueError, match="X must have 3 columns"):
        reasons(model, X[:, :2])
    with pytest.raises(ValueError, match="most must be a whole number"):
        reasons(model, X, 0)
