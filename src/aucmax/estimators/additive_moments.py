"""Additive models from moments: the optimum of the square loss, with the features fixed.

A fitted model fixes which columns have curves, with which knots, and which pairs have maps. The
class moments of these features add, subtract and decay like any others, and give the model that a
fit to their rows would give.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from aucmax.columns.additive import AdditiveFeatures
from aucmax.estimators.classifier import AUCClassifier
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.moments import ClassMoments

__all__ = ["Prior"]

_FACTORS = 10.0 ** np.arange(-4.0, 2.25, 0.5)  # of a model's α, to try on sites
_PARTS = ("lines", "curves", "maps")


@dataclass(frozen=True, eq=False)
class Prior:
    """The features of a fitted additive model, and coordinates u in which its penalty is ‖u‖²/2.

    Parameters
    ----------
    features : AdditiveFeatures
        With the α of lines, curves and maps.
    """

    features: AdditiveFeatures

    @classmethod
    def of(cls, steps: Sequence[tuple[str, Any]]) -> Prior | None:
        """Return the prior of the last of some fitted steps; None unless it is an additive one."""
        last = steps[-1][1] if steps else None
        if isinstance(last, AdditiveFeatures) and hasattr(last, "alphas_"):
            return cls(last)
        return None

    @cached_property
    def root(self) -> Any:
        """T, shape (D, D): T u are the coefficients of features x, and u those of Tᵀx."""
        return self.features.coordinates()

    def alphas(self, factor: float = 1.0) -> dict[str, float]:
        """Return the α of lines, curves and maps, if the features have any, times a factor."""
        kinds = np.unique(self.features.kinds()).tolist()
        return {_PARTS[kind]: factor * float(self.features.alphas_[kind]) for kind in kinds}

    def settings(self, chosen: Mapping[str, Any], tunes: bool = False) -> dict[str, Any]:
        """Return the settings of a linear model in coordinates u for the chosen settings.

        Parameters
        ----------
        chosen : mapping
            Settings of `AUCClassifier`. ``alpha`` is that of lines and levels; those of curves and
            maps follow in proportion. By default all are those of the features.
        tunes : bool
            Whether to try several α, unless one is chosen.

        Raises
        ------
        ValueError
            For settings that only linear models have, and for a model monotone in some columns.
        """
        if self.features.trends_:
            names = [self.features.axis_names[j] for j, _ in self.features.trends_]
            raise ValueError(
                f"the score of this model is monotone in {', '.join(map(repr, names))}, and a fit "
                "to moments would not keep it so; use a model without monotone columns."
            )
        for name in ("l1_ratio", "standardize"):
            if name in chosen:
                raise ValueError(
                    f"--{name.replace('_', '-')} is for linear models, but this one is additive."
                )
        factor: Any = _FACTORS if tunes else 1.0
        if "alpha" in chosen:
            factor = float(chosen["alpha"] / self.features.alphas_[0])
        return {**chosen, "alpha": factor, "standardize": 0.0}

    def moments(self, held: ClassStatistics) -> ClassMoments:
        """Return the moments of coordinates u; ValueError unless ``held`` are of the features.

        Parameters
        ----------
        held : ClassMoments
        """
        if not isinstance(held, ClassMoments):
            raise ValueError("curves and maps need full covariances, and these moments have none.")
        if held.n_features != self.features.n_features:
            raise ValueError(
                f"these are moments of {held.n_features:,} features, and the model has "
                f"{self.features.n_features:,}; make them with this model."
            )
        return held.mapped(self.root)

    def fitted(self, held: ClassStatistics, settings: Mapping[str, Any]) -> Pipeline:
        """Return the features and the model fitted to their moments.

        Parameters
        ----------
        held : ClassMoments
            Of two classes.
        settings : mapping
            As for `settings`.
        """
        model = AUCClassifier(**self.settings(settings)).fit_moments(self.moments(held))
        features, last = self.behind(model, held.counts @ held.means)
        return Pipeline([("features", features), ("model", last)])

    def behind(
        self, fitted: AUCClassifier, mass: np.ndarray
    ) -> tuple[AdditiveFeatures, AUCClassifier]:
        """Return the features with the α of a fit, and the same model in these, its maps purified.

        Parameters
        ----------
        fitted : AUCClassifier
            In coordinates u; its α is a factor of those of the features.
        mass : ndarray, shape (D,)
            The weighted sum of each feature over the rows.
        """
        features, model = copy.copy(self.features), copy.copy(fitted)
        features.alphas_ = fitted.alpha * features.alphas_
        coef, constant = features.purified(self.root @ fitted.coef_[0], mass)
        model.set_params(alpha=1.0)
        model.coef_, model.intercept_ = coef[None], fitted.intercept_ + constant
        for name in ("moments_", "spread_"):  # those of u
            model.__dict__.pop(name, None)
        return features, model
