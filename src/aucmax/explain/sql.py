"""A model as an expression in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from aucmax.basics.needs import needs
from aucmax.data.columns import Column
from aucmax.explain.additive import additive

__all__ = ["DIALECTS", "to_sql"]

DIALECTS = ("duckdb", "postgres", "bigquery")


def _cut(name: str) -> str:
    return name.encode()[:63].decode(errors="ignore")


# a key that is equal for names that a database cannot tell apart, and the reason
_SAME: dict[str, tuple[Callable[[str], Any], str]] = {
    "duckdb": (lambda name: name.encode().lower(), "DuckDB, to which a and A are the same"),
    "postgres": (_cut, "PostgreSQL, which cuts names after 63 bytes"),
    "bigquery": (str.casefold, "BigQuery, to which a and A are the same"),
}


def to_sql(
    model: Any,
    dialect: str = "duckdb",
    columns: Sequence[str] | None = None,
    probability: bool = False,
) -> str:
    """Write the score of a row as an expression in SQL, or its probability.

    Columns have the model's names. NULL and NaN are gaps: if the model does not accept them, the
    score is NULL, as it is for a word that the model refuses. Columns that were dates in files must
    have the type date or timestamp; columns of yes and no must hold true and false (or 0 and 1),
    and amounts numbers; columns of words, or of numbers and words, must have a text type. A
    database refuses other types, and a comment at the top lists the columns and conversions. Spaces
    around words are trimmed if they were in training.

    Parameters
    ----------
    model : estimator
        A fitted linear scorer of this package or of scikit-learn, or a pipeline that ends in one.
        Steps in front must use one column at a time: `SimpleImputer`, scalers, `OneHotEncoder`,
        `SplineTransformer` and the like, and the steps of ``aucmax train``. An
        `AdditiveAUCClassifier` can be written, too, with its maps of pairs.
    dialect : {"duckdb", "postgres", "bigquery"}
        The database whose SQL to write.
    columns : sequence of str, optional
        The names of the columns, for a model that was fitted to an array.
    probability : bool
        Write the probability of ``classes_[1]`` instead, for a model that was tuned with
        ``probability="sigmoid"``. Its absolute error is that of numbers between 0 and 1, so that
        probabilities below 1e-16 are 0.

    Returns
    -------
    str
        For ``SELECT …`` or ``ORDER BY …``: the higher, the more likely positive.

    Raises
    ------
    ImportError
        If sqlglot is not installed: ``pip install 'aucmax[sql]'``.
    ValueError
        If the model, or a step in front of it, cannot be written in SQL, or the database cannot
        tell the names of two columns apart.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AUCClassifier
    >>> from aucmax.export import to_sql
    >>> model = AUCClassifier(alpha=1.0).fit([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]], [0, 1, 1])
    >>> model.coef_, model.intercept_ = np.array([[0.5, -2.0]]), np.array([1.25])
    >>> print(to_sql(model, columns=["age", "debt"]))
    1.25E0
    + 0.5E0 * NULLIF(CAST("age" AS DOUBLE), 'NaN')
    - 2E0 * NULLIF(CAST("debt" AS DOUBLE), 'NaN')
    """
    needs("sqlglot", "SQL")
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is not one of {', '.join(DIALECTS)}.")
    formula = additive(model, columns)
    if any(not column.name for column in formula.columns):
        raise ValueError(
            "the model knows its columns only by position; fit it to a data frame, or to a file "
            "with a header, or name them with columns=[…]."
        )
    _check_names([*dict.fromkeys(column.source for column in formula.columns)], dialect)
    from aucmax.explain.sql_terms import expression  # which needs sqlglot

    text = expression(formula, dialect, probability)
    return "".join(f"/* {line} */\n" for line in _types(formula.columns)) + text


def _types(columns: Sequence[Column]) -> list[str]:
    """Return the types that non-numeric columns must have in the database, for a comment."""
    named = {column.name: _commented(column.name) for column in columns}
    form = "{}: {}; text such as {} must be converted"
    lines = [
        form.format(named[c.name], c.sql_type, _commented(c.in_files, "$,/"))
        for c in columns
        if c.in_files
    ]
    words = [_commented(column.source) for column in columns if column.is_text]
    text = "text, as files have it"
    return [*lines, f"{text}: {', '.join(words)}"] if words else lines


def _commented(name: str, more: str = "") -> str:
    """Return a name that cannot end a comment, without quotes, which DuckDB parses in comments."""
    allowed = rf"[^\w .:;()#%&+{more}-]"
    return re.sub(allowed, lambda match: f"\\u{ord(match[0]):04x}", name)


def _check_names(names: Sequence[str], dialect: str) -> None:
    """Refuse two columns whose names a database cannot tell apart."""
    identity, database = _SAME[dialect]
    by_identity: dict[Any, str] = {}
    for name in names:
        earlier = by_identity.setdefault(identity(name), name)
        if earlier is not name:
            able = [home for home, (key, _) in _SAME.items() if key(earlier) != key(name)]
            instead = f", or write the SQL of {able[0]} (dialect={able[0]!r})" if able else ""
            raise ValueError(
                f"the columns {earlier!r} and {name!r} are the same to {database}; rename one, and "
                f"train again{instead}."
            )
