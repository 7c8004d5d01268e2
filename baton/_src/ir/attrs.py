"""Attributes of operator calls: immutable records of plain Python values (ints, floats, strings, tuples, None).

    @attrs
    class SoftmaxAttrs(Attrs):
        axis: int = attr(-1, "the axis that sums to one")

A field may be known to one language only (`relay_only=True`, `relax_only=True`): builders, printers and parsers of the
other language leave it out. `__post_init__` normalises (an int stride to a pair) with `set_attr`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from baton._src.ir.array import Array
from baton._src.support.dataclass import dataclass

T = TypeVar("T")


def attr(
    default: object = dataclasses.MISSING,
    doc: str = "",
    *,
    relay_only: bool = False,
    relax_only: bool = False,
    relax_name: str = "",
    beyond: bool = False,
    same_as: str = "",
) -> Any:
    """Declare an attribute with its default and one line of documentation.

    `relax_name`: what Relax's text calls it, where that differs. `beyond`: TVM's record has no such field, so Relax's
    text shows it only if it differs from the default. `same_as`: the field with the same meaning in Relax.
    """
    languages = ("relay",) if relay_only else ("relax",) if relax_only else ("relay", "relax")
    told = {"doc": doc, "languages": languages, "relax_name": relax_name, "beyond": beyond, "same_as": same_as}
    return dataclasses.field(default=default, metadata=told)


class AttrInt(int):
    """An integer in a record. Scripts read TVM's by `.value`, as there these are expressions (`IntImm`)."""

    __slots__ = ()

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


def _kept(content: object) -> object:
    """A value as records keep it: integers, also those in tuples, with a `value`."""
    if type(content) is int:
        return AttrInt(content)
    return Array([_kept(item) for item in content]) if type(content) is tuple else content


class AttrFieldInfo(NamedTuple):
    """An attribute, for people."""

    name: str
    type_info: str
    description: str


class Attrs:
    """The base of attribute records. Equal by class and contents.

    The methods that dataclasses would generate, by compiling text for each of a hundred classes, are written once here.
    """

    names: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[Mapping[str, str]] = {}
    """What each attribute is declared as, in words of Python: "int", "str | None"."""
    relax_order: ClassVar[tuple[str, ...]] = ()
    """The order in Relax's text, if it differs from that of the fields."""

    def __setattr__(self, name: str, content: object) -> None:
        """Each attribute is set once, while the record is made."""
        if name not in self.names or name in self.__dict__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        set_attr(self, name, content)

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return tuple(content for _, content in self.items()) == tuple(c for _, c in other.items())

    def __hash__(self) -> int:
        return hash(tuple(content for _, content in self.items()))

    def __repr__(self) -> str:
        contents = ", ".join(f"{name}={content!r}" for name, content in self.items())
        return f"{type(self).__qualname__}({contents})"

    if TYPE_CHECKING:
        # `@attrs` makes the real one; `attr(default, doc)` is not a form that type checkers read defaults from.
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def keys(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return self.names

    def items(self) -> Iterator[tuple[str, Any]]:
        """(name, value) of each attribute, in order."""
        return ((name, getattr(self, name)) for name in self.names)

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def get(self, name: str, default: object = None) -> Any:
        """The attribute `name`, or `default` if there is none."""
        return getattr(self, name) if name in self.names else default

    def get_int(self, name: str) -> int:
        """The attribute as an int."""
        return int(self[name])

    def get_str(self, name: str) -> str:
        """The attribute as a str."""
        return str(self[name])

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        """The attribute as a tuple of ints."""
        return tuple(int(item) for item in self[name])

    def list_field_info(self) -> list[AttrFieldInfo]:
        """What the attributes are, for people."""
        fields = dataclasses.fields(self)
        described = {f.name: str(f.metadata.get("doc", "")) for f in fields}
        return [AttrFieldInfo(n, type(content).__name__, described.get(n, "")) for n, content in self.items()]

    def with_attrs(self, **changes: object) -> Self:
        """A copy with some attributes changed."""
        return dataclasses.replace(self, **changes)

    @classmethod
    def said_in_relay(cls, given: Mapping[str, object]) -> Mapping[str, object]:
        """What a Relay program says, in the terms of both languages: a record overrides it if they differ."""
        return given

    relay_form: ClassVar[type[Attrs] | None] = None
    """The class of such records in Relay, if some attributes are Relax's only."""

    def in_relax(self) -> Attrs:
        """The record of a Relax call that says the same: another one where values have another form there."""
        return self

    def in_relay(self) -> Attrs:
        """The record of a Relay call that says the same: what is Relax's only is not among its keys."""
        return self if self.relay_form is None else _as_record(self.relay_form, self)

    @classmethod
    def accepts(cls, name: str) -> bool:
        """Whether there may be an attribute of this name."""
        return name in cls.names


def attrs(cls: type[T]) -> type[T]:
    """Declare an attribute class."""
    built: Any = dataclass(eq=False, repr=False)(cls)
    fields = dataclasses.fields(built)
    built.names = tuple(f.name for f in fields)
    built.kinds = {f.name: _in_words(f.type) for f in fields}
    in_relay = tuple(f.name for f in fields if "relay" in f.metadata.get("languages", ("relay",)))
    built.relay_form = None
    if in_relay != built.names:
        built.relay_form = type(built.__name__, (_InRelay, built), {"keys_": in_relay, "plain": built})
    found: type[T] = built
    return found


def _in_words(annotation: object) -> str:
    """An annotation as it is written; a file without `from __future__ import annotations` has evaluated it."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


class _InRelay:
    """What records in Relay calls do otherwise: scripts copy calls by `relay.nn.pad(x, **dict(call.attrs))`."""

    keys_: ClassVar[tuple[str, ...]]
    plain: ClassVar[type[Attrs]]

    def keys(self) -> tuple[str, ...]:
        return self.keys_

    def items(self) -> Iterator[tuple[str, Any]]:
        return ((name, getattr(self, name)) for name in self.keys_)

    def in_relax(self) -> Attrs:
        return _as_record(self.plain, self).in_relax()

    def in_relay(self) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return self.plain.in_relay, (_as_record(self.plain, self),)


def _as_record(kind: type[Attrs], record: Any) -> Attrs:
    """The same attributes in a record of another class, which are known to be normal."""
    made = object.__new__(kind)
    made.__dict__.update(record.__dict__)
    return made


def set_attr(record: Attrs, name: str, content: object) -> None:
    """For `__post_init__` only: store the normalised form of an attribute, a bool for the 0 and 1 of TVM's texts."""
    is_flag = record.kinds.get(name) == "bool" and isinstance(content, int)
    object.__setattr__(record, name, bool(content) if is_flag else _kept(content))


@attrs
class NoAttrs(Attrs):
    """For operators without attributes."""


NO_ATTRS = NoAttrs()


class OpenAttrs(Attrs):
    """Attributes of operators registered by users: any names and values a call passes."""

    _contents: Mapping[str, object]

    def __init__(self, **contents: object) -> None:
        kept = {name: _kept(contents[name]) for name in sorted(contents)}
        self.__dict__.update(_contents=kept, names=tuple(kept))

    @classmethod
    def accepts(cls, name: str) -> bool:
        return True

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self._contents.items())

    def __getitem__(self, name: str) -> Any:
        return self._contents[name]

    def get(self, name: str, default: object = None) -> Any:
        return self._contents.get(name, default)

    def __getattr__(self, name: str) -> Any:
        contents: Mapping[str, object] = self.__dict__.get("_contents", {})
        if name in contents:
            return contents[name]
        raise AttributeError(f"there is no attribute {name}; there are: {', '.join(contents) or 'none'}")

    def with_attrs(self, **changes: object) -> Self:
        return type(self)(**{**self._contents, **changes})

    def __setattr__(self, name: str, content: object) -> None:
        raise AttributeError(f"attributes are not changed in place: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenAttrs) and self._contents == other._contents

    def __hash__(self) -> int:
        return hash(self.names)


class DictAttrs(dict[str, Any]):
    """Attributes of functions, and of calls of anything but operators: an immutable mapping."""

    def __getattr__(self, name: str) -> Any:
        """`attrs.Compiler`: what TVM's scripts write for `attrs["Compiler"]`."""
        if name in self:
            return self[name]
        raise AttributeError(f"there is no attribute {name}; there are: {', '.join(self) or 'none'}")
