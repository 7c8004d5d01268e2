"""From one operator call to its kernel: `OpDef.compute` over placeholders becomes a PrimFunc.

The kernel's parameters are the call's tensors in order (tuples opened), then the outputs, then those shape variables
that are not a dim of any parameter (`tir_vars`). The kernel has shape variables of its own, so that equal kernels of
different functions are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import Compute, NotApplicable, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.te.tensor import Tensor
from baton._src.tir.expr import BinaryOp, IntImm, Var, literal
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64


@dataclass(frozen=True)
class Kernel:
    """A kernel for calls like the one given; `tir_vars`: what to pass after the outputs, in the call's terms."""

    function: PrimFunc
    tir_vars: tuple[PrimExpr, ...]


def cache_key(definition: OpDef[Any], args: Sequence[Info], attrs: Any, out: Info) -> tuple[Any, ...] | None:
    """A key such that equal keys mean equal kernels: shape variables are numbered by first appearance, and so are dims
    computed from them (`n * 2`). None if an attribute or a dim of another kind cannot be part of a key.
    """
    dims = _NumberedDims()
    try:
        parts = (tuple(_key(a, dims) for a in args), _key(out, dims))
        said = () if attrs is None else (type(attrs), *(_exact(content) for _, content in attrs.items()))
        key = (id(definition), said, *parts, tuple(dims.forms))
        hash(key)
    except TypeError:
        return None
    return key


class _NumberedDims:
    """Numbers for dims, the same for equal expressions; `forms` are what the numbers stand for, in order."""

    def __init__(self) -> None:
        self.forms: dict[tuple[Any, ...], int] = {}
        self._known: dict[PrimExpr, int] = {}

    def number(self, dim: PrimExpr) -> int:
        """Raises `TypeError` for other expressions than sums, products, quotients and the like."""
        for node in post_order(dim):
            if node not in self._known:
                self._known[node] = self.forms.setdefault(self._form(node), len(self.forms))
        return self._known[dim]

    def _form(self, node: PrimExpr) -> tuple[Any, ...]:
        match node:
            case Var():
                return type(node), node.dtype, len(self.forms)
            case IntImm():
                return IntImm, node.dtype, node.value
            case BinaryOp():
                return type(node), self._known[node.a], self._known[node.b]
            case _:
                raise TypeError(f"{type(node).__name__} in a dim")


def variables(args: Sequence[Info], out: Info) -> list[Var]:
    """The shape variables of a call, by first appearance."""
    found: dict[Var, None] = {}
    for info in (*args, out):
        for dim in _dims(info):
            if isinstance(dim, Var):
                found[dim] = None
            elif isinstance(dim, PrimExpr):
                found.update((n, None) for n in post_order(dim) if isinstance(n, Var))
    return list(found)


def make_kernel(
    definition: OpDef[Any], args: Sequence[Info], attrs: Any, out: Info, names: Sequence[str] = ()
) -> Kernel:
    """The kernel of `definition(args)` with these attributes, giving `out`; every info must be known (`is_known`).

    `names` are those of the tensors it reads, in order; without them they have the names of the operator's inputs.
    """
    assert not isinstance(definition.compute, NotApplicable)
    return kernel_by(definition.compute, definition, args, attrs, out, names)


def kernel_by(
    compute: Compute[Any],
    definition: OpDef[Any],
    args: Sequence[Info],
    attrs: Any,
    out: Info,
    names: Sequence[str] = (),
) -> Kernel:
    """As `make_kernel`, with another function than the operator's `compute`."""
    own = {v: Var(v.name, v.dtype) for v in variables(args, out)}
    inputs = [i.name for i in definition.inputs if "relax" in i.languages]
    given = [_renamed(a, own) for a in args]
    chosen = iter(names)
    operands = [_operand(a, inputs[i] if i < len(inputs) else f"x{i}", chosen) for i, a in enumerate(given)]
    computed = compute(tuple(operands), NO_ATTRS if attrs is None else attrs, _renamed(out, own))
    tensors = [t for o in operands for t in _tensors(o)]
    outputs = _tensors(computed)
    shown = {d for t in (*tensors, *outputs) for d in t.shape if isinstance(d, Var)}
    hidden = {old: new for old, new in own.items() if new not in shown}
    name = definition.name.rsplit(".", 1)[-1]
    function = create_prim_func([*tensors, *outputs, *hidden.values()], name=name).without_attr("global_symbol")
    return Kernel(function, tuple(hidden))


def _operand(info: Info, name: str, chosen: Iterator[str]) -> Any:
    """The operand as `compute` takes it; its tensors get the given names, or those of the operator's inputs."""
    match info:
        case TensorInfo(shape=shape, dtype=dtype):
            return placeholder([literal(d, INT64) for d in shape or ()], dtype, next(chosen, name))
        case ShapeInfo(values=values):
            return tuple(literal(d) for d in values or ())
        case PrimInfo(value=value, dtype=dtype):
            return literal(value, dtype)
        case TupleInfo(fields=fields):
            return tuple(_operand(f, f"{name}_{i}", chosen) for i, f in enumerate(fields))
        case _:
            return None


def _tensors(operand: Any) -> list[Tensor]:
    if isinstance(operand, Tensor):
        return [operand]
    return [t for o in operand for t in _tensors(o)] if isinstance(operand, (tuple, list)) else []


def _dims(info: Info) -> tuple[Dim | float, ...]:
    match info:
        case TensorInfo(shape=tuple() as shape):
            return shape
        case ShapeInfo(values=tuple() as values):
            return values
        case PrimInfo(value=value) if value is not None:
            return (value,)
        case TupleInfo(fields=fields):
            return tuple(d for f in fields for d in _dims(f))
        case _:
            return ()


def _renamed(info: Info, own: Mapping[Var, Var]) -> Info:
    """`info` in the kernel's own shape variables."""
    if not own:
        return info

    def dim(old: Any) -> Any:
        return substitute(old, own) if isinstance(old, PrimExpr) else old

    match info:
        case TensorInfo(shape=tuple() as shape):
            return replace(info, shape=tuple(dim(d) for d in shape))
        case ShapeInfo(values=tuple() as values):
            return ShapeInfo(tuple(dim(d) for d in values))
        case PrimInfo(value=value):
            return PrimInfo(info.dtype, dim(value))
        case TupleInfo(fields=fields):
            return TupleInfo(tuple(_renamed(f, own) for f in fields))
        case _:
            return info


def _key(info: Info, dims: _NumberedDims) -> Any:
    """A hashable stand-in for an info."""

    def dim(value: Any) -> Any:
        return ("v", dims.number(value)) if isinstance(value, PrimExpr) else value

    match info:
        case TensorInfo(shape=shape, dtype=dtype):
            return ("tensor", dtype, tuple(dim(d) for d in shape or ()))
        case ShapeInfo(values=values):
            return ("shape", tuple(dim(d) for d in values or ()))
        case PrimInfo(value=value, dtype=dtype):
            return ("prim", dtype, dim(value) if isinstance(value, PrimExpr) else _exact(value))
        case TupleInfo(fields=fields):
            return ("tuple", tuple(_key(f, dims) for f in fields))
        case _:
            return ("object",)


def _exact(content: Any) -> Any:
    """A stand-in for an attribute's content that tells 1, 1.0 and True apart, and 0.0 and -0.0: they are equal."""
    if isinstance(content, (tuple, list)):
        return tuple(map(_exact, content))
    if isinstance(content, float):
        return float, content, math.copysign(1, content)
    return (type(content), content) if isinstance(content, int) else content
