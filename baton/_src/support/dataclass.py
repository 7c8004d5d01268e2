"""`dataclass` as in the standard library, for classes of which there are hundreds.

    @dataclass(frozen=True)
    class SoftmaxAttrs(Attrs):
        axis: int = -1

The standard library compiles six functions for such a class when it is declared, which took half of the time of
importing baton; most of them are never called. Here a constructor is written when it is first asked for, and the other
methods are closures. To `dataclasses.fields`, `replace` and `asdict` the classes are dataclasses like others.

A class below a frozen one has to be frozen, and declared by this decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, init=True, repr=True, eq=True, frozen=False, **options):
        """Declare a dataclass; `options` (`slots`, `kw_only`) are the standard library's."""

        def declare(cls):
            given = {name for name, value in vars(cls).items() if value is not None}
            made = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
            added = _methods(made, init, repr, eq, frozen)
            if frozen and options.get("slots"):
                added |= {"__getstate__": _get_state, "__setstate__": _set_state}
            for name, method in added.items():
                if name not in given:
                    setattr(made, name, method)
            return made

        return declare if cls is None else declare(cls)


def _methods(cls: type, init: bool, repr: bool, eq: bool, frozen: bool) -> dict[str, Any]:
    """The methods of a class, by name; a comparable class that is not frozen cannot be hashed."""
    found: dict[str, Any] = {}
    if init:
        found["__init__"] = Later(cls, "__init__", lambda: init_of(cls, frozen))
    if repr:
        found["__repr__"] = _repr
    if eq:
        compared = _values_of([f for f in dataclasses.fields(cls) if f.compare])
        found["__eq__"] = _equality(compared)
        hashed = [f for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash)]
        found["__hash__"] = _hash(_values_of(hashed)) if frozen else None
    if frozen:
        found |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
    return found


class Later:
    """Stands for a method of `owner` until it is first asked for."""

    __slots__ = ("_name", "_owner", "_write")

    def __init__(self, owner: type, name: str, write: Callable[[], Any]) -> None:
        self._owner = owner
        self._name = name
        self._write = write

    def __get__(self, instance: Any, cls: type | None = None) -> Any:
        method = self._write()
        setattr(self._owner, self._name, method)
        return method if instance is None else method.__get__(instance)


def init_of(cls: Any, frozen: bool) -> Any:
    """The constructor of a dataclass: a parameter for each field, in order, those that are `kw_only` last."""
    fields = dataclasses.fields(cls)
    known: dict[str, Any] = {"_put": object.__setattr__, "_none": _ABSENT}
    lines = [line for f in fields if (line := _assignment(cls, f, frozen, known))]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    by_place = [_parameter(f, known) for f in fields if f.init and not f.kw_only]
    by_name = [_parameter(f, known) for f in fields if f.init and f.kw_only]
    parameters = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    body = "\n  ".join(lines or ["pass"])
    scope: dict[str, Any] = {}
    exec(f"def write({', '.join(known)}):\n def __init__({parameters}):\n  {body}\n return __init__", scope)
    init = scope["write"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return init


_ABSENT: Any = type("absent", (), {"__repr__": lambda self: "<factory>"})()
"""The default of a parameter whose field has a factory."""


def _parameter(field: dataclasses.Field[Any], known: dict[str, Any]) -> str:
    if field.default is not dataclasses.MISSING:
        known[f"_default_{field.name}"] = field.default
        return f"{field.name}=_default_{field.name}"
    return field.name if field.default_factory is dataclasses.MISSING else f"{field.name}=_none"


def _assignment(cls: Any, field: dataclasses.Field[Any], frozen: bool, known: dict[str, Any]) -> str:
    """The statement that sets the field; the slots of frozen objects have functions for that, which are the fastest."""
    name = value = field.name
    slot = getattr(cls, name, None)
    if field.default_factory is not dataclasses.MISSING:
        known[f"_make_{name}"] = field.default_factory
        value = f"_make_{name}() if {name} is _none else {name}" if field.init else f"_make_{name}()"
    elif not field.init:
        if not isinstance(slot, MemberDescriptorType) or field.default is dataclasses.MISSING:
            return ""  # `__post_init__` sets it, or the class has the default
        known[f"_default_{name}"] = field.default
        value = f"_default_{name}"
    if not frozen:
        return f"self.{name} = {value}"
    if not isinstance(slot, MemberDescriptorType):
        return f"_put(self, {name!r}, {value})"
    known[f"_put_{name}"] = slot.__set__
    return f"_put_{name}(self, {value})"


def _values_of(fields: list[dataclasses.Field[Any]]) -> Callable[[Any], Any]:
    """A function that gives the values of the fields as a tuple, even of one field: tuples compare by `is` first."""
    names = [f.name for f in fields]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _equality(values: Callable[[Any], Any]) -> Any:
    def __eq__(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(values: Callable[[Any], Any]) -> Any:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_setting(self: Any, name: str, value: object) -> None:
    """Fields never change. Subclasses that are no dataclasses may have further attributes."""
    _check_free(self, name, "assign to")
    object.__setattr__(self, name, value)


def _refuse_deleting(self: Any, name: str) -> None:
    _check_free(self, name, "delete")
    object.__delattr__(self, name)


def _check_free(self: Any, name: str, what: str) -> None:
    cls = type(self)
    if name in cls.__dataclass_fields__ or "__dataclass_fields__" in vars(cls):
        raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state):
        object.__setattr__(self, field.name, value)
