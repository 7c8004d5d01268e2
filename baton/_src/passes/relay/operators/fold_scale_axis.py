"""FoldScaleAxis: move per-channel scales before or after a convolution (or dense) into its weights; `FoldConstant` then
evaluates the scaled weights.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.scales_backward import fold_backward
from baton._src.passes.relay.operators.scales_forward import fold_forward
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential


@dataclass(frozen=True)
class ForwardFoldScaleAxis(RelayFunctionPass):
    """Move scales of data into the weights of the operators that use it (`scales_forward`)."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return fold_forward(function)


@dataclass(frozen=True)
class BackwardFoldScaleAxis(RelayFunctionPass):
    """Move scales of a result into the weights of the operators that compute it (`scales_backward`)."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return fold_backward(function)


class FoldScaleAxis(Sequential):
    """Backward, then forward, then fold the weights to constants."""

    def __init__(self) -> None:
        steps = (BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant())
        super().__init__(steps, name="FoldScaleAxis")
