"""Attributes of operator calls: frozen dataclasses with plain Python contents (ints, floats, strings, tuples, None).

    @attrs
    class SoftmaxAttrs(Attrs):
        axis: int = attr(-1, "the axis that sums to one")

A field may be known to one language only (`relay_only=True`, `relax_only=True`): builders, printers and parsers of the
other language leave it out. `__post_init__` normalises (an int stride to a pair) with `set_attr`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

T = TypeVar("T")


def attr(
    default: Any = dataclasses.MISSING, doc: str = "", *, relay_only: bool = False, relax_only: bool = False
) -> Any:
    """Declare an attribute with its default and one line of documentation."""
    languages = ("relay",) if relay_only else ("relax",) if relax_only else ("relay", "relax")
    return dataclasses.field(default=default, metadata={"doc": doc, "languages": languages})


class Attrs:
    """The base of attribute records. Equal by class and contents."""

    names: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:
        # `@attrs` makes the real one; `attr(default, doc)` is not a form that type checkers read defaults from.
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def keys(self) -> tuple[str, ...]:
        return self.names

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self.names)

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name) if name in self.names else default

    def get_int(self, name: str) -> int:
        return int(self[name])

    def get_str(self, name: str) -> str:
        return str(self[name])

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        return tuple(int(item) for item in self[name])

    def with_attrs(self, **changes: Any) -> Any:
        """A copy with some attributes changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def attrs(cls: type[T]) -> type[T]:
    """Declare an attribute class."""
    built: Any = dataclasses.dataclass(frozen=True)(cls)
    built.names = tuple(f.name for f in dataclasses.fields(built))
    found: type[T] = built
    return found


def set_attr(record: Attrs, name: str, content: object) -> None:
    """For `__post_init__` only: store the normalised form of an attribute."""
    object.__setattr__(record, name, content)


@attrs
class NoAttrs(Attrs):
    """For operators without attributes."""


NO_ATTRS = NoAttrs()


class DictAttrs(dict[str, Any]):
    """Attributes of functions and of calls of things that are no operators: a plain mapping, never changed in place."""
