"""May a value described by one StructInfo stand where another is expected: yes, no, or perhaps (relax-language §4).

`no` is a compile-time error, `perhaps` a warning and a run-time check. What the expected side says of dims is compared
by the arithmetic analyzer; a polymorphic function is first specialised to the parameters expected of it.
"""

from __future__ import annotations

from baton._src.ir.op_def import DimProver
from baton._src.relax.check.dims import Answer, combine, same_dim, same_dims, same_shape
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.shape_map import map_parameters
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


def check_compatibility(given: StructInfo, expected: StructInfo, prover: DimProver) -> Answer:
    """The answer for passing a `given` where an `expected` is wanted."""
    todo: Pairs = [(given, expected)]
    worst = Answer.YES
    while todo:
        have, want = todo.pop()
        if have is want or isinstance(want, ObjectStructInfo):
            continue
        worst = min(worst, _one(have, want, prover, todo))
        if worst is Answer.NO:
            break
    return worst


def _one(have: StructInfo, want: StructInfo, prover: DimProver, todo: Pairs) -> Answer:
    """The answer for one pair as far as it goes by itself; pairs of parts go to `todo`."""
    match have, want:
        case TupleStructInfo(fields=given), TupleStructInfo(fields=wanted):
            if len(given) != len(wanted):
                return Answer.NO
            todo.extend(zip(given, wanted))
            return Answer.YES
        case TensorStructInfo(), TensorStructInfo():
            return _tensor(have, want, prover)
        case ShapeStructInfo(), ShapeStructInfo():
            return _shape(have, want, prover)
        case PrimStructInfo(), PrimStructInfo():
            return _prim(have, want, prover)
        case FuncStructInfo(), FuncStructInfo():
            return _function(have, want, prover, todo)
        case _:
            return Answer.NO


def _prim(have: PrimStructInfo, want: PrimStructInfo, prover: DimProver) -> Answer:
    if have.dtype != want.dtype:
        return Answer.NO
    if want.value is None:
        return Answer.YES
    return Answer.MAYBE if have.value is None else same_dim(have.value, want.value, prover)


def _shape(have: ShapeStructInfo, want: ShapeStructInfo, prover: DimProver) -> Answer:
    if want.ndim == -1:
        return Answer.YES
    if have.ndim == -1:
        return Answer.MAYBE
    if have.ndim != want.ndim:
        return Answer.NO
    if want.values is None:
        return Answer.YES
    return Answer.MAYBE if have.values is None else same_dims(have.values, want.values, prover)


def _tensor(have: TensorStructInfo, want: TensorStructInfo, prover: DimProver) -> Answer:
    parts = [
        _known(have.dtype, want.dtype, have.dtype.is_void, want.dtype.is_void),
        _known(have.ndim, want.ndim, have.ndim == -1, want.ndim == -1),
        _known(have.vdevice, want.vdevice, have.vdevice is None, want.vdevice is None),
    ]
    if want.shape is not None:
        parts.append(Answer.MAYBE if have.shape is None else same_shape(have.shape, want.shape, prover))
    return combine(parts)


def _known(have: object, want: object, have_unknown: bool, want_unknown: bool) -> Answer:
    """The answer for one component of which either side may say nothing."""
    if want_unknown:
        return Answer.YES
    if have_unknown:
        return Answer.MAYBE
    return Answer.YES if have == want else Answer.NO


def _function(have: FuncStructInfo, want: FuncStructInfo, prover: DimProver, todo: Pairs) -> Answer:
    if have.params is None or want.params is None:
        if have.params is not None or want.params is not None:
            return Answer.NO
        return Answer.YES if have.derive_func is want.derive_func else Answer.MAYBE
    if len(have.params) != len(want.params) or (want.purity and not have.purity):
        return Answer.NO
    mapping = map_parameters(zip(have.params, want.params))
    todo.append((substitute_info(have.ret, mapping, prover), want.ret))
    todo.extend((wanted, substitute_info(own, mapping, prover)) for own, wanted in zip(have.params, want.params))
    return Answer.YES
