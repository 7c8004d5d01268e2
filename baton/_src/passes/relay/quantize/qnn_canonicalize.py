"""The passes of `relay.qnn.transform`: express quantised operators by arithmetic that every backend supports.

    qnn.dequantize(%q, %s, %z)      becomes      cast(cast(%q, "int32") - %z, "float32") * %s

Legalize applies rules that users or targets registered (column `FTVMQnnLegalize`); CanonicalizeOps replaces every
operator of the dialect. Sums of products stay int32; rescaling is done in float64, where every int32 is exact, or as
requantize's attributes or `requantize_config` say: the result is the operator's to the last bit. This compiler computes
qnn operators directly, as single kernels; the passes are for other backends, and for inspecting quantised programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ops.quant.qnn_arithmetic import channel_axis
from baton._src.ops.quant.rescaling import REAL
from baton._src.passes.relay.building import Build, dtype_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.legalize import Legalize
from baton._src.passes.relay.quantize.canonical_requantize import (
    canonical_requantize,
    clipped,
    product,
    rounded,
    spread,
)
from baton._src.passes.relay.quantize.requantize_config import settled
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class CanonicalizeOps(RelayFunctionPass):
    """Express every integer operator of the dialect by others. Error `relay-qnn`: one without a canonical form."""

    opt_level: ClassVar[int] = 1
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = _Build()

        def rule(old: Any, new: Any) -> Any:
            if not isinstance(new, Call) or not isinstance(new.op, Op) or not new.op.name.startswith("qnn."):
                return None
            user = new.op.get_attr("FTVMQnnCanonicalize")
            if user is not None:
                return user(new.attrs, new.args, [*(a.checked_type for a in old.args), old.checked_type])
            return build.canonical(build.call(settled(new)))

        return rewrite(function, rule)


class _Build(Build):
    """Builds no operator of the dialect: calls of these are built in their canonical form."""

    def op(self, name: str, *args: Any, **attrs: Any) -> Any:
        made = super().op(name, *args, **attrs)
        is_quantised = isinstance(made, Call) and isinstance(made.op, Op) and made.op.name.startswith("qnn.")
        return self.canonical(made) if is_quantised else made

    def canonical(self, call: Call) -> Any:
        """A call of the dialect expressed by other operators."""
        make = _RULES.get(call.op.name.removeprefix("qnn."))
        if make is not None:
            return make(self, call)
        definition = call.op.definition
        decompose = definition.decompose
        if not callable(decompose):
            if callable(definition.compute):
                return call  # simulated_quantize: of floats, with a kernel of its own
            help = "register a rule in the column FTVMQnnCanonicalize"
            raise fail("relay-qnn", f"{call.op.name} has no canonical form", span=call.span, help=help)
        self.describe(*call.args)
        return decompose(self, call.args, call.attrs, self.info(call))


def qnn_legalize() -> Pass:
    """`relay.qnn.transform.Legalize()`: apply the registered rules, operator by operator."""
    return Legalize("FTVMQnnLegalize")


def _quantize(build: Build, call: Call) -> Any:
    """clip(rint(x / scale) + zero_point), divided in the operator's own precision: whether a quotient is a tie depends
    on it."""
    x, scale, zero = call.args
    rank, axis = len(x.checked_type.shape), call.attrs.axis
    dtype = _computed_in(x, scale)
    quotient = build.op("divide", build.op("astype", x, dtype=dtype), spread(build, scale, rank, axis, dtype))
    whole = build.op("astype", build.op("round", quotient), dtype=REAL)
    return clipped(build, build.op("add", whole, spread(build, zero, rank, axis)), dtype_of(call))


def _dequantize(build: Build, call: Call) -> Any:
    """(q - zero_point) * scale"""
    x, scale, zero = call.args
    rank, axis = len(x.checked_type.shape), call.attrs.axis
    dtype = _computed_in(scale)
    whole = build.op("subtract", build.op("astype", x, dtype=REAL), spread(build, zero, rank, axis))
    factor = spread(build, scale, rank, axis, dtype)
    return build.op(
        "astype", build.op("multiply", build.op("astype", whole, dtype=dtype), factor), dtype=dtype_of(call)
    )


def _computed_in(*values: Any) -> str:
    """The dtype in which operators compute with these floats."""
    return REAL if any(dtype_of(v) == REAL for v in values) else "float32"


def _binary(name: str) -> Callable[[Build, Call], Any]:
    """Compute the operation on the real numbers, then quantise."""

    def make(build: Build, call: Call) -> Any:
        left, right, *parameters = call.args

        def real(x: Any, own: Any, axis: int) -> Any:
            rank = len(x.checked_type.shape)
            scale, zero = (spread(build, v, rank, channel_axis(axis, rank)) for v in own)
            return product(build, build.op("subtract", build.op("astype", x, dtype=REAL), zero), scale)

        reals = real(left, parameters[:2], call.attrs.lhs_axis), real(right, parameters[2:4], call.attrs.rhs_axis)
        scale, zero = (spread(build, v, 0, 0) for v in parameters[4:])
        value = build.op("divide", build.op(name, *reals), scale)
        return clipped(build, build.op("add", rounded(build, value, "UPWARD"), zero), dtype_of(call))

    return make


_RULES: dict[str, Callable[[Build, Call], Any]] = {
    "quantize": _quantize,
    "dequantize": _dequantize,
    "requantize": canonical_requantize,
    "add": _binary("add"),
    "subtract": _binary("subtract"),
    "mul": _binary("multiply"),
}
