"""A column of a table: its Arrow values, and how problems with it are reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import NO_WORD, Column, YesNo
from aucmax.data.decisions import Decision
from aucmax.data.digits import first_bytes
from aucmax.data.obstacles import Obstacle
from aucmax.data.reading import FIRST_ROWS, Reading
from aucmax.data.tables.arrow import ArrowFile, is_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOSTLY", "NEARLY_ALL", "Distinct", "FileColumn", "Read"]

NEARLY_ALL = 0.9  # share of numbers above which other values are errors, not categories
MOSTLY = 0.5  # the same for a column of many different values
_DIGITS = "^[^A-Za-z]*[0-9][^A-Za-z]*$"
_MOST_BYTES = (1 << 31) - 1  # of an Arrow array of text

_FORMULA = '^="([^"]*)"$'  # by which spreadsheets write text such as 0123


class Read(NamedTuple):
    """A column that was read.

    Parameters
    ----------
    column : Column
        Its kind.
    values : ndarray of float64 or Categorical, shape (n,)
        Its numbers, NaN for gaps, or its words.
    decisions : tuple of Decision
        The decisions about it.
    beside : tuple of Read
        Further columns made of the same cells.
    """

    column: Column
    values: Any
    decisions: tuple[Decision, ...] = ()
    beside: tuple[Read, ...] = ()


class Distinct(NamedTuple):
    """The different words of a column of text.

    Parameters
    ----------
    words : Array of strings, shape (k,)
        The words without repetitions, in the order of the rows; or one for each row, if `each_row`.
    codes : ndarray of int32, shape (n,)
        The index of each row's word, −1 for a gap.
    counts : ndarray, shape (k,)
        The number of rows with each word.
    each_row : bool
        Whether words may be repeated.
    """

    words: pa.Array
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    each_row: bool = False

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> Distinct:
        """Return the different words of a column, perhaps dictionary-encoded."""
        import pyarrow as pa
        from pyarrow import types

        encoded = values.dictionary_encode()
        if types.is_dictionary(values.type):  # else its chunks have one dictionary
            encoded = encoded.unify_dictionaries()
        chunks = [chunk.indices.fill_null(-1).to_numpy() for chunk in encoded.chunks]
        codes = np.concatenate([np.empty(0, np.int32), *chunks])
        words = encoded.chunk(0).dictionary if encoded.num_chunks else pa.array([], pa.string())
        return cls(words, codes, np.bincount(codes + 1, minlength=len(words) + 1)[1:])

    @classmethod
    def of_numbers(cls, values: pa.ChunkedArray) -> Distinct:
        """Return one word for each row if most of the first are different numbers or dates.

        Finding the different words would take longer than reading all of them.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        n, first = len(values), values[:FIRST_ROWS]
        large = n > FIRST_ROWS and is_text(values.type) and values.nbytes < _MOST_BYTES
        if not large or values.null_count or len(first.unique()) < MOSTLY * FIRST_ROWS:
            return cls.of(values)
        if pc.sum(pc.match_substring_regex(first, _DIGITS)).as_py() < MOSTLY * FIRST_ROWS:
            return cls.of(values)
        words = pa.concat_arrays(values.chunks)
        return cls(words, np.arange(n, dtype=np.int32), np.ones(n, np.int64), each_row=True)

    def each_once(self) -> Distinct:
        """Return the same without repeated words."""
        import pyarrow as pa

        return Distinct.of(pa.chunked_array([self.words])) if self.each_row else self

    def stripped(self) -> Distinct:
        """Return the same without space around words, and without a spreadsheet's formula for text.

        Such a formula, ``="0123"``, preserves leading zeros.
        """
        import pyarrow.compute as pc

        words = pc.utf8_trim_whitespace(self.words)
        if pc.any(pc.starts_with(words, '="')).as_py():
            words = pc.replace_substring_regex(words, _FORMULA, r"\1")
        if self.each_row or words.equals(self.words):
            return self._replace(words=words)
        trimmed = words.dictionary_encode()
        words, places = trimmed.dictionary, trimmed.indices.to_numpy()
        if len(words) == len(self.words):
            return self._replace(words=words)
        counts = np.bincount(places, self.counts, len(words)).astype(np.int64)
        return Distinct(words, self.of_rows(places, -1), counts)

    def beginning(self, most: int) -> Distinct:
        """Return the first ``most`` different words, with their counts."""
        words = self.first_words(most)
        return Distinct(words, np.arange(len(words), dtype=np.int32), self.counts[: len(words)])

    def first_words(self, most: int, chosen: NDArray[np.bool_] | None = None) -> pa.Array:
        """Return the first ``most`` different words, among all or those in a mask (k,)."""
        import pyarrow as pa

        words, size = self.words if chosen is None else self.words.filter(pa.array(chosen)), most
        while len(first := words[:size].unique()) < most and size < len(words):
            size *= 2
        return first[:most]

    def of_rows(self, values: NDArray[Any], gap: Any = np.nan) -> NDArray[Any]:
        """Return the value of each row, given the value of each word (k,)."""
        if len(values) == len(self.codes):  # no word is repeated, and there is no gap
            return values
        return np.append(values, np.asarray(gap, dtype=values.dtype)).take(self.codes)

    def first(self, chosen: NDArray[np.bool_]) -> int:
        """Return the first row with one of the words in a mask (k,)."""
        return int(np.argmax(self.of_rows(chosen, False)))

    def rows(self, chosen: NDArray[np.bool_]) -> int:
        """Return the number of rows with one of the words in a mask (k,)."""
        return int(self.counts[chosen].sum())

    def word(self, row: int) -> str:
        """Return the word of a row, which must not be a gap."""
        return str(self.words[int(self.codes[row])].as_py())

    def are(
        self, words: tuple[str, ...], among: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]:
        """Return which of the column's words are in ``words``, as a mask (k,).

        Case and surrounding space are ignored.

        Parameters
        ----------
        words : tuple of str
        among : ndarray of bool, shape (k,), optional
            Which of the column's words to test.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        starts = np.arange(256) > 0x7F  # possible first bytes: of the words, in any case, or blanks
        starts[: ord(" ") + 1] = True
        starts[[ord(case[0]) for word in words if word for case in (word, word.upper())]] = True
        are = starts[first_bytes(self.words)]
        if among is not None:
            are &= among
        if not are.any():
            return are
        trimmed = pc.utf8_trim_whitespace(self.words.filter(pa.array(are)))
        are[are] = np.asarray(pc.utf8_length(trimmed)) <= max(map(len, words))
        lower = pc.utf8_lower(pc.utf8_trim_whitespace(self.words.filter(pa.array(are))))
        are[are] = pc.is_in(lower, pa.array(words)).to_numpy(zero_copy_only=False)
        return are

    def places_in(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the index of each word in ``words``, −1 for none, shape (k,)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        places = pc.index_in(self.words, pa.array(words, self.words.type))
        return places.fill_null(-1).to_numpy().astype(np.int32)

    def each(self, test: Callable[[str], Any]) -> list[Any]:
        """Return the result of a function for each word."""
        return [test(word) for word in self.words.to_pylist()]


@dataclass(frozen=True)
class FileColumn:
    """A column to be read.

    Parameters
    ----------
    source : ArrowFile
    name : str
    reading : Reading
    reserved : sequence of str
        Names that further columns made of its cells must not have.
    """

    source: ArrowFile
    name: str
    reading: Reading
    reserved: Sequence[str] = ()

    @cached_property
    def stored(self) -> pa.ChunkedArray:
        """The Arrow values, perhaps dictionary-encoded."""
        import pyarrow as pa
        from pyarrow import types

        column = self.source.table.column(self.reading.source(self.name))
        return column.cast(pa.string()) if types.is_string_view(column.type) else column

    @cached_property
    def values(self) -> pa.ChunkedArray:
        """The Arrow values, decoded."""
        return self.stored.cast(self.kind)

    @property
    def kind(self) -> pa.DataType:
        """Arrow's type of the values."""
        from pyarrow import types

        kind = self.stored.type
        return kind.value_type if types.is_dictionary(kind) else kind

    @cached_property
    def written(self) -> Distinct:
        """The different words as in the file; typed numbers as text."""
        import pyarrow as pa

        of = Distinct.of_numbers if self.reading.prepare else Distinct.of
        return of(self.stored if is_text(self.kind) else self.values.cast(pa.string()))

    @cached_property
    def distinct(self) -> Distinct:
        """The different words, stripped."""
        return self.written.stripped()

    @property
    def has_space(self) -> bool:
        """Whether there is space around some words."""
        return is_text(self.kind) and not self.written.words.equals(self.distinct.words)

    @property
    def declared(self) -> Column | None:
        """The column as the caller declared it."""
        return self.reading.declared.get(self.name)

    @property
    def truth(self) -> YesNo:
        """The kind of a column of true and false, in the spelling of the file."""
        spelt = self.source.first_words().get(self.name, ())
        words = [word.strip() for word in spelt if word.strip().lower() in ("true", "false")]
        return YesNo.written(self.name, words) or YesNo(self.name)

    def numbers(self) -> NDArray[np.float64]:
        """Numbers as float64, perhaps in Arrow's memory; NaN for missing values."""
        import pyarrow as pa

        return self.values.cast(pa.float64(), safe=False).to_numpy()

    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value: null, NaN, only white space, or a word that means missing."""
        if not is_text(self.kind):
            return self.values.is_null(nan_is_null=True).to_numpy()
        words = NO_WORD if self.reading.prepare else ("",)
        return self.distinct.of_rows(self.distinct.are(words), gap=True)

    @property
    def out(self) -> str:
        """How to drop the column, as the end of "leave the column …"."""
        return f"out (drop={[self.name]!r})"

    def wrong(
        self,
        what: str,
        hint: str,
        row: int | None = None,
        *,
        remedy: dict[str, Any] | None = None,
        of_model: str | None = None,
        provisional: bool = False,
    ) -> Obstacle:
        """Return the obstacle to raise.

        Parameters
        ----------
        what, hint : str
            What is wrong, as the end of "column NAME …", and how to fix it.
        row : int, optional
            The first row that is wrong.
        remedy : dict, optional
            Arguments of `read` that remove the obstacle.
        of_model : str, optional
            The hint if a model needs the column.
        provisional : bool
            Whether further rows may remove the obstacle.
        """
        if of_model is not None and self.reading.for_model:
            hint, remedy = of_model, self.reading.without(self.name)
        where = "" if row is None else self.source.place(row)
        problem = f"column {self.name!r} {what}"
        return Obstacle(self.name, problem, hint, where, remedy, provisional)

    def not_one(
        self, strange: NDArray[np.bool_], kind: str, others: str = "", of_model: str | None = None
    ) -> Decision:
        """Return the decision to treat some words, a mask (k,), as missing values.

        Parameters
        ----------
        strange : ndarray of bool, shape (k,)
        kind : str
            What the words should be, such as "a number".
        others : str
            What the other words are, for the error.
        of_model : str, optional
            The hint of an error, if a model needs the column.

        Raises
        ------
        Obstacle
            If the reader must not decide, or the column must not have missing values.
        """
        row, count = self.distinct.first(strange), self.distinct.rows(strange)
        word = self.distinct.word(row)
        few = count <= MOSTLY * self.distinct.counts.sum()
        may_be_gaps = few and self.reading.may_have_gaps(self.name)
        if may_be_gaps and self.reading.lenient:
            place = self.source.place(row)
            where = f"line {place}" if isinstance(place, int) else place
            finding = f"{word!r} ({where}) is not {kind}"
            if count > 1:
                finding = f"{count:,} values are not {kind}, the first {word!r} ({where})"
            otherwise = {"categories": [self.name]}
            return Decision(self.name, f"{finding}: taken as missing", otherwise, doubtful=True)
        lenience = may_be_gaps and self.reading.prepare  # strict=False would make it missing
        as_gap = "take it as missing (without strict=True), " if lenience else ""
        raise self.wrong(
            f"holds {word!r}, which is not {kind}{others and ', '}{others}",
            f"correct it, {as_gap}or leave the column {self.out}",
            row,
            remedy={"strict": False} if lenience else self.drop,
            of_model=of_model,
        )

    @property
    def drop(self) -> dict[str, Any]:
        """The remedy of dropping the column."""
        return {"drop": [self.name]}
