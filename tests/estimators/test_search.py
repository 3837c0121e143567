"""AUCClassifierCV: every cell is the fit it says it is, and the choice is the best of them."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_fit2d_1feature, parametrize_with_checks

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    MulticlassAUCClassifier,
    Source,
    effects,
    load,
    save,
)
from aucmax.data.labelled import Labelled
from aucmax.data.rows.store import InMemory
from aucmax.estimators import selection
from aucmax.estimators.centres import Centres
from aucmax.estimators.folds import Folding
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.tuning import fold_moments
from aucmax.metrics import roc_auc
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES, PairwiseLoss
from aucmax.objective.problem import MomentsProblem
from aucmax.solvers import ConjugateGradient, Exact, Newton
from aucmax.statistics import moments


def problem(seed=0, n=240, d=6):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) * np.logspace(-1, 1, d)
    y = (X @ (rng.randn(d) / np.logspace(-1, 1, d)) + rng.randn(n) > 0.6).astype(int)
    return X, y


@parametrize_with_checks(
    [
        AUCClassifierCV(
            cv=2, alphas=(1e-3, 1e-1), standardize=(0.5,), losses=("square", "squared_hinge")
        )
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_default_takes_ten_rows_of_one_feature():
    check_fit2d_1feature("AUCClassifierCV", AUCClassifierCV())


@pytest.mark.covering(1)
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "cv",
    [StratifiedKFold(3), ShuffleSplit(2, test_size=0.3, random_state=0)],
    ids=["partition", "overlapping"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_each_cell_is_its_own_fit(few, sparse, cv, weighted, monkeypatch):
    if not few:
        for module in ("solvers.auto", "estimators.search"):
            monkeypatch.setattr(f"aucmax.{module}.MAX_MATRIX_FEATURES", 0)
        monkeypatch.setattr("aucmax.solvers.batch.coordinate_descent.MAX_MATRIX_FEATURES", 0)
    X, y = problem()
    X = sp.csr_matrix(np.where(np.abs(X) > 0.5, X, 0)) if sparse else X
    weight = np.random.RandomState(1).randint(0, 3, len(y)) * 1.0 if weighted else None
    alphas, rhos = (1e-3, 1e-1), (0.0, 0.5)
    clf = AUCClassifierCV(
        alphas[::-1], rhos, standardize=(0.0, 0.5), cv=cv, tol=1e-10, max_iter=5000
    ).fit(X, y, weight)
    folds = list(cv.split(X, y))
    assert clf.auc_path_.shape == (len(folds), 3, 2, 2, 2)
    assert np.array_equal(clf.alphas_[0, 0], alphas)
    for k, (train, test) in enumerate(folds):
        w = (None, None) if weight is None else (weight[train], weight[test])
        for a, loss in enumerate(("square", "squared_hinge", "logistic")):
            for b, gamma in enumerate((0.0, 0.5)):
                for c, rho in enumerate(rhos):
                    for j, alpha in enumerate(alphas):
                        found = clf.auc_path_[k, a, b, c, j]
                        cell = AUCClassifier(
                            alpha, rho, loss=loss, standardize=gamma, tol=1e-9, max_iter=5000
                        ).fit(X[train], y[train], w[0])
                        auc = roc_auc(y[test], cell.decision_function(X[test]), w[1])
                        assert found == pytest.approx(auc, abs=1e-12)
    mean = clf.auc_path_.mean(axis=0)
    assert clf.best_score_ == mean.max()
    best = AUCClassifier(
        clf.alpha_, clf.l1_ratio_, loss=clf.loss_, standardize=clf.standardize_, tol=1e-10,
        max_iter=5000,
    ).fit(X, y, weight)  # fmt: skip
    assert np.allclose(clf.coef_, best.coef_, rtol=1e-9, atol=1e-12)
    assert np.array_equal(clf.predict(X), best.predict(X))
    assert vars(clf.best_estimator_).keys() == vars(best).keys()
    for (train, test), held_out in zip(folds, clf.held_out_, strict=True):
        w = None if weight is None else weight[train]
        cell = clone(best).fit(X[train], y[train], w)
        scores = cell.decision_function(X[test]) - cell.intercept_[0]
        assert np.allclose(held_out, scores, rtol=1e-3, atol=1e-4)


def test_the_data_are_read_once(monkeypatch):
    """Each fold's rows are summed up once: the grid of α, the fits and the refit rest on that."""
    read, work = [], moments.block_moments

    def counted(X, rows, share):
        read.append(len(rows))
        return work(X, rows, share)

    monkeypatch.setattr(moments, "block_moments", counted)
    X, y = problem()
    clf = AUCClassifierCV(losses=("square",), l1_ratios=(0.0, 0.5), cv=4).fit(X, y)
    assert sum(read) == len(y)
    assert clf.best_estimator_.moments_.counts.sum() == len(y)


def test_the_hinge_has_cells_where_a_solver_takes_it():
    X, y = problem()
    cv, alphas = StratifiedKFold(2), (1e-2, 1e-1)
    clf = AUCClassifierCV(alphas, (0.0, 0.5), ("hinge",), (0.5,), cv, tol=1e-10)
    with pytest.warns(UserWarning, match="no solver takes loss='hinge' with l1_ratio=0.5"):
        clf.fit(X, y)
    assert np.all(np.isnan(clf.auc_path_[:, 0, 0, 1]))
    for k, (train, test) in enumerate(cv.split(X, y)):
        for j, alpha in enumerate(alphas):
            cell = AUCClassifier(alpha, loss="hinge", standardize=0.5, tol=1e-9)
            cell.fit(X[train], y[train])
            auc = roc_auc(y[test], cell.decision_function(X[test]))
            assert clf.auc_path_[k, 0, 0, 0, j] == pytest.approx(auc, abs=1e-12)
    assert (clf.solver_, clf.loss_, clf.l1_ratio_) == ("cutting_plane", "hinge", 0.0)
    assert clf.best_score_ == np.nanmax(clf.auc_path_.mean(axis=0))
    with pytest.raises(ValueError, match="'cutting_plane' needs alpha > 0; got 0"):
        AUCClassifierCV((0.0,), losses=("hinge",), cv=cv).fit(X, y)


def labelled(X, sign):
    return Labelled(X, sign > 0, None, np.array([-1.0, 1.0]), store=InMemory(X))


def test_merged_moments_are_those_of_the_training_rows():
    X, y = problem()
    sign = np.where(y == 1, 1.0, -1.0)
    X[y == 1, 2] = 0  # vanishes from one class
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    training, total = fold_moments(labelled(X, sign), folds)
    everything = np.arange(len(y))
    for rows, merged in zip(
        [*(train for train, _ in folds), everything], [*training, total], strict=True
    ):
        direct = moments.ClassMoments.from_data(X[rows], sign[rows])
        assert np.allclose(merged.counts, direct.counts, rtol=0)
        assert np.allclose(merged.means, direct.means, rtol=1e-12, atol=1e-13)
        assert np.allclose(merged.covs, direct.covs, rtol=1e-10, atol=1e-12)
        assert np.all(merged.cov_pos[2] == 0)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("more_features", [0, 40])
@pytest.mark.parametrize(
    "alphas", [np.logspace(-8, 1, 10), np.logspace(-3, -1, 5), np.array([0.0, 1e-14, 1.0])]
)
def test_a_path_from_moments_is_its_fits(alphas, more_features, gamma):
    X, y = problem()
    X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), more_features))])
    X[:, 5] *= 30.0
    known = MomentsProblem(moments.ClassMoments.from_data(X, y)).scaled(gamma)
    for alpha, w in zip(alphas, Exact().solve_path(known, alphas), strict=True):
        fit = AUCClassifier(alpha, standardize=gamma, solver="exact").fit(X, y)
        assert np.allclose(known.to_features(w), fit.coef_[0], rtol=1e-8, atol=1e-11)


def test_automatic_alphas_follow_the_units():
    X, y = problem()
    settings = {"cv": 3, "losses": ("square",), "standardize": (0.0, 0.5)}
    small = AUCClassifierCV(**settings).fit(X, y)
    large = AUCClassifierCV(**settings).fit(1000 * X, y)
    assert large.alphas_[0, 0] == pytest.approx(1e6 * small.alphas_[0, 0])
    assert large.alphas_[0, 1] == pytest.approx(small.alphas_[0, 1])
    assert large.best_score_ == pytest.approx(small.best_score_, abs=1e-9)


@pytest.mark.parametrize("tiny", [1e-5, 1e-9])
def test_the_choice_among_alphas_of_a_class_of_tiny_weight(tiny):
    X, y = problem()
    settings = {"cv": 3, "losses": ("square",)}
    clf = AUCClassifierCV(**settings).fit(X, y, np.where(y == np.max(y), tiny, 1.0))
    plain = AUCClassifierCV(**settings).fit(X, y)
    assert clf.best_score_ == pytest.approx(plain.best_score_, abs=0.01)


def test_one_gradient_confirms_a_path_of_a_fold(monkeypatch):
    monkeypatch.setattr("aucmax.estimators.search.MAX_MATRIX_FEATURES", 0)
    X, y = problem()
    paths, gradients = [], []
    solve, term = ConjugateGradient.solve_path, Objective.data_term
    monkeypatch.setattr(
        ConjugateGradient, "solve_path", lambda *a, **k: paths.append(1) or solve(*a, **k)
    )
    monkeypatch.setattr(Objective, "data_term", lambda *a: gradients.append(1) or term(*a))
    clf = AUCClassifierCV(np.logspace(-3, 0, 7), losses=("square",), cv=3).fit(X, y)
    assert len(paths) == 6
    assert len(gradients) <= 6 + 1 + clf.n_iter_


def test_the_choice_does_not_hang_on_units_however_small():
    X, y = problem()
    settings = {"cv": 3, "losses": ("logistic",), "standardize": (1.0,), "tol": 1e-9}
    clf = AUCClassifierCV(**settings).fit(X, y)
    tiny = X * 2.0**-200
    # coefficients beyond single precision, in which the search keeps where to begin
    small = AUCClassifierCV(**settings).fit(tiny, y)
    assert small.alpha_ == clf.alpha_
    assert small.optimality_ <= small.tol
    assert small.decision_function(tiny) == pytest.approx(clf.decision_function(X), abs=1e-3)


def test_jobs_give_the_same_bits():
    X, y = problem()
    one = AUCClassifierCV(cv=4).fit(X, y)
    two = AUCClassifierCV(cv=4, n_jobs=2).fit(X, y)
    assert np.array_equal(one.auc_path_, two.auc_path_, equal_nan=True)
    assert np.array_equal(one.coef_, two.coef_)


def test_among_equals_the_strongest_penalty_wins():
    X = np.r_[np.eye(2), np.eye(2), np.eye(2)].repeat(2, axis=0)
    y = (X[:, 0] > 0).astype(int)
    clf = AUCClassifierCV((1e-3, 1e-2, 1e-1), losses=("square",), standardize=(0.0,), cv=2)
    clf.fit(X, y)
    assert np.all(clf.auc_path_ == 1)
    assert clf.alpha_ == 0.1


def test_unfinished_cells_are_one_warning():
    X, y = problem(d=40)
    clf = AUCClassifierCV((1e-6, 1e-5), losses=("squared_hinge",), cv=2, max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning) as caught:
        clf.fit(X, y)
    messages = [str(w.message) for w in caught]
    assert any("cells did not reach tol; the first: fold 0" in m for m in messages)
    assert len(messages) == 2  # the search's, and the refit's own


def test_saved_and_shown(tmp_path, capsys):
    X, y = problem()
    clf = AUCClassifierCV(cv=3, verbose=1).fit(X, y)
    save(clf, tmp_path / "m")
    again = load(tmp_path / "m")
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))
    assert np.array_equal(again.auc_path_, clf.auc_path_, equal_nan=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": ()}, "alphas must be a non-empty sequence"),
        ({"alphas": (-1.0,)}, r"each of alphas must be a number in \[0, inf\)"),
        ({"standardize": (2.0,)}, r"each of standardize must be a number in \[0, 1\]"),
        ({"l1_ratios": 0.5}, "l1_ratios must be a non-empty sequence"),
        ({"losses": "square"}, "losses must be a non-empty sequence"),
        ({"losses": ("exp",)}, "each of losses must be one of"),
        ({"losses": [["square"]]}, "each of losses must be one of"),
        ({"losses": ("hinge",), "l1_ratios": (0.5,)}, "no solver takes any"),
        ({"cv": 1}, "k-fold"),
        ({"tol": -1}, "tol must be"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0; got 0"),
        ({"n_jobs": 1.5}, "n_jobs must be None or a whole number"),
    ],
)
def test_bad_settings_leave_the_model(settings, message):
    X, y = problem()
    clf = AUCClassifierCV(cv=3).fit(X, y)
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match=message):
        clf.set_params(**settings).fit(X, y)
    assert np.array_equal(clf.coef_, coef)
    assert clf.n_features_in_ == X.shape[1]


def test_folds_without_a_class():
    X, y = problem(n=40)
    y[:] = 0
    y[:3] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="training part of fold 0 holds only one class"):
            AUCClassifierCV(cv=KFold(4)).fit(X, y)
        split = [(np.arange(2, 40), np.array([0, 1])), (np.arange(0, 38), np.array([38, 39]))]
        with pytest.raises(ValueError, match="every held-out part holds only one class"):
            AUCClassifierCV(cv=split).fit(X, y)


def test_clone_and_params():
    clf = AUCClassifierCV(alphas=(1.0,), n_jobs=2, cv=KFold(3))
    assert clone(clf).get_params()["n_jobs"] == 2


ALPHAS = np.arange(-4.0, 1.0)  # in decades from the usual one, which is the last


def test_the_choice_leans_to_the_usual_alpha_as_far_as_the_folds_cannot_tell():
    mean, noise = np.array([0.81, 0.78, 0.79, 0.80, 0.80]), np.zeros((4, 5))
    noise[:, 0] = [0.1, -0.1, 0.1, -0.1]  # a single α, high by chance
    loud, quiet = mean + noise, mean + 0.01 * noise
    assert selection.best_cell(loud, ALPHAS) == (4,)
    assert selection.best_cell(quiet, ALPHAS) == (0,)
    assert selection.best_cell(loud) == (0,)  # α of the user's own
    assert selection.best_cell(1.0 - loud, ALPHAS) == (4,)  # what is best all the same


@pytest.mark.parametrize("decades", [None, np.zeros(7), np.arange(7.0)])
def test_places_of_equal_and_of_missing_cells(decades):
    flat = np.full((3, 2, 7), 0.5)
    assert selection.best_cell(flat, decades)[-1] == 6  # among equals the strongest
    assert selection.best_cell(np.full((3, 7), np.nan), decades) is None
    scores = np.random.default_rng(0).uniform(size=(3, 2, 7))
    scores[:, 0] = np.nan
    assert selection.best_cell(scores, decades)[0] == 1
    one_fold = np.where(np.arange(3)[:, None, None] == 1, scores, np.nan)  # nothing tells the noise
    place = selection.best_cell(one_fold, decades)
    assert one_fold[1][place] == np.nanmax(one_fold)


def test_many_rows_choose_what_few_rows_do_not():
    """The same differences on every fold are no noise, however far the best α is."""
    scores = np.tile(np.linspace(0.9, 0.8, 5), (20, 1)) + np.linspace(0, 0.1, 20)[:, None]
    assert selection.best_cell(scores, ALPHAS) == (0,)


def test_only_the_automatic_grid_leans():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(60, 20)), np.arange(60) % 2
    how = {"losses": ["square"], "standardize": [0.0], "cv": 3}
    automatic = AUCClassifierCV(**how).fit(X, y)
    own = AUCClassifierCV(alphas=automatic.alphas_[0, 0], **how).fit(X, y)
    tried = np.isfinite(automatic.auc_path_)
    assert np.array_equal(automatic.auc_path_[tried], own.auc_path_[tried])
    mean = own.auc_path_.mean(axis=0)[0, 0, 0]
    assert own.alpha_ == own.alphas_[0, 0, np.flatnonzero(mean == mean.max())[-1]]
    assert automatic.alpha_ != own.alpha_  # no signal: what is best is luck
    usual = 2.0 / 30 * automatic.alphas_[0, 0, -1] * 10**0.5
    assert abs(np.log10(automatic.alpha_ / usual)) < abs(np.log10(own.alpha_ / usual))


def walk(grid, scores):
    """Return the cells that a search tries, given what it would find, and the one it chooses."""
    tried, cells = np.zeros(grid.shape, dtype=bool), grid.first()
    while cells.any():
        assert not np.any(tried & cells)
        tried |= cells
        found = np.where(tried, scores, np.nan)
        best = selection.best_cell(found, grid.decades)
        cells = grid.following(best, tried, found)
    return tried, best


def walked_grid():
    losses = tuple(NamedLoss(loss, 0.5) for loss in ("square", "squared_hinge", "logistic"))
    alphas = np.logspace(-5, 0, 11) * np.array([[1.0], [3.0]])
    usual = np.array([1e-3, 3e-4, 1e-4])[:, None] * [1.0, 3.0]
    return selection.Grid(losses, (0.5, 1.0), (0.0, 0.3, 0.6), alphas, usual=usual)


@pytest.mark.parametrize("seed", range(8))
def test_no_alpha_beside_the_chosen_one_is_left_to_try(seed):
    grid, rng = walked_grid(), np.random.default_rng(seed)
    scores = rng.uniform(size=(5, *grid.shape))
    if seed % 2:  # where no solver takes some of them
        scores[:, rng.integers(3), :, rng.integers(3)] = np.nan
    tried, place = walk(grid, scores)
    assert tried[place]
    assert np.all(np.isfinite(scores[:, *place]))
    line, k = scores[:, *place[:-1]].mean(axis=0), place[-1]
    for side in {-1, 1} if 0 < k < 10 else {1 if k == 0 else -1}:
        if not tried[*place[:-1], k + side]:  # gains towards k diminish
            assert 0.0 < line[k] - line[k - side] < line[k - side] - line[k - 2 * side]
    assert np.all(tried.any(axis=(1, 2, 3)))  # each loss
    assert np.all(tried[0].any(axis=-1))  # each standardize and l1_ratio
    assert tried.sum() < tried.size


@pytest.mark.parametrize("summit", [3, 5, 8])
def test_a_walk_ends_on_the_one_summit(summit):
    """Of each loss at its own α, ten times less for the logistic loss, which bends less."""
    grid, rng = walked_grid(), np.random.default_rng(summit)
    away = np.arange(11) - np.array([summit, summit, summit - 2])[:, None]
    apart = rng.uniform(size=grid.shape[0:1]), rng.uniform(size=2), rng.uniform(size=3)
    scores = sum(np.ix_(*apart))[..., None] - 0.1 * away[:, None, None] ** 2
    place = walk(grid, np.repeat(scores[None], 4, axis=0))[1]
    assert place == np.unravel_index(scores.argmax(), scores.shape)


@pytest.mark.parametrize(
    ("before", "last", "apart", "goes_on"),
    [(4e-3, 2e-3, 1e-3, True), (4e-3, 2e-3, 4e-3, False), (2e-3, 4e-3, 4e-3, True)],
)
def test_a_walk_ends_where_it_expects_less_than_the_lean(before, last, apart, goes_on):
    """The last gain is the same share of the one before as the next is expected to be of it."""
    losses, alphas = (NamedLoss("square", 0.5),), 10.0 ** np.arange(-5.0, 1.0)[None]
    grid = selection.Grid(losses, (0.5,), (0.0,), alphas, usual=np.array([[1e-1]]))
    scores = np.full((3, *grid.shape), np.nan)
    gains = np.array([before + last, before, 0.0])
    scores[..., 3:] = gains + np.outer([-apart, 0.0, apart], range(3))[:, None, None, None]
    noise = apart * np.sqrt(np.mean([0.0, 1.0, 4.0]))  # of the differences from the best cell
    assert goes_on == (last**2 / before > 0.1 * noise * (2**2 - 1**2) or last > before)
    best = selection.best_cell(scores, grid.decades)
    cells = grid.following(best, np.isfinite(scores[0]), scores)
    assert np.flatnonzero(cells).tolist() == ([2] if goes_on else [])


def test_a_loss_behind_another_one_on_all_rows_is_not_tried_in_the_folds():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(4_000, 4)))
    y = X @ [1.0, 1.0, -1.0, 0.0] + rng.normal(size=4_000) > 1.5
    told: list = []
    clf = AUCClassifierCV(callback=told.append).fit(X, y)
    tried = np.isfinite(clf.auc_path_[0]).sum(axis=(1, 2, 3))
    assert tried[1] == 0 < min(tried[0], tried[2])
    assert told[-1].done == told[-1].total
    every = AUCClassifierCV(scoring="roc_auc").fit(X, y)  # a scorer needs the folds
    assert np.isfinite(every.auc_path_[0, 1]).any()
    assert (every.loss_, every.alpha_) == (clf.loss_, clf.alpha_)
    top = AUCClassifierCV(scoring="partial_auc", max_fpr=0.1).fit(X, y)  # where few rows decide
    assert np.isfinite(top.auc_path_[0]).any(axis=(1, 2, 3)).all()


def test_where_nothing_can_be_scored_the_search_goes_on():
    grid = walked_grid()
    scores = np.full((5, *grid.shape), np.nan)
    scores[:, 2, 1, 2, 0] = 0.5
    tried, place = walk(grid, scores)
    assert place == (2, 1, 2, 0)
    assert tried.all()


def test_alphas_of_the_user_are_all_tried():
    grid = walked_grid()._replace(usual=None)
    assert grid.first().all()
    X, y = problem()
    assert np.isfinite(AUCClassifierCV((1e-3, 1e-2), cv=2).fit(X, y).auc_path_).all()


@pytest.mark.parametrize("few", [True, False])
def test_a_search_is_a_part_of_that_of_all_its_cells(few, monkeypatch):
    if not few:
        monkeypatch.setattr("aucmax.estimators.search.MAX_MATRIX_FEATURES", 0)
    X, y = problem(n=200)
    seen = []
    how = {"tol": 1e-8, "cv": 3, "standardize": (0.5, 1.0)}
    clf = AUCClassifierCV(**how, callback=lambda at: seen.append((at.done, at.total))).fit(X, y)
    every = AUCClassifierCV(clf.alphas_[0, 0], **how).fit(X, y)
    tried = np.isfinite(clf.auc_path_)
    assert np.array_equal(tried[0], tried.any(axis=0))  # on all folds or on none
    assert np.all(tried[0].any(axis=(1, 2, 3)))
    assert not tried.all()
    assert clf.auc_path_[tried] == pytest.approx(every.auc_path_[tried], abs=1e-3)
    assert clf.best_score_ == clf.best_interval_.auc
    assert clf.optimality_ <= 1e-8
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("d", [6, 24])  # few enough for the matrix of a step, and not
def test_a_step_from_all_rows_forgets_those_that_are_held_out(sparse, d, monkeypatch):
    """With default tolerance the folds' scores are those of exact fits to the training parts."""
    rng = np.random.RandomState(0)
    X = rng.randn(9000, d) * (rng.rand(9000, d) < 0.5)
    y = (X[:, :5] @ rng.randn(5) + rng.randn(9000) > 0.6).astype(int)
    X, solved = sp.csr_matrix(X) if sparse else X, []
    solve = Newton.solve

    def counted(*how):
        solved.append(how)
        return solve(*how)

    monkeypatch.setattr(Newton, "solve", counted)
    how = {"standardize": (0.5,)}
    clf = AUCClassifierCV(**how).fit(X, y)
    others = np.isfinite(clf.auc_path_[:, 1:])
    assert len(solved) < 0.5 * others.sum()
    exact = AUCClassifierCV(clf.alphas_[0, 0], tol=1e-8, **how).fit(X, y)
    apart = (clf.auc_path_ - exact.auc_path_)[:, 1:][others]
    assert np.abs(apart).max() < 3e-4
    seen = AUCClassifier(clf.alpha_, loss=clf.loss_, standardize=0.5).fit(X, y)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0).split(X, y)
    scores = seen.decision_function(X)
    leaked = np.mean([roc_auc(y[test], scores[test]) for _, test in folds]) - clf.best_score_
    assert abs(apart.mean()) < 0.1 * leaked


def test_a_callback_cannot_change_the_scores():
    def spoil(at):
        at.scores[...] = 0.5

    with pytest.raises(ValueError, match="read-only"):
        AUCClassifierCV([0.1], cv=3, callback=spoil).fit(*problem())


def test_progress_is_the_best_mean_of_cells_that_every_finished_fold_has():
    finished = []

    def look(at):
        of_finished = at.scores[at.finished]
        scored = np.isfinite(of_finished)
        assert np.all(scored == scored[:1])
        assert not np.isfinite(at.scores[~at.finished]).any()
        best = np.nanmax(of_finished.mean(axis=0)) if len(of_finished) else np.nan
        assert at.best == pytest.approx(best, nan_ok=True)
        finished.append(len(of_finished))

    AUCClassifierCV(cv=3, callback=look).fit(*problem())
    assert finished == sorted(finished)
    assert set(finished) == {0, 1, 2, 3}


@pytest.mark.parametrize("weighted", [False, True])
def test_no_step_is_taken_where_few_rows_of_a_class_count(weighted, monkeypatch):
    """All rows' optimum is not near that of a part where each row of a class moves it far."""
    found = []
    find = Centres.find
    monkeypatch.setattr(Centres, "find", lambda *given: found.append(find(*given)))
    rng = np.random.RandomState(0)
    X, y = rng.randn(1200, 2), np.repeat([0, 1], [800, 400])
    X[y == 1, 0] += 1.0
    how = {"losses": ("square", "squared_hinge"), "standardize": (0.5,), "cv": 3}
    AUCClassifierCV([0.1], **how).fit(X, y)
    assert found
    found.clear()
    weight = np.where((y == 1) & (rng.rand(1200) < 0.7), 1e-3, 1.0)
    y, weight = (y, weight) if weighted else (np.repeat([0, 1], [1080, 120]), None)
    AUCClassifierCV([0.1], **how).fit(X, y, sample_weight=weight)
    assert not found


def test_folds_by_themselves_are_shuffled():
    """Rows in some order, each block of them unlike the others, still give folds that are alike."""
    rng = np.random.RandomState(0)
    block = np.repeat(np.arange(5), 100)
    y = np.tile([0, 1], 250)
    X = rng.randn(500, 6) + np.eye(6)[block] * 4 * y[:, None]  # each has a feature of its own
    settings = {"alphas": (0.1,), "losses": ("square",), "standardize": (0.5,)}
    clf = AUCClassifierCV(**settings).fit(X, y)
    drawn = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0)
    same = AUCClassifierCV(cv=drawn, **settings).fit(X, y)
    np.testing.assert_array_equal(clf.auc_path_, same.auc_path_)
    in_order = AUCClassifierCV(cv=5, **settings).fit(X, y)
    assert clf.best_score_ > in_order.best_score_ + 0.2


def test_the_grid_and_the_folds_follow_the_rarer_class():
    X, y = problem(n=1200)
    y = np.zeros(1200, dtype=int)
    for rare, folds, alphas in ((40, 20, 8), (99, 20, 9), (100, 5, 9), (600, 5, 10)):
        y[:rare] = 1
        for labels in (y, 1 - y):  # whichever is rarer
            clf = AUCClassifierCV(losses=("square",), standardize=(0.5,)).fit(X, labels)
            assert clf.auc_path_.shape == (folds, 1, 1, 1, alphas)
            assert clf.alphas_[0, 0, -1] == pytest.approx(10**-0.5)


def test_the_automatic_folds_hold_out_each_row_as_often():
    X, y = problem(n=300)
    y = (np.arange(300) < 30).astype(int)
    clf = AUCClassifierCV(losses=("square",), standardize=(0.5,)).fit(X, y)
    rounds = [np.sort(np.concatenate(clf.held_out_[k : k + 5])) for k in range(0, 20, 5)]
    assert all(len(held) == 300 for held in rounds)
    assert not np.allclose(rounds[0], rounds[1])  # other folds each time


def in_two_parts(X, y):
    return Source([lambda k=k: (X[k::2], y[k::2]) for k in range(2)])


def test_there_are_as_many_automatic_folds_as_rows_of_the_rarer_class():
    X, _ = problem(n=40)
    cheap = {"alphas": (0.1,), "losses": ("square",), "standardize": (0.5,)}
    for rare in (2, 3, 5, 7):
        y = (np.arange(40) < rare).astype(int)
        for form in ((X, y), (in_two_parts(X, y),)):
            clf = AUCClassifierCV(**cheap).fit(*form)
            assert clf.auc_path_.shape[0] == 4 * min(rare, 5)
            assert np.isfinite(clf.auc_path_).all()  # both classes are in each held-out part
        groups = np.arange(40) // 2
        if rare > 2:
            clf = AUCClassifierCV(**cheap).fit(X, y, groups=groups)
            assert len(clf.held_out_) == 4 * min(-(-rare // 2), 5)
    three = np.where(np.arange(40) > 20, 2, (np.arange(40) < 3).astype(int))
    assert MulticlassAUCClassifier(AUCClassifierCV(**cheap)).fit(X, three).coef_.shape == (3, 6)

    alone = AUCClassifierCV(**cheap)
    for form in ((X, y * (np.arange(40) < 1)), (in_two_parts(X, y * (np.arange(40) < 1)),)):
        with pytest.raises(ValueError, match="label 1 has 1 row; cross-validation needs 2 or more"):
            alone.fit(*form)
    with pytest.raises(ValueError, match="label 1 has its rows in 1 group; cross-validation"):
        alone.fit(X, y, groups=np.arange(40) // 7)
    with pytest.raises(ValueError, match="label 1 has 1 row with a weight above 0"):
        alone.fit(X, y, sample_weight=np.arange(40) > 5)
    with pytest.raises(ValueError, match=r"class 1 against the rest: label 1\.0 has 1 row"):
        MulticlassAUCClassifier(alone).fit(X, np.where(three == 1, 0, three) + (np.arange(40) < 1))


def test_rows_without_weight_do_not_move_the_automatic_folds():
    X, y = problem(n=150)
    weight = (np.arange(150) % 3 > 0) * 1.0
    there = weight > 0
    clf = AUCClassifierCV(losses=("square",)).fit(X, y, sample_weight=weight)
    same = AUCClassifierCV(losses=("square",)).fit(X[there], y[there])
    np.testing.assert_allclose(clf.auc_path_, same.auc_path_, atol=1e-12)


@pytest.mark.parametrize("routing", [False, True])
def test_automatic_folds_keep_groups_together(routing):
    X, y, groups = grouped()
    with config_context(enable_metadata_routing=routing):
        clf = AUCClassifierCV([0.01], losses=("square",)).fit(X, y, groups=groups)
        pairs = Folding(groups).folds(y, 5, 0, 1 if min(np.bincount(y)) > 99 else 4)
        same = AUCClassifierCV([0.01], losses=("square",), cv=pairs).fit(X, y)
        assert np.array_equal(clf.auc_path_, same.auc_path_)
        if routing:
            pipe = make_pipeline(FunctionTransformer(), clone(clf)).fit(X, y, groups=groups)
            assert np.array_equal(pipe[-1].auc_path_, clf.auc_path_)


def test_repeated_folds_are_merged_round_by_round(monkeypatch):
    read, work = [], moments.block_moments

    def counted(X, rows, share):
        read.append(len(rows))
        return work(X, rows, share)

    X, y = problem()
    sign = np.where(y == 1, 1.0, -1.0)
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    folds = list(cv.split(X, y))
    monkeypatch.setattr(moments, "block_moments", counted)
    training, total = fold_moments(labelled(X, sign), folds)
    assert sum(read) == 2 * len(y)
    for rows, merged in zip(
        [*(train for train, _ in folds), slice(None)], [*training, total], strict=True
    ):
        direct = moments.ClassMoments.from_data(X[rows], sign[rows])
        assert np.allclose(merged.counts, direct.counts, rtol=0)
        assert np.allclose(merged.covs, direct.covs, rtol=1e-10, atol=1e-12)


def test_training_parts_that_are_not_the_rest_are_taken_as_given():
    """Their sizes may add up all the same."""
    rng = np.random.RandomState(3)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0).astype(int)
    halves = np.split(rng.permutation(120), 2)
    drawn = []
    for train, test in StratifiedKFold(3).split(X, y):
        drawn.append((rng.choice(train, len(train)), test))
        drawn.append((rng.choice(train, len(y)), test))  # as many as there are rows
    for cv in ([(a, a) for a in halves], drawn, [(halves[0], halves[1]), (halves[0], halves[0])]):
        losses = ("square", "squared_hinge", "logistic")
        clf = AUCClassifierCV([0.1], losses=losses, standardize=(0.0,), cv=cv, tol=1e-8).fit(X, y)
        for k, (train, test) in enumerate(cv):
            for a, loss in enumerate(losses):
                alone = AUCClassifier(0.1, loss=loss, standardize=0.0).fit(X[train], y[train])
                auc = roc_auc(y[test], alone.decision_function(X[test]))
                assert clf.auc_path_[k, a].item() == pytest.approx(auc, abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": GroupKFold(3)}, "needs groups, one for each row"),
        ({"cv": []}, "cv gives no splits"),
        ({"cv": [([0, 1, 50], [2, 3])]}, "split 0 of cv must hold two non-empty arrays"),
        ({"cv": [(np.arange(500), [2])]}, r"from 0 to \d+; got \[0, 1, 2, 3, 4, 5, \.\.\.\]"),
        ({"cv": [([0.0, 1.0], [2, 3])]}, "split 0 of cv must hold"),
        ({"cv": [1, 2, 3]}, r"split 0 of cv must be a pair \(train, test\) of row numbers; got 1"),
        ({"cv": iter([([0, 1, 2, 3], [4, 5]), ([0, 1],)])}, "split 1 of cv must be a pair"),
        ({"cv": [(np.arange(10), np.arange(10, 20), np.arange(20, 40))]}, "split 0 .* be a pair"),
        ({"cv": [([0, 1, 2, 3], [])]}, "split 0 of cv must hold"),
        ({"losses": None}, "losses must be a non-empty sequence; got None"),
        ({"standardize": None}, "standardize must be a non-empty sequence"),
        ({"l1_ratios": None}, "l1_ratios must be a non-empty sequence"),
    ],
)
def test_splits_and_settings_that_cannot_be_used(settings, message):
    X, y = np.random.RandomState(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV(**settings).fit(X, y)


def test_a_model_tuned_with_a_splitter_is_saved(tmp_path):
    X, y = np.random.RandomState(0).normal(size=(40, 2)), np.arange(40) % 2
    groups = np.arange(40) // 4
    splitters = [
        StratifiedKFold(3, shuffle=True, random_state=1),
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        ShuffleSplit(2, random_state=0),
        StratifiedKFold(3).split(X, y),
        list(GroupKFold(2).split(X, y, groups)),
    ]
    for cv in splitters:
        clf = AUCClassifierCV([0.1], losses=("square",), standardize=(0.0,), cv=cv).fit(X, y)
        save(clf, tmp_path / "m.aucmax")
        np.testing.assert_array_equal(load(tmp_path / "m.aucmax").coef_, clf.coef_)


# ---- groups, weights and the score


def grouped(seed=0):
    """Rows in groups whose members are alike, so that a split through a group shows."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(30), 4)
    y = (np.arange(30) % 2)[rng.permutation(30)][groups]
    X = rng.normal(size=(30, 5))[groups] + 0.3 * y[:, None] + 0.1 * rng.normal(size=(120, 5))
    mixed = rng.permutation(120)
    return X[mixed], y[mixed], groups[mixed]


ONE = {"losses": ("square",), "alphas": (0.01, 1.0), "standardize": (0.0,)}


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("splitter", [GroupKFold(3), StratifiedGroupKFold(3)])
def test_groups_reach_the_splitter(splitter, routing):
    X, y, groups = grouped()
    pairs = list(splitter.split(X, y, groups))
    known = AUCClassifierCV(**ONE, cv=pairs).fit(X, y)
    with config_context(enable_metadata_routing=routing):
        clf = AUCClassifierCV(**ONE, cv=splitter).fit(X, y, groups=groups)
    assert np.array_equal(clf.auc_path_, known.auc_path_, equal_nan=True)
    whole = AUCClassifierCV(**ONE, cv=3).fit(X, y)
    assert whole.best_score_ > clf.best_score_ + 0.02  # what the groups are there to prevent


@pytest.mark.parametrize("routing", [False, True])
def test_missing_groups_are_named(routing):
    X, y, groups = grouped()
    with config_context(enable_metadata_routing=routing):
        clf = AUCClassifierCV(**ONE, cv=GroupKFold(3))
        with pytest.raises(ValueError, match=r"cv=GroupKFold\(.*needs groups.*fit\(X, y, groups="):
            clf.fit(X, y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            clf.fit(X, y, groups=groups[:-1])
    assert not hasattr(clf, "coef_")


def test_groups_for_a_splitter_that_takes_none():
    X, y, groups = grouped()
    with pytest.warns(UserWarning, match="groups parameter is ignored"):
        AUCClassifierCV(**ONE, cv=StratifiedKFold(3)).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="groups"):
        AUCClassifierCV(**ONE, cv=3).fit(X, y, groups=groups)
    rows = iter(list(StratifiedKFold(3).split(X, y)))
    with config_context(enable_metadata_routing=True):
        clf = AUCClassifierCV(**ONE, cv=rows)
        clf.get_metadata_routing()
        assert clf.fit(X, y).auc_path_.shape[0] == 3  # asking has not spent the generator


def test_groups_and_weights_through_a_pipeline_and_cross_validation():
    X, y, groups = grouped()
    weight = np.random.default_rng(1).uniform(0.1, 3, len(y))
    with config_context(enable_metadata_routing=True):
        clf = AUCClassifierCV(**ONE, cv=GroupKFold(3)).set_fit_request(sample_weight=True)
        alone = clone(clf).fit(X, y, sample_weight=weight, groups=groups)
        pipe = make_pipeline(FunctionTransformer(), clone(clf))
        pipe.fit(X, y, sample_weight=weight, groups=groups)
        assert np.array_equal(pipe[-1].auc_path_, alone.auc_path_)
        params = {"sample_weight": weight, "groups": groups}
        unweighted = get_scorer("roc_auc").set_score_request(sample_weight=False)
        found = cross_validate(
            pipe, X, y, cv=GroupKFold(4), params=params, return_estimator=True, scoring=unweighted
        )
        for fitted, score, (train, test) in zip(
            found["estimator"], found["test_score"], GroupKFold(4).split(X, y, groups), strict=True
        ):
            inner = clone(clf).fit(
                X[train], y[train], sample_weight=weight[train], groups=groups[train]
            )
            assert np.array_equal(fitted[-1].auc_path_, inner.auc_path_)
            assert score == roc_auc_score(y[test], inner.decision_function(X[test]))
    plain = make_pipeline(FunctionTransformer(), AUCClassifierCV(**ONE, cv=GroupKFold(3)))
    plain.fit(X, y, aucclassifiercv__groups=groups)
    assert plain[-1].auc_path_.shape[0] == 3


def test_score_is_the_auc():
    X, y = problem()
    names = np.where(y == 1, "a", "b")  # the larger label is positive
    clf = AUCClassifierCV(**ONE, cv=3).fit(X, names)
    expected = roc_auc_score(names == "b", clf.decision_function(X))
    assert clf.score(X, names) == pytest.approx(expected)
    weight = np.random.default_rng(0).uniform(size=len(y))
    expected = roc_auc_score(names == "b", clf.decision_function(X), sample_weight=weight)
    assert clf.score(X, names, sample_weight=weight) == pytest.approx(expected)
    search = GridSearchCV(AUCClassifier(), {"alpha": [clf.alpha_]}, scoring="roc_auc").fit(X, names)
    best = search.best_estimator_.decision_function(X)
    assert search.score(X, names) == pytest.approx(roc_auc_score(names == "b", best))


def test_a_model_tuned_in_groups_is_saved(tmp_path):
    X, y, groups = grouped()
    for splitter in (GroupKFold(3), StratifiedGroupKFold(3), GroupShuffleSplit(3, random_state=0)):
        clf = AUCClassifierCV(**ONE, cv=splitter, callback=print).fit(X, y, groups=groups)
        save(clf, tmp_path / "m")
        again = load(tmp_path / "m")
        assert repr(again.cv) == repr(splitter)
        assert again.callback is None
        assert np.array_equal(again.decision_function(X), clf.decision_function(X))


# ---- the spread within the classes


def test_the_square_loss_is_tried_with_each_within():
    X, y = problem()
    weight = np.random.RandomState(2).rand(len(y))
    taus, alphas, gammas = (0.1, "pooled", 0.5), (1e-2, 1.0), (0.0, 1.0)
    losses = ("squared_hinge", "square", "logistic")
    cv = StratifiedKFold(2)
    clf = AUCClassifierCV(alphas, (0.0, 0.5), losses, gammas, cv, within=taus, tol=1e-10)
    clf.fit(X, y, weight)
    weighed = [(loss, tau) for loss in ("square", "logistic") for tau in taus]
    assert clf.losses_ == [("squared_hinge", 0.5), *weighed]
    assert clf.auc_path_.shape == (2, 7, 2, 2, 2)
    assert clf.alphas_.shape == (7, 2, 2)
    for k, (train, test) in enumerate(cv.split(X, y)):
        for a, (loss, tau) in enumerate(clf.losses_):
            for b, c, j in np.ndindex(2, 2, 2):
                settings = {"loss": loss, "within": tau, "standardize": gammas[b], "tol": 1e-10}
                cell = AUCClassifier(alphas[j], (0.0, 0.5)[c], **settings)
                cell.fit(X[train], y[train], weight[train])
                auc = roc_auc(y[test], cell.decision_function(X[test]), weight[test])
                assert clf.auc_path_[k, a, b, c, j] == pytest.approx(auc, abs=1e-12)
    only = AUCClassifierCV(alphas, losses=("square",), within=(0.1,), cv=cv).fit(X, y)
    assert (only.within_, only.best_estimator_.within) == (0.1, 0.1)
    both = AUCClassifierCV(alphas, losses=("square", "logistic"), within=(0.0, 0.3, 1.0), cv=cv)
    assert both.fit(X, y).losses_ == [
        ("square", 0.0), ("square", 0.3), ("square", 1.0), ("logistic", 0.3)
    ]  # fmt: skip
    same = AUCClassifierCV(alphas, losses=("square",), cv=cv).fit(X, y)
    assert same.losses_ == [("square", 0.5)]
    assert not np.array_equal(same.coef_, only.coef_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"within": ()}, r"within must be 'auto' or a non-empty sequence; got \(\)"),
        ({"within": 0.1}, "within must be 'auto' or a non-empty sequence; got 0.1"),
        ({"within": (0.1, 2)}, r"each of within, unless it is 'pooled', must be .*; got 2\."),
        ({"within": ("all",)}, "each of within, unless it is 'pooled', .*; got 'all'"),
        ({"within": (0.1,), "losses": ("hinge",)}, "is for loss='square' or, between 0 and 1"),
        ({"within": (0, 1.0), "losses": ("logistic",)}, "between 0 and 1, 'logistic'; add one"),
    ],
)
def test_a_bad_within(settings, message):
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV(cv=3).set_params(**settings).fit(*problem())


@pytest.mark.parametrize("infinite", [-np.inf, np.inf])
def test_an_infinite_score_in_one_fold_is_the_worst_or_the_best(infinite):
    scores = np.array([[0.7, 0.8, 0.6], [0.7, 0.9, 0.6]])
    scores[0, 2] = infinite
    assert selection.best_cell(scores, np.array([0.0, 1.0, 2.0])) == (
        (1,) if infinite < 0 else (2,)
    )


class EveryPair(PairwiseLoss):
    """The squared hinge with no more than a new loss has to have."""

    name = "every_pair"

    def point(self, t):
        return np.maximum(1.0 - t, 0.0) ** 2

    def derivative(self, t):
        return -2.0 * np.maximum(1.0 - t, 0.0)

    def curvature(self, t):
        return np.where(t < 1.0, 2.0, 0.0)


def test_a_search_takes_a_new_loss(monkeypatch, tmp_path, run):
    monkeypatch.setitem(LOSSES, EveryPair.name, EveryPair())
    X, y = problem(n=150)
    names = "every_pair", "squared_hinge"
    ours, its = (AUCClassifierCV(losses=(name,), cv=3).fit(X, y) for name in names)
    np.testing.assert_allclose(ours.auc_path_, its.auc_path_, atol=1e-12)
    for one, other in zip(effects(ours, X, y)[1:5], effects(its, X, y)[1:5], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)
    parts = Source([lambda k=k: (X[k::3], y[k::3]) for k in range(3)])
    in_parts = AUCClassifierCV([0.1], losses=names[:1], cv=2).fit(parts)
    assert np.isfinite(in_parts.best_score_)

    table = tmp_path / "rows.csv"
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,y", comments="")
    for arguments in (
        ("cv", table, "--losses", "every_pair,square", "--folds", 3),
        ("train", table, "--loss", "every_pair", "-o", tmp_path / "m.aucmax"),
    ):
        code, out, err = run(*arguments)
        assert code == 0, err
        assert "every_pair" in out
    assert LOSSES["every_pair"].bytes_of_row(0.1) == 100.0


def test_a_loss_that_is_a_line_at_0_has_a_usual_alpha():
    class Huber(EveryPair):
        def curvature(self, t):
            return np.where(np.abs(t - 1.0) < 0.5, 1.0, 0.0)

    assert Huber().usual_alpha == EveryPair().usual_alpha == LOSSES["hinge"].usual_alpha
