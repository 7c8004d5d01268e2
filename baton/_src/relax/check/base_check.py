"""The reference implementation's four-level check (facts: relax-language §11).

It distinguishes, more finely than `check_compatibility`, why a base does not cover a derived info: the two are
disjoint, a cast is needed, or only values are undecided, which a run-time check settles.
"""

from __future__ import annotations

from enum import IntEnum

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import DimProver
from baton._src.relax.check.compatibility import is_subtype
from baton._src.relax.check.dims import Answer, known_dims, same_dim, same_dims, same_shape
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import EQ, And, IntImm
from baton._src.values.dtype import BOOL


class BaseCheckResult(IntEnum):
    """How well `base` covers `derived`; lists combine to the smallest."""

    FAIL_L0 = 0
    """No value satisfies both."""
    FAIL_L1 = 1
    """What is known statically does not cover it: a cast is needed."""
    FAIL_L2 = 2
    """Only values (dims) are undecided: accepted, checked at run time."""
    PASS = 3
    """Proved."""


FAIL_L0, FAIL_L1, FAIL_L2, PASS = BaseCheckResult
_OF_DIMS = {Answer.NO: FAIL_L0, Answer.MAYBE: FAIL_L2, Answer.YES: PASS}
Pairs = list[tuple[StructInfo, StructInfo, BaseCheckResult]]


def struct_info_base_check(base: StructInfo, derived: StructInfo, prover: DimProver) -> BaseCheckResult:
    """How well `base` covers `derived`."""
    # The third component is the level below which an answer is not counted: inside functions L1 is demoted to L2.
    todo: Pairs = [(base, derived, FAIL_L1)]
    worst = PASS
    while todo:
        upper, lower, demoted = todo.pop()
        if upper is lower or isinstance(upper, ObjectStructInfo):
            continue
        level = _one(upper, lower, demoted, prover, todo)
        worst = min(worst, demoted if level is FAIL_L1 else level)
        if worst is FAIL_L0:
            break
    return worst


def _one(
    base: StructInfo, derived: StructInfo, demoted: BaseCheckResult, prover: DimProver, todo: Pairs
) -> BaseCheckResult:
    match base, derived:
        case _, ObjectStructInfo():
            return FAIL_L1
        case PrimStructInfo(), PrimStructInfo():
            if base.dtype != derived.dtype:
                return FAIL_L0
            if base.value is None:
                return PASS
            return FAIL_L2 if derived.value is None else _OF_DIMS[same_dim(base.value, derived.value, prover)]
        case ShapeStructInfo(), ShapeStructInfo():
            return _shape(base, derived, prover)
        case TensorStructInfo(), TensorStructInfo():
            return _tensor(base, derived, prover)
        case TupleStructInfo(fields=left), TupleStructInfo(fields=right):
            if len(left) != len(right):
                return FAIL_L0
            todo.extend((a, b, demoted) for a, b in zip(left, right))
            return PASS
        case FuncStructInfo(), FuncStructInfo():
            return _function(base, derived, demoted, prover, todo)
        case _:
            return FAIL_L0


def _shape(base: ShapeStructInfo, derived: ShapeStructInfo, prover: DimProver) -> BaseCheckResult:
    if base.ndim == -1:
        return PASS
    if base.ndim != derived.ndim:
        return FAIL_L1 if derived.ndim == -1 else FAIL_L0
    if base.values is None:
        return PASS
    return FAIL_L2 if derived.values is None else _OF_DIMS[same_dims(base.values, derived.values, prover)]


def _tensor(base: TensorStructInfo, derived: TensorStructInfo, prover: DimProver) -> BaseCheckResult:
    level = PASS
    if not base.dtype.is_void and base.dtype != derived.dtype:
        level = FAIL_L1 if derived.dtype.is_void else FAIL_L0
    if base.ndim not in (-1, derived.ndim):
        level = min(level, FAIL_L1 if derived.ndim == -1 else FAIL_L0)
    if base.vdevice is not None and base.vdevice != derived.vdevice:
        level = min(level, FAIL_L1 if derived.vdevice is None else FAIL_L0)
    if base.shape is None:
        return level
    if derived.shape is None:
        return min(level, FAIL_L2)
    return min(level, _OF_DIMS[same_shape(base.shape, derived.shape, prover)])


def _function(
    base: FuncStructInfo, derived: FuncStructInfo, demoted: BaseCheckResult, prover: DimProver, todo: Pairs
) -> BaseCheckResult:
    if base.purity and not derived.purity:
        return FAIL_L0
    if base.params is None:
        if base.derive_func is not None:
            return PASS if base.derive_func is derived.derive_func else FAIL_L2
        todo.append((base.ret, derived.ret, demoted))
        return PASS
    if derived.params is None:
        return FAIL_L2
    below = is_subtype(derived, base, prover)
    if below is not Answer.NO:
        return _OF_DIMS[below]
    if len(base.params) != len(derived.params):
        return FAIL_L0
    todo.extend((a, b, FAIL_L2) for a, b in zip(base.params, derived.params))
    todo.append((base.ret, derived.ret, demoted))
    return PASS


def struct_info_base_check_precondition(base: StructInfo, derived: StructInfo, prover: DimProver) -> PrimExpr:
    """The boolean that must hold for `derived` to be covered by `base`: the equalities of dims, conjoined.

    True where nothing has to hold, False where the two are disjoint.
    """
    terms: list[PrimExpr] = []
    todo = [(base, derived)]
    while todo:
        upper, lower = todo.pop()
        if upper is lower or isinstance(upper, ObjectStructInfo):
            continue
        if struct_info_base_check(upper, lower, prover) <= FAIL_L1:
            return IntImm(BOOL, 0)
        if isinstance(upper, TupleStructInfo) and isinstance(lower, TupleStructInfo):
            todo.extend(reversed(list(zip(upper.fields, lower.fields))))
            continue
        for a, b in zip(_scalars(upper), _scalars(lower)):
            if same_dim(a, b, prover) is not Answer.YES:
                terms.append(EQ(a, b))
    found: PrimExpr = IntImm(BOOL, 1)
    for position, term in enumerate(terms):
        found = term if position == 0 else And(found, term)
    return found


def _scalars(info: StructInfo) -> tuple[PrimExpr, ...]:
    match info:
        case TensorStructInfo():
            return known_dims(info.shape) or ()
        case ShapeStructInfo():
            return info.values or ()
        case PrimStructInfo(value=PrimExpr() as value):
            return (value,)
        case _:
            return ()
