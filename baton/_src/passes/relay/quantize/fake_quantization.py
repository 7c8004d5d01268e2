"""FakeQuantizationToInteger: what is computed on dequantised numbers and quantised again is computed on integers.

    qnn.quantize(nn.relu(nn.conv2d(qnn.dequantize(%x, ...), qnn.dequantize(%w, ...))), %s, %z)
becomes
    qnn.requantize(maximum(qnn.conv2d(%x, %w, ...), 0), ..., %s, %z)

A region reaches from a `qnn.quantize` to the `qnn.dequantize`s that feed it. It is rewritten if every operator in it
has a rule; otherwise it stays. A rule gives the operator on integers and says what the result stands for, an
`AffineType`. What users registered comes first: `register_fake_quantization_to_integer(name, rule)`, a rule
`(call, types) -> [expression, AffineType]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators.channel_scales import data_axis
from baton._src.passes.relay.operators.div_to_mul import DivToMul
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import parts, rewrite
from baton._src.relay.nodes import Call, Constant, Tuple, TupleGetItem
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType


@dataclass(eq=False)
class AffineType:
    """Integers that stand for (q - zero_point) * scale; both scalars, or vectors along `axis`."""

    scale: Any
    zero_point: Any
    dtype: Any
    axis: int = -1


@dataclass(frozen=True)
class FakeQuantizationToInteger(RelayFunctionPass):
    """See the module's docstring. With `hard_fail` a region that stays is an error (`fake-quantization`)."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(), DivToMul())
    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: Sequence[str] | None = None
    """Operators whose optional rules (`register_optional_fake_quantization_to_integer`) count."""

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        optional = frozenset(self.optional_qnn_ops or ())

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, "quantize"):
                return None
            try:
                return _Region(build, new, optional).rewritten()
            except _NoRule as stays:
                if self.hard_fail:
                    raise stays.error() from None
                return None

        return rewrite(function, rule)


def _alike(one: AffineType, other: AffineType) -> bool:
    """Whether equal integers stand for equal numbers."""
    places = ((one.scale, other.scale), (one.zero_point, other.zero_point))
    return one.dtype == other.dtype and all(
        a is b
        or (isinstance(a, Constant) and isinstance(b, Constant) and a.data.shape == () and structural_equal(a, b))
        for a, b in places
    )


class _NoRule(Exception):
    """The region stays as it is."""

    at: Any = None
    """The operator whose rule does not apply, or that has none."""

    def error(self) -> DiagnosticError:
        """The diagnostic for those who want no region to stay."""
        name = getattr(getattr(self.at, "op", None), "name", "this expression")
        message = f"{name} between a dequantize and a quantize cannot be computed on integers"
        help = f"register_fake_quantization_to_integer({name!r}, rule) teaches how, hard_fail=False leaves it alone"
        return fail("fake-quantization", message, span=getattr(self.at, "span", None), help=help)


class _Region:
    """What lies between one quantize and its dequantizes."""

    def __init__(self, build: Build, root: Call, optional: frozenset[str] = frozenset()) -> None:
        self.build = build
        self.optional = optional
        self._root = root
        self.types: dict[Any, AffineType] = {}

    def rewritten(self) -> Any:
        """The region on integers; None if it cannot be."""
        out, scale, zero = self._root.args
        order = self._order(out)
        if order is None or not any(is_call(n, "dequantize") for n in order):
            return None
        target = AffineType(scale, self._integer(zero), dtype_of(self._root), self._root.attrs.axis)
        done: dict[Any, Any] = {}
        for node in order:
            try:
                done[node] = self._node(node, done, target)
            except _NoRule as stays:
                stays.at = node
                raise
        value, found = done[out], self.types[out]
        if _alike(found, target):
            return value
        return self.requantized(value, found, target)

    def _integer(self, zero: Any) -> Any:
        """A zero point, which programs may write as a float, as int32."""
        if not dtype_of(zero).is_float:
            return zero
        if isinstance(zero, Constant):
            return self.build.const(zero.data.data.astype("int32"), "int32")
        return self.build.op("astype", zero, dtype="int32")

    def _order(self, out: Any) -> list[Any] | None:
        """The nodes of the region, parts first; None if something else than operators on dequantised data is in it."""
        found: list[Any] = []
        seen: set[Any] = set()
        work: list[tuple[Any, bool]] = [(out, False)]
        while work:
            node, is_done = work.pop()
            if is_done:
                found.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            inner = isinstance(node, (Tuple, TupleGetItem)) or (isinstance(node, Call) and isinstance(node.op, Op))
            if not inner and not isinstance(node, Constant):
                return None
            work.append((node, True))
            if inner and not is_call(node, "dequantize"):
                work += [(p, False) for p in parts(node) if not isinstance(p, Op)]
        return found

    def _node(self, node: Any, done: dict[Any, Any], target: AffineType) -> Any:
        if isinstance(node, (Constant, Tuple)):
            return node if isinstance(node, Constant) else self.build.tuple(*(done[f] for f in node.fields))
        if isinstance(node, TupleGetItem):
            self.types[node] = self.type_of(node.tuple_value)
            return self.build.item(done[node.tuple_value], node.index)
        if is_call(node, "dequantize"):
            value, scale, zero = node.args
            self.types[node] = AffineType(scale, self._integer(zero), dtype_of(value), node.attrs.axis)
            return value
        args = tuple(done[a] for a in node.args)
        user = node.op.get_attr("FTVMFakeQuantizationToInteger")
        if node.op.name in self.optional:
            user = node.op.get_attr("FTVMOptionalFakeQuantizationToInteger") or user
        if user is not None:
            known = {made: self.types[a] for a, made in zip(node.args, args) if a in self.types}
            made, type_ = user(Call(node.op, args, node.attrs), {**known, node: target})
            self.types[node] = type_
            return made
        rule = RULES.get(node.op.name)
        if rule is None:
            raise _NoRule
        made, self.types[node] = rule(self, node, args, target)
        return made

    # ---- what rules ask

    def type_of(self, node: Any) -> AffineType:
        """What a part of the program stands for; the region stays if it is not quantised."""
        if node not in self.types:
            raise _NoRule
        return self.types[node]

    def requantized(self, value: Any, found: AffineType, target: AffineType) -> Any:
        """Integers of one type as those of another; None where the target varies along an axis."""
        if shape_of(target.scale) != () or shape_of(target.zero_point) != ():
            return None
        operands = (value, found.scale, found.zero_point, target.scale, target.zero_point)
        axis = found.axis if found.axis >= 0 else len(value.checked_type.shape) - 1
        return self.build.op("qnn.requantize", *operands, axis=max(axis, 0), out_dtype=target.dtype)

    def scalars(self, *types: AffineType) -> None:
        """Operators that take no scale that varies."""
        if any(shape_of(p) != () for t in types for p in (t.scale, t.zero_point)):
            raise _NoRule


Rule = Callable[[_Region, Call, tuple[Any, ...], AffineType], tuple[Any, AffineType]]


def _same(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """Moving elements around moves integers around (a scale that varies would have to move along)."""
    type_ = region.type_of(call.args[0])
    region.scalars(type_)
    return region.build.call(Call(call.op, args, call.attrs)), type_


def _relu(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    type_ = region.type_of(call.args[0])
    region.scalars(type_) if shape_of(type_.zero_point) != () else None
    zero = type_.zero_point
    if isinstance(zero, Constant):
        zero = region.build.const(zero.data.data.astype(DataType(type_.dtype).numpy), str(type_.dtype))
    else:
        zero = region.build.op("astype", zero, dtype=type_.dtype)
    return region.build.op("maximum", args[0], zero), type_


def _clip(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
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


def _values(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """topk moves elements around; where they stood is no quantised number."""
    if call.attrs.ret_type != "values":
        raise _NoRule
    return _same(region, call, args, target)


def _pad(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """The border is quantised as the data is."""
    type_, build = region.type_of(call.args[0]), region.build
    region.scalars(type_)
    value, border = args[1], call.args[1]
    if border in region.types:
        own = region.types[border]
        region.scalars(own)
        value = region.requantized(value, own, type_)
    elif isinstance(border, Constant):
        value = build.op("quantize", border, type_.scale, type_.zero_point, out_dtype=type_.dtype)
    else:
        raise _NoRule
    return build.call(Call(call.op, (args[0], value), call.attrs)), type_


def _pool(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """Means are taken of int32s."""
    type_, build = region.type_of(call.args[0]), region.build
    region.scalars(type_)
    wide = build.op("astype", args[0], dtype="int32")
    return build.op("astype", build.call(Call(call.op, (wide,), call.attrs)), dtype=type_.dtype), type_


def _function(name: str) -> Rule:
    """`qnn.<name>` gives the result's numbers at once. It keeps its operand's dtype; where the result has another one,
    as after a product's sums, this one operator stays on floats, and what is around it goes to integers.
    """

    def rule(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
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
    def rule(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
        left, right, build = region.type_of(call.args[0]), region.type_of(call.args[1]), region.build
        region.scalars(left)
        zero = _one_number(right.zero_point, build) if name in _SCALAR_ZERO else right.zero_point
        if name in _SCALAR_ZERO:
            region.scalars(right)
        attributes = {n: getattr(call.attrs, n) for n in call.attrs.names if n != "out_dtype"}
        operands = (*args, left.zero_point, zero, left.scale, right.scale)
        made = build.op(f"qnn.{name}", *operands, **attributes, out_dtype="int32")
        scale = build.op("multiply", left.scale, right.scale)
        axis = data_axis(call) if shape_of(right.scale) != () else None
        return made, AffineType(scale, build.const(0, "int32"), DataType("int32"), -1 if axis is None else axis)

    return rule


_SCALAR_ZERO = ("batch_matmul", "conv2d_transpose")
"""Products whose second operand has one scale and one zero point."""


def _one_number(zero: Any, build: Build) -> Any:
    """A zero point as a scalar: a constant vector of equal numbers is one."""
    if shape_of(zero) == ():
        return zero
    if not isinstance(zero, Constant) or len(set(zero.data.data.ravel().tolist())) != 1:
        raise _NoRule
    return build.const(int(zero.data.data.ravel()[0]), dtype_of(zero))


def _bias(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """A bias is quantised as the sums it is added to, which are int32."""
    type_, build = region.type_of(call.args[0]), region.build
    if type_.dtype != "int32":
        raise _NoRule
    bias = args[1]
    if call.args[1] in region.types:
        own = region.types[call.args[1]]
        bias = build.op("dequantize", bias, own.scale, own.zero_point, axis=own.axis)
    whole = build.op("quantize", bias, type_.scale, type_.zero_point, out_dtype="int32", axis=0)
    return build.call(Call(call.op, (args[0], whole), call.attrs)), type_


def _extreme(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    """The greater of two numbers is the greater of their integers, once these have one scale."""
    types = [region.type_of(a) for a in call.args]
    region.scalars(target, *types)
    same = all(_alike(t, types[0]) for t in types)
    common = types[0] if same else target
    whole = args if same else tuple(region.requantized(a, t, target) for a, t in zip(args, types))
    return region.build.call(Call(call.op, whole, call.attrs)), common


def _binary(name: str) -> Rule:
    def rule(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
        build, types, operands = region.build, [], []
        for old, made in zip(call.args, args):
            if old in region.types:
                types.append(region.types[old])
                operands.append(made)
            elif isinstance(old, Constant):  # a number of the program is quantised as the result is
                types.append(target)
                operands.append(build.op("quantize", old, target.scale, target.zero_point, out_dtype=target.dtype))
            else:
                raise _NoRule
        region.scalars(target, *types)
        for i, type_ in enumerate(types):
            if type_.dtype != target.dtype:
                operands[i], types[i] = region.requantized(operands[i], type_, target), target
        parameters = [p for t in (*types, target) for p in (t.scale, t.zero_point)]
        return build.op(f"qnn.{name}", *operands, *parameters), target

    return rule


def _concatenate(region: _Region, call: Call, args: tuple[Any, ...], target: AffineType) -> tuple[Any, AffineType]:
    fields = call.args[0].fields if isinstance(call.args[0], Tuple) else ()
    types = [region.type_of(f) for f in fields]
    region.scalars(target, *types)
    if not fields:
        raise _NoRule
    whole = [region.requantized(region.build.item(args[0], i), t, target) for i, t in enumerate(types)]
    return region.build.op("concat", tuple(whole), axis=call.attrs.axis), target


_MOVES = (
    "reshape transpose squeeze expand_dims strided_slice broadcast_to tile repeat reverse copy take split max min "
    "nn.batch_flatten nn.depth_to_space nn.space_to_depth nn.max_pool1d nn.max_pool2d nn.max_pool3d "
    "nn.global_max_pool2d nn.adaptive_max_pool1d nn.adaptive_max_pool2d"
)
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


__all__ = ["AffineType", "FakeQuantizationToInteger"]
