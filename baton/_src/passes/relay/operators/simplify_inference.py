"""SimplifyInference: normalisation layers become arithmetic, dropout the identity.

    batch_norm(x, gamma, beta, mean, var).0   becomes   x * s + (-mean * s + beta),  s = 1 / sqrt(var + epsilon) * gamma

Statistics are over the axes each operator normalises. A batch norm in training mode, and dropout, use their own
decompositions (`OpDef.decompose`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function, Tuple, TupleGetItem
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class SimplifyInference(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if isinstance(new, TupleGetItem) and isinstance(new.tuple_value, Tuple) and new is not old:
                return new.tuple_value.fields[new.index]
            return _RULES[new.op.definition.name](build, new) if is_call(new, *_RULES) else None

        return rewrite(function, rule)


def _decomposed(build: Build, call: Call) -> Any:
    build.describe(*call.args)
    return call.op.definition.decompose(build, call.args, call.attrs, build.info(call))


def _batch_norm(build: Build, call: Call) -> Any:
    """One scale and one shift per channel; its other results are the given statistics."""
    if call.attrs.training:
        return _decomposed(build, call)
    x, gamma, beta, mean, variance = call.args
    deviation = build.op("sqrt", build.op("add", variance, call.attrs.epsilon))
    scale = build.op("divide", build.const(1, dtype_of(x)), deviation)
    if call.attrs.scale:
        scale = build.op("multiply", scale, gamma)
    shift = build.op("multiply", build.op("negative", mean), scale)
    if call.attrs.center:
        shift = build.op("add", shift, beta)
    rank = len(x.checked_type.shape)
    scale, shift = (_along(build, vector, call.attrs.axis, rank) for vector in (scale, shift))
    return build.tuple(build.op("add", build.op("multiply", x, scale), shift), mean, variance)


def _normalized(build: Build, x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    """(x - mean) / sqrt(variance + epsilon) over `axes`."""
    over = _over(x, axes)
    mean = build.op("mean", x, **over, keepdims=True)
    variance = build.op("variance", x, mean, **over, keepdims=True)
    deviation = build.op("sqrt", build.op("add", variance, epsilon))
    return build.op("divide", build.op("subtract", x, mean), deviation)


def _over(x: Any, axes: Sequence[int]) -> dict[str, Any]:
    """Attributes of a fold over `axes`. An empty list would fold all of them, in Relay's text."""
    return {"axis": axes} if axes else {"axis": tuple(range(len(x.checked_type.shape))), "exclude": True}


def _along(build: Build, vector: Any, axis: int, rank: int) -> Any:
    """A vector reshaped so that it broadcasts along `axis`."""
    after = rank - 1 - axis % rank
    return build.op("expand_dims", vector, axis=1, num_newaxis=after) if after else vector


def _affine(build: Build, value: GraphExpr, call: Call, axis: int, rank: int) -> Any:
    """Times gamma, plus beta, both along `axis`."""
    _, gamma, beta = call.args
    for wanted, weight, name in ((call.attrs.scale, gamma, "multiply"), (call.attrs.center, beta, "add")):
        if wanted:
            value = build.op(name, value, _along(build, weight, axis, rank))
    return value


def _layer_norm(build: Build, call: Call) -> Any:
    x = call.args[0]
    rank = len(x.checked_type.shape)
    found = _normalized(build, x, (call.attrs.axis,), call.attrs.epsilon)
    return _affine(build, found, call, call.attrs.axis, rank)


def _instance_norm(build: Build, call: Call) -> Any:
    x = call.args[0]
    rank = len(x.checked_type.shape)
    axes = tuple(i for i in range(1, rank) if i != call.attrs.axis % rank)
    return _affine(build, _normalized(build, x, axes, call.attrs.epsilon), call, call.attrs.axis, rank)


def _group_norm(build: Build, call: Call) -> Any:
    """The channels are split into groups, each normalised together with the axes that follow."""
    x = call.args[0]
    shape = shape_of(x)
    if shape is None:
        return None
    axis, groups = call.attrs.axis % len(shape), call.attrs.num_groups
    split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    axes = tuple(i for i in range(1, len(split)) if i != axis)
    found = _normalized(build, build.op("reshape", x, newshape=split), axes, call.attrs.epsilon)
    return _affine(build, build.op("reshape", found, newshape=shape), call, axis, len(shape))


def _l2_normalize(build: Build, call: Call) -> Any:
    x = call.args[0]
    axes = call.attrs.axis
    over = {"axis": None} if axes is None else _over(x, axes)
    square = build.op("sum", build.op("multiply", x, x), **over, keepdims=True)
    return build.op("divide", x, build.op("sqrt", build.op("maximum", square, call.attrs.eps)))


_RULES: dict[str, Callable[[Build, Call], Any]] = {
    "nn.batch_norm": _batch_norm,
    "nn.dropout": _decomposed,
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.l2_normalize": _l2_normalize,
}
