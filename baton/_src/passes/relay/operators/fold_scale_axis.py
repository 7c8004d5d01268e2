"""FoldScaleAxis: scales of channels before or after a convolution (or dense) go into its weights; `FoldConstant` then
makes one weight of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.scales_backward import fold_backward
from baton._src.passes.relay.operators.scales_forward import fold_forward
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential


@dataclass(frozen=True)
class ForwardFoldScaleAxis(RelayFunctionPass):
    """Scales of data go into the weights of what follows (`scales_forward`)."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return fold_forward(function)


@dataclass(frozen=True)
class BackwardFoldScaleAxis(RelayFunctionPass):
    """Scales of a result go into the weights of what made it (`scales_backward`)."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return fold_backward(function)


class FoldScaleAxis(Sequential):
    """Backward, forward, then the weights as constants."""

    def __init__(self) -> None:
        steps = (BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant())
        super().__init__(steps, name="FoldScaleAxis")
