"""ConvertLayout: chosen operators work in another layout; transposes stand only at the borders.

    ConvertLayout({"nn.conv2d": ["NHWC", "default"]})

Each operator is given the layout of its data (and of its kernel; "default" for the one that goes with it). Operators
that keep positions apart pass the layout on (`layout_changes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ops.layouts import Anchor
from baton._src.passes.relay.building import Build
from baton._src.passes.relay.canonicalize_ops import CanonicalizeOps
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.layout_changes import TransposedExpr, follow, in_layout
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import Call, TempExpr
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

_DATA = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
_KERNEL = {3: "OIW", 4: "OIHW", 5: "OIDHW"}
_KERNEL_OF = {"NHWC": "HWIO", "NCHW": "OIHW", "NWC": "WIO", "NCW": "OIW", "NDHWC": "DHWIO", "NCDHW": "OIDHW"}


@dataclass(frozen=True)
class ConvertLayout(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (
        InferType(),
        CanonicalizeOps(),
    )
    desired_layouts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return convert(function, self.desired_layouts)


def convert(function: Any, desired: Mapping[str, Sequence[str]]) -> Any:
    """`function` with the operators in `desired` in their new layouts."""
    build = Build()
    done: dict[Any, Any] = {}
    plain: dict[Any, Any] = {}

    def realized(expr: Any) -> Any:
        found = done.get(expr, expr)
        if isinstance(found, TempExpr):
            if found not in plain:
                plain[found] = found.realize()
            return plain[found]
        return found

    for expr in walk(function):
        made = None
        if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.definition is not None:
            args = [done.get(a, a) for a in expr.args]
            if expr.op.name in desired:
                made = _converted(build, expr, args, desired[expr.op.name])
            else:
                made = follow(build, expr, args)
        if made is None:
            made = with_parts(expr, {p: realized(p) for p in parts(expr)})
        if made is not expr:
            done[expr] = made
    return realized(function)


def _converted(build: Build, call: Call, args: list[Any], wanted: Sequence[str]) -> Any:
    facet = call.op.definition.layout
    if not isinstance(facet, Anchor):
        help = "only operators with layout attributes of their own are converted"
        raise fail("relay-layout", f"{call.op.name} has no layout to convert", span=call.span, help=help)
    rank = len(call.args[0].checked_type.shape)
    data = getattr(call.attrs, facet.data) or _DATA[rank]
    out = (getattr(call.attrs, facet.out) if facet.out else "") or data
    target = wanted[0]
    if sorted(target) != sorted(data) or out != data:
        return None
    moved = [in_layout(build, args[0], target, data)]
    changes: dict[str, Any] = {facet.data: target}
    if facet.kernel is not None:
        kernel = getattr(call.attrs, facet.kernel) or _KERNEL[rank]
        chosen = wanted[1] if len(wanted) > 1 and wanted[1] != "default" else _KERNEL_OF.get(target, kernel)
        moved.append(in_layout(build, args[1], chosen, kernel))
        changes[facet.kernel] = chosen
    moved += [a.realize() if isinstance(a, TempExpr) else a for a in args[len(moved) :]]
    if facet.out is not None and getattr(call.attrs, facet.out):
        changes[facet.out] = target
    value = build.call(Call(call.op, moved, replace(call.attrs, **changes), span=call.span))
    found = TransposedExpr(value, target, data, build)
    return found.with_fields(checked_type_=call.checked_type_)
