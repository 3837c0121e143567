"""Which real data sets a test runs on: all of them, but the large ones only with -m exhaustive."""

import pytest

__all__ = ["LARGE", "each_set"]

LARGE = {"mnist", "connect-4", "usps", "sector", "news20"}


def each_set(names, large=LARGE):
    """Parametrize a test by ``name``; the large sets are marked exhaustive."""
    return pytest.mark.parametrize(
        "name",
        [pytest.param(n, marks=pytest.mark.exhaustive) if n in large else n for n in names],
    )
