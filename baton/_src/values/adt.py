"""Values of algebraic data types, and mutable references (Relay)."""

from __future__ import annotations

from typing import Any


class ADT:
    """A constructor applied to values: `tag` numbers the constructor within its type. Immutable.

    `constructor` is its node in interpreted programs, its name in compiled ones.
    """

    __slots__ = ("constructor", "fields", "tag")

    def __init__(self, tag: int, fields: tuple[Any, ...] = (), constructor: object = "") -> None:
        self.tag = tag
        self.fields = tuple(fields)
        self.constructor = constructor

    @property
    def name(self) -> str:
        """The constructor's name; empty for tuples."""
        return str(getattr(self.constructor, "name_hint", self.constructor))

    def __getitem__(self, index: int) -> Any:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __repr__(self) -> str:
        """`Cons(1, Nil())`, without recursion on the Python stack: lists may be long."""
        parts: list[str] = []
        work: list[object] = [self]
        while work:
            item = work.pop()
            if isinstance(item, _Text):
                parts.append(item)
            elif isinstance(item, ADT):
                parts.append(f"{item.name or f'ADT#{item.tag}'}(")
                work.append(_Text(")"))
                for position in range(len(item.fields) - 1, -1, -1):
                    work.append(item.fields[position])
                    if position:
                        work.append(_Text(", "))
            else:
                parts.append(repr(item))
        return "".join(parts)


class _Text(str):
    """Text already printed."""

    __slots__ = ()


class RefCell:
    """A mutable cell. Compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ref({self.value!r})"
