"""What Relay's builders of several results return: the call, indexable before its type is known."""

from __future__ import annotations

from collections.abc import Iterator

from baton._src.ir.types import Type
from baton._src.relay import nodes as relay


class TupleWrapper:
    """`tuple_value` is an expression whose value is a tuple of `size` fields. `wrapper[i]` projects; it unpacks and
    has a len.

    Builders and constructors of Relay accept it where an expression is wanted. Source: `relay.expr.TupleWrapper`,
    seed 003.
    """

    __slots__ = ("size", "tuple_value")

    def __init__(self, tuple_value: relay.Expr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> relay.Expr:
        """The expression itself."""
        return self.tuple_value

    def __getitem__(self, index: int) -> relay.TupleGetItem:
        if not -self.size <= index < self.size:
            raise IndexError(f"index {index} of a tuple of {self.size} fields")
        return relay.TupleGetItem(self.tuple_value, index % self.size)

    def __iter__(self) -> Iterator[relay.TupleGetItem]:
        return (self[i] for i in range(self.size))

    def __len__(self) -> int:
        return self.size

    @property
    def checked_type(self) -> Type:
        """The type of the tuple."""
        found: Type = self.tuple_value.checked_type
        return found

    def astext(self, show_meta_data: bool = True) -> str:
        """The tuple as Relay text."""
        return self.tuple_value.astext(show_meta_data)

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"
