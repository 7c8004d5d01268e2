"""DynamicToStatic: dynamic operators whose shape arguments are constants become the static ones.

dyn.reshape(%x, [2, 3])      becomes      reshape(%x, newshape=[2, 3])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.check.relations import relay_inputs
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Constant
from baton._src.transform.context import PassContext

PREFIX = "dyn."
ATTRIBUTES = {("reshape", "newshape"): "newshape", ("squeeze", "axes"): "axis"}
"""Attributes that are not called as the arguments whose place they take."""


@dataclass(frozen=True)
class DynamicToStatic(RelayFunctionPass):
    """See the module's docstring. Constants are folded first."""

    opt_level: ClassVar[int] = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return super().run(FoldConstant().run(module, ctx), ctx)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            return _static(build, new) if isinstance(new, Call) else None

        return rewrite(function, rule)


def _static(build: Build, call: Call) -> Any:
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
        elif isinstance(argument, Constant) and attribute in record.names:
            attrs[attribute] = _numbers(argument.data.data)
        else:
            return None
    return build.call(Call(static, kept, record(**attrs), span=call.span))


def _numbers(data: Any) -> Any:
    """Python's numbers: one for a scalar, a tuple for a vector."""
    found = data.tolist()
    return tuple(found) if data.ndim else found
