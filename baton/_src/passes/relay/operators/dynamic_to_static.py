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
ATTRIBUTES = {"reshape": ("newshape",)}
"""Attributes that take the place of the trailing arguments, where they are not called as those."""


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
    kept = len(relay_inputs(static))
    given, shapes = call.args[:kept], call.args[kept:]
    if not shapes or not all(isinstance(s, Constant) for s in shapes):
        return None
    inputs = relay_inputs(call.op)[kept:]
    names = ATTRIBUTES.get(static.name) or tuple(i.relay_name or i.name for i in inputs)
    record = static.definition.attrs
    if not all(n in record.names for n in names[: len(shapes)]):
        return None
    attrs = {n: v for n, v in call.attrs.items() if n in record.names} if call.attrs is not None else {}
    for attribute, shape in zip(names, shapes):
        data = shape.data.data
        attrs[attribute] = tuple(int(d) for d in data.reshape(-1)) if data.ndim else int(data)
    return build.call(Call(static, given, record(**attrs), span=call.span))
