"""The display of a fitted model in a notebook."""

from sklearn.base import BaseEstimator

__all__ = ["ShownEstimator"]


class ShownEstimator(BaseEstimator):
    """An estimator whose report card a notebook shows once it is fitted."""

    def _html_repr(self) -> str:
        """Return the report card of a fit, and scikit-learn's diagram."""
        from aucmax.report.card import card_of  # here, as reports import models

        return card_of(self) + super()._html_repr()
