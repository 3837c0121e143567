"""A model as an expression in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aucmax.basics.needs import needs
from aucmax.estimators.probabilities import Calibration, Sigmoid
from aucmax.export.additive import Additive, Column, Feature, additive
from aucmax.export.shapes import Pieces, Words

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["DIALECTS", "to_sql"]

DIALECTS = ("duckdb", "postgres", "bigquery")
_TERMS = 50  # of a sum that stand side by side: databases limit how deep an expression is


def to_sql(
    model: Any,
    dialect: str = "duckdb",
    columns: Sequence[str] | None = None,
    probability: bool = False,
) -> str:
    """Write the score of a row as an expression in SQL, or its probability.

    Columns are called by the names that the model has. NULL is a gap: where the model takes none,
    the score is NULL, and so it is for a word that the model refuses. Columns that files hold as
    dates must have the type of a date or timestamp.

    Parameters
    ----------
    model : estimator
        A fitted linear scorer of this package or of scikit-learn, or a pipeline that ends in one.
        Steps in front must look at one column at a time: `SimpleImputer`, scalers,
        `OneHotEncoder`, `SplineTransformer` and the like, and what ``aucmax train`` puts there.
    dialect : {"duckdb", "postgres", "bigquery"}
        Whose SQL.
    columns : sequence of str, optional
        What the columns are called, for a model that was fitted to an array.
    probability : bool
        Write the probability of ``classes_[1]`` instead, of a model that was tuned with
        ``probability="sigmoid"``. It is as exact as a number between 0 and 1 can be, so that
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
        If the model, or a step in front of it, cannot be written so.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AUCClassifier
    >>> from aucmax.export import to_sql
    >>> model = AUCClassifier(alpha=1.0).fit([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]], [0, 1, 1])
    >>> model.coef_, model.intercept_ = np.array([[0.5, -2.0]]), np.array([1.25])
    >>> print(to_sql(model, columns=["age", "debt"]))
    1.25E0
    + 0.5E0 * CAST("age" AS DOUBLE)
    - 2E0 * CAST("debt" AS DOUBLE)
    """
    needs("sqlglot", "SQL")
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(DIALECTS)}.")
    found = additive(model, columns)
    if any(not column.name for column in found.columns):
        raise ValueError(
            "the model knows its columns by position only; fit it to a data frame, or to a file "
            "with a header, or name them with columns=[…]."
        )
    written = _score(found, dialect)
    if probability:
        written = _sigmoid(found.calibration, written)
    return _a_term_per_line(written.sql(dialect=dialect, pretty=True), dialect)


def _sigmoid(calibration: Calibration | None, score: exp.Expression) -> exp.Expression:
    """1/(1 + exp(−z)) as ½ + ½ tanh(z/2), which no z overflows."""
    from sqlglot import exp

    if not isinstance(calibration, Sigmoid):
        have = "no probabilities" if calibration is None else "probabilities by isotonic regression"
        raise ValueError(
            f"the model has {have}; SQL takes those of AUCClassifierCV(probability='sigmoid')."
        )
    product = exp.Mul(this=_number(calibration.slope / 2), expression=exp.Paren(this=score))
    half = _sum([_number(calibration.intercept / 2), product])
    curve = exp.Anonymous(this="TANH", expressions=[half])
    return _sum([_number(0.5), exp.Mul(this=_number(0.5), expression=curve)])


def _score(model: Additive, dialect: str) -> exp.Expression:
    from sqlglot import exp

    parts = [term for part in model.parts for term in _terms(part, model.columns, dialect)]
    if not model.squares:
        return _sum([_number(model.intercept), *parts])
    squares = [term for part in model.squares for term in _terms(part, model.columns, dialect)]
    some = exp.Nullif(this=_sum(squares), expression=_number(0.0))
    length = exp.Sqrt(this=exp.Coalesce(this=some, expressions=[_number(1.0)]))
    share = _ratio(exp.Paren(this=_sum(parts)), length)
    return _sum([_number(model.intercept), share])


def _terms(part: Feature, columns: Sequence[Column], dialect: str) -> list[exp.Expression]:
    """What a column adds; nothing where that is always 0."""
    column, shape = columns[part.column], part.shape
    x = _column(column, shape, dialect)
    if isinstance(shape, Words):
        known = {word: value for word, value in shape.values.items() if value != shape.other}
        return [_words(known, shape.other, column, x)] if known or shape.other else []
    return [_pieces(shape, column, x)]


def _words(
    known: dict[Any, float], other: float, column: Column, x: exp.Expression
) -> exp.Expression:
    """A value for each word, and one for all others."""
    from sqlglot import exp

    cases = [_when(_is_gap(column), _number(known.pop(None)))] if None in known else []
    for word, value in known.items():
        literal = exp.Literal.string(word) if isinstance(word, str) else _number(float(word))
        cases.append(_when(exp.EQ(this=x.copy(), expression=literal), _number(value)))
    return exp.Case(ifs=cases, default=_number(other)) if cases else _number(other)


def _pieces(shape: Pieces, column: Column, x: exp.Expression) -> exp.Expression:
    """A polynomial between any two knots."""
    from sqlglot import exp

    values = [_polynomial(shape, i, x) for i in range(len(shape.coefs))]
    if shape.is_line and np.isnan(shape.gap):
        return values[0]
    # a comparison with NULL is not true, so it would be taken for the last piece
    cases = [_when(_is_gap(column), _number(shape.gap))]
    for knot, value in zip(shape.knots.tolist(), values, strict=False):
        cases.append(_when(exp.LT(this=x.copy(), expression=_number(knot)), value))
    return exp.Case(ifs=cases, default=values[-1])


def _is_gap(column: Column) -> exp.Expression:
    from sqlglot import exp

    return exp.Is(this=exp.column(column.name, quoted=True), expression=exp.null())


def _when(test: exp.Expression, value: exp.Expression) -> Any:
    from sqlglot import exp

    return exp.If(this=test, true=value)


def _column(column: Column, shape: Any, dialect: str) -> exp.Expression:
    """A column as a number, or as words."""
    from sqlglot import exp

    name = exp.column(column.name, quoted=True)
    if isinstance(shape, Words) and shape.has_words:
        return name
    if not column.date:
        return exp.cast(name, "double")
    moment = exp.cast(name, "timestamptz" if dialect == "bigquery" else "timestamp")
    since: exp.Expression = exp.Extract(this=exp.var("EPOCH"), expression=moment)
    day = 86_400.0
    if dialect == "bigquery":
        since, day = exp.Anonymous(this="UNIX_MICROS", expressions=[moment]), 86_400e6
    return exp.Paren(this=_ratio(exp.cast(since, "double"), _number(day)))


def _ratio(top: exp.Expression, bottom: exp.Expression) -> exp.Expression:
    from sqlglot import exp

    return exp.Div(this=top, expression=bottom, typed=True)  # both are of double precision


def _polynomial(shape: Pieces, i: int, x: exp.Expression) -> exp.Expression:
    """A piece, by Horner's scheme; a line as one product."""
    from sqlglot import exp

    coefs, at = np.trim_zeros(shape.coefs[i], "b").tolist() or [0.0], float(shape.origins[i])
    away = x.copy() if at == 0.0 else exp.Paren(this=_sum([x.copy(), _number(-at)]))
    out = _number(coefs.pop())
    while coefs:
        inner = out if isinstance(out, (exp.Literal, exp.Neg)) else exp.Paren(this=out)
        one = inner == _number(1.0)
        product = away.copy() if one else exp.Mul(this=inner, expression=away.copy())
        start = coefs.pop()
        out = product if start == 0.0 else _sum([_number(start), product])
    return out


def _a_term_per_line(text: str, dialect: str) -> str:
    """Break the line before each + and − outside of CASE; what is quoted stays as it is."""
    from sqlglot import TokenType, tokenize

    out, at, margin, cases = "", 0, "\n", 0
    for token in tokenize(text, read=dialect):
        space, at = text[at : token.start], token.end + 1
        if "\n" in space:
            margin = space[space.rindex("\n") :]
        cases += (token.token_type == TokenType.CASE) - (token.token_type == TokenType.END)
        sign = token.token_type in (TokenType.PLUS, TokenType.DASH)
        binary = sign and text[at] == " "  # the sign of a number stands beside it
        out += (margin if binary and not cases else space) + text[token.start : at]
    return out


def _number(value: float) -> exp.Expression:
    """A number of double precision; NULL for NaN."""
    from sqlglot import exp

    if np.isnan(value):
        return exp.null()
    digits, _, power = repr(float(abs(value))).partition("e")
    # without an exponent DuckDB would take it for a decimal
    literal = exp.Literal.number(f"{digits.removesuffix('.0')}E{int(power or 0)}")
    return exp.Neg(this=literal) if value < 0 else literal


def _sum(terms: list[exp.Expression]) -> exp.Expression:
    """A sum; a long one in parts, none of which is deep."""
    from sqlglot import exp

    while len(terms) > _TERMS:
        parts = [terms[i : i + _TERMS] for i in range(0, len(terms), _TERMS)]
        terms = [exp.Paren(this=_sum(part)) for part in parts]
    out = terms[0]
    for term in terms[1:]:
        first = term.this if isinstance(term, exp.Mul) else term
        if isinstance(first, exp.Neg):
            positive = first.this.copy()
            rest = positive if term is first else exp.Mul(this=positive, expression=term.expression)
            out = exp.Sub(this=out, expression=rest)
        else:
            out = exp.Add(this=out, expression=term)
    return out
