"""QuantizeRealize: turn marks into quantised values, and layers into products of bytes with int32 sums.

    %0 = simulated_quantize(%x, s, ...);             %0 = qnn.quantize(%x, s, 0);
    %1 = simulated_quantize(W, t, ...);       ->     %1 = nn.conv2d(%0, W as int8, out_dtype="int32");
    nn.conv2d(%0, %1)                                qnn.dequantize(%1, s * t, 0)

Zero points are zero, so products need no correction. Operators that only move elements stay between quantize and layer;
the float arithmetic between a layer and the next mark is fused into the layer's kernel.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, dtype_of, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.quantize.annotate import MOVES, PRODUCTS
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Constant, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class QuantizeRealize(RelayFunctionPass):
    """See the module."""

    opt_level: ClassVar[int] = 1
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return rewrite(function, _Realization().rule)


class _Realization:
    """The bytes and scales made for marks, by the float expression they represent."""

    def __init__(self) -> None:
        self._build = Build()
        self._bytes: dict[Any, tuple[Any, float]] = {}

    def rule(self, old: Any, new: Any) -> Any:
        if is_call(old, "simulated_quantize"):
            return self._mark(new)
        if is_call(old, *MOVES) and new.args[0] in self._bytes:
            value, scale = self._bytes[new.args[0]]
            return self._as_float(self._build.call(Call(new.op, (value,), new.attrs)), scale, dtype_of(old))
        if is_call(old, *PRODUCTS) and all(a in self._bytes for a in new.args):
            return self._product(old, new)
        return None

    def _mark(self, call: Call) -> Any:
        build = self._build
        value, dtype = call.args[0], dtype_of(call)
        scale, low, high = (float(a.data.data) for a in call.args[1:])
        if isinstance(value, Constant):
            whole = np.rint(np.clip(value.data.data.astype("float32") / np.float32(scale), low, high))
            return self._as_float(build.const(whole.astype("int8"), "int8"), scale, dtype)
        if (low, high) != (-128.0, 127.0):
            bounds = (build.const(np.float32(scale) * np.float32(v), dtype) for v in (low, high))
            least, most = bounds
            value = build.op("minimum", build.op("maximum", value, least), most)
        step = build.const(scale, "float32")
        return self._as_float(
            build.op("quantize", value, step, build.const(0, "int32"), out_dtype="int8"), scale, dtype
        )

    def _as_float(self, value: Any, scale: float, dtype: DataType) -> Any:
        build = self._build
        made = build.op("dequantize", value, build.const(scale, "float32"), build.const(0, "int32"), out_dtype=dtype)
        if dtype_of(value) == "int8":
            self._bytes[made] = (value, scale)
        return made

    def _product(self, old: Call, new: Call) -> Any:
        (left, s), (right, t) = (self._bytes[a] for a in new.args)
        attributes = new.attrs.with_attrs(out_dtype="int32")
        return self._as_float(self._build.call(Call(new.op, (left, right), attributes)), s * t, dtype_of(old))
