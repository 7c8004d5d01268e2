"""`ShapeTuple`: a shape as a value. A tuple of ints that can be told apart from a tuple of numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable


class ShapeTuple(tuple[int, ...]):
    """An immutable sequence of dims (Python ints). Equal to a plain tuple of the same numbers; not the same category.

    Source: seed 001, Representation of Values at Run Time.
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[object] = ()) -> ShapeTuple:
        return super().__new__(cls, [operator.index(d) for d in dims])  # type: ignore[arg-type]  # typed for tuples of one kind, Self

    def __repr__(self) -> str:
        return f"ShapeTuple({', '.join(map(str, self))})"
