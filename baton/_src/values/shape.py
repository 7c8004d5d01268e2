"""`ShapeTuple`: a shape as a value. A tuple of ints that can be told apart from a tuple of numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from baton._src.support.diagnostics import fail

_LEAST, _GREATEST = -(2**63), 2**63 - 1


class ShapeTuple(tuple[int, ...]):
    """An immutable sequence of dims (Python ints). Equal to a plain tuple of the same numbers, but of another category
    of values.

    Source: seed 001, Representation of Values at Run Time.
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[object] = ()) -> ShapeTuple:
        made = super().__new__(cls, map(operator.index, dims))  # type: ignore[arg-type]  # what is no integer is refused
        if made and not _LEAST <= min(made) <= max(made) <= _GREATEST:
            unfit = next(dim for dim in made if not _LEAST <= dim <= _GREATEST)
            raise fail("value-mismatch", f"a dim is an int64; {unfit} does not fit")
        return made

    def __repr__(self) -> str:
        return f"ShapeTuple({', '.join(map(str, self))})"
