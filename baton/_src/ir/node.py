"""How an IR node is declared: a frozen slotted dataclass whose fields say their role.

Structural equality and hashing, children, rebuilding and printing paths are all derived from the roles, so a new
node needs no visitor code. A node compares and hashes by identity; `structural_equal` is a function.

    @node
    class Let(Expr):
        var: Var = binder()      # a definition: structural equality renames it freely
        value: Expr
        body: Expr
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar, dataclass_transform

from baton._src.ir.array import Array
from baton._src.ir.print_style import styled, syntax_of
from baton._src.support.dataclass import Later, dataclass, init_of

_MISSING = dataclasses.MISSING
T = TypeVar("T")


class Role(Enum):
    """What a field is to the program."""

    VALUE = "value"
    """Part of the meaning: compared, hashed, traversed, rebuilt."""
    BINDER = "binder"
    """A definition (or a tuple of them): its uses elsewhere in the node refer to it; compared up to renaming."""
    MATCH = "match"
    """Part of the meaning that also defines variables not defined before (shapes in annotations, shapes of
    buffers): compared like a value, except that unknown variables are paired up."""
    NOTE = "note"
    """About the program, not of it (span, checked type, struct info): ignored by equality, kept by rebuilding."""


class FieldSpec(NamedTuple):
    """One declared field of a node class."""

    name: str
    role: Role


def part(*, default: object = _MISSING, default_factory: object = _MISSING, kw_only: bool = False) -> Any:
    """A field that is part of the meaning (the default for a plain annotation)."""
    return _field(Role.VALUE, default, default_factory, kw_only)


def binder(*, default: object = _MISSING, default_factory: object = _MISSING, kw_only: bool = False) -> Any:
    """A field that defines variables."""
    return _field(Role.BINDER, default, default_factory, kw_only)


def match_part(*, default: object = _MISSING, kw_only: bool = False) -> Any:
    """A field that is part of the meaning and defines the variables in it that are not defined yet."""
    return _field(Role.MATCH, default, _MISSING, kw_only)


def note(*, default: object = None, kw_only: Literal[True]) -> Any:
    """A field about the program; it starts out as `default` and may be set later with `set_note`.

    `kw_only=True` is spelled at each use because type checkers read it there.
    """
    return _field(Role.NOTE, default, _MISSING, kw_only)


def _field(role: Role, default: object, factory: object, kw_only: bool) -> Any:
    options: dict[str, Any] = {"metadata": {"role": role}, "kw_only": kw_only}
    if default is not _MISSING:
        options["default"] = default
    if factory is not _MISSING:
        options["default_factory"] = factory
    return dataclasses.field(**options)


class Node:
    """The root of every IR class. Immutable; identity is equality."""

    __slots__ = ("__weakref__",)
    specs: ClassVar[tuple[FieldSpec, ...]] = ()
    """All fields in declaration order, base classes first; filled by `@node`."""
    field_names: ClassVar[tuple[str, ...]] = ()
    text: ClassVar[Callable[..., str] | None] = None
    """The printer of the node's language, `text(node, show_meta, header)`; bound by `driver.wiring`, as printers live
    in later layers."""
    is_variable: ClassVar[bool] = False
    """A variable: occurrences are one object; equality pairs them up instead of comparing names."""
    is_graph_node: ClassVar[bool] = False
    """Sharing is part of the meaning: one node used twice is evaluated once and differs from two copies (Relay)."""
    compared_as: ClassVar[dict[str, str]] = {}
    """Fields that structural equality looks at through a property: what was left out and then inferred (Relay)."""

    def same_as(self, other: object) -> bool:
        """Whether both are one object (TVM's spelling of `is`)."""
        return self is other

    def __repr__(self) -> str:
        text = type(self).text
        if text is not None:
            return text(self)
        parts = (f"{s.name}={getattr(self, s.name)!r}" for s in self.specs if s.role is not Role.NOTE)
        return f"{type(self).__name__}({', '.join(parts)})"

    def script(self, *, show_meta: bool = False, show_all_struct_info: bool = True, **style: object) -> str:
        """The text: TVMScript of Relax and TIR, Relay's own. With `show_meta`, constants too, so that it reads back.

        Without `show_all_struct_info` the variables of Relax are annotated only where their value does not say as much.
        `style` takes TVM's further printing options (`print_style`), such as `name` and `indent_spaces`.
        """
        text = type(self).text
        options = {} if show_all_struct_info else {"show_all_struct_info": False}
        with syntax_of(style):
            found = repr(self) if text is None else text(self, show_meta, True, **options)
        return styled(found, style) if style else found

    def astext(self, show_meta_data: bool = True, annotate: Callable[[Any], str] | None = None) -> str:
        """The text, with large constants unless told otherwise. Relay: `annotate(expr)` gives the comment after an
        expression, in place of its type.
        """
        text = type(self).text
        if text is None or annotate is None:
            return self.script(show_meta=show_meta_data)
        return text(self, show_meta_data, True, annotate)

    def show(self, style: str | None = None, black_format: bool | None = None, **options: Any) -> None:
        """Print the text, with the options of `script`. There are no colours, and lines are not broken anew."""
        print(self.script(**options))

    def with_fields(self, **changes: object) -> Self:
        """A copy with some fields changed, notes kept unless given; the same object if nothing changes."""
        for name, content in changes.items():
            if getattr(self, name) is not content:
                break
        else:
            return self
        copy = self.copy()
        put = object.__setattr__
        for name, content in changes.items():
            put(copy, name, Array(content) if type(content) is tuple else content)
        return copy

    def copy(self) -> Self:
        """Another node with the same contents (a variable of its own, if it is a variable)."""
        copy = object.__new__(type(self))
        put = object.__setattr__
        for name in self.field_names:
            put(copy, name, getattr(self, name))
        return copy


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(part, binder, match_part, note))
def node(cls: type[T]) -> type[T]:
    """Declare a node class (see the module's docstring)."""
    built: Any = dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)(cls)
    if "__init__" not in cls.__dict__:
        built.__init__ = Later(built, "__init__", lambda: _with_span_last(init_of(built, frozen=True)))
    built.specs = tuple(FieldSpec(f.name, f.metadata.get("role", Role.VALUE)) for f in dataclasses.fields(built))
    built.field_names = tuple(spec.name for spec in built.specs)
    built.__setattr__, built.__delattr__ = _set_attribute, _delete_attribute
    found: type[T] = built
    return found


def _with_span_last(init: Any) -> Any:
    """A generated constructor that takes `span` behind the other fields by place, as TVM's do.

    A dataclass puts the fields of its bases first, so `span` is keyword-only there. It is the first of those: counting
    it to the positional parameters makes it their last.
    """
    code = init.__code__
    if not code.co_kwonlyargcount or code.co_varnames[code.co_argcount] != "span":
        return init
    init.__code__ = code.replace(co_argcount=code.co_argcount + 1, co_kwonlyargcount=code.co_kwonlyargcount - 1)
    init.__defaults__ = (*(init.__defaults__ or ()), init.__kwdefaults__.pop("span"))
    return init


def _set_attribute(self: Node, name: str, content: object) -> None:
    """Fields never change. Users' subclasses of a node (declared without `@node`) may have further attributes."""
    if name in self.field_names or not hasattr(self, "__dict__"):
        raise dataclasses.FrozenInstanceError(f"cannot assign to {name!r} of a {type(self).__name__}")
    object.__setattr__(self, name, content)


def _delete_attribute(self: Node, name: str) -> None:
    if name in self.field_names or not hasattr(self, "__dict__"):
        raise dataclasses.FrozenInstanceError(f"cannot delete {name!r} of a {type(self).__name__}")
    object.__delattr__(self, name)


set_note: Callable[[Node, str, object], None] = object.__setattr__
"""Set a note field (span, checked type, struct info) of an otherwise immutable node."""

init_field: Callable[[Node, str, object], None] = object.__setattr__
"""Set a field from a class's own `__post_init__` while the object is being made; never afterwards."""
