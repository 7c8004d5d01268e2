"""Values for which TVM has classes of its own and baton Python's: `tvm.runtime.String`, tuples as `container.ADT`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.values import adt


class _AnyString(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, str)


class String(str, metaclass=_AnyString):
    """A string. TVM's own class of strings is Python's here: all strings are instances."""

    __slots__ = ()


class _AnyStructure(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, (adt.ADT, tuple))


class ADT(metaclass=_AnyStructure):
    """Values put together, as machines take and give them: what a constructor made, or, with tag 0, a tuple."""

    def __new__(cls, tag: int, fields: Iterable[Any]) -> Any:
        """A tuple for tag 0, else the value of the constructor with this tag."""
        return adt.ADT(int(tag), tuple(fields)) if tag else _Tuple(fields)


class _Tuple(tuple[Any, ...]):
    """A tuple that says what TVM's do of themselves."""

    __slots__ = ()
    tag = 0


def tuple_object(fields: Iterable[Any] | None = None) -> Any:
    """A tuple as the machines have it: an ADT with tag 0."""
    return ADT(0, fields or ())


def enabled(target: str) -> bool:
    """Whether code for a kind of target can be made and run: for CPUs only."""
    return target.split()[0] in ("llvm", "cpu")
