"""The settings of a penalty that estimators share."""

from typing import Any

from sklearn.base import BaseEstimator

from aucmax.objective.penalties import Bounded, ElasticNet, Penalty

__all__ = ["Penalised"]


class Penalised(BaseEstimator):
    """An estimator with ``alpha``, ``l1_ratio``, ``penalty`` and ``coef_bounds``."""

    alpha: float
    l1_ratio: float
    penalty: Penalty | None
    coef_bounds: Any

    def _penalty(self) -> Penalty:
        """Return the checked penalty of the settings."""
        penalty = self.penalty
        if penalty is None:
            penalty = ElasticNet(self.alpha, self.l1_ratio)
        elif not isinstance(penalty, Penalty):
            raise ValueError(
                "penalty must be an object of aucmax.penalties, such as penalties.MCP(alpha, "
                f"gamma); got {penalty!r}. An elastic net is set by alpha and l1_ratio."
            )
        elif settings := self._set("alpha", "l1_ratio"):
            raise ValueError(
                f"penalty={type(penalty).__name__}(…) replaces alpha and l1_ratio: set "
                f"{' and '.join(settings)} there."
            )
        if self.coef_bounds is not None:
            penalty = Bounded(penalty, self.coef_bounds)
        penalty.check()
        return penalty

    def _set(self, *names: str) -> list[str]:
        """Return those of the named settings that differ from their defaults, as ``name=value``."""
        defaults = type(self)().get_params(deep=False)
        settings = {name: getattr(self, name) for name in names}
        return [
            f"{name}={value!r}"
            for name, value in settings.items()
            if (value is not None if defaults[name] is None else value != defaults[name])
        ]
