"""Arithmetic on whole tensors: `A + B`, `A * 2.0`, `-A`: elementwise with NumPy's broadcasting, named as in topi."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer


def build(name: str, *operands: Any) -> Any:
    """What a Python operator on tensors computes; `NotImplemented` for what is neither tensor nor scalar."""
    if name == "cast":
        return _cast(operands[0], operands[1])
    for operand in operands:
        if not (isinstance(operand, Tensor) or operators.is_operand(operand)):
            return NotImplemented
    tensors = [t for t in operands if isinstance(t, Tensor)]
    shape = tensors[0].shape
    for other in tensors[1:]:
        shape = broadcast_shapes(shape, other.shape)
    return compute(
        shape,
        lambda *i: operators.build(name, *(broadcast_load(x, i) if isinstance(x, Tensor) else x for x in operands)),
        name=f"T_{name}",
        tag="broadcast" if len(tensors) > 1 else "elemwise",
    )


def _cast(tensor: Tensor, dtype: object) -> Tensor:
    if tensor.dtype == dtype:
        return tensor
    found: Tensor = compute(tensor.shape, lambda *i: operators.cast(dtype, tensor(*i)), name="T_cast", tag="elemwise")
    return found


def broadcast_shapes(a: tuple[PrimExpr, ...], b: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
    """The common shape under NumPy's rules; symbolic dims must be provably equal (or 1)."""
    prover = Analyzer()
    short, long = sorted((a, b), key=len)
    found = list(long[: len(long) - len(short)])
    for x, y in zip(short, long[len(long) - len(short) :]):
        if operators.is_const(x, 1):
            found.append(y)
        elif operators.is_const(y, 1) or prover.equal(x, y) is True:
            found.append(x)
        else:
            raise fail("te-shape", f"shapes {a} and {b} do not broadcast: {x} and {y} are not known to be equal")
    return tuple(found)


def broadcast_load(tensor: Tensor, indices: tuple[PrimExpr, ...]) -> PrimExpr:
    """The element of `tensor` at `indices`, with the tensor broadcast to their number of dims."""
    own = indices[len(indices) - tensor.ndim :]
    return tensor(*(0 if operators.is_const(dim, 1) else index for dim, index in zip(tensor.shape, own)))
