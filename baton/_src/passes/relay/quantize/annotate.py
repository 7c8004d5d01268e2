"""QuantizeAnnotate: mark values to be quantised with `annotation.simulated_quantize`, whose parameters are determined
later.

    nn.conv2d(nn.max_pool2d(%r), %w)   ->   nn.conv2d(nn.max_pool2d(simulated_quantize(%r)), simulated_quantize(%w))

Layers are convolutions and products of matrices with constant weights, and products of two computed values. Operators
that only move or select elements (max pooling, reshapes, ...) are placed between the mark and the layer, so that they
move bytes. The configuration says which layers are skipped (`skip_conv_layers`: numbers of convolutions, in evaluation
order; `skip_dense_layer`). Everything else is computed in floats: sums of products are scaled back at once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ops.quant.simulated import INPUT, WEIGHT
from baton._src.passes.relay.building import Build, dtype_of, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.quantize.config import QConfig, current_qconfig
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import parts, rewrite, walk
from baton._src.relay.nodes import Call, Constant, Function, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
DENSE = ("nn.dense", "nn.matmul")
PRODUCTS = (*CONVOLUTIONS, *DENSE, "nn.batch_matmul")
MOVES = (
    *("reshape", "transpose", "squeeze", "expand_dims", "nn.batch_flatten", "strided_slice", "copy", "reverse"),
    *("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.global_max_pool2d"),
)
"""Operators of one operand that have the same meaning on bytes, and return bytes."""


@dataclass(frozen=True)
class QuantizeAnnotate(RelayFunctionPass):
    """See the module."""

    opt_level: ClassVar[int] = 1
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return rewrite(function, _Annotation(function, current_qconfig()).rule)


class _Annotation:
    """The marks of one function; a value read by several layers gets one."""

    def __init__(self, function: Function, config: QConfig) -> None:
        self._config = config
        self._build = Build()
        self._uses = Counter(part for node in walk(function) for part in parts(node))
        self._convolutions = 0
        self._marks: dict[tuple[Any, int], Any] = {}

    def rule(self, old: Any, new: Any) -> Any:
        if not isinstance(new, Call) or not isinstance(new.op, Op) or new.op.name not in PRODUCTS or self._skips(new):
            return None
        data, weight = old.args
        if not dtype_of(data).is_float or isinstance(data, Constant):
            return None
        marked = [self._data(data, new.args[0]), self._weight(weight, new.args[1])]
        return self._build.call(new.with_fields(args=tuple(marked)))

    def _skips(self, call: Call) -> bool:
        """Whether the configuration skips this layer; convolutions are counted."""
        name, config = call.op.name, self._config
        number = self._convolutions
        if name in CONVOLUTIONS:
            self._convolutions += 1
            if config.skip_conv_layers is not None and number in config.skip_conv_layers:
                return True
        if name in DENSE and config.skip_dense_layer:
            return True
        return config.debug_enabled_ops is not None and name not in config.debug_enabled_ops

    def _weight(self, old: GraphExpr, new: GraphExpr) -> Any:
        if isinstance(old, Var):
            help = "give the model's parameters: quantize(mod, params)"
            raise fail("relay-quantize", f"the weight {old.name_hint!r} is not known", span=old.span, help=help)
        return self._mark(new, WEIGHT) if isinstance(new, Constant) else self._data(old, new)

    def _data(self, old: Any, new: Any) -> Any:
        """`new` with a mark placed as early as bytes can be moved."""
        moves = []
        while is_call(old, *MOVES) and self._uses[old] == 1:
            moves.append(new)
            old, new = old.args[0], new.args[0]
        found = self._mark(new, INPUT)
        for move in reversed(moves):
            found = self._build.call(Call(move.op, (found,), move.attrs, move.written_type_args, move.span))
        return found

    def _mark(self, value: Any, kind: int) -> Any:
        key = (value, kind)
        if key not in self._marks:
            numbers = (self._build.const(v, "float32") for v in (1.0, 0.0, 0.0))
            self._marks[key] = self._build.op("simulated_quantize", value, *numbers, kind=kind, sign=True)
        return self._marks[key]


def marks_of(root: GraphExpr) -> list[Call]:
    """The marks in a function, in the order of evaluation."""
    return [node for node in walk(root) if is_call(node, "simulated_quantize")]
