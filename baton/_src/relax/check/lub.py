"""The least upper bound of two StructInfos: it describes the values of either (relax-language §3).

This joins the results of the branches of an `If`. The result never refers to a dim that only one side has.
"""

from __future__ import annotations

from collections.abc import Iterable

from baton._src.ir.op_def import DimProver
from baton._src.relax.check.compatibility import is_subtype, specialised
from baton._src.relax.check.dims import Answer, same_dim, same_dims, same_shape
from baton._src.relax.info import OBJECT_INFO
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    empty_derive,
)
from baton._src.support.trampoline import Task, run
from baton._src.values.dtype import VOID


def struct_info_lca(a: StructInfo, b: StructInfo, prover: DimProver) -> StructInfo:
    """The join of `a` and `b`; one of them where it covers the other."""
    return a if a is b else run(_join(a, b, prover))


def _join(a: StructInfo, b: StructInfo, prover: DimProver) -> Task[StructInfo]:
    if a is b:
        return a
    match a, b:
        case PrimStructInfo(), PrimStructInfo():
            return _prim(a, b, prover)
        case ShapeStructInfo(), ShapeStructInfo():
            return _shape(a, b, prover)
        case TensorStructInfo(), TensorStructInfo():
            return _tensor(a, b, prover)
        case TupleStructInfo(fields=left), TupleStructInfo(fields=right) if len(left) == len(right):
            fields: list[StructInfo] = []
            for x, y in zip(left, right):
                fields.append((yield _join(x, y, prover)))
            return _reuse_tuple(a, b, fields)
        case FuncStructInfo(), FuncStructInfo():
            joined: StructInfo = yield _function(a, b, prover)
            return joined
        case _:
            return OBJECT_INFO


def _reuse_tuple(a: TupleStructInfo, b: TupleStructInfo, fields: list[StructInfo]) -> StructInfo:
    for side in (a, b):
        if all(x is y for x, y in zip(side.fields, fields)):
            return side
    return TupleStructInfo(fields)


def _prim(a: PrimStructInfo, b: PrimStructInfo, prover: DimProver) -> StructInfo:
    if a.dtype != b.dtype:
        return OBJECT_INFO
    if a.value is None:
        return a
    if b.value is None:
        return b
    return a if same_dim(a.value, b.value, prover) is Answer.YES else PrimStructInfo(a.dtype)


def _shape(a: ShapeStructInfo, b: ShapeStructInfo, prover: DimProver) -> StructInfo:
    if a.ndim != b.ndim:
        return next((s for s in (a, b) if s.ndim == -1), None) or ShapeStructInfo(None, -1)
    if a.values is None:
        return a
    if b.values is None:
        return b
    return a if same_dims(a.values, b.values, prover) is Answer.YES else ShapeStructInfo(None, a.ndim)


def _tensor(a: TensorStructInfo, b: TensorStructInfo, prover: DimProver) -> StructInfo:
    for upper, lower in ((a, b), (b, a)):
        if is_subtype(lower, upper, prover) is Answer.YES:
            return upper
    ndim = a.ndim if a.ndim == b.ndim else -1
    dtype = a.dtype if a.dtype == b.dtype else VOID
    vdevice = a.vdevice if a.vdevice == b.vdevice else None
    shape = None
    if ndim != -1 and a.shape is not None and b.shape is not None:
        shape = a.shape if same_shape(a.shape, b.shape, prover) is Answer.YES else None
    return TensorStructInfo(shape, dtype, vdevice, ndim)


def _function(a: FuncStructInfo, b: FuncStructInfo, prover: DimProver) -> Task[StructInfo]:
    if a.params is None and b.params is None:
        if a.derive_func is b.derive_func:
            return b if a.purity else a  # the impure one, if one is
        return FuncStructInfo.opaque_func(ret=OBJECT_INFO, derive_func=empty_derive, purity=a.purity and b.purity)
    if a.params is None or b.params is None or len(a.params) != len(b.params):
        return OBJECT_INFO
    for upper, lower in ((a, b), (b, a)):
        if is_subtype(lower, upper, prover) is Answer.YES:
            return upper
    # A polymorphic side is specialised to the parameters of the other one, whichever comes first.
    for kept, other in ((a, b), (b, a)):
        moved = specialised(other, kept, prover)
        if _equivalent(zip(kept.params or (), moved.params or ()), prover):
            ret = yield _join(kept.ret, moved.ret, prover)
            return FuncStructInfo(kept.params, ret, a.purity and b.purity)
    return OBJECT_INFO


def _equivalent(pairs: Iterable[tuple[StructInfo, StructInfo]], prover: DimProver) -> bool:
    """Whether each pair is equal. Parameters are contravariant: only functions with equal ones are joined."""
    return all(is_subtype(x, y, prover) is Answer.YES and is_subtype(y, x, prover) is Answer.YES for x, y in pairs)
