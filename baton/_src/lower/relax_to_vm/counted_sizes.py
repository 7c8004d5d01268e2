"""Sizes that kernels of a native entry count: later kernels of the same entry take them from memory.

    count = R.call_tir(cls.nonzero_count, (x,), R.Tensor((1,), "int64"))      # an output of the entry
    size = R.tensor_to_shape(count)
    sizes = R.match_cast(size, R.Shape([n]))                                  # n is what is there by then
    places = R.call_tir(cls.nonzero, (x,), R.Tensor((2, n), "int64"))         # room for as many as x has elements

Memory is planned for the most that may be counted (`tir.counts`), which is known before; the caller gives out the part
that is used. Where that might be much more than is needed, or a size might grow with a smaller count, nothing is
planned: the machine then runs the counting kernels as an entry of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from baton._src.ir.expr import GraphExpr, Op, PrimExpr
from baton._src.lower.relax_to_vm.abstract_values import KernelCall, Pending, Value
from baton._src.lower.relax_to_vm.kernel_arguments import byte_count, in_terms_of
from baton._src.lower.size_polynomial import is_never_negative, to_polynomial
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import Call, MatchCast
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.operators import multiply
from baton._src.tir.prim_func import COUNTS
from baton._src.values.dtype import INT64

ROOM = 1 << 26
"""Most bytes that are set aside for one tensor of a counted size, if that is a number."""


@dataclass(frozen=True)
class CountedSize:
    """`var` is element `at` of the tensor `value`, and at most `most`, which mentions no counted size."""

    var: Var
    value: Pending
    at: int
    most: PrimExpr


def as_counts(call: Call, value_of: Callable[[GraphExpr], Value]) -> Pending | None:
    """The tensor that a `tensor_to_shape` reads, if a kernel of the entry counts it."""
    if not isinstance(call.op, Op) or call.op.name != "relax.tensor_to_shape":
        return None
    source = value_of(call.args[0])
    return source if isinstance(source, Pending) and COUNTS in source.node.function.attrs else None


def counted_sizes(
    cast: MatchCast, counts: Pending, known: set[Var], before: Sequence[CountedSize]
) -> list[CountedSize] | None:
    """What a cast of counts to a shape of new variables defines; None if it checks anything."""
    dims = cast.struct_info.values if isinstance(cast.struct_info, ShapeStructInfo) else None
    if dims is None or len(set(dims)) != len(dims):
        return None
    new = [d for d in dims if isinstance(d, Var) and d.dtype == INT64 and d not in known]
    if len(new) != len(dims):
        return None
    counted = counts.node.arg_infos[int(counts.node.function.attrs[COUNTS])]
    most: PrimExpr = IntImm(INT64, 1)
    for dim in counted.shape.values:
        most = multiply(most, dim)
    limit = _expression(at_most(most, before))
    return [CountedSize(var, counts, at, limit) for at, var in enumerate(new)]


def at_most(size: int | PrimExpr, counted: Iterable[CountedSize]) -> int | PrimExpr:
    """`size` where as much is counted as can be."""
    if isinstance(size, int):
        return size
    most = {c.var: c.most for c in counted}
    polynomial = to_polynomial(in_terms_of(size, most))
    if set(polynomial.terms) <= {()}:
        return polynomial.terms.get((), 0)
    return polynomial.to_expr()


def _expression(size: int | PrimExpr) -> PrimExpr:
    return IntImm(INT64, size) if isinstance(size, int) else size


def fit_in_advance(calls: Sequence[KernelCall], counted: Sequence[CountedSize]) -> bool:
    """Whether memory can be planned for the most that is counted."""
    names = {c.var for c in counted}
    infos = [info for call in calls for info in (*call.arg_infos, *call.outputs)]
    return all(_grows(info, names) and _is_near(info, names, counted) for info in infos)


def _grows(info: TensorStructInfo, names: set[Var]) -> bool:
    """Whether each dim is the greatest where most is counted, and never negative."""
    for dim in info.shape.values:
        terms = to_polynomial(dim).terms
        if any(names & set(_variables(m)) for m in terms):
            if not is_never_negative(dim):
                return False
    return True


def _is_near(info: TensorStructInfo, names: set[Var], counted: Sequence[CountedSize]) -> bool:
    """Whether the room for a tensor is limited, or grows no faster than what is counted in."""
    size = byte_count(info)
    if isinstance(size, int):
        return True
    terms = to_polynomial(size).terms
    if not any(names & set(_variables(m)) for m in terms):
        return True
    most = at_most(size, counted)
    if isinstance(most, int):
        return most <= ROOM
    return all(sum(atom in names for atom in m) <= 1 for m in terms)


def _variables(monomial: Iterable[PrimExpr]) -> list[Var]:
    return [v for atom in monomial for v in prim_vars(atom)]


def positions(counted: Sequence[CountedSize], outputs: Mapping[Pending, int]) -> dict[Var, tuple[int, int]]:
    """The output and the element of it that hold each size."""
    return {c.var: (outputs[c.value], c.at) for c in counted}
