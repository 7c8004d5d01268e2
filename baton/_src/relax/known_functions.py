"""An index of functions by structure: finds the variable of an equal function, hashing only when necessary.

    known = KnownFunctions()
    known.add(relu.func, relu)
    known.var_of(another, lambda: GlobalVar("relu1"))        # relu, or what is made now and known from now on

Fusion and legalisation make a function for every group of operators and every operator, and most of these already
differ in their parameters. Only functions that share such an *outline* are hashed by structure, which walks all of the
function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.structural import structural_equal
from baton._src.ir.structural_hash import structural_hash
from baton._src.relax.nodes import Call, Function, SeqExpr
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.tir.prim_func import PrimFunc


@dataclass(eq=False, slots=True)
class _Group:
    """The functions of one outline: those not hashed yet, and the others by structural hash."""

    waiting: list[tuple[Any, GlobalVar]] = field(default_factory=list)
    hashed: dict[int, list[tuple[Any, GlobalVar]]] = field(default_factory=dict)

    def alike(self, function: Any) -> list[tuple[Any, GlobalVar]]:
        """The functions with this function's hash, as a list to which others may be appended."""
        for other, var in self.waiting:
            self.hashed.setdefault(structural_hash(other), []).append((other, var))
        self.waiting.clear()
        return self.hashed.setdefault(structural_hash(function), [])


class KnownFunctions:
    """See the module."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}

    def add(self, function: Any, var: GlobalVar) -> None:
        """Add a function, whether or not an equal one is known."""
        self._groups.setdefault(_outline(function), _Group()).waiting.append((function, var))

    def var_of(self, function: Any, new: Callable[[], GlobalVar]) -> GlobalVar:
        """The variable of an equal function, if there is one; else this function is added under `new()`."""
        outline = _outline(function)
        group = self._groups.get(outline)
        if group is None:
            var = new()
            self._groups[outline] = _Group([(function, var)])
            return var
        alike = group.alike(function)
        for other, var in alike:
            if structural_equal(other, function):
                return var
        alike.append((function, new()))
        return alike[-1][1]


def _outline(function: Any) -> Hashable:
    """Properties that equal functions share and that are quick to read."""
    if isinstance(function, PrimFunc):
        buffers = (function.buffer_map.get(p) for p in function.params)
        return PrimFunc, tuple(None if b is None else (b.dtype, *map(_size, b.shape)) for b in buffers)
    if isinstance(function, Function) and isinstance(function.body, SeqExpr):
        values = (getattr(b, "value", None) for block in function.body.blocks for b in block.bindings)
        return Function, len(function.params), tuple(map(_callee, values))
    return (type(function),)


def _size(dim: Any) -> int | None:
    return dim.value if isinstance(dim, IntImm) else None


def _callee(value: Any) -> Hashable:
    """The name of the kernel that a binding calls."""
    first = value.args[0] if isinstance(value, Call) and value.args else None
    return first.name_hint if isinstance(first, GlobalVar) else None
