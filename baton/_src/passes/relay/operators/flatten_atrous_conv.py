"""FlattenAtrousConv: a convolution between space_to_batch_nd and batch_to_space_nd is a dilated convolution.

batch_to_space_nd(nn.conv2d(space_to_batch_nd(%x, block_shape=b, paddings=p), %w, padding=q), block_shape=b, crops=c)
becomes  nn.conv2d(%x, %w, dilation=b, padding=p + b * q - c)

Blocks split an image into b interleaved ones, each convolved separately: neighbours in one of them are b apart in the
image. Only for images whose spatial axes follow the batch (NHWC), as the block operators work on those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class FlattenAtrousConv(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            attrs = _dilated(new)
            if attrs is None:
                return None
            conv = new.args[0]
            return build.call(conv.with_fields(args=(conv.args[0].args[0], conv.args[1]), attrs=attrs))

        return rewrite(function, rule)


def _dilated(out: Any) -> Any:
    """The attributes of the dilated convolution; None if `out` is not such a chain, or no padding can express it."""
    if not is_call(out, "nn.batch_to_space_nd") or not is_call(out.args[0], "nn.conv2d"):
        return None
    conv = out.args[0]
    if not is_call(conv.args[0], "nn.space_to_batch_nd"):
        return None
    into, was = conv.args[0].attrs, conv.attrs
    blocks = tuple(int(b) for b in into.block_shape)
    same = blocks == tuple(int(b) for b in out.attrs.block_shape) and len(blocks) == 2 and not into.pad_value
    if not same or was.data_layout != "NHWC" or was.out_layout not in ("", "NHWC") or any(s != 1 for s in was.strides):
        return None
    places = [(axis, side) for side in (0, 1) for axis in (0, 1)]
    inner = [blocks[axis] * int(was.padding[axis + 2 * side]) for axis, side in places]
    outer = [int(into.paddings[axis][side]) - int(out.attrs.crops[axis][side]) for axis, side in places]
    sides = [a + b for a, b in zip(inner, outer)]
    if min(sides) < 0:
        return None
    dilation = tuple(b * int(d) for b, d in zip(blocks, was.dilation))
    return replace(was, dilation=dilation, padding=tuple(sides))
