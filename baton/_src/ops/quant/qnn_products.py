"""Products of quantised tensors (Relay's dialect qnn): dense, batch_matmul, conv2d, conv2d_transpose.

They give sums of (q - zero_point) products, whose scale is the product of both, in int32, int64, or cut to int16
(`out_dtype`). The kernel of dense and conv2d may have a zero point for each output channel. Source: facts
relay-language §6 level 11.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops.broadcasting import like
from baton._src.ops.linalg.dense import BATCH_MATMUL, DENSE, BatchMatmulAttrs, DenseAttrs
from baton._src.ops.nn.convolution.convolution import CONV2D, ConvAttrs
from baton._src.ops.nn.convolution.transpose import CONV2D_TRANSPOSE, ConvTransposeAttrs
from baton._src.ops.quant.parameters import check_lengths, check_quantised
from baton._src.ops.quant.requantize import NO_SLOPE, check_parameters
from baton._src.ops.samples import Arr, Sample
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import INT32, INT64, DataType
from baton._src.values.tensor import AnyArray


def _operands(weight: str) -> tuple[str, ...]:
    return ("data", weight, "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale")


def _no_axis(a: Attrs) -> int | None:
    return None


Summed = DenseAttrs | BatchMatmulAttrs | ConvAttrs | ConvTransposeAttrs
P = TypeVar("P", DenseAttrs, BatchMatmulAttrs, ConvAttrs, ConvTransposeAttrs)


def _output_axis(a: ConvAttrs | ConvTransposeAttrs) -> int | None:
    """The axis of a convolution's kernel that runs over output channels."""
    return a.kernel_layout.index("O") if a.kernel_layout.isalpha() else None


def _channel_axis(a: ConvAttrs | ConvTransposeAttrs) -> int | None:
    """The axis of a convolution's result that runs over channels."""
    layout = a.out_layout or a.data_layout
    return layout.index("C") if layout.isalpha() else None


RESULTS = ("int16", "int32", "int64")
_SUMS: Mapping[str, object] = {"out_dtype": "int32"}
_GEOMETRY: Mapping[str, object] = {"strides": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
_SIZES: Mapping[str, object] = {"kernel_size": None, "channels": None}


def _builder(
    operands: tuple[str, ...], options: Mapping[str, object], fixed: Mapping[str, object]
) -> Callable[..., GraphExpr]:
    """A builder with the attributes in TVM's order, at TVM's defaults; what it does not ask for is `fixed`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    required = [inspect.Parameter(n, kind) for n in ("make", *operands)]
    signature = inspect.Signature([*required, *(inspect.Parameter(n, kind, default=d) for n, d in options.items())])

    def build(*given: object, **named: object) -> GraphExpr:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        make, *rest = (bound.arguments.pop(n) for n in ("make", *operands))
        found: GraphExpr = make(*rest, **bound.arguments, **fixed)
        return found

    vars(build)["__signature__"] = signature
    return build


@dataclass(frozen=True)
class _Sums(Generic[P]):
    """Sums of products of what operands are beyond their zero points: `base` of int32 (or int64) tensors.

    Operands: data, weights, their zero points, their scales. `axis(attrs)` is the axis of the weights along which their
    zero point may vary, `channels(attrs)` that of the result along which the weights' scale may; None: they may not.
    """

    base: OpDef[P]
    axis: Callable[[P], int | None]
    channels: Callable[[P], int | None]

    def infer(self, call: OpCall[P]) -> Info:
        check_quantised(call, 0, 1)
        check_parameters(call, (2, 4))
        axis, channels = self.axis(call.attrs), self.channels(call.attrs)
        check_parameters(call, (3,), vectors=axis is not None)
        check_parameters(call, (5,), vectors=channels is not None)
        if axis is not None:
            check_lengths(call, (3,), call.tensor(1), axis)
        if _result(call.attrs) not in RESULTS:
            call.fail(f"out_dtype is {call.attrs.out_dtype}", code="op-dtype", help=f"one of {', '.join(RESULTS)}")
        exact = _exact(call.attrs)
        operands = tuple(like(call.tensor(n), exact.out_dtype) for n in (0, 1))
        found = self.base.infer(OpCall(self.base, operands, exact, call.prover, (), call.span))
        assert isinstance(found, TensorInfo)
        if channels is not None:
            check_lengths(call, (5,), found, channels)
        return like(found, DataType(_result(call.attrs)))

    def reference(self, inputs: Sequence[AnyArray], a: P) -> AnyArray:
        exact = _exact(a)
        x, w, zx, zw = (np.asarray(v).astype(exact.out_dtype.numpy) for v in inputs[:4])
        if zw.ndim:
            zw = zw.reshape([-1 if i == self.axis(a) else 1 for i in range(w.ndim)])
        assert callable(self.base.reference)
        found: AnyArray = self.base.reference((x - zx, w - zw), exact).astype(_result(a))
        return found

    def decompose(self, b: CallMaker, args: Exprs, a: P, out: TensorInfo) -> GraphExpr:
        exact = _exact(a)
        x, w, zx, zw = (b.op("astype", v, dtype=exact.out_dtype) for v in args[:4])
        rank = args[1].struct_info.ndim
        if args[3].struct_info.ndim:
            zw = b.op("expand_dims", zw, axis=tuple(i for i in range(rank) if i != self.axis(a)))
        options = {f: getattr(exact, f) for f in self.base.attrs.names}
        sums = b.op(self.base.name, b.op("subtract", x, zx), b.op("subtract", w, zw), **options)
        return sums if _result(a) == exact.out_dtype else b.op("astype", sums, dtype=_result(a))


def _product(
    name: str,
    base: OpDef[P],
    names: tuple[str, ...],
    samples: Callable[[], Sequence[Sample]],
    axis: Callable[[P], int | None] = _no_axis,
    channels: Callable[[P], int | None] = _no_axis,
    *,
    options: Mapping[str, object] = _SUMS,
    fixed: Mapping[str, object] = MappingProxyType({}),
) -> OpDef[P]:
    """`_Sums` as an operator. `options`: attributes in the builder's order; `fixed`: those it does not ask for."""
    sums = _Sums(base, axis, channels)
    return OpDef(
        f"qnn.{name}",
        base.attrs,
        inputs=tuple(Input(n) for n in names),
        infer=sums.infer,
        compute=NotApplicable("decomposed into the product of wide tensors"),
        reference=sums.reference,
        decompose=sums.decompose,
        gradient=NO_SLOPE,
        fusion=Fusion.OUT_EWISE_FUSABLE,
        layout=base.layout,
        in_relax=False,
        relay_builder=_builder(names, options, fixed),
        samples=samples,
        summary=f"{name} of quantised tensors, accumulated in integers.",
    )


def _result(a: Summed) -> str:
    """The dtype of the result."""
    return str(INT32 if a.out_dtype.is_void else a.out_dtype)


def _exact(a: P) -> P:
    """`base`'s attributes, for sums that are exact: narrower results are cut from int32."""
    return a.with_attrs(out_dtype=INT64 if _result(a) == "int64" else INT32)


def _parameters(*channels: int) -> tuple[Arr, ...]:
    """Zero points and scales; those of the kernel may be one for each of its channels."""
    zero, scale = Arr((), "int32", -5, 5), Arr((), low=0.05, high=0.5)
    return (zero, Arr(channels, "int32", -5, 5), scale, Arr(channels, low=0.05, high=0.5))


QNN_PRODUCTS: tuple[Definition, ...] = (
    _product(
        "dense",
        DENSE,
        _operands("weight"),
        lambda: (
            Sample((Arr(("n", 4), "uint8", 0, 255), Arr((3, 4), "int8", -99, 99), *_parameters()), DENSE.attrs()),
            Sample((Arr(("n", 4), "uint8", 0, 255), Arr((3, 4), "int8", -99, 99), *_parameters(3)), DENSE.attrs()),
        ),
        lambda a: 0,
        lambda a: -1,
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
        _channel_axis,
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
                BATCH_MATMUL.attrs(transpose_b=True),
            ),
        ),
        fixed={"transpose_b": True},
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
        channels=_channel_axis,
        options={
            **_GEOMETRY,
            "groups": 1,
            "channels": None,
            "kernel_size": None,
            "data_layout": "NCHW",
            "kernel_layout": "IOHW",
            "out_layout": "",
            "output_padding": (0, 0),
            **_SUMS,
        },
    ),
)
