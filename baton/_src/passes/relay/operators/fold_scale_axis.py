"""FoldScaleAxis: scales of channels before or after a convolution (or dense) go into its weights.

    forward:    conv2d(x * s, w)              becomes   conv2d(x, w * s')        s' along the input channels
    backward:   relu(conv2d(x, w) + b) * s    becomes   relu(conv2d(x, w * s') + b * s)    if s > 0

`FoldConstant` afterwards makes one weight of it. A value that carries a scale, or could take one, is a temporary
expression (`ScaledExpr`, `ScalableExpr`); every other user of it realises it, and none survives the pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ir.node import node, part
from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.channel_scales import along, channel_vector, data_axis, is_positive, weight_axis
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.temporaries import rewrite_with_temporaries
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, TempExpr
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential


@node
class ScaledExpr(TempExpr):
    """`value * scale`, the scale a vector along `axis`, not multiplied yet."""

    value: Any
    scale: Any
    axis: int
    maker: Any

    def realize(self) -> Any:
        rank = len(self.value.checked_type.shape)
        return self.maker.op("multiply", self.value, along(self.maker, self.scale, rank, self.axis))


@node
class ScalableExpr(TempExpr):
    """`value`, which `absorb(scale)` can give multiplied by a vector along `axis` at no cost."""

    value: Any
    axis: int
    absorb: Any = part()
    needs_positive: bool = part(default=False)

    def realize(self) -> Any:
        return self.value


@dataclass(frozen=True)
class ForwardFoldScaleAxis(RelayFunctionPass):
    """Scales of data go into the weights of what follows."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()
        return rewrite_with_temporaries(function, lambda call, args, _: _forward(build, call, args))


@dataclass(frozen=True)
class BackwardFoldScaleAxis(RelayFunctionPass):
    """Scales of a result go into the weights of what made it, where nothing else uses it."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()
        uses: dict[Any, int] = {}
        for expr in walk(function):
            for below in parts(expr):
                uses[below] = uses.get(below, 0) + 1
        return rewrite_with_temporaries(
            function, lambda call, args, _: _backward(build, call, args, uses.get(call, 0) == 1)
        )


class FoldScaleAxis(Sequential):
    """Backward, forward, then the weights as constants."""

    def __init__(self) -> None:
        steps = (BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant())
        super().__init__(steps, name="FoldScaleAxis")


def _plain(expr: Any) -> Any:
    return expr.realize() if isinstance(expr, TempExpr) else expr


def _forward(build: Build, call: Call, args: list[Any]) -> Any:
    if is_call(call, "multiply"):
        return _start_scale(build, call, args)
    scaled = args[0] if args else None
    if not isinstance(scaled, ScaledExpr):
        return None
    if is_call(call, "nn.relu") and is_positive(scaled.scale):
        return ScaledExpr(_retyped(call, (scaled.value,)), scaled.scale, scaled.axis, build)
    axis = data_axis(call)
    position = None if axis is None else weight_axis(call, "I")
    if axis != scaled.axis or position is None or getattr(call.attrs, "groups", 1) != 1:
        return None
    weight = _plain(args[1])
    folded = build.op("multiply", weight, along(build, scaled.scale, len(weight.checked_type.shape), position))
    return _retyped(call, (scaled.value, folded))


def _start_scale(build: Build, call: Call, args: list[Any]) -> Any:
    for value, scale in (args, reversed(args)) if len(args) == 2 else ():
        value, scale = _plain(value), _plain(scale)
        shape = shape_of(value)
        if shape is None or shape != shape_of(call):
            continue
        for axis, channels in enumerate(shape):
            found = shape_of(scale) or ()
            padded = (1,) * (len(shape) - len(found)) + found
            if padded[axis] == channels and channels != 1:
                vector = channel_vector(build, scale, len(shape), axis, channels)
                if vector is not None:
                    made = ScaledExpr(value, _constant_vector(build, scale, vector), axis, build)
                    return made.with_fields(checked_type_=call.checked_type_)
    return None


def _constant_vector(build: Build, scale: Any, vector: Any) -> Any:
    """A constant scale stays a constant, so that its sign can be seen."""
    data = getattr(getattr(scale, "data", None), "data", None)
    return vector if data is None else build.const(data.reshape(-1), scale.data.dtype)


def _backward(build: Build, call: Call, args: list[Any], used_once: bool) -> Any:
    if is_call(call, "multiply"):
        return _absorbed(build, call, args)
    if not used_once:
        return None
    axis = data_axis(call)
    if axis is not None:
        return _weights_can_scale(build, call, args, axis)
    if is_call(call, "nn.relu") and isinstance(args[0], ScalableExpr):
        inner = args[0]
        made = ScalableExpr(_retyped(call, (inner.value,)), inner.axis, _relu_of(call, inner), True)
        return made.with_fields(checked_type_=call.checked_type_)
    if is_call(call, "add"):
        return _sum_can_scale(build, call, args)
    return None


def _relu_of(call: Call, inner: ScalableExpr) -> Callable[[Any], Any]:
    return lambda scale: _retyped(call, (inner.absorb(scale),))


def _weights_can_scale(build: Build, call: Call, args: list[Any], axis: int) -> Any:
    position = weight_axis(call, "O")
    if position is None:
        return None
    plain = [_plain(a) for a in args]
    weight = plain[1]

    def absorb(scale: Any) -> Any:
        folded = build.op("multiply", weight, along(build, scale, len(weight.checked_type.shape), position))
        return _retyped(call, (plain[0], folded))

    made = ScalableExpr(_retyped(call, tuple(plain)), axis, absorb)
    return made.with_fields(checked_type_=call.checked_type_)


def _sum_can_scale(build: Build, call: Call, args: list[Any]) -> Any:
    """(scalable + bias) * s is scalable * s + bias * s."""
    for inner, bias in (args, list(reversed(args))):
        if not isinstance(inner, ScalableExpr) or shape_of(inner) is None or shape_of(inner) != shape_of(call):
            continue
        other = _plain(bias)

        def absorb(scale: Any, inner: Any = inner, other: Any = other) -> Any:
            rank = len(call.checked_type.shape)
            return build.op(
                "add", inner.absorb(scale), build.op("multiply", other, along(build, scale, rank, inner.axis))
            )

        value = _retyped(call, tuple(_plain(a) for a in args))
        made = ScalableExpr(value, inner.axis, absorb, inner.needs_positive)
        return made.with_fields(checked_type_=call.checked_type_)
    return None


def _absorbed(build: Build, call: Call, args: list[Any]) -> Any:
    for inner, other in (args, list(reversed(args))):
        if not isinstance(inner, ScalableExpr):
            continue
        scale, shape = _plain(other), shape_of(inner)
        if shape is None or shape != shape_of(call) or (inner.needs_positive and not is_positive(scale)):
            continue
        vector = channel_vector(build, scale, len(shape), inner.axis, shape[inner.axis])
        if vector is not None:
            return inner.absorb(_constant_vector(build, scale, vector))
    return None


def _retyped(call: Call, args: tuple[Any, ...]) -> Any:
    """The same call of other arguments of the same types."""
    return call if all(a is b for a, b in zip(args, call.args)) else call.with_fields(args=args)
