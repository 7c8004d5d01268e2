"""Values for which TVM has wrappers of Python types: `tvm.runtime.String`."""

from __future__ import annotations

from typing import Any

from baton._src.values.adt import ADT


class _AnyString(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, str)


class String(str, metaclass=_AnyString):
    """A string. TVM's own class of strings is Python's here: all strings are instances."""

    __slots__ = ()


def tuple_object(fields: Any = None) -> ADT:
    """A tuple as the machine's values have it: an ADT with tag 0."""
    return ADT(0, tuple(fields or ()))


def enabled(target: str) -> bool:
    """Whether code for a kind of target can be made and run: for CPUs only."""
    return target.split()[0] in ("llvm", "cpu")
