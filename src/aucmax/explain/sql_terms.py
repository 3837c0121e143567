"""The score of an additive model as an expression, which sqlglot writes in each dialect of SQL."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sqlglot import TokenType, exp, tokenize

from aucmax.columns.functions import Function, Pieces, Product, Words, gap_pattern
from aucmax.data.columns import Column, Remarks
from aucmax.estimators.probabilities import Calibration, Sigmoid
from aucmax.explain.additive import Additive, Part

__all__ = ["expression"]

_GAPS = {
    "duckdb": gap_pattern(),
    "bigquery": gap_pattern(),
    "postgres": gap_pattern(
        r"[\t-\r\x1c-\x20\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
    ),
}
_TERMS_PER_SUM = 50  # terms of a sum on one level: databases limit the depth of an expression


def expression(model: Additive, dialect: str, probability: bool = False) -> str:
    """Return the score of a model in SQL, or its probability, with one term per line."""
    written = _score(model, dialect)
    if probability:
        written = _sigmoid(model.calibration, written)
    return _a_term_per_line(written.sql(dialect=dialect, pretty=True), dialect)


def _sigmoid(calibration: Calibration | None, score: exp.Expression) -> exp.Expression:
    """Return 1/(1 + exp(−z)) as ½ + ½ tanh(z/2), which never overflows."""
    if not isinstance(calibration, Sigmoid):
        have = "no probabilities" if calibration is None else "probabilities by isotonic regression"
        raise ValueError(
            f"the model has {have}; SQL needs those of AUCClassifierCV(probability='sigmoid')."
        )
    product = exp.Mul(this=_number(calibration.slope / 2), expression=exp.Paren(this=score))
    half = _sum([_number(calibration.intercept / 2), product])
    curve = exp.Anonymous(this="TANH", expressions=[half])
    return _sum([_number(0.5), exp.Mul(this=_number(0.5), expression=curve)])


def _score(model: Additive, dialect: str) -> exp.Expression:
    parts = [term for part in model.parts for term in _terms(part, model.columns, dialect)]
    start = _number(model.intercept)
    if dialect == "postgres":  # where all literal numbers are decimals
        start = exp.cast(start, "double")
    if not model.squares:
        return _sum([start, *parts])
    squares = [term for part in model.squares for term in _terms(part, model.columns, dialect)]
    nonzero = exp.Nullif(this=_sum(squares), expression=_number(0.0))
    length = exp.Sqrt(this=exp.Coalesce(this=nonzero, expressions=[_number(1.0)]))
    share = _ratio(exp.Paren(this=_sum(parts)), length)
    return _sum([start, share])


def _terms(part: Part, columns: Sequence[Column], dialect: str) -> list[exp.Expression]:
    """Return the terms of a part; none if it always adds 0."""
    if isinstance(part, Product):
        factors = [_terms(factor, columns, dialect) for factor in (part.first, part.second)]
        return [exp.Mul(this=a, expression=b) for a, b in zip(*factors, strict=False)]
    column, function = columns[part.column], part.function
    x = _column(column, function, dialect)
    remarks = [own for own in columns if isinstance(own, Remarks) and own.source == column.name]
    if remarks:
        x = _number_among_words(x.this, remarks[0].words, dialect)
    if isinstance(function, Pieces):
        return [_pieces(function, column, x, dialect)]
    assert isinstance(function, Words)
    if getattr(column, "trimmed", False):  # as files are read
        x = exp.Trim(this=x)
    if not any([*function.values.values(), function.other]):
        return []
    return [_words(function, column, x, dialect)]


def _words(words: Words, column: Column, x: exp.Expression, dialect: str) -> exp.Expression:
    """Return a value for each word, and one for all others."""
    cases = [_when(_is_gap(x, column, words, dialect), _number(words.gap))]
    values, default = words.values, words.other
    if isinstance(column, Remarks):  # whose other words, and numbers, are gaps
        cases, default = [], words.gap
        values = {word: words.values.get(word, words.other) for word in column.words}
    for word, value in values.items():
        if word is not None and value != default:
            literal = exp.Literal.string(word) if isinstance(word, str) else _number(float(word))
            cases.append(_when(exp.EQ(this=x.copy(), expression=literal), _number(value)))
    return exp.Case(ifs=cases, default=_number(default)) if cases else _number(default)


def _pieces(pieces: Pieces, column: Column, x: exp.Expression, dialect: str) -> exp.Expression:
    """Return a polynomial between any two knots."""
    if pieces.is_line and np.isnan(pieces.gap):
        return _polynomial(pieces, 0, _without_nan(x, column, dialect))
    # comparisons with NULL are never true, so NULL would end in the last piece
    cases = [_when(_is_gap(x, column, pieces, dialect), _number(pieces.gap))]
    x = x if pieces.period is None else _phase(x, pieces.period)
    values = [_polynomial(pieces, i, x) for i in range(len(pieces.coefs))]
    for knot, (value, following) in zip(pieces.knots.tolist(), pairwise(values), strict=True):
        if value != following:
            cases.append(_when(exp.LT(this=x.copy(), expression=_number(knot)), value))
    return exp.Case(ifs=cases, default=values[-1])


def _phase(x: exp.Expression, period: float) -> exp.Expression:
    """Return a number modulo a period."""
    length = _number(period)
    periods = exp.Floor(this=_ratio(x.copy(), length))
    return exp.Paren(
        this=exp.Sub(this=x.copy(), expression=exp.Mul(this=length, expression=periods))
    )


def _is_gap(x: exp.Expression, column: Column, function: Function, dialect: str) -> exp.Expression:
    """Return whether a value is missing, as an expression that fails for non-text columns."""
    if not _is_text(column, function):
        return exp.Is(this=_without_nan(x, column, dialect), expression=exp.null())
    # a number could equal a word such as '01', but lower() fails on it
    missing = exp.Is(this=exp.Lower(this=x.copy()), expression=exp.null())
    if not (isinstance(function, Words) and function.gap_words):
        return missing
    written_gap = exp.RegexpLike(this=x.copy(), expression=exp.Literal.string(_GAPS[dialect]))
    return exp.Or(this=missing, expression=written_gap)


def _without_nan(x: exp.Expression, column: Column, dialect: str) -> exp.Expression:
    """Return a number, and NULL for NaN, which databases consider the largest number."""
    if not column.is_float:
        return x.copy()
    if dialect == "bigquery":  # where NaN is not equal to itself
        return exp.Case(ifs=[_when(exp.IsNan(this=x.copy()), exp.null())], default=x.copy())
    return exp.Nullif(this=x.copy(), expression=exp.Literal.string("NaN"))


def _is_text(column: Column, function: Function) -> bool:
    return column.is_text or (isinstance(function, Words) and function.has_words)


def _when(test: exp.Expression, value: exp.Expression) -> Any:
    return exp.If(this=test, true=value)


def _column(column: Column, function: Function, dialect: str) -> exp.Expression:
    """Return a column as a number, or as words."""
    name = exp.column(column.source, quoted=True)
    if _is_text(column, function):
        return name
    if column.is_float:
        return exp.cast(name, "double")
    if not column.is_days:  # true and false, which databases convert only to whole numbers
        return exp.cast(exp.cast(name, "int"), "double")
    # no cast, which would guess the format of text and convert to the session's time zone
    since: exp.Expression = exp.Extract(this=exp.var("EPOCH"), expression=name)
    day = 86_400.0
    if dialect == "bigquery":  # which reads only text of the form 2024-01-31
        moment = exp.cast(name, "timestamptz")
        since, day = exp.Anonymous(this="UNIX_MICROS", expressions=[moment]), 86_400e6
    return exp.Paren(this=_ratio(exp.cast(since, "double"), _number(day)))


def _number_among_words(name: exp.Expression, words: Sequence[str], dialect: str) -> exp.Expression:
    """Return a column of text as a number; NULL for these words, a database error for others."""
    text = exp.Trim(this=name)
    is_word = exp.In(this=text, expressions=[*map(exp.Literal.string, words)])
    is_gap = exp.RegexpLike(this=text.copy(), expression=exp.Literal.string(_GAPS[dialect]))
    number = exp.cast(text.copy(), "double")
    return exp.Case(
        ifs=[_when(exp.Or(this=is_word, expression=is_gap), exp.null())], default=number
    )


def _ratio(top: exp.Expression, bottom: exp.Expression) -> exp.Expression:
    return exp.Div(this=top, expression=bottom, typed=True)  # both are of double precision


def _polynomial(pieces: Pieces, i: int, x: exp.Expression) -> exp.Expression:
    """Return a piece by Horner's scheme; a line as one product."""
    coefs, at = np.trim_zeros(pieces.coefs[i], "b").tolist() or [0.0], float(pieces.origins[i])
    away = x.copy() if at == 0.0 else exp.Paren(this=_sum([x.copy(), _number(-at)]))
    value = _number(coefs.pop())
    while coefs:
        inner = value if isinstance(value, (exp.Literal, exp.Neg)) else exp.Paren(this=value)
        is_one = inner == _number(1.0)
        product = away.copy() if is_one else exp.Mul(this=inner, expression=away.copy())
        start = coefs.pop()
        value = product if start == 0.0 else _sum([_number(start), product])
    return value


def _number(value: float) -> exp.Expression:
    """Return a number of double precision; NULL for NaN."""
    if np.isnan(value):
        return exp.null()
    digits, _, power = repr(float(abs(value))).partition("e")
    # without an exponent it would be a decimal in DuckDB
    literal = exp.Literal.number(f"{digits.removesuffix('.0')}E{int(power or 0)}")
    return exp.Neg(this=literal) if value < 0 else literal


def _sum(terms: list[exp.Expression]) -> exp.Expression:
    """Return a sum; a long one is split to limit its depth."""
    while len(terms) > _TERMS_PER_SUM:
        parts = [terms[i : i + _TERMS_PER_SUM] for i in range(0, len(terms), _TERMS_PER_SUM)]
        terms = [exp.Paren(this=_sum(part)) for part in parts]
    total = terms[0]
    for term in terms[1:]:
        head = term.this if isinstance(term, exp.Mul) else term
        if isinstance(head, exp.Neg):
            positive = head.this.copy()
            size = positive if term is head else exp.Mul(this=positive, expression=term.expression)
            total = exp.Sub(this=total, expression=size)
        else:
            total = exp.Add(this=total, expression=term)
    return total


def _a_term_per_line(text: str, dialect: str) -> str:
    """Break the line before each + and − outside of CASE and quotes."""
    lines, at, margin, cases = "", 0, "\n", 0
    for token in tokenize(text, read=dialect):
        space, at = text[at : token.start], token.end + 1
        if "\n" in space:
            margin = space[space.rindex("\n") :]
        cases += (token.token_type == TokenType.CASE) - (token.token_type == TokenType.END)
        sign = token.token_type in (TokenType.PLUS, TokenType.DASH)
        binary = sign and text[at] == " "  # the sign of a number is next to it
        lines += (margin if binary and not cases else space) + text[token.start : at]
    return lines
