"""SimplifyExpr: chains and identities go away.

    reshape(reshape(x))         reshape(x)          cast(cast(x, "int8"...))   one cast where nothing is lost
    transpose(transpose(x))     one, or none        x + 0, x - 0, x * 1, x / 1     x
    layout_transforms likewise, where whole axes move or one undoes the other
    reshape to its own shape    x                   zeros(...), ones(...), full(1f)   the constant

and the rules of `simplify_arithmetic`. A constant is written out only up to `MAX_ELEMENTS` elements. Values are the
same, but for the sign of a zero and the order in which floats are rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.ops.shape.layout import moved_axes
from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators import simplify_arithmetic
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Constant
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType

MAX_ELEMENTS = 1024
MAX_STEPS = 8
"""How many rules are applied to one call, one after another."""

NEUTRAL: dict[str, tuple[float, bool]] = {
    "add": (0, True),
    "subtract": (0, False),
    "multiply": (1, True),
    "divide": (1, False),
}
"""The scalar that changes nothing, and whether it may be the left operand too."""


@dataclass(frozen=True)
class SimplifyExpr(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            found = new
            for _ in range(MAX_STEPS):  # what one rule makes may be what another looks for
                made = next((m for simplify in _RULES if (m := _tried(simplify, build, found)) is not None), None)
                if made is None:
                    break
                found = made
            return found if found is not new else None

        return rewrite(function, rule)


def _tried(simplify: Callable[[Build, Call], Any], build: Build, expr: Any) -> Any:
    return simplify(build, expr) if isinstance(expr, Call) else None


def _identity_arithmetic(build: Build, call: Call) -> Any:
    for name, (neutral, commutes) in NEUTRAL.items():
        if is_call(call, name):
            left, right = call.args
            if _is_scalar(right, neutral) and _keeps_type(left, call):
                return left
            if commutes and _is_scalar(left, neutral) and _keeps_type(right, call):
                return right
    return None


def _is_scalar(expr: Any, value: float) -> bool:
    if not isinstance(expr, Constant) or expr.data.data.size != 1:
        return False
    number = expr.data.data.reshape(()).item()
    return bool(number == value)


def _keeps_type(operand: Any, call: Call) -> bool:
    shape = shape_of(operand)
    return shape is not None and shape == shape_of(call) and dtype_of(operand) == dtype_of(call)


def _reshapes(build: Build, call: Call) -> Any:
    if not is_call(call, "reshape"):
        return None
    shape = shape_of(call)
    x = call.args[0]
    if shape is None:
        return None
    if shape == shape_of(x):
        return x
    return build.op("reshape", x.args[0], newshape=shape) if is_call(x, "reshape") else None


def _transposes(build: Build, call: Call) -> Any:
    order = _order(call)
    if order is None:
        return _layouts(build, call)
    if order == tuple(range(len(order))):
        return call.args[0]
    inner = call.args[0]
    before = _order(inner)
    if before is None:
        return None
    both = tuple(before[axis] for axis in order)
    return inner.args[0] if both == tuple(range(len(both))) else build.op("transpose", inner.args[0], axes=both)


def _order(call: Any) -> tuple[int, ...] | None:
    """The axes of its operand in the order of the result's, if `call` moves whole axes."""
    if is_call(call, "permute_dims", "transpose"):
        axes = call.attrs.axes if call.attrs is not None else None
        rank = len(call.checked_type.shape)
        return tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in axes)
    return moved_axes(call.attrs) if is_call(call, "relay_layout_transform") else None


def _layouts(build: Build, call: Call) -> Any:
    """There and back again, where blocks are cut: nothing; on to a third layout: at once."""
    if not is_call(call, "relay_layout_transform") or not is_call(call.args[0], "relay_layout_transform"):
        return None
    inner = call.args[0]
    if inner.attrs.dst_layout != call.attrs.src_layout:
        return None
    if inner.attrs.src_layout == call.attrs.dst_layout:
        return inner.args[0]
    layouts = {"src_layout": inner.attrs.src_layout, "dst_layout": call.attrs.dst_layout}
    return build.op("relay_layout_transform", inner.args[0], **layouts)


def _casts(build: Build, call: Call) -> Any:
    if not is_call(call, "cast"):
        return None
    inner = call.args[0]
    if dtype_of(inner) == dtype_of(call):
        return inner
    if is_call(inner, "cast") and _keeps_all(dtype_of(inner.args[0]), dtype_of(inner)):
        return build.op("cast", inner.args[0], dtype=dtype_of(call))
    return None


def _keeps_all(source: DataType, target: DataType) -> bool:
    """Whether every value of `source` is one of `target`."""
    if source.kind in ("bfloat", "bool") or target.kind == "bfloat":
        return source.is_bool
    return bool(np.can_cast(source.numpy, target.numpy, "safe"))


def _filled(build: Build, call: Call) -> Any:
    if not is_call(call, "zeros", "ones", "full"):
        return None
    shape = shape_of(call)
    if shape is None or int(np.prod(shape)) > MAX_ELEMENTS or not all(isinstance(a, Constant) for a in call.args):
        return None
    value = call.args[0].data.data if call.args else np.asarray(float(is_call(call, "ones")))
    return build.const(np.full(shape, value.reshape(()).item()), dtype_of(call))


_RULES: tuple[Callable[[Build, Call], Any], ...] = (
    _identity_arithmetic,
    _reshapes,
    _transposes,
    _casts,
    *simplify_arithmetic.RULES,
    _filled,
)
