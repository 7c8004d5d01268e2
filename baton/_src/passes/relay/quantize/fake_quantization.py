"""FakeQuantizationToInteger: compute on integers what the program dequantises, computes in floats and quantises again.

    qnn.quantize(nn.relu(nn.conv2d(qnn.dequantize(%x, ...), qnn.dequantize(%w, ...))), %s, %z)
becomes
    qnn.requantize(maximum(qnn.conv2d(%x, %w, ...), 0), ..., %s, %z)

A region reaches from a `qnn.quantize` to the `qnn.dequantize`s that feed it. It is rewritten if every operator in it
has a rule; otherwise it is unchanged. A rule returns the operator on integers and the `AffineType` of the result. Rules
registered by users come first: `register_fake_quantization_to_integer(name, rule)`, a rule `(call, types) ->
[expression, AffineType]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.div_to_mul import DivToMul
from baton._src.passes.relay.quantize.integer_rules import RULES
from baton._src.passes.relay.quantize.quantized_region import AffineType, NoRule, Region
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class FakeQuantizationToInteger(RelayFunctionPass):
    """See the module's docstring. With `hard_fail` a region that cannot be rewritten is an error
    (`fake-quantization`).
    """

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(), DivToMul())
    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: Sequence[str] | None = None
    """Operators whose optional rules (`register_optional_fake_quantization_to_integer`) are used."""

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()
        optional = frozenset(self.optional_qnn_ops or ())

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, "quantize"):
                return None
            try:
                return Region(build, new, RULES, optional).rewritten()
            except NoRule as stays:
                if self.hard_fail:
                    raise stays.error() from None
                return None

        return rewrite(function, rule)


__all__ = ["AffineType", "FakeQuantizationToInteger"]
