"""DynamicToStatic: dynamic operators whose shape arguments are constants become the static ones.

dyn.reshape(%x, [2, 3])                    becomes      reshape(%x, newshape=[2, 3])
dyn.reshape(%x, shape_of(%y) * 2)          likewise, where the type of %y says its shape

Only such arguments are folded: other constant expressions stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.check.relations import relay_inputs
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import Call, Constant, Function, Let, Tuple
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext

PREFIX = "dyn."
ATTRIBUTES = {("reshape", "newshape"): "newshape", ("squeeze", "axes"): "axis"}
"""Attributes whose names differ from the arguments they replace."""


@dataclass(frozen=True)
class DynamicToStatic(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 2

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        order = walk(function)
        bound = {n.var: n.value for n in order if isinstance(n, Let)}
        build, fold = Build(), FoldConstant()
        done: dict[Any, Any] = {}
        constants: dict[Any, Any] = {}

        def constant(expr: GraphExpr) -> Any:
            return constants.get(expr, expr)

        for node in order:
            made = with_parts(node, done)
            if isinstance(made, Call):
                made = _static(build, made, constant) or (made if made is node else build.call(made))
            if made is not node:
                done[node] = made
            value = done.get(bound[node], bound[node]) if node in bound else made
            found = constants.get(value) or fold.folded(with_parts(value, {p: constant(p) for p in parts(value)}))
            if isinstance(found, (Constant, Tuple)):
                constants[made] = found
        return done.get(function, function)


def _static(build: Build, call: Call, constant: Callable[[Any], Any]) -> Any:
    name = getattr(call.op, "name", "")
    if not name.startswith(PREFIX) or name.removeprefix(PREFIX) not in CATALOGUE:
        return None
    static = CATALOGUE.relay(name.removeprefix(PREFIX))
    record = static.definition.attrs
    operands = {i.relay_name or i.name for i in relay_inputs(static)}
    attrs = {n: v for n, v in call.attrs.items() if n in record.names} if call.attrs is not None else {}
    kept = []
    for operand, argument in zip(relay_inputs(call.op), call.args):
        own = operand.relay_name or operand.name
        attribute = ATTRIBUTES.get((static.name, own), own)
        if own in operands:
            kept.append(argument)
            continue
        known = constant(argument)
        if not isinstance(known, Constant) or attribute not in record.names:
            return None
        attrs[attribute] = _numbers(known.data.data)
    return build.call(Call(static, kept, record(**attrs), span=call.span))


def _numbers(data: Any) -> Any:
    """Python's numbers: one for a scalar, a tuple for a vector."""
    found = data.tolist()
    return tuple(found) if data.ndim else found
