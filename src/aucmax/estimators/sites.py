"""Settings chosen by leaving out one site at a time, of which only the class moments are known.

The moments of the site left out tell how well the model of the other sites ranks its rows: exactly
in terms of the square loss, and as an estimate and bounds of the AUC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from aucmax.basics.progress import working
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.labelling import classes_behind, of_two_classes
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.selection import Grid, Place, alpha_grid, best_cell
from aucmax.estimators.tuning import path, warn_of
from aucmax.metrics import MomentAUC, moment_auc
from aucmax.objective.problem import ANY_MOMENTS, MomentsProblem
from aucmax.statistics.base import ClassStatistics, leaving_out
from aucmax.statistics.moments import ClassMoments

__all__ = ["Site", "TunedOnSites", "tune_on_sites"]

_SURE = 2.0  # standard errors by which the estimate of another τ must exceed that of the first
_ALL = "the sum of the sites"


@dataclass(frozen=True)
class Site:
    """A site, and how well the model of the other sites ranks its rows.

    Parameters
    ----------
    name : str
    rows, positives : float
        Their total weight: their number, if they are not weighted.
    loss : float, optional
        The square loss on its rows; None if it was not left out, because it lacks a class.
    auc : MomentAUC, optional
        An estimate and bounds of the AUC of its rows; also None with private moments.
    """

    name: str
    rows: float
    positives: float
    loss: float | None = None
    auc: MomentAUC | None = None


@dataclass(frozen=True)
class TunedOnSites:
    """A model whose settings were chosen by leaving out one site at a time.

    Parameters
    ----------
    model : AUCClassifier
        Fitted to the moments of all sites.
    sites : list of Site
        In the order in which they were given.
    settings_tried : int
    """

    model: AUCClassifier
    sites: list[Site]
    settings_tried: int

    @property
    def loss(self) -> float:
        """The mean loss of the sites left out, weighted by their positives."""
        return float(self._mean([site.loss for site in self.sites if site.loss is not None]))

    @property
    def auc(self) -> MomentAUC | None:
        """The means of their AUC estimates and bounds, weighted in the same way, or None."""
        aucs = [site.auc for site in self.sites if site.auc is not None]
        return MomentAUC(*self._mean(aucs).tolist()) if aucs else None

    def _mean(self, values: list[Any]) -> Any:
        positives = [site.positives for site in self.sites if site.loss is not None]
        return np.average(values, axis=0, weights=positives)


def tune_on_sites(
    sites: Mapping[str, ClassStatistics],
    positive: Any = None,
    *,
    alphas: Sequence[float] | None = None,
    l1_ratios: Sequence[float] = (0.0,),
    within: Sequence[float | str] | None = None,
    standardize: Sequence[float] = (0.5, 1.0),
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: bool = False,
) -> TunedOnSites:
    """Choose the settings of the square loss by leaving out one site at a time, and fit to all.

    Parameters
    ----------
    sites : mapping of str to ClassMoments
        The moments of each site by its name. No row and no stratum may be in two of them, and
        either all compare rows within strata, or none does. A site without positives or without
        negatives is never left out, but its rows count for the models.
    positive : label, optional
        The label to rank first, against all others; by default the larger of two numbers, or the
        rarer of two words.
    alphas : sequence of float, optional
        By default a grid of half-decades that suits the number of rows.
    l1_ratios : sequence of float
        The values of ρ.
    within : sequence, optional
        The values of τ, by default 0.5, 0.2, 0.05 and "pooled"; with strata 0.5. The first is
        chosen unless another is clearly better, see Notes.
    standardize : sequence of float
        The values of γ.
    tol, max_iter
        The stopping rule of the solver.
    verbose : bool
        Show progress, on a terminal.

    Returns
    -------
    TunedOnSites
        The model, and how well the sites left out were ranked with its settings.

    Raises
    ------
    ValueError
        If columns differ, moments lack covariances, two sites have the same moments, or fewer than
        two sites have rows of both classes.

    Notes
    -----
    Let w be the coefficients for the other sites, which also set the scale of the features, and
    δ, Σ₊ and Σ₋ the moments of the site left out. Its loss is ½(1 − w·δ)² + w·(τΣ₊ + (1−τ)Σ₋)w;
    with τ = ½ that is half the mean of (1 − difference of scores)² over its pairs of a positive and
    a negative row. For each τ, the mean over the sites, weighted by their positives, decides on α,
    ρ and γ. Losses with different τ are not comparable. So τ is chosen by the same mean of the
    `moment_auc` estimates: it is the first of ``within``, unless the mean of another one is higher
    by two standard errors of the sites' differences.

    Peak memory is about six times that of the moments.

    The noise of private moments adds to the spread: their losses would be too large, and their AUC
    estimates wrong. If a site is private, there are no estimates, and τ is the first of ``within``.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import ClassMoments
    >>> from aucmax.estimators.sites import tune_on_sites
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(900) < 0.1
    >>> X = rng.normal(size=(900, 5)) + y[:, None]
    >>> sites = {f"clinic {i}": ClassMoments.from_data(X[i::3], y[i::3]) for i in range(3)}
    >>> tuned = tune_on_sites(sites)
    >>> [f"{site.name}: {site.auc.binormal:.2f}" for site in tuned.sites]
    ['clinic 0: 0.94', 'clinic 1: 0.94', 'clinic 2: 0.93']
    """
    moments, names = _checked(sites), list(sites)
    total = sum(moments, ClassMoments())
    binary, label = of_two_classes(total, positive, _ALL)
    target = classes_behind(total, positive, _ALL).positive
    signed = [site.relabelled(np.where(site.classes == target, 1.0, -1.0)) for site in moments]
    judges = [k for k, of_site in enumerate(signed) if np.count_nonzero(of_site.counts) == 2]
    if len(judges) < 2:
        present = f"only {names[judges[0]]}" if judges else "no site"
        raise ValueError(
            f"{present} has rows of both classes, and leaving one out needs two such sites; give "
            "more, or merge all and give alpha=."
        )
    training, of_all = leaving_out(signed)
    if within is None:
        within = (0.5, 0.2, 0.05, "pooled") if of_all.strata is None else (0.5,)
    grid = _grid(of_all, alphas, l1_ratios, within, standardize)
    model = AUCClassifier(tol=tol, max_iter=max_iter, positive=label)
    for place in np.ndindex(grid.shape):  # settings that no solver takes raise
        model.set_params(**grid.settings(place)).settings(ANY_MOMENTS)
    scores = {}
    with working("leaving out sites", not verbose) as now:
        for k in judges:
            now(f"leaving out {names[k]}")
            scores[k] = _Scores.of(signed[k], training[k], grid, tol, max_iter)
    private = any(of_site.guarantee is not None for of_site in moments)
    share = np.array([signed[k].n_pos for k in judges])
    place = _best(list(scores.values()), share / share.sum(), private)
    described = []
    for k, (name, of_site) in enumerate(zip(names, signed, strict=True)):
        rows = dict(zip(of_site.classes.tolist(), of_site.row_weights.tolist(), strict=True))
        site = Site(name, sum(rows.values()), rows.get(1.0, 0.0))
        if k in scores:
            auc = None if private else scores[k].auc(place)
            site = replace(site, loss=float(scores[k].loss[place]), auc=auc)
        described.append(site)
    model.set_params(**grid.settings(place)).fit_moments(binary)
    return TunedOnSites(model, described, int(np.prod(grid.shape)))


def _checked(sites: Mapping[str, ClassStatistics]) -> list[ClassMoments]:
    """Return the moments of sites; raise ValueError if any of them cannot be left out."""
    moments = list[ClassMoments]()
    for name, of_site in sites.items():
        if not isinstance(of_site, ClassMoments):
            raise ValueError(
                f"{name}: has no covariances, and leaving out a site needs them; merge all and "
                "give alpha=."
            )
        if of_site in moments:
            raise ValueError(
                f"{name}: has the same moments as {list(sites)[moments.index(of_site)]}, but no "
                "row may be in two sites, or it would not be left out; give each site once."
            )
        moments.append(of_site)
    return moments


def _grid(
    of_all: ClassMoments,
    alphas: Sequence[float] | None,
    l1_ratios: Sequence[float],
    within: Sequence[float | str],
    standardize: Sequence[float],
) -> Grid:
    """Return the grid of settings, with α that suit the rows of all sites."""
    problem, rarer = MomentsProblem(of_all), float(of_all.effective_rows.min())
    ascending = [
        alpha_grid(problem, gamma, rarer) if alphas is None else np.sort(np.asarray(alphas, float))
        for gamma in standardize
    ]
    losses = tuple(NamedLoss("square", tau) for tau in within)
    if not (losses and standardize and l1_ratios and len(ascending[0])):
        raise ValueError("alphas, l1_ratios, within and standardize must each have a value.")
    return Grid(losses, tuple(standardize), tuple(l1_ratios), np.array(ascending))


class _Scores(NamedTuple):
    """How well models rank the rows of a site, for each cell of a grid.

    Parameters
    ----------
    loss, gap, spread : ndarray, shape of the grid
        The loss, w·δ and w·(Σ₊ + Σ₋)w.
    """

    loss: np.ndarray
    gap: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(
        cls, site: ClassMoments, rest: ClassMoments, grid: Grid, tol: float, max_iter: int
    ) -> Self:
        """Fit models to the moments of the others, and judge them by those of the site."""
        held_out, problem, messages = MomentsProblem(site), MomentsProblem(rest), list[str]()
        loss, gap, spread = np.empty((3, *grid.shape))
        for line in grid.lines(np.ones(grid.shape, dtype=bool)):
            objectives = line.objectives(problem)
            scaled, at = objectives[0].problem, line.place
            W, late = path(objectives, line.alphas, tol, max_iter, None)
            W, messages = scaled.to_features(W), messages + late
            gap[at] = W @ held_out.delta
            spread[at] = _squares(W, held_out.within)
            weighed = _squares(W, held_out.weighing(scaled.tau).within)
            loss[at] = 0.5 * (1.0 - gap[at]) ** 2 + 0.5 * weighed
        warn_of(messages)
        return cls(loss, gap, spread)

    def auc(self, place: Place) -> MomentAUC:
        """Return what the moments imply about the AUC of a cell."""
        return moment_auc(self.gap[place], self.spread[place])


def _squares(W: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return w·Mw of each row w of W."""
    return np.einsum("kd,kd->k", W @ matrix, W)


def _best(scores: Sequence[_Scores], share: np.ndarray, private: bool) -> Place:
    """Return the place of the best settings: for each τ by the loss, then by the estimated AUC.

    ``share`` holds the weights of the sites in means.
    """
    means = np.tensordot(share, [of_site.loss for of_site in scores], 1)
    places: list[Place] = [(a, *(best_cell(-loss[None]) or ())) for a, loss in enumerate(means)]
    if private:
        return places[0]
    estimates = np.array([[of_site.auc(place).binormal for of_site in scores] for place in places])
    gains = estimates - estimates[0]
    gain = gains @ share
    between = max(1.0 - share @ share, np.finfo(float).eps)
    error = np.sqrt((gains - gain[:, None]) ** 2 @ share**2 / between)
    return places[int(np.argmax(np.where(gain > _SURE * error, gain, 0.0)))]
