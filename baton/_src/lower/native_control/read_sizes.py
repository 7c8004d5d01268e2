"""Sizes that are read from tensors in each iteration, and the most that tensors of such sizes can be.

    sizes = R.match_cast(R.tensor_to_shape(t), R.Shape([i, k]))        Read((i, k), t)
    part = R.call_tir(slice, (x,), R.Tensor((min(n, k) - min(n, i),))) memory for n elements, after Within(..., n)

The bounds hold for sizes that are not negative, which is why they are tested as well. So are other sizes that might be
negative: an arm that is not taken may have such ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import DimProver
from baton._src.ir.traverse import post_order
from baton._src.lower.native_control.steps import Read, Within
from baton._src.lower.relax_to_vm.abstract_values import InRegister, Pending, Value
from baton._src.lower.relax_to_vm.cast_conditions import CastCondition
from baton._src.lower.size_polynomial import is_natural
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import MatchCast, ShapeExpr
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.tir import operators as t
from baton._src.tir.expr import Add, Cast, FloorDiv, IntImm, Max, Min, Mul, Sub, Var, literal
from baton._src.values.dtype import INT64

Ends = tuple[PrimExpr | None, PrimExpr | None]
"""The least and the most that an expression can be; None: nothing is known."""


def read_sizes(
    cast: MatchCast, tensor: Value, info: TensorStructInfo, known: set[Var], place: str
) -> tuple[Read, list[CastCondition]] | None:
    """The step that reads the sizes of a cast, and what those of them that are not new variables have to be."""
    dims = cast.struct_info.values if isinstance(cast.struct_info, ShapeStructInfo) else None
    if dims is None or info.dtype != INT64:
        return None
    sizes: list[Var] = []
    conditions: list[CastCondition] = []
    for number, dim in enumerate(dims):
        if isinstance(dim, Var) and dim not in known and dim not in sizes:
            sizes.append(dim)
            continue
        sizes.append(Var("size", INT64))
        conditions.append(CastCondition(f"{place}: member {number}", sizes[-1], dim))
    if any(s.dtype != INT64 for s in sizes):
        return None
    return Read(tuple(sizes), tensor), conditions


def room_for(
    name: str, results: Sequence[Pending | InRegister], known: set[Var], signed: Collection[Var], prover: DimProver
) -> tuple[dict[Value, TensorStructInfo], list[Within]] | None:
    """The most that `results` of sizes beyond those `known` can be, and what has to be tested before; None if there is
    no bound. Of the known sizes those `signed` may be negative."""
    room: dict[Value, TensorStructInfo] = {}
    tests: list[Within] = []
    for number, result in enumerate(results):
        dims = result.info.shape.values
        are_known = [known.issuperset(prim_vars(d)) for d in dims]
        most = [d if is_known else largest(d, known) for d, is_known in zip(dims, are_known)]
        found = [prover.simplify(m) for m in most if m is not None]
        if len(found) != len(dims):
            return None
        place = f"{name}: a dimension of result {number}"
        for dim, limit, is_known in zip(dims, found, are_known):
            if not is_known or not is_natural(dim, signed):
                tests.append(Within(dim, None if is_known else limit, place))
        if not all(are_known):
            room[result] = TensorStructInfo(ShapeExpr(found), result.info.dtype)
    return room, tests


def largest(size: PrimExpr, known: set[Var]) -> PrimExpr | None:
    """The most that a size can be, in terms of the variables `known`; None if there is no bound."""
    ends: dict[PrimExpr, Ends] = {}
    for node in post_order(size):
        if isinstance(node, PrimExpr):
            ends[node] = _ends(node, ends, known)
    return ends[size][1]


def _ends(node: PrimExpr, ends: dict[PrimExpr, Ends], known: set[Var]) -> Ends:
    match node:
        case IntImm():
            return literal(node.value, INT64), literal(node.value, INT64)
        case Var():
            return (node, node) if node in known else (literal(0, INT64), None)
        case Add(a, b):
            return _both(t.add, ends[a][0], ends[b][0]), _both(t.add, ends[a][1], ends[b][1])
        case Sub(a, b):
            return _both(t.subtract, ends[a][0], ends[b][1]), _both(t.subtract, ends[a][1], ends[b][0])
        case Min(a, b):
            return _both(t.min, ends[a][0], ends[b][0]), _either(t.min, ends[a][1], ends[b][1])
        case Max(a, b):
            return _either(t.max, ends[a][0], ends[b][0]), _both(t.max, ends[a][1], ends[b][1])
        case Mul(a, IntImm(value=factor)) if factor >= 0:
            return _both(t.multiply, ends[a][0], b := literal(factor, INT64)), _both(t.multiply, ends[a][1], b)
        case FloorDiv(a, IntImm(value=divisor)) if divisor > 0:
            return _both(t.floordiv, ends[a][0], b := literal(divisor, INT64)), _both(t.floordiv, ends[a][1], b)
        case Cast(value=value) if node.dtype == INT64 and value.dtype.is_int:
            return ends[value]
        case _:
            return (node, node) if known.issuperset(prim_vars(node)) else (None, None)


Operation = Callable[[PrimExpr, PrimExpr], PrimExpr]


def _both(operation: Operation, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return None if a is None or b is None else operation(a, b)


def _either(operation: Operation, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return (b if a is None else a) if a is None or b is None else operation(a, b)
