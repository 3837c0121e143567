"""AUCClassifier as a scikit-learn estimator, and what partial_fit, forget and moments promise."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    datasets,
    load,
    metrics,
    save,
    solvers,
)
from aucmax.metrics import roc_auc
from aucmax.solvers import (
    ACCURACY_SOLVERS,
    OAM,
    OPAUC,
    SOLVERS,
    SPAM,
    VRSPAM,
    Exact,
    Pegasos,
)
from aucmax.solvers.batch import krylov
from aucmax.statistics.diagonal import DiagonalMoments
from specification import STOCHASTIC, loss_of

LEARNING = [name for name in SOLVERS if name in STOCHASTIC]


def make(name, **settings):
    return AUCClassifier(solver=name, loss=loss_of(SOLVERS[name]), random_state=0, **settings)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def problem(seed=0, n=200, d=5):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X @ rng.randn(d) + rng.randn(n) > 0.7).astype(int)


class TestInsideScikitLearn:
    def test_pipeline_and_grid_search_reach_solver_settings(self, cancer):
        X, y = cancer
        grid = GridSearchCV(
            make_pipeline(StandardScaler(), AUCClassifier(solver=solvers.VRSPAM(n_stages=3))),
            {
                "aucclassifier__alpha": [1e-3, 1e-1],
                "aucclassifier__solver__step_size": ["auto", 1e-6],
            },
            scoring="roc_auc",
            cv=3,
        ).fit(X, y)
        means = grid.cv_results_["mean_test_score"].reshape(2, 2)
        assert grid.best_score_ > 0.98
        assert np.all(means[:, 0] != means[:, 1])  # the nested setting does something

    def test_solver_itself_is_a_choice(self, cancer):
        X, y = cancer
        grid = GridSearchCV(
            AUCClassifier(random_state=0),
            {"solver": ["exact", solvers.SPAM(n_epochs=2), "conjugate_gradient"]},
            scoring="roc_auc",
            cv=3,
        ).fit(X, y)
        scores = grid.cv_results_["mean_test_score"]
        assert scores[0] == pytest.approx(scores[2], abs=1e-3)

    def test_calibration_and_threshold(self, cancer):
        X, y = cancer
        calibrated = CalibratedClassifierCV(AUCClassifier(), cv=3).fit(X, y)
        p = calibrated.predict_proba(X)
        assert p.shape == (len(y), 2)
        assert np.allclose(p.sum(axis=1), 1)
        assert roc_auc(y, p[:, 1]) > 0.98
        tuned = TunedThresholdClassifierCV(AUCClassifier(), scoring="f1", cv=3).fit(X, y)
        assert tuned.score(X, y) > 0.9

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_data_frames_give_feature_names(self, cancer, frame):
        X, y = cancer
        names = [f"f{j}" for j in range(X.shape[1])]
        table = frame({name: X[:, j] for j, name in enumerate(names)})
        clf = AUCClassifier().fit(table, y)
        assert list(clf.feature_names_in_) == names
        assert clf.moments_.feature_names == names
        assert np.allclose(clf.coef_, AUCClassifier().fit(X, y).coef_)
        other = AUCClassifier().fit_moments(clf.moments_)
        assert np.array_equal(other.predict(table), clf.predict(table))
        with pytest.raises(ValueError, match="feature names"):
            clf.decision_function(table.rename({"f0": "g0"}) if frame is pl.DataFrame
                                  else table.rename(columns={"f0": "g0"}))  # fmt: skip

    def test_sparse_arrays_and_matrices(self, cancer):
        X, y = cancer
        fits = [AUCClassifier().fit(M, y).coef_ for M in (X, sp.csr_matrix(X), sp.coo_array(X))]
        assert np.allclose(fits[0], fits[1])
        assert np.allclose(fits[0], fits[2])

    def test_score_is_accuracy_and_auc_comes_through_scoring(self, cancer):
        X, y = cancer
        clf = AUCClassifier().fit(X, y)
        assert clf.score(X, y) == np.mean(clf.predict(X) == y)
        assert cross_val_score(AUCClassifier(), X, y, scoring="roc_auc", cv=3).mean() > 0.98

    def test_clone_keeps_solver_settings(self):
        copy = clone(AUCClassifier(solver=solvers.SPAM(step_size=2.5)))
        assert copy.solver.step_size == 2.5

    @pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (3, 7), (False, True)])
    def test_larger_label_is_positive(self, labels):
        X, y = problem()
        named = np.array(labels)[y]
        clf = AUCClassifier().fit(X, named)
        assert clf.classes_.tolist() == sorted(labels)
        assert roc_auc(named, clf.decision_function(X)) > 0.8
        assert set(clf.predict(X)) <= set(labels)


@pytest.fixture
def few_rows(monkeypatch):
    """Conjugate gradient whose preconditioner sees a part of the rows takes several steps."""
    monkeypatch.setattr(krylov, "MAX_MULTIPLICATIONS", 0)


class TestThePositiveLabel:
    """``positive`` names the label to rank first; everything else speaks the user's labels."""

    @pytest.fixture
    def words(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        bad = X[:, 0] + rng.normal(size=200) > 0.8
        return X, np.where(bad, "bad", "good")  # "bad" sorts first

    @pytest.mark.parametrize(
        "model",
        [
            AUCClassifier(),
            AUCClassifier(solver=solvers.Exact(covariance="diagonal")),
            AUCClassifier(solver="spam", random_state=0),
            AUCClassifier(loss="squared_hinge"),
            HingeClassifier(random_state=0),
            AUCClassifierCV(alphas=[0.1], losses=("square",), cv=3),
        ],
        ids=["exact", "diagonal", "spam", "newton", "hinge", "tuned"],
    )
    def test_it_is_the_fit_to_ones(self, words, model, tmp_path):
        X, y = words
        named = clone(model).set_params(positive="bad").fit(X, pd.Series(y, name="state"))
        ones = clone(model).fit(X, (y == "bad").astype(int))
        assert_allclose(named.coef_, ones.coef_, rtol=1e-9)
        assert_allclose(named.intercept_, ones.intercept_, rtol=1e-9, atol=1e-12)
        assert named.classes_.tolist() == ["good", "bad"]
        assert_array_equal(named.predict(X) == "bad", ones.predict(X) == 1)
        assert named.target_name_ == "state"
        save(named, tmp_path / "m")
        assert_array_equal(load(tmp_path / "m").predict(X), named.predict(X))

    def test_moments_keep_the_labels(self, words):
        X, y = words
        model = AUCClassifier(positive="bad").fit(X, y)
        assert model.moments_ == ClassMoments.from_data(X, y)
        again = AUCClassifier(positive="bad").fit_moments(model.moments_)
        assert_allclose(again.coef_, model.coef_, rtol=1e-9)
        part = AUCClassifier(positive="bad").partial_fit(X[:99], y[:99], classes=["bad", "good"])
        assert_allclose(part.partial_fit(X[99:], y[99:]).coef_, model.coef_, rtol=1e-7)
        rest = AUCClassifier(positive="bad").fit(X[20:], y[20:])
        assert_allclose(model.forget(X[:20], y[:20]).coef_, rest.coef_, rtol=1e-7)

    def test_another_label_is_an_error(self, words):
        X, y = words
        with pytest.raises(ValueError, match="positive='worse' is not among the labels"):
            AUCClassifier(positive="worse").fit(X, y)
        model = AUCClassifier(positive="bad").partial_fit(X, y)
        with pytest.raises(ValueError, match="differs from the first call's"):
            model.set_params(positive="good").partial_fit(X, y)


class TestAttributes:
    @pytest.mark.parametrize("name", list(SOLVERS))
    def test_threshold_is_midway_between_the_projected_means(self, name):
        X, y = problem()
        clf = make(name).fit(X, y)
        scores = clf.decision_function(X)
        assert scores[y == 1].mean() == pytest.approx(-scores[y == 0].mean(), rel=1e-9)

    @pytest.mark.parametrize("name", ["exact", "Exact", "EXACT", "conjugate-gradient",
                                      "ConjugateGradient", "SPAM"])  # fmt: skip
    def test_names_of_solvers_are_lenient(self, name):
        X, y = problem()
        clf = AUCClassifier(solver=name, random_state=0).fit(X, y)
        assert clf.solver_ == name.lower().replace("-", "_").replace(
            "conjugategradient", "conjugate_gradient"
        )

    def test_auto_names_what_it_chose(self):
        X, y = problem()
        assert AUCClassifier().fit(X, y).solver_ == "exact"
        assert AUCClassifier(l1_ratio=0.5).fit(X, y).solver_ == "coordinate_descent"
        wide = sp.random(200, 5000, density=0.01, random_state=0, format="csr")
        assert AUCClassifier(alpha=1.0).fit(wide, y).solver_ == "conjugate_gradient"

    @pytest.mark.parametrize("name", list(SOLVERS))
    def test_history_only_when_asked_and_callbacks_stop(self, name, capsys):
        X, y = problem(n=500, d=30)
        assert len(make(name).fit(X, y).history_) == 0
        seen = []

        def stop_at_two(progress):
            seen.append(progress)
            return len(seen) == 2

        clf = make(name, tol=1e-14, callback=stop_at_two).fit(X, y)
        assert len(clf.history_) == len(seen) <= 2
        assert clf.history_.dtype.names == ("passes", "seconds", "objective", "optimality")
        assert seen[-1].coef == pytest.approx(clf.coef_[0])
        assert clf.history_["objective"][-1] == pytest.approx(clf.objective_)
        make(name, verbose=1).fit(X, y)
        assert "optimality" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["spam", "vrspam", "univariate"])
    def test_observation_changes_nothing(self, name):
        X, y = problem(n=500)
        alone = AUCClassifier(solver=name, tol=0.5, random_state=0).fit(X, y)
        seen = []
        watched = AUCClassifier(solver=name, tol=0.5, random_state=0, callback=seen.append)
        np.testing.assert_array_equal(watched.fit(X, y).coef_, alone.coef_)
        assert watched.n_iter_ == alone.n_iter_ == len(seen) == len(watched.history_)

    @pytest.mark.parametrize("name", ["spam", "vrspam", "univariate"])
    @pytest.mark.parametrize("callback", [None, lambda progress: False])
    def test_stochastic_solvers_stop_at_a_tol_of_their_own(self, name, callback):
        X, y = problem(n=500)
        solver = solvers.SOLVERS[name](tol=0.5)
        clf = AUCClassifier(solver=solver, random_state=0, callback=callback).fit(X, y)
        assert clf.n_iter_ < 15
        assert clf.optimality_ <= 0.5

    def test_solver_settings_win_over_the_estimator(self, few_rows):
        X, y = problem(n=3000, d=20)
        own = solvers.ConjugateGradient(tol=1e-12)
        tight = AUCClassifier(solver=own, tol=0.5).fit(X, y)
        assert (
            tight.optimality_
            < 1e-12
            < AUCClassifier(solver="conjugate_gradient", tol=0.5).fit(X, y).optimality_
        )

    def test_warm_start_begins_at_coef(self, few_rows):
        X, y = problem(n=3000, d=40)
        clf = AUCClassifier(0.1, solver="conjugate_gradient", tol=1e-8, warm_start=True).fit(X, y)
        cold = clf.n_iter_
        assert clf.fit(X, y).n_iter_ < cold
        net = AUCClassifier(l1_ratio=0.5, tol=1e-8, warm_start=True).fit(X, y)
        assert net.fit(X, y).n_iter_ == 1

    def test_the_iteration_limit_warns(self, few_rows):
        X, y = problem(n=3000, d=40)
        with pytest.warns(ConvergenceWarning, match="conjugate gradient stopped after 2 steps"):
            AUCClassifier(solver="conjugate_gradient", max_iter=2, tol=1e-12).fit(X, y)

    @pytest.mark.parametrize("name", ["spam", "vrspam"])
    def test_a_diverging_step_warns_and_stays_finite(self, name):
        X, y = problem()
        settings = {"safeguard": False} if name == "vrspam" else {}
        solver = SOLVERS[name](step_size=1e6, **settings)
        with pytest.warns(ConvergenceWarning, match="diverged.*lower step_size"):
            clf = AUCClassifier(solver=solver, random_state=0).fit(X, y)
        assert np.all(np.isfinite(clf.coef_))

    @pytest.mark.parametrize("safeguard", [True, False])
    def test_a_vrspam_step_that_is_far_too_long_is_no_crash(self, safeguard):
        X, y = problem()
        solver = solvers.VRSPAM(step_size=100.0, safeguard=safeguard)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf = AUCClassifier(solver=solver, random_state=0).fit(X, y)
        assert np.all(np.isfinite(clf.coef_))

    @pytest.mark.parametrize("name", LEARNING)
    def test_same_seed_same_bits(self, name):
        X, y = problem()
        a, b, c = (AUCClassifier(solver=name, random_state=s).fit(X, y).coef_ for s in (0, 0, 1))
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)

    def test_zero_weight_rows_are_left_out(self):
        X, y = problem()
        weight = np.ones(len(y))
        weight[::3] = 0
        kept = weight > 0
        for name in SOLVERS:
            clf = make(name)
            a = clf.fit(X, y, sample_weight=weight).coef_
            assert np.array_equal(a, clf.fit(X[kept], y[kept]).coef_), name

    def test_callbacks_are_dropped_on_pickling(self):
        X, y = problem()
        clf = AUCClassifier(callback=lambda p: False).fit(X, y)
        assert pickle.loads(pickle.dumps(clf)).callback is None
        assert clf.callback is not None


class TestStreams:
    @pytest.mark.parametrize("kwargs", [{}, {"l1_ratio": 0.5}, {"standardize": 0.5},
                                        {"solver": "conjugate_gradient"}])  # fmt: skip
    @pytest.mark.parametrize("sparse", [False, True])
    def test_batches_equal_one_fit(self, kwargs, sparse):
        X, y = problem(n=300)
        X = sp.csr_matrix(X) if sparse else X
        clf = AUCClassifier(tol=1e-10, **kwargs)
        whole = clone(clf).fit(X, y)
        for lo in range(0, 300, 70):
            clf.partial_fit(X[lo : lo + 70], y[lo : lo + 70], classes=[0, 1])
        assert clf.coef_ == pytest.approx(whole.coef_, rel=1e-7, abs=1e-9)
        assert clf.intercept_ == pytest.approx(whole.intercept_, rel=1e-7, abs=1e-9)

    def test_fit_then_partial_fit_continues_from_the_moments(self):
        X, y = problem(n=300)
        clf = AUCClassifier().fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
        assert clf.coef_ == pytest.approx(AUCClassifier().fit(X, y).coef_, rel=1e-9)

    def test_one_class_so_far_is_counted_and_moves_nothing(self):
        X, y = problem(n=300)
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
        first = int((y == 0).sum())
        for name in ("exact", "spam", "vrspam"):
            clf = AUCClassifier(solver=name, random_state=0)
            clf.partial_fit(X[:first], y[:first], classes=[0, 1])
            assert np.all(clf.coef_ == 0)
            assert clf.predict(X).shape == (300,)
            clf.partial_fit(X[first:], y[first:])
            assert np.any(clf.coef_ != 0)
        exact = AUCClassifier(solver="exact")
        exact.partial_fit(X[:first], y[:first], classes=[0, 1]).partial_fit(X[first:], y[first:])
        assert exact.coef_ == pytest.approx(AUCClassifier().fit(X, y).coef_, rel=1e-9)

    @pytest.mark.parametrize("name", ["exact", "spam", "vrspam"])
    def test_all_zero_weights_change_nothing(self, name):
        X, y = problem()
        clf = AUCClassifier(solver=name, random_state=0)
        clf.partial_fit(X, y, sample_weight=np.zeros(len(y)))
        assert np.all(clf.coef_ == 0)
        clf.partial_fit(X, y)
        before = clf.coef_.copy()
        clf.partial_fit(X, y, sample_weight=np.zeros(len(y)))
        assert np.array_equal(clf.coef_, before)

    @pytest.mark.parametrize("name", [n for n in LEARNING if not SOLVERS[n].own])
    def test_steps_go_on_and_improve(self, name):
        X, y = problem(n=2000)
        best = AUCClassifier(alpha=1e-3).fit(X, y)
        clf = AUCClassifier(alpha=1e-3, solver=name, random_state=0)
        gaps = []
        for lo in range(0, 2000, 250):
            clf.partial_fit(X[lo : lo + 250], y[lo : lo + 250], classes=[0, 1])
            gaps.append(np.linalg.norm(clf.coef_ - best.coef_))
        assert gaps[-1] < 0.5 * gaps[0]
        assert clf.n_iter_ == 8

    def test_stochastic_fit_hands_over_to_partial_fit(self):
        X, y = problem(n=400)
        for name in LEARNING:
            clf = AUCClassifier(solver=name, random_state=0).fit(X, y)
            near = clf.coef_.copy()
            clf.partial_fit(X[:20], y[:20])
            moved = np.linalg.norm(clf.coef_ - near)
            assert 0 < moved < 0.5 * np.linalg.norm(near)

    def test_forget_equals_a_fit_without_the_rows(self):
        X, y = problem(n=300)
        clf = AUCClassifier(standardize=0.5).fit(X, y).forget(X[:50], y[:50])
        rest = AUCClassifier(standardize=0.5).fit(X[50:], y[50:])
        assert clf.coef_ == pytest.approx(rest.coef_, rel=1e-8)

    def test_forget_takes_the_weights_the_rows_had(self):
        X, y = problem(n=300)
        weight = 5 * np.random.RandomState(0).rand(300)
        clf = AUCClassifier().fit(X, y, weight).forget(X[:50], y[:50], weight[:50])
        rest = AUCClassifier().fit(X[50:], y[50:], weight[50:])
        assert clf.coef_ == pytest.approx(rest.coef_, rel=1e-8)
        assert clf.moments_.counts.sum() == pytest.approx(weight[50:].sum())

    def test_shards_add_up_to_the_pooled_fit(self):
        X, y = problem(n=300)
        shards = [ClassMoments.from_data(X[k::3], y[k::3]) for k in range(3)]
        merged = AUCClassifier().fit_moments(sum(shards))
        assert merged.coef_ == pytest.approx(AUCClassifier().fit(X, y).coef_, rel=1e-10)

    def test_saved_models_go_on(self, tmp_path):
        X, y = problem(n=300)
        for name in ("exact", "spam", "vrspam"):
            clf = AUCClassifier(solver=name, random_state=0, callback=lambda p: False)
            clf.partial_fit(X[:150], y[:150])
            save(clf, tmp_path / "m")
            again = load(tmp_path / "m")
            assert again.callback is None
            for model in (clf, again):
                model.set_params(callback=None).partial_fit(X[150:], y[150:])
            assert np.array_equal(clf.coef_, again.coef_)

    def test_saved_pipelines_score_the_same(self, tmp_path, cancer):
        X, y = cancer
        pipe = make_pipeline(StandardScaler(), AUCClassifier(solver=solvers.SPAM(n_epochs=2)))
        pipe.set_params(aucclassifier__random_state=0).fit(X, y)
        save(pipe, tmp_path / "m")
        assert np.array_equal(load(tmp_path / "m").decision_function(X), pipe.decision_function(X))


def bad(action, message):
    with pytest.raises(ValueError, match=message):
        action()


class TestBadInput:
    """DESIGN's cases: the message names what was wrong, and the model stays as it was."""

    def test_fit(self):
        X, y = problem()
        clf = AUCClassifier().fit(X, y)
        before = {k: np.copy(v) for k, v in vars(clf).items() if isinstance(v, np.ndarray)}
        hole = X.copy()
        hole[3, 2] = np.nan
        wide = np.c_[X, X]
        bad(lambda: clf.fit(X, np.ones(len(y))), "only one class")
        bad(lambda: clf.fit(X, np.arange(len(y)) % 3), "Only binary classification")
        bad(lambda: clf.fit(hole, y), "X contains NaN")
        bad(lambda: clf.fit(np.where(X > 2, np.inf, X), y), "infinity")
        bad(lambda: clf.fit(X, y, sample_weight=-np.ones(len(y))), "must not be negative; row 0")
        bad(lambda: clf.fit(X, y, sample_weight=np.zeros(len(y))), "zero for every row")
        bad(lambda: clf.fit(X, y, sample_weight=(y == 1) * 1.0), "zero for every row of class 0")
        bad(lambda: clf.fit(X, y, sample_weight=np.ones(3)), r"shape \(3,\); expected \(200,\)")
        bad(lambda: clf.fit(X, y[:10]), "inconsistent numbers of samples")
        bad(lambda: clf.predict(wide), "X has 10 features.*expecting 5")
        bad(lambda: clf.partial_fit(wide, y), "X has 10 features.*expecting 5")
        bad(lambda: clf.partial_fit(X, y + 1), "label 2, which is not among the classes")
        bad(lambda: clf.partial_fit(X, y, classes=[0, 5]), "differ from those of the first call")
        bad(lambda: AUCClassifier().partial_fit(X, y, classes=[0, 1, 2]), "must hold two labels")
        bad(lambda: AUCClassifier().partial_fit(X, 0 * y), "only one class; name both labels")
        bad(lambda: clf.forget(X[:5], 1 - y[:5] + 7), "not among the classes")
        bad(lambda: clf.forget(np.r_[X, X], np.r_[y, y]), "cannot subtract weight")
        for key, value in before.items():
            assert np.array_equal(getattr(clf, key), value), key
        assert clf.n_features_in_ == 5
        assert clf.predict(X).shape == (200,)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"alpha": -1}, r"alpha must be a number in \[0, inf\); got -1"),
            ({"alpha": "a"}, "alpha must be a number"),
            ({"l1_ratio": 2}, r"l1_ratio must be a number in \[0, 1\]; got 2"),
            ({"standardize": -0.5}, "standardize must be"),
            ({"standardize": True}, "standardize must be"),
            ({"tol": 0}, r"tol must be a number in \(0, inf\)"),
            ({"max_iter": 0}, r"max_iter must be a whole number in \[1, inf\)"),
            ({"loss": "exp"}, "loss must be one of 'square'.*got 'exp'"),
            ({"loss": ["square"]}, r"loss must be one of 'square'.*got \['square'\]"),
            ({"solver": "adam"}, "solver must be one of 'auto', 'exact'.*got 'adam'"),
            ({"solver": "exact", "l1_ratio": 0.5}, "'exact' does not take .*these do: 'coord"),
            ({"solver": solvers.SPAM(order="sorted")}, "order must be one of shuffle"),
            ({"solver": solvers.SPAM(schedule="linear")}, "schedule must be 'sqrt'"),
            ({"solver": solvers.SPAM(step_size=-1)}, "step_size must be a number"),
            ({"solver": solvers.SPAM(schedule="power", theta=1)}, "theta must lie strictly"),
            ({"solver": solvers.SPAM(schedule="strong"), "alpha": 0}, "needs an l2 penalty"),
            ({"solver": solvers.VRSPAM(init="ones")}, "init must be 'spam' or 'zero'"),
            ({"solver": solvers.VRSPAM(center=3)}, "center must be 'auto' or False"),
            ({"solver": solvers.VRSPAM(n_inner=0)}, "n_inner must be a whole number"),
        ],
    )
    def test_settings(self, settings, message):
        X, y = problem()
        bad(lambda: AUCClassifier(**settings).fit(X, y), message)

    def test_saving(self, tmp_path):
        clf = AUCClassifier().fit(*problem(n=40))
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            save(clf, tmp_path / "none" / "m.aucmax")
        bad(lambda: save(3, tmp_path / "m.aucmax"), "save takes a fitted estimator; got int")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("solver", "name"),
        [
            (SPAM(average="x"), "average"),
            (VRSPAM(safeguard=1), "safeguard"),
            (OPAUC(covariance="gaussian", centered=None), "centered"),
            (OAM(average=np.nan), "average"),
        ],
    )
    def test_two_valued_settings(self, solver, name):
        X, y = problem(n=40)
        message = f"{name} must be True or False"
        bad(lambda: AUCClassifier(solver=solver).fit(X, y), message)
        bad(lambda: AUCClassifier(solver=solver).partial_fit(X, y), message)
        bad(lambda: HingeClassifier(0.1, 0.0, solver=Pegasos(project="x")).fit(X, y), "project")

    def test_exact_does_not_fill_the_memory(self, monkeypatch):
        X, y = problem(n=40)
        monkeypatch.setattr(Exact, "max_moment_bytes", 100)
        message = "the solver 'exact' keeps two d×d covariances, 0.0 GB for 5 features"
        bad(lambda: AUCClassifier(solver="exact").fit(X, y), message)
        AUCClassifier(solver=Exact("diagonal")).fit(X, y)

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
    @pytest.mark.parametrize("standardize", [0.0, 1.0])
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_numbers_too_large_or_too_small(self, solver, standardize, form):
        """They would give coefficients of zero, or none that are finite, without a word."""
        X, y = problem(n=40)
        own = {} if "alpha" in SOLVERS[solver].own else {"standardize": standardize}
        clf = AUCClassifier(solver=solver, loss=loss_of(SOLVERS[solver]), max_iter=3, **own)
        large = form(X * [1, 1, -1e160, 1, 1])
        bad(lambda: clf.fit(large, y), "the values of feature 2 reach .*e.160, too large to")
        bad(lambda: clf.fit(form(X * 1e-200), y), "are at most .*e-200, too small to compute with")
        assert not hasattr(clf, "n_features_in_")

    def test_numbers_too_large_or_too_small_in_a_search_and_a_stream(self):
        X, y = problem(n=40)
        for clf in (AUCClassifierCV(), HingeClassifier()):
            bad(lambda clf=clf: clf.fit(X * 1e160, y), "too large to compute with")
            bad(lambda clf=clf: clf.fit(X * 1e-160, y), "too small to compute with")
        bad(lambda: ClassMoments.from_data(X * 1e160, y), "too large to compute with")
        stream = AUCClassifier().partial_fit(X, y)
        bad(lambda: stream.partial_fit(X * 1e160, y), "too large to compute with")
        stream.partial_fit(X[:1] * 1e-160, y[:1])  # all other rows are large enough

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
    @pytest.mark.parametrize("solver", [*SOLVERS, *ACCURACY_SOLVERS])
    def test_weights_too_large_or_too_small(self, solver, form):
        X, y = problem(n=40)
        X = form(X)
        if solver in SOLVERS:
            clf = AUCClassifier(solver=solver, loss=loss_of(SOLVERS[solver]), max_iter=3)
        else:
            clf = HingeClassifier(solver=solver, l1_ratio=0.0, max_iter=3)
        one = np.ones(40)
        one[7] = 1e308
        for weight in (np.full(40, 1e308), one, np.full(40, 1e-320)):
            message = "sample_weight sums to .*; multiply all weights by a constant"
            bad(lambda w=weight: clf.fit(X, y, w), message)
            if hasattr(clf, "partial_fit"):
                bad(
                    lambda w=weight: clf.partial_fit(X, y, classes=[0, 1], sample_weight=w), message
                )
        assert not hasattr(clf, "coef_")

    def test_weights_too_large_in_a_search_and_in_moments(self):
        X, y = problem(n=40)
        weight = np.full(40, 1e308)
        message = "sample_weight sums to inf, too large to compute with"
        bad(lambda: AUCClassifierCV().fit(X, y, weight), message)
        bad(lambda: ClassMoments.from_data(X, y, weight), message)
        bad(lambda: DiagonalMoments().update(X, y, weight), message)
        assert roc_auc(y, X[:, 0], weight) == pytest.approx(
            roc_auc(y, X[:, 0])
        )  # which has them scaled

    @pytest.mark.parametrize("scale", [1e70, 1e-70])
    def test_numbers_that_are_just_not_too_large_or_too_small(self, scale):
        X, y = problem(n=40)
        expected = AUCClassifier(standardize=1.0).fit(X, y)
        clf = AUCClassifier(standardize=1.0).fit(X * scale, y)
        np.testing.assert_allclose(clf.coef_ * scale, expected.coef_, rtol=1e-6)

    @pytest.mark.parametrize(
        "form",
        [
            *(list, tuple, pd.Series, pd.Categorical, pl.Series, pd.DataFrame),
            lambda y: np.array(y, dtype=object),
            lambda y: np.array(y, dtype=object)[:, None],
        ],
    )
    def test_a_label_that_ends_with_nul(self, form):
        X, y = problem(n=40)
        y = form(["x\0" if label == y[0] else "x" for label in y])
        message = r"the label 'x\\x00' ends with a NUL character, which NumPy would strip"
        for clf in (AUCClassifier(), AUCClassifierCV(), HingeClassifier()):
            bad(lambda clf=clf: clf.fit(X, y), message)
        bad(lambda: AUCClassifier().partial_fit(X, y), message)
        bad(lambda: ClassMoments.from_data(X, y), message)
        bad(lambda: metrics.roc_auc(y, X[:, 0]), message)
        bad(lambda: datasets.binarize(y, "first-half"), message)

    def test_a_class_that_ends_with_nul(self):
        X, y = problem(n=40)
        y, classes = np.where(y == y[0], "x", "y"), ["x", "x\0"]
        message = r"the label 'x\\x00' ends with a NUL character"
        for clf in (AUCClassifier(), AUCClassifier(solver="spam"), HingeClassifier()):
            bad(lambda clf=clf: clf.partial_fit(X, y, classes=classes), message)
        bad(lambda: ClassMoments(classes=classes), message)
        bad(lambda: DiagonalMoments(classes=classes), message)

    def test_nul_within_a_label_stays(self):
        X, y = problem(n=40)
        y = ["x\0z" if label == y[0] else "\0x" for label in y]
        assert AUCClassifier().fit(X, y).classes_.tolist() == ["\0x", "x\0z"]
        assert set(AUCClassifier().fit(X, y).predict(X)) <= set(y)

    def test_moments_and_streams(self):
        X, y = problem()
        moments = ClassMoments.from_data(X, y)
        bad(lambda: AUCClassifier(solver="spam").fit_moments(moments), "without rows.*'exact'")
        bad(lambda: AUCClassifier().fit_moments((1, 2)), "must be a ClassMoments; got tuple")
        three = ClassMoments.from_data(X, np.arange(len(y)) % 3)
        bad(lambda: AUCClassifier().fit_moments(three), "exactly two classes")
        bad(lambda: AUCClassifier().fit_moments(ClassMoments(classes=[0, 1])), "each with weight")
        spam = AUCClassifier(solver="spam", random_state=0).fit(X, y)
        bad(lambda: spam.forget(X[:5], y[:5]), "'spam' keeps none")
        standardized = AUCClassifier(solver="spam", standardize=1.0)
        bad(lambda: standardized.partial_fit(X, y), "standardize > 0 needs all rows")

    def test_moments_too_large_for_memory(self, monkeypatch):
        X, y = problem()
        monkeypatch.setattr(AUCClassifier, "max_moment_bytes", 100)
        bad(lambda: AUCClassifier().partial_fit(X, y), "max_moment_bytes.*use solver='spam'")
