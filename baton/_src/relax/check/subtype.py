"""Subtyping `A <: B`: every value described by A is described by B (facts: relax-language §2).

YES is proved, MAYBE means that only undecided dims stand between them, NO that it does not hold.
"""

from __future__ import annotations

from baton._src.ir.op_def import DimProver
from baton._src.relax.check.dims import Answer, combine, same_dim, same_dims, same_shape
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.derive_funcs import empty_derive
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

Pairs = list[tuple[StructInfo, StructInfo]]


def is_subtype(lower: StructInfo, upper: StructInfo, prover: DimProver) -> Answer:
    """Whether `lower <: upper`."""
    todo: Pairs = [(lower, upper)]
    worst = Answer.YES
    while todo:
        a, b = todo.pop()
        if a is b or isinstance(b, ObjectStructInfo):
            continue
        worst = min(worst, _one(a, b, prover, todo))
        if worst is Answer.NO:
            break
    return worst


def _one(a: StructInfo, b: StructInfo, prover: DimProver, todo: Pairs) -> Answer:
    match a, b:
        case TensorStructInfo(), TensorStructInfo():
            return _tensor(a, b, prover)
        case ShapeStructInfo(), ShapeStructInfo():
            if b.ndim == -1:
                return Answer.YES
            if a.ndim != b.ndim:
                return Answer.NO
            if b.values is None:
                return Answer.YES
            return Answer.NO if a.values is None else same_dims(a.values, b.values, prover)
        case PrimStructInfo(), PrimStructInfo():
            if a.dtype != b.dtype:
                return Answer.NO
            if b.value is None:
                return Answer.YES
            return Answer.NO if a.value is None else same_dim(a.value, b.value, prover)
        case TupleStructInfo(fields=left), TupleStructInfo(fields=right):
            if len(left) != len(right):
                return Answer.NO
            todo.extend(zip(left, right))
            return Answer.YES
        case FuncStructInfo(), FuncStructInfo():
            return _function(a, b, prover, todo)
        case _:
            return Answer.NO


def _tensor(a: TensorStructInfo, b: TensorStructInfo, prover: DimProver) -> Answer:
    weaker = (
        (b.dtype.is_void or a.dtype == b.dtype)
        and (b.ndim == -1 or a.ndim == b.ndim)
        and (b.vdevice is None or a.vdevice == b.vdevice)
    )
    if not weaker:
        return Answer.NO
    if b.shape is None:
        return Answer.YES
    return Answer.NO if a.shape is None else same_shape(a.shape, b.shape, prover)


def _function(a: FuncStructInfo, b: FuncStructInfo, prover: DimProver, todo: Pairs) -> Answer:
    if a.params is None or b.params is None:
        if a.params is not None or b.params is not None:
            return Answer.NO
        return Answer.YES if a.derive_func is b.derive_func or b.derive_func is empty_derive else Answer.NO
    if len(a.params) != len(b.params) or (b.purity and not a.purity):
        return Answer.NO
    mapping = map_parameters(zip(a.params, b.params))
    todo.append((substitute_info(a.ret, mapping, prover), b.ret))
    todo.extend((wanted, substitute_info(own, mapping, prover)) for own, wanted in zip(a.params, b.params))
    return combine(())
