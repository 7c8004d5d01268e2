"""Arithmetic on quantised tensors (Relay's dialect qnn): requantize, add, subtract, mul; products as int32 sums.

A quantised tensor stands for (q - zero_point) * scale. Scales and zero points are scalar tensors (requantize: also
vectors along `axis`). Products (dense, batch_matmul, conv2d, conv2d_transpose) give int32 sums of (q - zero_point)
products, whose scale is the product of both; the kernel of dense and conv2d may have a zero point for each output
channel. Rounding: UPWARD (halves up) or TONEAREST (halves away from zero).
Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import broadcast, like, same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.linalg.dense import BATCH_MATMUL, DENSE
from baton._src.ops.nn.convolution.convolution import CONV2D
from baton._src.ops.nn.convolution.transpose import CONV2D_TRANSPOSE
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import INT32, DataType

ROUNDINGS = ("UPWARD", "TONEAREST")
_NO_SLOPE = NotApplicable("integers")
_REAL = "float64"


@attrs
class RequantizeAttrs(Attrs):
    """Axis, rounding, dtype."""

    axis: int = attr(-1, "the axis along which the input's scale and zero point vary")
    rounding: str = attr("UPWARD", "UPWARD or TONEAREST")
    compute_dtype: str = attr("None", "kept for TVM's programs; sums are exact here")
    out_dtype: Any = attr("int8", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))
        set_attr(self, "rounding", "UPWARD" if self.rounding in ("None", None) else self.rounding)


def check_parameters(call: OpCall[Any], positions: Any, vectors: bool = False) -> None:
    """Scales are floats, zero points integers; scalars, or vectors where allowed."""
    for position in positions:
        v, name = call.tensor(position), call.op.inputs[position].name
        if v.ndim > (1 if vectors else 0):
            call.fail(f"{name} must be a scalar{' or a vector' if vectors else ''}, got {show_shape(v.shape, v.ndim)}")
        if not v.dtype.is_void and v.dtype.is_float != name.endswith("scale"):
            call.fail(f"{name} has dtype {v.dtype}", code="op-dtype", help="scales are floats, zero points integers")


def infer_requantize(call: OpCall[RequantizeAttrs]) -> Info:
    """The data with the dtype asked for."""
    x, a = call.tensor(0), call.attrs
    if a.rounding not in ROUNDINGS:
        call.fail(f"rounding must be UPWARD or TONEAREST, got {a.rounding!r}", code="op-attribute")
    if x.ndim > 0:
        normal_axis(call, a.axis, x.ndim)
    check_parameters(call, (1, 2), vectors=True)
    check_parameters(call, (3, 4))
    return like(x, a.out_dtype)


def _rounded(value: Any, rounding: str) -> Any:
    half = k.const(0.5, _REAL)
    if rounding == "UPWARD":
        return k.floor(value + half)
    return k.select(value < k.const(0.0, _REAL), k.ceil(value - half), k.floor(value + half))


def _np_rounded(value: Any, rounding: str) -> Any:
    up = np.floor(value + 0.5)
    return up if rounding == "UPWARD" else np.where(value < 0, np.ceil(value - 0.5), up)


def _clipped(value: Any, dtype: DataType) -> Any:
    """A float64 as the nearest number of an integer dtype."""
    low, high = (k.const(float(v), _REAL) for v in dtype.int_range)
    return k.cast(dtype, k.cast("int64", k.maximum(low, k.minimum(high, value))))


def _np_clipped(value: Any, dtype: DataType) -> Any:
    return np.clip(value, *dtype.int_range).astype(np.int64).astype(dtype.numpy)


def compute_requantize(inputs: Any, a: RequantizeAttrs, out: Any) -> Any:
    """round((x - zero_point) * (scale / new scale)) + new zero point"""
    x, scale, zero, new_scale, new_zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0

    def parameter(v: Any, i: Any) -> Any:
        found = v() if v.ndim == 0 else v(k.index(0) if k.is_one(v.shape[0]) else i[axis])
        return k.cast(_REAL, found)

    def body(*i: Any) -> Any:
        factor = parameter(scale, i) / k.cast(_REAL, new_scale())
        value = _rounded((k.cast(_REAL, x(*i)) - parameter(zero, i)) * factor, a.rounding)
        return _clipped(value + k.cast(_REAL, new_zero()), out.dtype)

    return k.compute(out.shape, body, "requantize")


def reference_requantize(inputs: Any, a: RequantizeAttrs) -> Any:
    """The formula."""
    x, *parameters = (np.asarray(v).astype(np.float64) for v in inputs)
    shape = [1] * max(x.ndim, 1)
    shape[from_front(a.axis, x.ndim) if x.ndim else 0] = -1
    scale, zero = (v.reshape(shape) if v.ndim else v for v in parameters[:2])
    value = _np_rounded((x - zero) * (scale / parameters[2]), a.rounding)
    return _np_clipped(value + parameters[3], a.out_dtype)


REQUANTIZE = OpDef(
    "qnn.requantize",
    RequantizeAttrs,
    inputs=(
        Input("data"),
        Input("input_scale"),
        Input("input_zero_point"),
        Input("output_scale"),
        Input("output_zero_point"),
    ),
    infer=infer_requantize,
    compute=compute_requantize,
    reference=reference_requantize,
    gradient=_NO_SLOPE,
    fusion=Fusion.ELEMWISE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4), "int32", -999, 999), *scalars(2)), RequantizeAttrs()),
        Sample((Arr((3, 4), "int8", -99, 99), *scalars(2)), RequantizeAttrs(rounding="TONEAREST", out_dtype="uint8")),
        Sample(
            (
                Arr((3, 4), "int32", -999, 999),
                Arr((4,), low=0.01, high=0.1),
                Arr((4,), "int32", -5, 5),
                *scalars(1),
            ),
            RequantizeAttrs(axis=1),
        ),
    ),
    summary="The same numbers with another scale and zero point.",
)


def scalars(count: int) -> tuple[Arr, ...]:
    """Scales and zero points."""
    return (Arr((), low=0.05, high=0.5), Arr((), "int32", -5, 5)) * count


# --------------------------------------------------------------------------------------------------- elementwise


@attrs
class BinaryAttrs(Attrs):
    """Axes of parameters; kept for TVM's programs."""

    lhs_axis: int = attr(-1, "axis of the left scale, where it is a vector")
    rhs_axis: int = attr(-1, "axis of the right scale, where it is a vector")


def infer_binary(call: OpCall[BinaryAttrs]) -> Info:
    """Both operands of one dtype, broadcast."""
    operands = [call.tensor(0), call.tensor(1)]
    check_parameters(call, range(2, 8))
    return broadcast(call, operands, same_dtype(call, operands))


def _binary(name: str, te: Callable[[Any, Any], Any], numpy: Callable[[Any, Any], Any]) -> OpDef[Any]:
    def compute(inputs: Any, a: BinaryAttrs, out: Any) -> Any:
        left, right, *parameters = inputs

        def real(x: Any, i: Any, n: int) -> Any:
            scale, zero = (k.cast(_REAL, parameters[n + m]()) for m in (0, 1))
            return (k.cast(_REAL, x(*k.broadcast_indices(x, i, out.shape))) - zero) * scale

        def body(*i: Any) -> Any:
            scale, zero = (k.cast(_REAL, parameters[n]()) for n in (4, 5))
            value = te(real(left, i, 0), real(right, i, 2)) / scale
            return _clipped(_rounded(value, "UPWARD") + zero, out.dtype)

        return k.compute(out.shape, body, f"qnn_{name}")

    def reference(inputs: Any, a: BinaryAttrs) -> Any:
        x, y, sx, zx, sy, zy, scale, zero = (np.asarray(v).astype(np.float64) for v in inputs)
        value = numpy((x - zx) * sx, (y - zy) * sy) / scale
        return _np_clipped(_np_rounded(value, "UPWARD") + zero, DataType(inputs[0].dtype))

    names = ("lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale")
    return OpDef(
        f"qnn.{name}",
        BinaryAttrs,
        inputs=tuple(Input(n) for n in (*names, "output_zero_point")),
        infer=infer_binary,
        compute=compute,
        reference=reference,
        gradient=_NO_SLOPE,
        fusion=Fusion.BROADCAST,
        in_relax=False,
        samples=lambda: (
            Sample((Arr(("n", 4), "uint8", 0, 255), Arr((4,), "uint8", 0, 255), *scalars(3)), BinaryAttrs()),
            Sample((Arr((2, 1), "int8", -99, 99), Arr((2, 3), "int8", -99, 99), *scalars(3)), BinaryAttrs()),
        ),
        summary=f"{name} of the numbers that two quantised tensors stand for, quantised.",
    )


# ------------------------------------------------------------------------------------------------------ products


def _operands(weight: str) -> tuple[str, ...]:
    return ("data", weight, "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale")


def _no_axis(a: Any) -> int | None:
    return None


def _output_axis(a: Any) -> int | None:
    """The axis of a convolution's kernel that runs over output channels."""
    return a.kernel_layout.index("O") if a.kernel_layout.isalpha() else None


_SUMS: dict[str, Any] = {"out_dtype": "int32"}
_GEOMETRY: dict[str, Any] = {"strides": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
_SIZES: dict[str, Any] = {"kernel_size": None, "channels": None}


def _builder(operands: tuple[str, ...], options: dict[str, Any]) -> Callable[..., Any]:
    """A builder with the attributes in TVM's order, at TVM's defaults."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    required = [inspect.Parameter(n, kind) for n in ("make", *operands)]
    signature = inspect.Signature([*required, *(inspect.Parameter(n, kind, default=d) for n, d in options.items())])

    def build(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        make, *rest = (bound.arguments.pop(n) for n in ("make", *operands))
        return make(*rest, **bound.arguments)

    vars(build)["__signature__"] = signature
    return build


@dataclasses.dataclass(frozen=True)
class _Sums:
    """int32 sums of products of what operands are beyond their zero points: `base` of int32 tensors.

    Operands: data, weights, their zero points, their scales (`names`). `axis(attrs)` is the axis of the weights along
    which their zero point may vary.
    """

    base: OpDef[Any]
    names: tuple[str, ...]
    axis: Callable[[Any], int | None]

    def infer(self, call: OpCall[Any]) -> Info:
        for position in (0, 1):
            x = call.tensor(position)
            if not x.dtype.is_void and not x.dtype.is_int:
                call.fail(f"takes quantised operands, got {x.dtype}", code="op-dtype")
        check_parameters(call, (2, 4))
        check_parameters(call, (3,), vectors=self.axis(call.attrs) is not None)
        check_parameters(call, (5,), vectors=True)
        self._check_length(call)
        operands = tuple(like(call.tensor(n), INT32) for n in (0, 1))
        found = self.base.infer(OpCall(self.base, operands, _exact(call.attrs), call.prover, (), call.span))
        assert isinstance(found, TensorInfo)
        return found

    def _check_length(self, call: OpCall[Any]) -> None:
        w, zero, at = call.tensor(1), call.tensor(3), self.axis(call.attrs)
        if zero.ndim != 1 or w.shape is None or zero.shape is None or at is None or zero.shape[0] == 1:
            return
        if DimMath(call.prover).equal(w.shape[at], zero.shape[0]) is False:
            channels = f"{self.names[1]} has {w.shape[at]} output channels"
            call.fail(f"{self.names[3]} has {zero.shape[0]} elements, {channels}")

    def reference(self, inputs: Any, a: Any) -> Any:
        x, w, zx, zw = (np.asarray(v).astype(np.int32) for v in inputs[:4])
        if zw.ndim:
            zw = zw.reshape([-1 if i == self.axis(a) else 1 for i in range(w.ndim)])
        assert callable(self.base.reference)
        return self.base.reference((x - zx, w - zw), _exact(a))

    def decompose(self, b: Any, args: Any, a: Any, out: Any) -> Any:
        x, w, zx, zw = (b.op("astype", v, dtype="int32") for v in args[:4])
        rank = args[1].struct_info.ndim
        if args[3].struct_info.ndim:
            zw = b.op("expand_dims", zw, axis=tuple(i for i in range(rank) if i != self.axis(a)))
        options = {f: getattr(_exact(a), f) for f in self.base.attrs.names}
        return b.op(self.base.name, b.op("subtract", x, zx), b.op("subtract", w, zw), **options)


def _product(
    name: str,
    base: OpDef[Any],
    names: tuple[str, ...],
    samples: Any,
    axis: Callable[[Any], int | None] = _no_axis,
    *,
    options: dict[str, Any] = _SUMS,
) -> OpDef[Any]:
    """`_Sums` as an operator. `options`: attributes in the builder's order."""
    sums = _Sums(base, names, axis)
    return OpDef(
        f"qnn.{name}",
        base.attrs,
        inputs=tuple(Input(n) for n in names),
        infer=sums.infer,
        compute=NotApplicable("decomposed into the product of int32 tensors"),
        reference=sums.reference,
        decompose=sums.decompose,
        gradient=_NO_SLOPE,
        fusion=Fusion.OUT_EWISE_FUSABLE,
        in_relax=False,
        relay_builder=_builder(names, options),
        samples=samples,
        summary=f"{name} of quantised tensors, as int32 sums.",
    )


def _exact(a: Any) -> Any:
    """Sums as int32."""
    return dataclasses.replace(a, out_dtype=INT32)


def _parameters(*channels: int) -> tuple[Arr, ...]:
    """Zero points and scales; those of the kernel one each of so many channels."""
    zero, scale = Arr((), "int32", -5, 5), Arr((), low=0.05, high=0.5)
    return (zero, Arr(channels, "int32", -5, 5), scale, Arr(channels, low=0.05, high=0.5))


QNN: tuple[OpDef[Any], ...] = (
    REQUANTIZE,
    _binary("add", lambda x, y: x + y, np.add),
    _binary("subtract", lambda x, y: x - y, np.subtract),
    _binary("mul", lambda x, y: x * y, np.multiply),
    _product(
        "dense",
        DENSE,
        _operands("weight"),
        lambda: (
            Sample((Arr(("n", 4), "uint8", 0, 255), Arr((3, 4), "int8", -99, 99), *_parameters()), DENSE.attrs()),
            Sample((Arr(("n", 4), "uint8", 0, 255), Arr((3, 4), "int8", -99, 99), *_parameters(3)), DENSE.attrs()),
        ),
        lambda a: 0,
        options={"units": None, **_SUMS},
    ),
    _product(
        "conv2d",
        CONV2D,
        _operands("kernel"),
        lambda: (
            Sample(
                (Arr(("n", 2, 5, 5), "uint8", 0, 255), Arr((3, 2, 3, 3), "int8", -99, 99), *_parameters()),
                CONV2D.attrs(padding=(1, 1)),
            ),
            Sample(
                (Arr(("n", 5, 5, 2), "uint8", 0, 255), Arr((3, 3, 2, 3), "int8", -99, 99), *_parameters(3)),
                CONV2D.attrs(data_layout="NHWC", kernel_layout="HWIO"),
            ),
        ),
        _output_axis,
        options={
            **_SIZES,
            **_GEOMETRY,
            "groups": 1,
            "data_layout": "NCHW",
            "kernel_layout": "OIHW",
            "out_layout": "",
            **_SUMS,
        },
    ),
    _product(
        "batch_matmul",
        BATCH_MATMUL,
        ("x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale"),
        lambda: (
            Sample(
                (Arr((2, "n", 4), "uint8", 0, 255), Arr((2, 3, 4), "int8", -99, 99), *_parameters()),
                BATCH_MATMUL.attrs(),
            ),
        ),
    ),
    _product(
        "conv2d_transpose",
        CONV2D_TRANSPOSE,
        _operands("weight"),
        lambda: (
            Sample(
                (Arr(("n", 2, 4, 5), "uint8", 0, 255), Arr((2, 3, 3, 3), "int8", -99, 99), *_parameters()),
                CONV2D_TRANSPOSE.attrs(strides=(2, 2), padding=(1, 1)),
            ),
        ),
        options={
            **_GEOMETRY,
            "channels": None,
            "kernel_size": None,
            "groups": 1,
            "data_layout": "NCHW",
            "kernel_layout": "IOHW",
            "out_layout": "",
            "output_padding": (0, 0),
            **_SUMS,
        },
    ),
)
