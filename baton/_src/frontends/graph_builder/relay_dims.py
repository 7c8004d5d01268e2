"""Symbolic sizes of a model in Relay: `?` in types, read from a tensor's shape where computations need them.

input x: (n, 1, 8, 8);  reshape(y, (n * 2, 256))   ->   dyn.reshape(%y, concatenate((shape_of(%x)[0] * 2, [256])))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ops.arguments import relay_constant
from baton._src.ops.builders import RELAY
from baton._src.relay.nodes import Call, Expr, Tuple
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir

R: Any = RELAY
_DYNAMIC = ("reshape", "broadcast_to")
_ARITHMETIC: dict[type, str] = {
    tir.Add: "add",
    tir.Sub: "subtract",
    tir.Mul: "multiply",
    tir.FloorDiv: "floor_divide",
    tir.FloorMod: "floor_mod",
    tir.Max: "maximum",
    tir.Min: "minimum",
    tir.EQ: "equal",
    tir.NE: "not_equal",
    tir.LT: "less",
    tir.LE: "less_equal",
    tir.GT: "greater",
    tir.GE: "greater_equal",
    tir.Div: "divide",
    tir.Mod: "mod",
}


def _read(tensor: Expr, axis: int) -> Any:
    """One size of a tensor, as a tensor of one element."""
    return _element(R.shape_of(tensor, dtype="int64"), axis)


def _element(vector: Any, place: int) -> Any:
    return R.strided_slice(vector, begin=[place], end=[place + 1])


class OpenSizes:
    """Where each symbolic size of a model can be read."""

    def __init__(self) -> None:
        self._places: dict[Any, tuple[Expr, int]] = {}
        self._elements: dict[Any, tuple[Expr, int]] = {}

    def note(self, tensor: Expr, dims: Sequence[Dim]) -> None:
        """Record where the sizes `dims` can be read: from a parameter, or a value whose sizes are known only at run
        time.
        """
        for axis, dim in enumerate(dims):
            if isinstance(dim, tir.Var):
                self._places.setdefault(dim, (tensor, axis))

    def note_elements(self, vector: Expr, names: Sequence[tir.Var]) -> None:
        """Record that these are the elements of an int64 vector."""
        self._elements.update((name, (vector, place)) for place, name in enumerate(names))

    def tensor(self, dims: Sequence[Dim]) -> Any:
        """A rank-1 int64 tensor of these sizes."""
        parts = [self._number(d) for d in dims]
        return parts[0] if len(parts) == 1 else R.concatenate(Tuple(parts), axis=0)

    def scalar(self, size: Dim) -> Any:
        """One size as an int64 tensor of rank 0."""
        if isinstance(size, int):
            return relay_constant(np.array(size, "int64"))
        return R.reshape(self._number(size), newshape=())

    def holds(self, tensor: Expr, axis: int, size: Dim) -> Any:
        """Whether an axis of a tensor is of this size, as a bool tensor of rank 0."""
        return R.equal(R.reshape(_read(tensor, axis), newshape=()), self.scalar(size))

    def _number(self, dim: Any) -> Any:
        """One size, as a tensor of one element."""
        if isinstance(dim, (int, tir.IntImm)):
            return relay_constant(np.array([int(getattr(dim, "value", dim))], "int64"))
        if dim in self._places:
            return _read(*self._places[dim])
        if dim in self._elements:
            return _element(*self._elements[dim])
        if isinstance(dim, tir.Select):
            return R.where(*(self._number(part) for part in (dim.condition, dim.true_value, dim.false_value)))
        operation = _ARITHMETIC.get(type(dim))
        if operation is None:
            help = "give the sizes of the inputs (shape={...}), or import it to Relax (relax.frontend)"
            raise fail("import-relay", f"Relay cannot compute the size {dim}", help=help)
        return getattr(R, operation)(self._number(dim.a), self._number(dim.b))

    def settled(self, call: Call, hint: str) -> Call:
        """A call whose target shape is symbolic, in a form that Relay supports: with a -1, or as a dynamic operator."""
        for name in call.attrs.names if call.attrs is not None else ():
            target = getattr(call.attrs, name)
            if not isinstance(target, tuple):
                continue
            unknown = [i for i, d in enumerate(target) if isinstance(d, PrimExpr) and not isinstance(d, tir.IntImm)]
            if not unknown:
                continue
            if call.op.name == "reshape" and len(unknown) == 1 and -1 not in target:
                plain = tuple(-1 if i in unknown else d for i, d in enumerate(target))
                return Call(call.op, call.args, call.attrs.with_attrs(**{name: plain}))
            if call.op.name == "strided_slice":
                return self._slice(call)
            if call.op.name == "image.resize2d":
                return self._resize(call)
            if call.op.name not in _DYNAMIC:
                help = "give the sizes of the inputs (shape={...}), or import it to Relax (relax.frontend)"
                raise fail("import-relay", f"{hint}: {call.op.name} to a symbolic shape needs Relax", help=help)
            made: Call = getattr(R.dyn, call.op.name)(call.args[0], self.tensor(target))
            return made
        return call

    def _slice(self, call: Call) -> Call:
        """A slice with bounds computed from sizes."""
        a = call.attrs
        begin, end = self.tensor(a.begin), self.tensor(a.end)
        strides = relay_constant(np.array(a.strides or [1] * len(a.begin), "int64"))
        made: Call = R.strided_slice(call.args[0], begin, end, strides, axes=a.axes, slice_mode=a.slice_mode)
        return made

    def _resize(self, call: Call) -> Call:
        """A resize to a size that is computed."""
        made: Call = R.image.resize2d(*call.args, **{**dict(call.attrs.items()), "size": self.tensor(call.attrs.size)})
        return made
