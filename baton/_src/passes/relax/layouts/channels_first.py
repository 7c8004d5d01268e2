"""ChannelsFirst: convert convolutions with channels last to channels first, for which there are schedules.

    gv = R.nn.relu(R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"))
    ->
    lv = R.permute_dims(x, [0, 3, 1, 2]); lv1 = R.permute_dims(w, ...)
    lv2 = R.nn.relu(R.nn.conv2d(lv, lv1)); gv = R.permute_dims(lv2, [0, 2, 3, 1])

Transposes are only at the ends of a chain (`convert_layout`); BlockChannels then converts the chain further. Layouts
change within dataflow blocks, which programs written without them get here, as those lowered from Relay do. Functions
with convolutions in blocked layouts are left alone: their layout was chosen on purpose.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.traverse import post_order
from baton._src.ops.layouts import Anchor
from baton._src.ops.nn.convolution.convolution import ConvAttrs
from baton._src.ops.nn.convolution.transpose import ConvTransposeAttrs
from baton._src.ops.windows import SPATIAL
from baton._src.passes.relax.bindings.dataflow_blocks import ConvertToDataflow
from baton._src.passes.relax.layouts.convert_layout import converted
from baton._src.relax.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

LAST = ("relax.nn.layer_norm",)
"""Operators that are faster along the last axis."""


@dataclass(frozen=True)
class ChannelsFirst(FunctionPass):
    """See the module."""

    opt_level = 2
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        wanted: dict[str, tuple[str, str]] = {}
        for call in post_order(function.body):
            if not isinstance(call, Call) or not isinstance(call.attrs, (ConvAttrs, ConvTransposeAttrs)):
                continue
            letters = SPATIAL[call.attrs.spatial]
            if sorted(call.attrs.data_layout) != sorted("NC" + letters):
                return function
            if call.attrs.data_layout == f"N{letters}C" and _may_convert(call.op):
                kernel = "IO" if isinstance(call.attrs, ConvTransposeAttrs) else "OI"
                wanted["relax." + call.op.definition.name] = ("NC" + letters, kernel + letters)
        if not wanted:
            return function
        in_blocks = ConvertToDataflow(min_size=1).run_function(function, module, ctx)
        return converted(in_blocks, module, wanted, LAST)


def _may_convert(op: Any) -> bool:
    return isinstance(op, Op) and isinstance(op.definition, OpDef) and isinstance(op.definition.layout, Anchor)
