"""The AUC on other rows of models whose settings are chosen by leaving out sites.

    python -m benchmarks sites                # four sites of 40, 30, 20 and 10 % of the rows
    python -m benchmarks sites --private-sites    # a9a at four sites, with noise

Each is the mean of draws of a few positives, and five times as many negatives, which a direction of
the features divides, with noise, between the sites; the other rows test. "Highest" is that of the
test rows, out of reach of any choice.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from aucmax import AUCClassifier, ClassMoments, datasets, metrics
from aucmax.estimators.sites import tune_on_sites
from aucmax.statistics.private import BoundedSums
from benchmarks.common.tables import show

SETS = {"german": None, "letter": "first-half", "a9a": None, "magic04": None}
POSITIVES = (20, 60, 200)
SHARES = (0.4, 0.3, 0.2, 0.1)
ALPHAS = 10.0 ** np.arange(-4, 0.1, 0.5)
GUARANTEES = ((10, 1e-6), (1, 1e-6), (0.1, 1e-6), (10, 0), (1, 0))


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load(name, binarize=SETS[name])
    X = data.data.toarray() if hasattr(data.data, "toarray") else np.asarray(data.data)
    return X, (data.target == max(data.target)).astype(int)


def aucs(sites: Mapping[str, Any], X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the AUC by default, with α and γ chosen, with τ as well, and the highest."""
    total = sum(sites.values())

    def auc(**settings: Any) -> float:
        model = AUCClassifier(**settings).fit_moments(total)
        return float(metrics.roc_auc(y, X @ model.coef_[0]))

    names = ("alpha", "within", "standardize")
    chosen = [tune_on_sites(sites, within=[0.5]).model, tune_on_sites(sites).model]
    tried = [auc(alpha=alpha, standardize=gamma) for alpha in ALPHAS for gamma in (0.5, 1.0)]
    found = [auc(**{name: getattr(model, name) for name in names}) for model in chosen]
    return [auc(), *found, max(tried)]


def drawn(X: np.ndarray, y: np.ndarray, positives: int, seed: int) -> list[float] | None:
    """Return the AUCs of a draw; None if the data or a site have too few rows."""
    rng = np.random.default_rng(seed)
    pos, neg = (rng.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    train = np.concatenate((pos[:positives], neg[: 5 * positives]))
    test = np.concatenate((pos[positives:][:3000], neg[5 * positives :][:6000]))
    if len(pos) < 2 * positives or len(neg) < 10 * positives:
        return None
    place = X[train] @ rng.normal(size=X.shape[1])
    place = place / place.std() + rng.normal(size=len(train))
    site = np.searchsorted(np.quantile(place, np.cumsum(SHARES[:-1])), place)
    rows = {f"site {k}": train[site == k] for k in range(len(SHARES))}
    sites = {name: ClassMoments.from_data(X[i], y[i]) for name, i in rows.items()}
    if sum(len(one.classes) == 2 for one in sites.values()) < 2:
        return None
    return aucs(sites, X[test], y[test])


def plain(seeds: int) -> Iterator[list[str]]:
    for name in SETS:
        X, y = read(name)
        for positives in POSITIVES:
            draws = [drawn(X, y, positives, seed) for seed in range(seeds)]
            means = [one for one in draws if one is not None]
            if means:
                yield [name, f"{positives}", *(f"{auc:.4f}" for auc in np.mean(means, axis=0))]


def private(seeds: int) -> Iterator[list[str]]:
    X, y = read("a9a")
    for epsilon, delta in GUARANTEES:
        results = []
        for seed in range(seeds):
            site, sites = np.random.default_rng(seed).integers(0, 4, len(y)), {}
            for k in range(4):
                sums = BoundedSums([0, 1], (0, 1)).update(X[site == k], y[site == k])
                sites[f"site {k}"] = sums.release(epsilon, delta)
            results.append(aucs(sites, X, y))
        default, chosen, _, highest = np.mean(results, axis=0)
        yield [f"{epsilon:g}, {delta:g}", *(f"{auc:.3f}" for auc in (default, chosen, highest))]


def main(seeds: int = 16, private_sites: bool = False) -> None:
    if private_sites:
        show(["ε, δ at each site", "default", "chosen", "highest"], private(seeds))
    else:
        head = ["data", "positives", "default", "α, γ chosen", "τ as well", "highest with τ = ½"]
        show(head, plain(seeds))
