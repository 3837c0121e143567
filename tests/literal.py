"""What the tests against literal oracles share: forms of the rows, weights, equality."""

import numpy as np
import pytest
import scipy.sparse as sp

__all__ = ["FORMS", "each_average", "each_form", "equal", "weighted", "without_zeros"]

# Each form compiles a kernel of every learner. Storage and precision vary alone; rows that differ
# in both meet in streams of OAM, lazy thresholds, moments and products.
FORMS = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "float32": lambda X: np.asarray(X, dtype=np.float32),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
weighted = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
each_average = pytest.mark.parametrize("average", [False, True], ids=["last", "averaged"])


def equal(got, expected, tol=1e-10):
    """Assert equality to ``tol`` of the largest entry."""
    scale = np.abs(expected).max()
    assert scale > 1e-3  # an oracle that stays at zero would prove nothing
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * scale)


def without_zeros(X, y, weight):
    """Return what is left without the rows of weight zero."""
    kept = weight > 0
    return X[kept], y[kept], weight[kept]
