"""One road to a fit: labelled rows and settings go in, and what estimators show comes out."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from aucmax import AUCClassifier, ClassMoments, HingeClassifier, MulticlassAUCClassifier
from aucmax.data.labelled import Labelled
from aucmax.data.rows import as_rows
from aucmax.data.rows.store import InMemory
from aucmax.estimators.fitting import fit
from aucmax.objective.problem import MomentsProblem, RowsProblem


def rows(n=120, d=5):
    rng = np.random.RandomState(n)
    y = rng.rand(n) < 0.3
    return rng.randn(n, d) + y[:, None], y, rng.rand(n)


@pytest.mark.parametrize(
    "model",
    [
        AUCClassifier(),
        AUCClassifier(loss="logistic", within=0.2),
        AUCClassifier(solver="spam", random_state=1),
        HingeClassifier(random_state=1),
    ],
)
def test_an_estimator_shows_what_the_fit_gives(model):
    X, y, weight = rows()
    labelled = Labelled(X, y, weight, np.array([False, True]), store=InMemory(as_rows(X)))
    fitted = fit(labelled, model.settings())
    model.fit(X, y, weight)
    np.testing.assert_array_equal(model.coef_[0], fitted.coef)
    assert model.intercept_[0] == fitted.intercept
    assert (model.solver_, model.n_iter_) == (fitted.solver, fitted.n_iter)
    assert (model.objective_, model.optimality_) == (fitted.objective, fitted.optimality)
    assert hasattr(model, "moments_") == (fitted.statistics is not None)
    assert hasattr(model, "_stream") == (fitted.stream is not None)


def test_what_is_asked_and_what_is_seen_do_not_change():
    X, y, weight = rows()
    problem = RowsProblem.of(as_rows(X), y, weight)
    moments = MomentsProblem(ClassMoments.from_data(X, np.where(y, 1.0, -1.0), weight))
    for asked in (problem, moments):
        scaled = asked.scaled(0.5).weighing(0.2)
        assert (asked.gamma, asked.tau, asked.factor) == (0.0, 0.5, None)
        assert (scaled.gamma, scaled.tau) == (0.5, 0.2)
        np.testing.assert_array_equal(scaled.raw_means(), asked.raw_means())
        with pytest.raises(FrozenInstanceError):
            asked.tau = 0.2
    with pytest.raises(FrozenInstanceError):
        AUCClassifier().settings().tol = 1.0


def test_a_fit_to_other_moments_was_not_read_in_passes():
    X, y, _ = rows()
    model = AUCClassifier().fit(X, y)
    model.passes_ = 1  # as a fit to rows in parts leaves it
    assert not hasattr(model.fit_moments(ClassMoments.from_data(X, y)), "passes_")


def test_many_classes_keep_the_name_of_the_labels():
    pd = pytest.importorskip("pandas")
    X, y, _ = rows()
    y = pd.Series(np.arange(len(y)) % 3, name="grade")
    model = MulticlassAUCClassifier().fit(X, y)
    assert model.target_name_ == model.moments_.target_name == "grade"
    assert MulticlassAUCClassifier().fit_moments(model.moments_).target_name_ == "grade"
