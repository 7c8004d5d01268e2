"""Operations on strings, other than comparing them. Tensors hold the numbers of strings; the VM looks those up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.string_table import current_strings
from baton._src.values.tensor import AnyArray, NDArray
from baton._src.values.text_patterns import text_pattern

START, END = "\x02", "\x03"
"""What stands before and behind the words of a string, where marks are asked for."""


def _strings(numbers: NDArray) -> AnyArray:
    return current_strings().strings(numbers.data)


def _numbers(strings: Any) -> NDArray:
    return NDArray(current_strings().numbers(strings))


def _each(function: Callable[[str], Any], x: NDArray, dtype: Any) -> NDArray:
    """An array of what `function` makes of each string."""
    found = [function(string) for string in _strings(x).reshape(-1).tolist()]
    return NDArray(np.array(found, dtype).reshape(x.shape))


def join(a: NDArray, b: NDArray) -> NDArray:
    """One string behind the other, broadcast."""
    try:
        joined = np.add(_strings(a), _strings(b))
    except ValueError:
        told = f"strings of shape {a.shape} cannot be joined with strings of shape {b.shape}"
        raise fail("value-mismatch", told, help="shapes broadcast as NumPy's do") from None
    return _numbers(np.asarray(joined, dtype=object))


def match(x: NDArray, pattern: str) -> NDArray:
    """Whether each string matches as a whole."""
    compiled = text_pattern(pattern)
    return _each(lambda string: compiled.fullmatch(string) is not None, x, np.bool_)


def split(x: NDArray, delimiter: str, limit: int) -> tuple[NDArray, NDArray]:
    """The parts of each string along a new last axis, filled up with empty strings; how many there are (of "" none).

    Without a delimiter strings are split at any white space, and white space at their ends is left out. At most `limit`
    times, if that is not negative.
    """
    given = [string if delimiter else string.strip() for string in _strings(x).reshape(-1).tolist()]
    parts = [string.split(delimiter or None, limit) if string else [] for string in given]
    counts = np.array([len(p) for p in parts], np.int64).reshape(x.shape)
    return _rows(parts, x.shape, ""), NDArray(counts)


def _rows(parts: Sequence[Sequence[str]], shape: Sequence[int], filler: str) -> NDArray:
    width = max(map(len, parts), default=0)
    filled = np.full((len(parts), width), filler, dtype=object)
    for row, part in zip(filled, parts, strict=True):
        row[: len(part)] = part
    return _numbers(filled.reshape(*shape, width))


def words(x: NDArray, separators: NDArray, pattern: str, shortest: int, filler: str, marked: int) -> NDArray:
    """Each string's words along a new last axis: what matches `pattern`, or stands between matches of one separator
    after the other (of the separator "" every character); words shorter than `shortest` are left out."""
    cuts = _strings(separators).tolist()

    def of(string: str) -> list[str]:
        pieces = [m[0] for m in text_pattern(pattern).finditer(string)] if pattern else [string]
        for cut in cuts:
            pieces = [part for piece in pieces for part in (_between(cut, piece) if cut else piece)]
        return [piece for piece in pieces if len(piece) >= shortest]

    found = [of(string) for string in _strings(x).reshape(-1).tolist()]
    if marked and any(found):
        found = [[START, *part, END] for part in found]
    return _rows(found, x.shape, filler)


def _between(separator: str, string: str) -> list[str]:
    """The parts between matches of a pattern (`re.split` would add what its groups match)."""
    places = [m.span() for m in text_pattern(separator).finditer(string) if m.end() > m.start()]
    starts, ends = [0, *(end for _, end in places)], [*(start for start, _ in places), len(string)]
    return [string[start:end] for start, end in zip(starts, ends, strict=True)]


def normalize(x: NDArray, left_out: NDArray, case: str, by_case: int) -> NDArray:
    """The strings of a vector, or of a matrix of one row, without stop words, in lower or upper case; never empty."""
    fold: Callable[[str], str] = (lambda string: string) if by_case else _lower
    unwanted = {fold(string) for string in _strings(left_out).tolist()}
    changed: Callable[[str], str] = {"LOWER": _lower, "UPPER": _upper}.get(case, lambda string: string)
    if len(x.shape) not in (1, 2) or (len(x.shape) == 2 and x.shape[0] != 1):
        raise fail("value-mismatch", f"StringNormalizer takes strings of shape (n,) or (1, n), got {x.shape}")
    kept = [changed(string) for string in _strings(x).reshape(-1).tolist() if fold(string) not in unwanted] or [""]
    return _numbers(np.array(kept, dtype=object).reshape(*x.shape[:-1], len(kept)))


def _lower(string: str) -> str:
    """Letter by letter, as a locale's tables do it: no letter becomes two."""
    return "".join(letter.lower()[:1] for letter in string)


def _upper(string: str) -> str:
    return "".join(up if len(up := letter.upper()) == 1 else letter for letter in string)


def parse(x: NDArray, dtype: str) -> NDArray:
    """The numbers that strings spell; `DiagnosticError` (`value-mismatch`) if one is not a number, or too large."""
    kind = DataType(dtype)
    number: Callable[[str], Any] = float if kind.is_float else _integer

    def read(string: str) -> Any:
        try:
            if "_" in string:
                raise ValueError
            return (
                np.array(number(string)).astype(kind.numpy) if kind.is_float else np.array(number(string), kind.numpy)
            )
        except (ValueError, OverflowError):
            raise fail("value-mismatch", f"the string {string!r} is not a number of dtype {dtype}") from None

    return _each(read, x, kind.numpy)


def _integer(string: str) -> int:
    """A whole number as it stands, another one without its fraction."""
    try:
        return int(string)
    except ValueError:
        return int(float(string))


def show(x: NDArray) -> NDArray:
    """Numbers as strings: whole ones in full, floats with eight digits, as onnxruntime writes them."""
    shown: Callable[[Any], str] = _shown if x.dtype.is_float else (lambda number: str(int(number)))
    return _numbers(np.array([shown(n) for n in x.data.reshape(-1)], dtype=object).reshape(x.shape))


def _shown(number: Any) -> str:
    string = f"{float(number):.8g}"
    return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(string, string)


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.strings.join": join,
    "vm.builtin.strings.match": match,
    "vm.builtin.strings.split": split,
    "vm.builtin.strings.words": words,
    "vm.builtin.strings.normalize": normalize,
    "vm.builtin.strings.parse": parse,
    "vm.builtin.strings.show": show,
}
