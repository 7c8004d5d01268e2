"""The rules of FakeQuantizationToInteger for Relay's operators, on integers that represent real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.passes.relay.building import dtype_of, shape_of
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.operators.channel_scales import data_axis, weight_axis
from baton._src.passes.relay.quantize.quantized_region import AffineType, NoRule, Region, Rule, alike
from baton._src.relay.nodes import Call, Constant, Tuple
from baton._src.values.dtype import DataType


def _same(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """Moving elements moves the integers alike (a scale that varies would have to be moved along)."""
    type_ = region.type_of(call.args[0])
    region.scalars(type_)
    return region.build.call(Call(call.op, args, call.attrs)), type_


def _relu(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    type_ = region.type_of(call.args[0])
    region.scalars(type_) if shape_of(type_.zero_point) != () else None
    zero = type_.zero_point
    if isinstance(zero, Constant):
        zero = region.build.const(zero.data.data.astype(DataType(type_.dtype).numpy), str(type_.dtype))
    else:
        zero = region.build.op("astype", zero, dtype=type_.dtype)
    return region.build.op("maximum", args[0], zero), type_


def _clip(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """The bounds are quantised as the data is."""
    type_, build = region.type_of(call.args[0]), region.build
    region.scalars(type_)
    value = args[0]
    bounds = (("maximum", call.attrs.a_min), ("minimum", call.attrs.a_max))
    for name, bound in bounds:
        whole = build.op(
            "quantize", build.const(float(bound), "float32"), type_.scale, type_.zero_point, out_dtype=type_.dtype
        )
        value = build.op(name, value, whole)
    return value, type_


def _values(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """topk moves elements; its indices are not quantised numbers."""
    if call.attrs.ret_type != "values":
        raise NoRule
    return _same(region, call, args, target)


def _pad(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """The border is quantised as the data is."""
    type_, build = region.type_of(call.args[0]), region.build
    region.scalars(type_)
    value, border = args[1], call.args[1]
    if border in region.types:
        own = region.types[border]
        region.scalars(own)
        value = region.requantized(value, own, type_)
    elif isinstance(border, Constant):
        real = border if dtype_of(border).is_float else build.op("astype", border, dtype="float32")
        value = build.op("quantize", real, type_.scale, type_.zero_point, out_dtype=type_.dtype)
    else:
        raise NoRule
    return build.call(Call(call.op, (args[0], value), call.attrs)), type_


def _pool(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """Means are computed from int32. A border that counts is 0, which is the zero point of real zeros."""
    type_, build = region.type_of(call.args[0]), region.build
    region.scalars(type_)
    wide = build.op("astype", args[0], dtype="int32")
    counts_border = getattr(call.attrs, "count_include_pad", False) and any(call.attrs.padding)
    zero = build.op("astype", type_.zero_point, dtype="int32") if counts_border else None
    if zero is not None:
        wide = build.op("subtract", wide, zero)
    mean = build.call(Call(call.op, (wide,), call.attrs))
    if zero is not None:
        mean = build.op("add", mean, zero)
    return build.op("astype", mean, dtype=type_.dtype), type_


def _function(name: str) -> Rule:
    """`qnn.<name>` returns the result quantised at once. It keeps its operand's dtype; if the result has another one,
    as after a product's sums, this operator alone stays on floats, and its neighbours are rewritten.
    """

    def rule(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
        type_, build = region.type_of(call.args[0]), region.build
        region.scalars(target)
        if type_.dtype == target.dtype:
            region.scalars(type_)
            parameters = (type_.scale, type_.zero_point, target.scale, target.zero_point)
            attributes = {n: getattr(call.attrs, n) for n in call.attrs.names} if call.attrs else {}
            return build.op(f"qnn.{name}", args[0], *parameters, **attributes), target
        real = build.op("dequantize", args[0], type_.scale, type_.zero_point, axis=type_.axis)
        real = build.call(Call(call.op, (real,), call.attrs))
        return build.op("quantize", real, target.scale, target.zero_point, out_dtype=target.dtype), target

    return rule


def _product(name: str) -> Rule:
    def rule(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
        left, right, build = region.type_of(call.args[0]), region.type_of(call.args[1]), region.build
        region.scalars(left)
        if name in _SCALAR_WEIGHTS:
            region.scalars(right)
        axis = data_axis(call) if shape_of(right.scale) != () else -1
        if axis is None or (axis >= 0 and right.axis % len(args[1].checked_type.shape) != weight_axis(call, "O")):
            raise NoRule  # only scales along the outputs scale whole sums
        attributes = {n: getattr(call.attrs, n) for n in call.attrs.names if n != "out_dtype"}
        operands = (*args, left.zero_point, right.zero_point, left.scale, right.scale)
        made = build.op(f"qnn.{name}", *operands, **attributes, out_dtype="int32")
        product = build.op("multiply", left.scale, right.scale)
        scale = FoldConstant().folded(product) or product
        return made, AffineType(scale, build.const(0, "int32"), DataType("int32"), axis)

    return rule


_SCALAR_WEIGHTS = ("batch_matmul", "conv2d_transpose")
"""Products whose second operand has one scale and one zero point."""


def _bias(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """A bias is quantised like the sums it is added to, which are int32."""
    type_, build = region.type_of(call.args[0]), region.build
    along = call.attrs.axis % len(args[0].checked_type.shape)
    if type_.dtype != "int32" or (shape_of(type_.scale) != () and type_.axis != along):
        raise NoRule
    bias = args[1]
    if call.args[1] in region.types:
        own = region.types[call.args[1]]
        bias = build.op("dequantize", bias, own.scale, own.zero_point, axis=own.axis)
    whole = build.op("quantize", bias, type_.scale, type_.zero_point, out_dtype="int32", axis=0)
    return build.call(Call(call.op, (args[0], whole), call.attrs)), type_


def _wide(target: AffineType) -> AffineType:
    """The same steps, and as many as any sum needs."""
    return AffineType(target.scale, target.zero_point, DataType("int32"))


def _uncut(region: Region, call: Call, target: AffineType) -> AffineType:
    """What `call` is quantised to: as the whole, if nothing computed from it makes large numbers small again."""
    return target if region.may_cut(call, _KEEP_ORDER) else _wide(target)


def _extreme(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """The maximum of two numbers is the maximum of their integers, if these have the same scale."""
    types = [region.type_of(a) for a in call.args]
    region.scalars(target, *types)
    same = all(alike(t, types[0]) for t in types)
    common = types[0] if same else _uncut(region, call, target)
    whole = args if same else tuple(region.requantized(a, t, common) for a, t in zip(args, types))
    return region.build.call(Call(call.op, whole, call.attrs)), common


def _binary(name: str) -> Rule:
    """`qnn.<name>` takes operands of one dtype, and gives it. Others than the result's are computed as int32, each with
    its own scale, and so are sums of which more is computed: what the result's dtype does not hold may be small again
    once something is added or multiplied.
    """

    def rule(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
        build, types, operands = region.build, [], []
        for old, made in zip(call.args, args):
            if old in region.types:
                types.append(region.types[old])
                operands.append(made)
            elif isinstance(old, Constant):
                types.append(_type_of_number(region, old, target, name))
                own = types[-1]
                operands.append(build.op("quantize", old, own.scale, own.zero_point, out_dtype=own.dtype))
            else:
                raise NoRule
        region.scalars(target, *types)
        result = _uncut(region, call, target)
        if result is not target or any(t.dtype != target.dtype for t in types):
            result = _wide(target)
            operands = [build.op("astype", o, dtype="int32") for o in operands]
        parameters = [p for t in (*types, target) for p in (t.scale, t.zero_point)]
        return build.op(f"qnn.{name}", *operands, *parameters), result

    return rule


def _type_of_number(region: Region, number: Constant, target: AffineType, name: str) -> AffineType:
    """What a number of the program is quantised to: the result's type, whose steps its terms have, too, but as int32
    where that does not reach it; factors have steps of their own."""
    value = number.data.data
    if name == "mul":
        most = float(np.abs(value).max(initial=0))
        if not np.isfinite(most):
            raise NoRule
        step = max(most / _STEPS, float(np.finfo("float32").tiny))
        return AffineType(region.build.const(step, "float32"), region.build.const(0, "int32"), DataType("int32"))
    if isinstance(target.scale, Constant) and isinstance(target.zero_point, Constant):
        low, high = target.dtype.int_range
        steps = value / target.scale.data.data + target.zero_point.data.data
        if low <= steps.min(initial=low) and steps.max(initial=high) <= high:
            return target
    return _wide(target)


_STEPS = 1 << 24
"""As many as float32 tells apart."""


def _concatenate(region: Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    fields = call.args[0].fields if isinstance(call.args[0], Tuple) else ()
    types = [region.type_of(f) for f in fields]
    region.scalars(target, *types)
    if not fields:
        raise NoRule
    common = _uncut(region, call, target)
    whole = [region.requantized(region.build.item(args[0], i), t, common) for i, t in enumerate(types)]
    return region.build.op("concat", tuple(whole), axis=call.attrs.axis), common


_MOVES = (
    "reshape transpose squeeze expand_dims strided_slice broadcast_to tile repeat reverse copy take split max min "
    "nn.batch_flatten nn.depth_to_space nn.space_to_depth nn.max_pool1d nn.max_pool2d nn.max_pool3d "
    "nn.global_max_pool2d nn.adaptive_max_pool1d nn.adaptive_max_pool2d image.resize2d"
)
_KEEP_ORDER = frozenset(f"nn.relu clip nn.pad maximum minimum concatenate topk {_MOVES}".split()) - {"image.resize2d"}
"""Operators that give the same, whether their operands are cut to the range of the result or they are."""
_MEANS = (
    "mean nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.global_avg_pool2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d"
)
_FUNCTIONS = ("abs", "erf", "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh")
RULES: dict[str, Rule] = {
    **dict.fromkeys(_MOVES.split(), _same),
    **dict.fromkeys(_MEANS.split(), _pool),
    **{name: _function(name) for name in _FUNCTIONS},
    "nn.leaky_relu": _function("leaky_relu"),
    "nn.softmax": _function("softmax"),
    "nn.relu": _relu,
    "clip": _clip,
    "nn.pad": _pad,
    "topk": _values,
    "nn.conv2d": _product("conv2d"),
    "nn.conv2d_transpose": _product("conv2d_transpose"),
    "nn.dense": _product("dense"),
    "nn.batch_matmul": _product("batch_matmul"),
    "nn.bias_add": _bias,
    "add": _binary("add"),
    "subtract": _binary("subtract"),
    "multiply": _binary("mul"),
    "maximum": _extreme,
    "minimum": _extreme,
    "concatenate": _concatenate,
}
