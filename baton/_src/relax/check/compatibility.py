"""Compatibility and subtyping: one comparison of two StructInfos, with two questions (facts: relax-language §2, §4).

`is_subtype(a, b)`: is every value described by `a` described by `b`? YES is proved, MAYBE means that only undecided
dims stand between them, NO that it does not hold.

`check_compatibility(given, expected)`: may a value described by `given` stand where `expected` is wanted? NO is a
compile-time error, MAYBE a warning and a run-time check: what the given side leaves open may turn out to fit.

Dims are compared by the arithmetic analyzer; a polymorphic function is first specialised to the parameters expected of
it.
"""

from __future__ import annotations

from baton._src.ir.op_def import DimProver
from baton._src.relax.check.dims import Answer, combine, same_dim, same_dims, same_shape
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.shape_map import map_parameters, without_open_dims
from baton._src.relax.check.variables import free_tir_vars
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    empty_derive,
)
from baton._src.support.dataclass import dataclass

Pairs = list[tuple[StructInfo, StructInfo]]


def is_subtype(lower: StructInfo, upper: StructInfo, prover: DimProver) -> Answer:
    """Whether `lower <: upper`."""
    return _Comparison(prover, Answer.NO).compare(lower, upper)


def check_compatibility(given: StructInfo, expected: StructInfo, prover: DimProver) -> Answer:
    """Whether a value described by `given` may be passed where `expected` is required."""
    return _Comparison(prover, Answer.MAYBE).compare(given, expected)


def specialised(function: FuncStructInfo, wanted: FuncStructInfo, prover: DimProver) -> FuncStructInfo:
    """A polymorphic function type where parameters like those of `wanted` are given.

    Variables that `wanted` has from outside are in scope, so that `function` does not bind them anew either.
    """
    found = map_parameters(zip(function.params or (), wanted.params or ()))
    outer = free_tir_vars(wanted)
    mapping = {var: dim for var, dim in found.items() if var not in outer}
    params = [substitute_info(p, mapping, prover) for p in function.params or ()]
    return FuncStructInfo(params, substitute_info(function.ret, mapping, prover), function.purity)


@dataclass(frozen=True, slots=True)
class _Comparison:
    prover: DimProver
    left_open: Answer
    """The answer if `want` specifies something that is unknown in `have`."""

    def compare(self, lower: StructInfo, upper: StructInfo) -> Answer:
        todo: Pairs = [(lower, upper)]
        worst = Answer.YES
        while todo:
            have, want = todo.pop()
            if have is want or isinstance(want, ObjectStructInfo):
                continue
            worst = min(worst, self._one(have, want, todo))
            if worst is Answer.NO:
                break
        return worst

    def _one(self, have: StructInfo, want: StructInfo, todo: Pairs) -> Answer:
        """The answer for one pair without its components, which are appended to `todo`."""
        match have, want:
            case TensorStructInfo(), TensorStructInfo():
                return self._tensor(have, want)
            case ShapeStructInfo(), ShapeStructInfo():
                return self._shape(have, want)
            case PrimStructInfo(), PrimStructInfo():
                return self._prim(have, want)
            case TupleStructInfo(fields=given), TupleStructInfo(fields=wanted):
                if len(given) != len(wanted):
                    return Answer.NO
                todo.extend(zip(given, wanted))
                return Answer.YES
            case FuncStructInfo(), FuncStructInfo():
                return self._function(have, want, todo)
            case _:
                return Answer.NO

    def _tensor(self, have: TensorStructInfo, want: TensorStructInfo) -> Answer:
        parts = [
            self._known(have.dtype, want.dtype, have.dtype.is_void, want.dtype.is_void),
            self._known(have.ndim, want.ndim, have.ndim == -1, want.ndim == -1),
            self._known(have.vdevice, want.vdevice, have.vdevice is None, want.vdevice is None),
        ]
        if want.shape is not None and Answer.NO not in parts:
            parts.append(self.left_open if have.shape is None else same_shape(have.shape, want.shape, self.prover))
        return combine(parts)

    def _known(self, have: object, want: object, have_unknown: bool, want_unknown: bool) -> Answer:
        """The answer for one component, which may be unknown on either side."""
        if want_unknown:
            return Answer.YES
        if have_unknown:
            return self.left_open
        return Answer.YES if have == want else Answer.NO

    def _shape(self, have: ShapeStructInfo, want: ShapeStructInfo) -> Answer:
        ranks = self._known(have.ndim, want.ndim, have.ndim == -1, want.ndim == -1)
        if want.values is None or ranks is Answer.NO:
            return ranks
        return self.left_open if have.values is None else same_dims(have.values, want.values, self.prover)

    def _prim(self, have: PrimStructInfo, want: PrimStructInfo) -> Answer:
        if have.dtype != want.dtype:
            return Answer.NO
        if want.value is None:
            return Answer.YES
        return self.left_open if have.value is None else same_dim(have.value, want.value, self.prover)

    def _function(self, have: FuncStructInfo, want: FuncStructInfo, todo: Pairs) -> Answer:
        if want.purity and not have.purity:
            return Answer.NO
        if have.params is None or want.params is None:
            if have.params is not None or want.params is not None:
                return Answer.NO
            return self._opaque(have, want)
        if len(have.params) != len(want.params):
            return Answer.NO
        own = specialised(have, want, self.prover)
        todo.append((own.ret, want.ret))
        todo.extend(zip(want.params, without_open_dims(own.params or (), free_tir_vars(want))))
        return Answer.YES

    def _opaque(self, have: FuncStructInfo, want: FuncStructInfo) -> Answer:
        """The answer for opaque functions: YES for the same derive_func, or where any object is expected; else open."""
        if want.derive_func in (have.derive_func, empty_derive):
            return Answer.YES
        return self.left_open
