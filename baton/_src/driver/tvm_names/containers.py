"""Small values that TVM wraps and Python has: `tvm.runtime.String`."""

from __future__ import annotations


class String(str):
    """A string; TVM's own class of strings is Python's here."""

    __slots__ = ()


def enabled(target: str) -> bool:
    """Whether code for a kind of target can be made and run: for CPUs only."""
    return target.split()[0] in ("llvm", "cpu")
