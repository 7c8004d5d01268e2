"""BackwardFoldScaleAxis: move a scale of a result into the weights of the operators that computed it.

    conv2d(x, w) * s                            becomes   conv2d(x, w * s')           s' along the output channels
    relu(conv2d(x, w) + b) * s                  becomes   relu(conv2d(x, w * s') + b * s)             if s > 0
    (conv2d(x, w) + conv2d(y, v)) * s           becomes   conv2d(x, w * s') + conv2d(y, v * s')

First it is determined, producers before users, which operators could compute their result scaled (`ScaleRequest`); only
those with a single user can, and layers with weights of the result's dtype, which the scale has. Then every product
passes its scale to the producer of the other operand.
"""

from __future__ import annotations

from typing import Any

from baton._src.passes.relay.building import Build, dtype_of, is_call
from baton._src.passes.relay.operators.channel_scales import (
    RECTIFIERS,
    SUMS,
    ScaleRequest,
    broadcasts_along,
    dims_of,
    is_floating,
    is_positive,
    scale_along,
    spread,
    weight_axes,
)
from baton._src.relay.expressions import count_uses, walk, with_parts
from baton._src.relay.nodes import Call, Function

Requests = dict[Any, ScaleRequest]


def fold_backward(function: Function) -> Any:
    """Return the function with scales of results moved into weights."""
    order = walk(function)
    requests = _requests(order)
    if not requests:
        return function
    build = Build()
    scales, unscaled = _sent(build, order, requests)
    done: dict[Any, Any] = {}
    for expr in order:
        made = with_parts(expr, done)
        if expr in unscaled:
            made = done.get(unscaled[expr], unscaled[expr])
        elif expr in scales:
            made = _scaled(build, expr, made, scales, requests)
        if made is not expr:
            done[expr] = made
    return done.get(function, function)


def _requests(order: list[Any]) -> Requests:
    """The expressions that can be computed scaled."""
    uses = count_uses(order)
    requests: Requests = {}
    for expr in order:
        request = _of(expr, requests) if isinstance(expr, Call) and uses.get(expr) == 1 else None
        if request is not None:
            requests[expr] = request
    return requests


def _of(call: Call, requests: Requests) -> ScaleRequest | None:
    axes = weight_axes(call)
    if axes is not None:
        return ScaleRequest(axes.out) if dtype_of(call.args[1]) == dtype_of(call) else None
    given = [requests.get(a) for a in call.args]
    if is_call(call, *RECTIFIERS):
        return ScaleRequest(given[0].axes, True) if given[0] is not None else None
    if is_call(call, "nn.bias_add"):
        axis = call.attrs.axis % len(dims_of(call))
        return given[0] if given[0] is not None and given[0].axes == (axis,) else None
    if is_call(call, *SUMS) and is_floating(call):
        return _of_sum(call, given)
    return None


def _of_sum(call: Call, given: list[ScaleRequest | None]) -> ScaleRequest | None:
    left, right = call.args
    for request, one, other, its in ((given[0], left, right, given[1]), (given[1], right, left, given[0])):
        if request is None or (
            its is not None and (its.axes != request.axes or len(dims_of(one)) != len(dims_of(other)))
        ):
            continue
        if broadcasts_along(one, other, request.axes) or (its is not None and _same_dims(one, other)):
            return request if its is None else request.and_also(its)
    return None


def _same_dims(one: Any, other: Any) -> bool:
    return None not in dims_of(one) and dims_of(one) == dims_of(other)


def _sent(build: Build, order: list[Any], requests: Requests) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The scale to apply to each expression; and the products that pass theirs on, with what remains of them."""
    scales: dict[Any, Any] = {}
    unscaled: dict[Any, Any] = {}
    for expr in reversed(order):  # users first
        if expr in scales:
            if weight_axes(expr) is None:
                scales.update({a: scales[expr] for a in expr.args if a in requests})
        elif is_call(expr, "multiply") and is_floating(expr):
            for one, other in (expr.args, expr.args[::-1]):
                request = requests.get(one)
                if request is None:
                    continue
                scale = scale_along(build, one, other, request.axes)
                if scale is not None and (not request.positive or is_positive(scale)):
                    scales[one], unscaled[expr] = scale, one
                break
    return scales, unscaled


def _scaled(build: Build, call: Call, made: Call, scales: dict[Any, Any], requests: Requests) -> Call:
    """`made`, the translation of `call`, times the scale: operands that did not get it are multiplied."""
    scale, axes = scales[call], weight_axes(call)
    if axes is not None:
        data, weight, *rest = made.args
        folded = build.op("multiply", weight, spread(build, scale, weight, axes.outputs))
        return made.with_fields(args=(data, folded, *rest))
    if is_call(call, "nn.bias_add"):
        return made.with_fields(args=(made.args[0], build.op("multiply", made.args[1], scale)))
    wide = spread(build, scale, call, requests[call].axes)
    args = (new if a in scales else build.op("multiply", new, wide) for a, new in zip(call.args, made.args))
    return made.with_fields(args=tuple(args))
