"""A model as an expression in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aucmax.basics.needs import needs
from aucmax.columns.functions import Feature, Function, Pieces, Words, gap_pattern
from aucmax.columns.steps import Column
from aucmax.datasets.dates import EXAMPLES
from aucmax.estimators.probabilities import Calibration, Sigmoid
from aucmax.explain.additive import Additive, additive

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["DIALECTS", "to_sql"]

DIALECTS = ("duckdb", "postgres", "bigquery")


def _cut(name: str) -> str:
    return name.encode()[:63].decode(errors="ignore")


# what two names share that are one to a database, and which that is
_SAME: dict[str, tuple[Callable[[str], Any], str]] = {
    "duckdb": (lambda name: name.encode().lower(), "DuckDB, to which a and A are the same"),
    "postgres": (_cut, "PostgreSQL, which cuts names after 63 bytes"),
    "bigquery": (str.casefold, "BigQuery, to which a and A are the same"),
}
_GAP = gap_pattern()
_GAPS = {
    "duckdb": _GAP,
    "bigquery": _GAP,
    "postgres": gap_pattern(
        r"[\t-\r\x1c-\x20\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
    ),
}
_TERMS = 50  # of a sum that stand side by side: databases limit how deep an expression is


def to_sql(
    model: Any,
    dialect: str = "duckdb",
    columns: Sequence[str] | None = None,
    probability: bool = False,
) -> str:
    """Write the score of a row as an expression in SQL, or its probability.

    Columns are called by the names that the model has. NULL and NaN are gaps: where the model takes
    none, the score is NULL, and so it is for a word that the model refuses. Columns that files hold
    as dates must have the type of a date or timestamp, and those of words the type of text: a
    database refuses others, and a comment at the head names them.

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
        If the model, or a step in front of it, cannot be written so, or two columns have names that
        are one to the database.

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
        raise ValueError(f"dialect={dialect!r} is none of {', '.join(DIALECTS)}.")
    found = additive(model, columns)
    if any(not column.name for column in found.columns):
        raise ValueError(
            "the model knows its columns by position only; fit it to a data frame, or to a file "
            "with a header, or name them with columns=[…]."
        )
    _check_names([column.name for column in found.columns], dialect)
    written = _score(found, dialect)
    if probability:
        written = _sigmoid(found.calibration, written)
    text = _a_term_per_line(written.sql(dialect=dialect, pretty=True), dialect)
    return "".join(f"/* {line} */\n" for line in _types(found.columns)) + text


def _types(columns: Sequence[Column]) -> list[str]:
    """Which types the columns must have that are no numbers; any other is an error."""
    named = {column.name: _commented(column.name) for column in columns}
    form = "{}: a date or timestamp; text such as {} is to be made one"
    lines = [form.format(named[c.name], EXAMPLES[c.date]) for c in columns if c.date is not None]
    words = [named[column.name] for column in columns if column.text]
    return [*lines, f"text, as files have it: {', '.join(words)}"] if words else lines


def _commented(name: str) -> str:
    """A name in a comment, which it does not end; without quotes, which DuckDB looks for there."""
    return re.sub(r"[^\w .:;()#%&+-]", lambda one: f"\\u{ord(one[0]):04x}", name)


def _check_names(names: Sequence[str], dialect: str) -> None:
    """Refuse two columns that are one to a database."""
    same, what = _SAME[dialect]
    seen: dict[Any, str] = {}
    for name in names:
        other = seen.setdefault(same(name), name)
        if other is not name:
            raise ValueError(
                f"the columns {other!r} and {name!r} are one to {what}; rename one, and train "
                "again."
            )


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
    start = _number(model.intercept)
    if dialect == "postgres":  # to which all numbers that are written are decimals
        start = exp.cast(start, "double")
    if not model.squares:
        return _sum([start, *parts])
    squares = [term for part in model.squares for term in _terms(part, model.columns, dialect)]
    some = exp.Nullif(this=_sum(squares), expression=_number(0.0))
    length = exp.Sqrt(this=exp.Coalesce(this=some, expressions=[_number(1.0)]))
    share = _ratio(exp.Paren(this=_sum(parts)), length)
    return _sum([start, share])


def _terms(part: Feature, columns: Sequence[Column], dialect: str) -> list[exp.Expression]:
    """What a column adds; nothing where that is always 0."""
    column, function = columns[part.column], part.function
    x = _column(column, function, dialect)
    if isinstance(function, Pieces):
        return [_pieces(function, column, x, dialect)]
    assert isinstance(function, Words)
    if all(value == function.other == 0.0 for value in function.values.values()):
        return []
    return [_words(function, column, x, dialect)]


def _words(words: Words, column: Column, x: exp.Expression, dialect: str) -> exp.Expression:
    """A value for each word, and one for all others."""
    from sqlglot import exp

    cases = [_when(_is_gap(x, column, words, dialect), _number(words.gap))]
    for word, value in words.values.items():
        if word is not None and value != words.other:
            literal = exp.Literal.string(word) if isinstance(word, str) else _number(float(word))
            cases.append(_when(exp.EQ(this=x.copy(), expression=literal), _number(value)))
    return exp.Case(ifs=cases, default=_number(words.other))


def _pieces(pieces: Pieces, column: Column, x: exp.Expression, dialect: str) -> exp.Expression:
    """A polynomial between any two knots."""
    from sqlglot import exp

    if pieces.is_line and np.isnan(pieces.gap):
        return _polynomial(pieces, 0, _without_nan(x, column, dialect))
    values = [_polynomial(pieces, i, x) for i in range(len(pieces.coefs))]
    # a comparison with NULL is not true, so it would be taken for the last piece
    cases = [_when(_is_gap(x, column, pieces, dialect), _number(pieces.gap))]
    for knot, value in zip(pieces.knots.tolist(), values, strict=False):
        cases.append(_when(exp.LT(this=x.copy(), expression=_number(knot)), value))
    return exp.Case(ifs=cases, default=values[-1])


def _is_gap(x: exp.Expression, column: Column, function: Function, dialect: str) -> exp.Expression:
    """Whether a value is missing, as an expression that fails for text of another type."""
    from sqlglot import exp

    if not _is_text(column, function):
        return exp.Is(this=_without_nan(x, column, dialect), expression=exp.null())
    # a number would be equal to a word such as '01', but has no lower case
    missing = exp.Is(this=exp.Lower(this=x.copy()), expression=exp.null())
    if not (isinstance(function, Words) and function.gap_words):
        return missing
    said = exp.RegexpLike(this=x.copy(), expression=exp.Literal.string(_GAPS[dialect]))
    return exp.Or(this=missing, expression=said)


def _without_nan(x: exp.Expression, column: Column, dialect: str) -> exp.Expression:
    """A number; NULL for NaN, too, which databases have for the largest number."""
    from sqlglot import exp

    if column.date is not None:
        return x.copy()
    if dialect == "bigquery":  # in which NaN is not equal to itself
        return exp.Case(ifs=[_when(exp.IsNan(this=x.copy()), exp.null())], default=x.copy())
    return exp.Nullif(this=x.copy(), expression=exp.Literal.string("NaN"))


def _is_text(column: Column, function: Function) -> bool:
    return column.text or (isinstance(function, Words) and function.has_words)


def _when(test: exp.Expression, value: exp.Expression) -> Any:
    from sqlglot import exp

    return exp.If(this=test, true=value)


def _column(column: Column, function: Function, dialect: str) -> exp.Expression:
    """A column as a number, or as words."""
    from sqlglot import exp

    name = exp.column(column.name, quoted=True)
    if _is_text(column, function):
        return name
    if column.date is None:
        return exp.cast(name, "double")
    # without a cast, which would guess what text means, and turn the clock to the session's zone
    since: exp.Expression = exp.Extract(this=exp.var("EPOCH"), expression=name)
    day = 86_400.0
    if dialect == "bigquery":  # which reads text of the form 2024-01-31 only
        moment = exp.cast(name, "timestamptz")
        since, day = exp.Anonymous(this="UNIX_MICROS", expressions=[moment]), 86_400e6
    return exp.Paren(this=_ratio(exp.cast(since, "double"), _number(day)))


def _ratio(top: exp.Expression, bottom: exp.Expression) -> exp.Expression:
    from sqlglot import exp

    return exp.Div(this=top, expression=bottom, typed=True)  # both are of double precision


def _polynomial(pieces: Pieces, i: int, x: exp.Expression) -> exp.Expression:
    """A piece, by Horner's scheme; a line as one product."""
    from sqlglot import exp

    coefs, at = np.trim_zeros(pieces.coefs[i], "b").tolist() or [0.0], float(pieces.origins[i])
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
