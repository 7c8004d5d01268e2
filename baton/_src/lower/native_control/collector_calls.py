"""Calls of functions that collect rows, where a cast says how many there are: memory for them is known before.

    r = loop(go, x, R.const([], (0, 3)))             r = loop_steps(go, x, capacity=n)
    rows = R.match_cast(r[1], R.Tensor((n, 3)))  =>  check that the number of rows is n

Until the cast is read, the capacity is a variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import substitute
from baton._src.lower.native_control.parameters import over
from baton._src.lower.native_control.steps import Check, Collecting, Read, Step
from baton._src.lower.relax_to_vm.abstract_values import KernelCall, Value
from baton._src.lower.relax_to_vm.cast_conditions import CastCondition
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.struct_info import StructInfo
from baton._src.tir.expr import Var
from baton._src.tir.operators import add
from baton._src.values.dtype import BOOL, INT64


def with_own_capacity(call: KernelCall, collecting: Collecting) -> Var:
    """Let the call's capacity be a variable of its own, which is returned."""
    own = Var(f"rows_of_{call.name}", INT64)
    _set(call, {collecting.capacity: own})
    return own


def returned_by(collecting: Collecting, arguments: Sequence[Value], call: KernelCall) -> list[Value]:
    """What the function returns: parameters as they are after the last iteration."""
    changed = (*collecting.changing, *collecting.collected)
    last = dict(zip(changed, call.results))
    return [last.get(place, arguments[place]) for place in collecting.returned]


def settle(call: KernelCall, capacity: Var, info: StructInfo, known: set[Var], place: str) -> list[Step] | None:
    """Let the capacity be what a cast says of the rows; the steps that compare their number with it. None if the cast
    says it in terms of sizes that were not known at the call."""
    if not is_known(info) or not info.shape.values or not known.issuperset(prim_vars(info.shape.values[0])):
        return None
    length = info.shape.values[0]
    _set(call, {capacity: length})
    count, full = call.results[-3:-1]
    found, more = Var("count", INT64), Var("more", INT64)
    condition = CastCondition(f"{place}: dimension 0", add(found, more), length)
    return [Read((found,), count), Read((more,), full, BOOL), Check((condition,))]


def _set(call: KernelCall, dims: Mapping[Var, PrimExpr]) -> None:
    call.scalars = tuple(substitute(s, dims) for s in call.scalars)
    call.outputs = tuple(over(o, dims) for o in call.outputs)
