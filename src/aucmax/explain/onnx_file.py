"""A model as an ONNX graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from aucmax.basics.errors import DataWarning
from aucmax.basics.needs import needs
from aucmax.columns.functions import Feature, Pieces, Product, Words, gap_pattern
from aucmax.estimators.probabilities import Calibration, Sigmoid
from aucmax.explain.additive import Additive, Part, additive

__all__ = ["order_lost", "to_onnx"]

_BOOL, _INT64, _STRING = 9, 7, 8  # ONNX's numbers of tensor types
_OPSET, _IR = 18, 8  # versions that runtimes since 2022 read
_OPSET_OF_WORDS, _IR_OF_WORDS = 20, 9  # since 2024: with regular expressions
_OPSET_OF_TABLES = 3
_OUTPUTS = ("score", "label", "probability")
_MAX_LOST_SHARE = 1e-5  # share of pairs of rows whose order float32 may lose without a warning


def to_onnx(
    model: Any, dtype: str = "float64", columns: Sequence[str] | None = None, rows: Any = None
) -> Any:
    """Write a model as an ONNX graph.

    Its input is an array ``X`` (n, d) of numbers or, if some columns contain words, each column by
    its name, shape (n, 1). NaN or the empty word is a gap; dates are days since 1970-01-01. Words
    in a column of numbers are a separate input, just as they are a separate column of the model.
    The outputs are ``score`` and ``label``, both of shape (n,), and, for a model with
    probabilities, ``probability``, that of ``classes_[1]``. An `AUCRanker` only has the score. If
    the model refuses a word, the score is NaN.

    Parameters
    ----------
    model : estimator
        As for `to_sql`.
    dtype : {"float64", "float32"}
        The precision of the numbers, including the input.
    columns : sequence of str, optional
        The names of the columns, for a model that was fitted to an array.
    rows : data frame or array, shape (n, d), optional
        Rows on which to test float32. A warning says how much of their order is lost if it is more
        than one pair of rows in 100,000; without rows this is estimated from the sizes of the
        coefficients.

    Returns
    -------
    onnx.ModelProto
        For ``onnx.save`` or ``SerializeToString()``.

    Raises
    ------
    ImportError
        If onnx is not installed: ``pip install 'aucmax[onnx]'``.
    ValueError
        If the model, or a step in front of it, cannot be written in ONNX.
    """
    onnx = needs("onnx", "an ONNX file")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r} must be 'float64' or 'float32'.")
    formula = additive(model, columns)
    clashes = {column.name for column in formula.columns} & {*_OUTPUTS}
    if clashes and any(column.is_text for column in formula.columns):
        raise ValueError(
            f"a column is called {min(clashes)!r}, like an output of the graph; rename it."
        )
    if dtype == "float32":
        _warn(formula, rows)
    graph = _Graph(np.dtype(dtype), [column.name for column in formula.columns])
    score = _score(formula, graph)
    values: list[tuple[str, Any]] = [(score, graph.kind)]
    if len(formula.classes):
        label = graph.node("Gather", _classes(graph, formula.classes), graph.above(score, 0.0))
        values.append((label, graph.kind_of(formula.classes)))
    if formula.calibration is not None:
        values.append((_probability(formula.calibration, score, graph), graph.kind))
    outputs = [
        onnx.helper.make_tensor_value_info(name, kind, ["n"])
        for name, (_, kind) in zip(_OUTPUTS, values, strict=False)
    ]
    for name, (value, _) in zip(_OUTPUTS, values, strict=False):
        graph.nodes.append(onnx.helper.make_node("Identity", [value], [name]))
    words = any(node.op_type == "RegexFullMatch" for node in graph.nodes)
    opset = _OPSET_OF_WORDS if words else _OPSET
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "aucmax", graph.inputs, outputs, graph.constants),
        opset_imports=[
            onnx.helper.make_opsetid("", opset),
            onnx.helper.make_opsetid("ai.onnx.ml", _OPSET_OF_TABLES),
        ],
        ir_version=_IR_OF_WORDS if words else _IR,
        producer_name="aucmax",
    )
    names = [column.name or str(j + 1) for j, column in enumerate(formula.columns)]
    onnx.helper.set_model_props(proto, {"columns": ",".join(names)})
    onnx.checker.check_model(proto)
    return proto


# ---- float32


def order_lost(exact: NDArray[Any], rounded: NDArray[Any]) -> float:
    """Return the approximate share of pairs of rows that ``rounded`` orders differently, or ties.

    It is the sum of the differences of ranks, which for permutations is at least the number of such
    pairs and at most twice that (Diaconis & Graham 1977).

    Parameters
    ----------
    exact, rounded : ndarray, shape (n,)
        Scores.
    """
    n = len(exact)
    return float(np.abs(rankdata(exact) - rankdata(rounded)).sum() / max(n * (n - 1) / 2, 1))


def _warn(model: Additive, rows: Any) -> None:
    """Warn if float32 loses the order of the scores."""
    if rows is not None:
        columns = _columns_of(model, rows)
        lost = order_lost(model.scores(columns), model.scores(columns, np.float32))
        pairs = "of the pairs of the given rows"
    elif model.spread:
        # the density at 0 of the difference of two normal scores, times twice the rounding error
        lost = 2.0 * model.rounding() / (np.sqrt(np.pi) * model.spread)
        pairs = "of all pairs of rows, estimated from the sizes of the coefficients"
    else:
        return
    if lost > _MAX_LOST_SHARE:
        warnings.warn(
            f"float32 may lose the order of {100 * lost:.2g} % {pairs}; use float64.",
            DataWarning,
            stacklevel=3,
        )


def _columns_of(model: Additive, rows: Any) -> list[NDArray[Any]]:
    """Return the columns of rows that a model takes."""
    if hasattr(rows, "columns"):
        return [np.asarray(rows[column.name]) for column in model.columns]
    return [*np.asarray(rows).T]


# ---- the graph


class _Graph:
    """Nodes, constants and inputs; every value has a name."""

    def __init__(self, dtype: np.dtype[Any], columns: Sequence[str]) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.to_tensor = helper, numpy_helper.from_array
        self.dtype, self.kind = dtype, self.helper.np_dtype_to_tensor_dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._columns = columns
        self._names = 0

    def _new(self) -> str:
        self._names += 1
        name = f"/{self._names}"
        return self._new() if name in self._columns else name

    def input(self, name: str, kind: int, width: int) -> str:
        """Add an input (n, width)."""
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, ["n", width]))
        return name

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Add an array, in the precision of the graph by default."""
        array = np.asarray(value, dtype=self.dtype if dtype is None else dtype)
        self.constants.append(self.to_tensor(array, self._new()))
        return str(self.constants[-1].name)

    def node(self, op: str, *values: str, **settings: Any) -> str:
        """Add a node; return its output."""
        domain = "ai.onnx.ml" if op == "LabelEncoder" else ""
        name = self._new()
        self.nodes.append(self.helper.make_node(op, [*values], [name], domain=domain, **settings))
        return name

    def as_number(self, truth: str) -> str:
        """Convert true and false to 1 and 0."""
        return self.node("Cast", truth, to=self.kind)

    def above(self, value: str, limit: float) -> str:
        """Return 1 for numbers above a limit and 0 for others, as row numbers."""
        return self.node("Cast", self.node("Greater", value, self.constant(limit)), to=_INT64)

    def column(self, X: str, place: int) -> str:
        """Return a column, shape (n, 1)."""
        return self.node("Gather", X, self.constant([place], np.int64), axis=1)

    def over_columns(self, value: str) -> str:
        """Add up (n, k) to (n,)."""
        return self.node("ReduceSum", value, self.constant([1], np.int64), keepdims=0)

    def kind_of(self, values: NDArray[Any]) -> int:
        """The type of labels."""
        text = values.dtype.kind in "OUS"
        return _STRING if text else self.helper.np_dtype_to_tensor_dtype(values.dtype)


def _classes(graph: _Graph, classes: NDArray[Any]) -> str:
    return graph.constant(classes, object if classes.dtype.kind in "OUS" else classes.dtype)


class _Inputs(NamedTuple):
    """The array of columns of numbers, their places in it, and separate columns of words."""

    X: str
    places: dict[int, int]
    words: dict[int, str]


def _score(model: Additive, graph: _Graph) -> str:
    """Add the nodes of the score."""
    numbers = [j for j, column in enumerate(model.columns) if not column.is_text]
    places = {j: place for place, j in enumerate(numbers)}
    if len(numbers) == len(model.columns):
        X = graph.input("X", graph.kind, len(numbers))
        words: dict[int, str] = {}
    else:
        named = {
            j: graph.input(
                column.name or f"column_{j + 1}", _STRING if column.is_text else graph.kind, 1
            )
            for j, column in enumerate(model.columns)
        }
        words = {j: named[j] for j in named if j not in places}
        X = graph.node("Concat", *(named[j] for j in numbers), axis=1) if numbers else ""
    inputs = _Inputs(X, places, words)
    sums = [_sum(parts, graph, inputs) for parts in (model.parts, model.squares) if parts]
    if not sums:  # every coefficient is 0
        source = X or next(iter(words.values()))
        count = graph.node(
            "Slice", graph.node("Shape", source), *(graph.constant([v], np.int64) for v in (0, 1))
        )
        return graph.node("Expand", graph.constant([model.intercept]), count)
    score = sums[0]
    if model.squares:
        positive = graph.node("Greater", sums[1], graph.constant(0.0))
        score = graph.node(
            "Div",
            score,
            graph.node("Sqrt", graph.node("Where", positive, sums[1], graph.constant(1.0))),
        )
    return graph.node("Add", score, graph.constant(model.intercept))


def _probability(calibration: Calibration, score: str, graph: _Graph) -> str:
    """Add the nodes of the probability of a score."""
    if isinstance(calibration, Sigmoid):
        product = graph.node("Mul", score, graph.constant(calibration.slope))
        return graph.node(
            "Sigmoid", graph.node("Add", product, graph.constant(calibration.intercept))
        )
    column = graph.node("Unsqueeze", score, graph.constant([1], np.int64))
    return _pieces(Pieces.between(*calibration), graph, column)


def _sum(parts: Sequence[Part], graph: _Graph, inputs: _Inputs) -> str:
    """Add the nodes of a sum of parts."""
    lines = [p for p in parts if isinstance(p, Feature) and _is_line(p)]
    terms = [_lines(lines, graph, inputs)] if lines else []
    terms += [_value(p, graph, inputs) for p in parts if isinstance(p, Product) or not _is_line(p)]
    return terms[0] if len(terms) == 1 else graph.node("Sum", *terms)


def _is_line(part: Feature) -> bool:
    return isinstance(part.function, Pieces) and part.function.is_line


def _value(part: Part, graph: _Graph, inputs: _Inputs) -> str:
    """Add the nodes of a part."""
    if isinstance(part, Product):
        factors = [_value(factor, graph, inputs) for factor in (part.first, part.second)]
        return graph.node("Mul", *factors)
    function = part.function
    if isinstance(function, Words) and part.column in inputs.words:
        return _table(function, graph, inputs.words[part.column])
    x = graph.column(inputs.X, inputs.places[part.column])
    if isinstance(function, Words):
        return _codes(function, graph, x)
    assert isinstance(function, Pieces)
    return _pieces(function, graph, x)


def _lines(lines: Sequence[Feature], graph: _Graph, inputs: _Inputs) -> str:
    """Add the sum of lines as a product with a vector, after filling the gaps with their values."""
    places = graph.constant([inputs.places[part.column] for part in lines], np.int64)
    x = graph.node("Gather", inputs.X, places, axis=1)
    pieces = [part.function for part in lines if isinstance(part.function, Pieces)]
    origins = np.array([line.origins[0] for line in pieces])
    starts, slopes = np.array([line.coefs[0] for line in pieces]).T
    gaps = np.array([line.gap for line in pieces])
    filled = ~np.isnan(gaps)
    extra = []
    if filled.any():
        missing = graph.node("And", graph.node("IsNaN", x), graph.constant(filled, bool))
        x = graph.node("Where", missing, graph.constant(origins), x)
        instead = graph.constant(np.where(filled, gaps - starts, 0.0))
        extra = [graph.node("MatMul", graph.as_number(missing), instead)]
    if origins.any():
        x = graph.node("Sub", x, graph.constant(origins))
    total = graph.node("MatMul", x, graph.constant(slopes))
    if starts.any():
        extra.append(graph.constant(starts.sum()))
    return graph.node("Sum", total, *extra) if extra else total


def _pieces(pieces: Pieces, graph: _Graph, x: str) -> str:
    """Add polynomials between knots: find the piece and its coefficients, then Horner's scheme."""
    if pieces.period is not None:
        x = _phase(pieces.period, graph, x)
    flat = graph.node("Squeeze", x, graph.constant([1], np.int64))
    at_or_above = graph.node("GreaterOrEqual", x, graph.constant(pieces.knots[None, :]))
    piece = graph.over_columns(graph.node("Cast", at_or_above, to=_INT64))
    away = graph.node("Sub", flat, graph.node("Gather", graph.constant(pieces.origins), piece))
    columns = [graph.node("Gather", graph.constant(c), piece) for c in pieces.coefs.T]
    value = columns.pop()
    while columns:
        value = graph.node("Add", graph.node("Mul", value, away), columns.pop())
    return graph.node("Where", graph.node("IsNaN", flat), graph.constant(pieces.gap), value)


def _phase(period: float, graph: _Graph, x: str) -> str:
    """Add a number modulo a period."""
    length = graph.constant(period)
    periods = graph.node("Floor", graph.node("Div", x, length))
    return graph.node("Sub", x, graph.node("Mul", length, periods))


def _table(words: Words, graph: _Graph, word: str) -> str:
    """Add a value for each word."""
    if None in words.values and "" in words.values:
        raise ValueError("the model distinguishes a gap from the empty word; ONNX does not.")
    keys = ["" if key is None else key for key in words.values] or [""]
    flat = graph.node("Squeeze", word, graph.constant([1], np.int64))
    place = graph.node(
        "LabelEncoder", flat, keys_strings=keys, values_int64s=[*range(len(keys))],
        default_int64=len(words.values),
    )  # fmt: skip
    value = graph.node("Gather", graph.constant([*words.values.values(), words.other]), place)
    if not words.gap_words:
        return value
    missing = graph.node("RegexFullMatch", flat, pattern=gap_pattern())
    return graph.node("Where", missing, graph.constant(words.gap), value)


def _codes(words: Words, graph: _Graph, x: str) -> str:
    """Add a value for each of some numbers."""
    values = {key: value for key, value in words.values.items() if key is not None}
    equal = graph.node("Equal", x, graph.constant([[*values]]))
    place = graph.node("ArgMax", graph.as_number(equal), axis=1, keepdims=0)
    value = graph.node("Gather", graph.constant([*values.values()]), place)
    any_equal = graph.above(graph.over_columns(graph.as_number(equal)), 0.0)
    flat = graph.node("IsNaN", graph.node("Squeeze", x, graph.constant([1], np.int64)))
    otherwise = graph.node("Where", flat, graph.constant(words.gap), graph.constant(words.other))
    return graph.node("Where", graph.node("Cast", any_equal, to=_BOOL), value, otherwise)
