"""Rows as kernels see them, dense or CSR, and products with all of them."""

from aucmax.data.rows.kernels import compiled, inlined
from aucmax.data.rows.view import (
    CSR,
    Rows,
    as_rows,
    fetch_ahead,
    fetch_entries,
    n_features,
    n_rows,
    n_stored,
    row_add,
    row_dot,
    row_entry,
    row_norm2,
    row_size,
    scaled_rows,
    shifted_rows,
    take_rows,
    to_scipy,
)

__all__ = [
    "CSR",
    "Rows",
    "as_rows",
    "compiled",
    "fetch_ahead",
    "fetch_entries",
    "inlined",
    "n_features",
    "n_rows",
    "n_stored",
    "row_add",
    "row_dot",
    "row_entry",
    "row_norm2",
    "row_size",
    "scaled_rows",
    "shifted_rows",
    "take_rows",
    "to_scipy",
]
