"""ForwardFoldScaleAxis: move a scale of data into the weights of the operators that use it.

    conv2d(x * s, w)                   becomes   conv2d(x, w * s')                    s' along the input channels
    conv2d(relu(x * s) + b, w)         becomes   conv2d(relu(x) + b / s, w * s')      if s > 0

First the requests of users are collected: a value's scale is moved only if all of its users can absorb it
(`ScaleRequest`). Then scales propagate as temporary expressions (`ScaledExpr`), none of which remains after the pass.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.node import node
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.operators.channel_scales import (
    RECTIFIERS,
    SUMS,
    ScaleRequest,
    broadcasts_along,
    is_floating,
    is_nowhere_zero,
    is_positive,
    scale_along,
    spread,
    weight_axes,
)
from baton._src.passes.relay.temporaries import Realized, rewrite_with_temporaries
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, Function, TempExpr

Requests = dict[Any, ScaleRequest | None]


@node
class ScaledExpr(TempExpr):
    """`value * scale`, the scale along `axes`, not multiplied yet."""

    value: Any
    scale: Any
    axes: tuple[int, ...]
    maker: Any

    def realize(self) -> Any:
        return self.maker.op("multiply", self.value, spread(self.maker, self.scale, self.value, self.axes))


def fold_forward(function: Function) -> Any:
    """Return the function with scales of data moved into weights."""
    requests = _requests(function)
    if not any(requests.values()):
        return function
    build = Build()
    return rewrite_with_temporaries(function, lambda call, args, real: _rewritten(build, call, args, requests, real))


def _requests(function: Function) -> Requests:
    """The requests of each value's users, computed from users to producers."""
    requests: Requests = {}
    for user in reversed(walk(function)):
        asked = _of_operands(user, requests.get(user)) if isinstance(user, Call) else {}
        for part in parts(user):
            request = asked.get(part)
            requests[part] = request.and_also(requests.get(part, request)) if request is not None else None
    return requests


def _of_operands(call: Call, request: ScaleRequest | None) -> dict[Any, ScaleRequest]:
    """The requests of a call for its operands, given the request of its own users."""
    axes = weight_axes(call)
    if axes is not None:
        return {call.args[0]: ScaleRequest(axes.data)} if call.args[0] is not call.args[1] else {}
    if request is None:
        return {}
    if is_call(call, *RECTIFIERS):
        return {call.args[0]: ScaleRequest(request.axes, True)}
    if is_call(call, *SUMS) and is_floating(call):
        left, right = call.args
        for one, other in ((left, right), (right, left)):
            if one is not other and broadcasts_along(one, other, request.axes):
                return {one: request}
    return {}


def _rewritten(build: Build, call: Call, args: list[Any], requests: Requests, realized: Realized) -> Any:
    if is_call(call, "multiply"):
        return _scaled(build, call, requests.get(call), realized)
    scaled = next((a for a in args if isinstance(a, ScaledExpr)), None)
    if scaled is None:
        return None
    if is_call(call, *RECTIFIERS):
        return _again(call, scaled, (scaled.value,))
    if is_call(call, *SUMS):
        return _sum(build, call, args, scaled)
    axes = weight_axes(call)
    if axes is None or scaled is not args[0] or axes.data != scaled.axes:
        return None
    weight = realized(call.args[1])
    folded = build.op("multiply", weight, spread(build, scaled.scale, weight, axes.inputs))
    return call.with_fields(args=(scaled.value, folded, *map(realized, call.args[2:])))


def _scaled(build: Build, call: Call, request: ScaleRequest | None, realized: Realized) -> Any:
    """A product whose scale the users want to absorb."""
    if request is None or not is_floating(call):
        return None
    for one, other in (call.args, call.args[::-1]):
        scale = scale_along(build, one, realized(other), request.axes)
        if scale is not None and (not request.positive or is_positive(scale)):
            made = ScaledExpr(realized(one), scale, request.axes, build)
            return made.with_fields(checked_type_=call.checked_type_)
    return None


def _sum(build: Build, call: Call, args: list[Any], scaled: ScaledExpr) -> Any:
    """x * s + b is (x + b / s) * s."""
    place = args.index(scaled)
    other = args[1 - place]
    if isinstance(other, TempExpr) or not is_nowhere_zero(scaled.scale):
        return None
    divided = build.op("divide", other, spread(build, scaled.scale, scaled.value, scaled.axes))
    return _again(call, scaled, (scaled.value, divided) if place == 0 else (divided, scaled.value))


def _again(call: Call, scaled: ScaledExpr, args: tuple[Any, ...]) -> ScaledExpr:
    """The call on unscaled operands, to be scaled afterwards."""
    made = ScaledExpr(call.with_fields(args=args), scaled.scale, scaled.axes, scaled.maker)
    return made.with_fields(checked_type_=call.checked_type_)
