"""`Array`: the sequences in nodes and attribute records, which scripts join with lists as they do TVM's."""

from __future__ import annotations

from typing import Any, SupportsIndex, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Array(tuple[T_co, ...]):
    """A tuple, but `array + [x]` and `[x] + array` are lists; a slice is an array again.

    TVM's slices are lists, so its scripts write `[x] + call.args[1:]`.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> T_co: ...
    @overload
    def __getitem__(self, index: slice, /) -> Array[T_co]: ...
    def __getitem__(self, index: Any, /) -> Any:
        found = tuple.__getitem__(self, index)
        return Array(found) if type(index) is slice else found

    def __add__(self, other: Any, /) -> Any:
        return [*self, *other] if isinstance(other, list) else tuple.__add__(self, other)

    def __radd__(self, other: Any, /) -> Any:
        return [*other, *self] if isinstance(other, list) else NotImplemented
