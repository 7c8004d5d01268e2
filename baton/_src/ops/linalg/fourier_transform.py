"""fourier: the discrete Fourier transform of the last axis, or the one before, which the importers make.

    X[f] = scale * sum over t of x[t] * exp(sign 2 pi i f t / length)            the first `kept` frequencies
    to_real: x[t] from the first length / 2 + 1 elements of X, whose others are their mirror image, conjugated

`parts` are the real and the imaginary parts, or the real ones alone. The imaginary parts of elements that are real in
half a spectrum (the first, and the middle one of an even length) do not count. `columns`: along the axis before the
last, and not to real numbers. Not one of TVM's operators, which has
`dft` and `stft` in Relay only: both are decomposed into this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.linalg.fourier_attributes import FourierAttrs
from baton._src.ops.linalg.fourier_kernel.columns import transform_columns
from baton._src.ops.linalg.fourier_kernel.plan import is_planned
from baton._src.ops.linalg.fourier_kernel.rows import transform_rows
from baton._src.ops.linalg.fourier_products import decompose, transformed_length
from baton._src.ops.linalg.fourier_sums import LONG, sums
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


def infer(call: OpCall[FourierAttrs]) -> Info:
    """The shape of the parts with another last axis, twice unless `to_real`."""
    a = call.attrs
    if a.length < 1 or a.sign not in (1, -1) or not 0 <= a.kept <= a.length:
        help = "length is 1 or more, sign 1 or -1, kept at most length"
        call.fail(f"length {a.length}, sign {a.sign}, kept {a.kept}", code="op-attribute", help=help)
    if a.columns and a.to_real:
        call.fail("columns cannot be made real", code="op-attribute", help="transpose them")
    given = call.args[0]
    parts = given.fields if isinstance(given, TupleInfo) else ()
    tensors = [p for p in parts if isinstance(p, TensorInfo)]
    if len(tensors) != len(parts) or len(tensors) not in ((2,) if a.to_real else (1, 2)):
        call.fail("takes the real and the imaginary parts, or real parts alone", code="op-argument")
    same_dtype(call, tensors)
    first = tensors[0]
    if not (first.dtype.is_float or first.dtype.is_void):
        call.fail(f"takes floats, got {first.dtype}", code="op-dtype")
    shape = _common_shape(call, [t.shape for t in tensors if t.shape is not None])
    known = None if shape is None or len(tensors) > sum(t.shape is not None for t in tensors) else shape
    made = known and tuple(a.results if n == len(known) + a.axis else d for n, d in enumerate(known))
    found = TensorInfo(made, first.dtype, first.ndim, first.vdevice)
    return found if a.to_real else TupleInfo((found, found))


def _common_shape(call: OpCall[FourierAttrs], shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...] | None:
    """The shape of the parts; complains of parts that differ, and of rows of another length."""
    math = DimMath(call.prover)
    for shape in shapes:
        a = call.attrs
        if len(shape) < -a.axis or math.equal(shape[a.axis], a.given) is False:
            call.fail(f"axis {a.axis} must have {a.given} elements, the parts are {show_shape(shape)}")
        first = shapes[0]
        if len(shape) != len(first) or any(math.equal(d, e) is False for d, e in zip(shape, first)):
            call.fail(f"both parts must have one shape, got {show_shape(first)} and {show_shape(shape)}")
    return shapes[0] if shapes else None


def reference(inputs: Sequence[Sequence[AnyArray]], a: FourierAttrs) -> AnyArray | tuple[AnyArray, ...]:
    """NumPy's, in double precision."""
    parts = [np.asarray(p, np.float64) for p in inputs[0]]
    dtype = inputs[0][0].dtype
    if not parts[0].size:
        shape = parts[0].shape
        empty = np.zeros([a.results if n == len(shape) + a.axis else d for n, d in enumerate(shape)], dtype)
        return empty if a.to_real else (empty, empty)
    if len(parts) == 1:
        found = _spectrum_of_reals(parts[0], a) * a.scale
        return found.real.astype(dtype), (found.imag + 0.0).astype(dtype)  # no negative zeros
    x: AnyArray = parts[0] + 1j * parts[1]
    if a.to_real:
        rows = np.fft.irfft(x if a.sign > 0 else x.conj(), a.length)
        return np.asarray(rows * (a.length * a.scale)).astype(dtype)
    spectrum = np.fft.fft(x, axis=a.axis) if a.sign < 0 else np.fft.ifft(x, axis=a.axis) * a.length
    kept = spectrum.take(np.arange(a.results), a.axis) * a.scale
    return kept.real.astype(dtype), kept.imag.astype(dtype)


def _spectrum_of_reals(x: AnyArray, a: FourierAttrs) -> AnyArray:
    """From one half and its mirror image, so that what is real has no imaginary part, not even of rounding."""
    places = np.arange(a.results)
    nearest = np.minimum(places, a.length - places)
    half = np.fft.rfft(x, axis=a.axis).take(nearest, a.axis)
    shape = [a.results if n == x.ndim + a.axis else 1 for n in range(x.ndim)]
    mirrored = ((places > nearest) != (a.sign > 0)).reshape(shape)
    return np.where(mirrored, half.conj(), half)


def compute(
    inputs: Sequence[Sequence[k.Tensor]], a: FourierAttrs, out: k.Result | k.Results
) -> k.Tensor | tuple[k.Tensor, ...]:
    """The kernels of lengths with small factors; others are decomposed, or else added up."""
    results = _fields(out)
    if a.columns:
        return transform_columns(inputs[0], a, results)
    if is_planned(transformed_length(a, len(inputs[0]))):
        made = transform_rows(inputs[0], a, results)
        return made[0] if a.to_real else made
    ends = k.index(0), k.index(a.length)

    def weight(t: k.Scalar) -> k.Scalar:
        at_end = k.tir.Or(k.tir.EQ(t, ends[0]), k.tir.EQ(t * k.index(2), ends[1]))
        return k.select(at_end, k.const(1, LONG), k.const(2, LONG))

    scale = k.const(a.scale, LONG)
    found = sums(inputs[0], a.length, a.sign, results, lambda x: x * scale, weight if a.to_real else None)
    return found[0] if a.to_real else tuple(found)


def _fields(out: Any) -> tuple[k.Result, ...]:
    """The results: `k.Result` is one, `k.Results` are several."""
    return getattr(out, "fields", None) or (out,)


def gradient(b: CallMaker, args: Exprs, a: FourierAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The transform is linear: what is asked for is its transpose, the transform in the other direction.

    Half a spectrum counts twice where it has a mirror image.
    """
    parts = args[0].struct_info.fields
    info = parts[0]
    if a.to_real:
        found = b.op("fourier", b.tuple(grad), length=a.length, sign=-a.sign, scale=a.scale, kept=a.given)
        twice = b.const(np.where(2 * np.arange(a.given) % a.length, 2.0, 1.0), info.dtype)
        return [b.tuple(*(b.op("multiply", b.item(found, n), twice) for n in (0, 1)))]
    grads = [b.item(grad, n) for n in (0, 1)]
    if a.results < a.length:
        wide = tuple((0, a.length - a.results if n == info.ndim + a.axis else 0) for n in range(info.ndim))
        grads = [b.op("nn.pad", g, b.const(0, info.dtype), pad_width=wide) for g in grads]
    found = b.op("fourier", b.tuple(*grads), length=a.length, sign=-a.sign, scale=a.scale, columns=a.columns)
    return [b.tuple(*(b.item(found, n) for n in range(len(parts))))]


def _samples() -> tuple[Sample, ...]:
    real, half = Arr((2, "n", 6)), Arr((3, 5))
    return (
        Sample(((Arr((2, 9)), Arr((2, 9))),), FourierAttrs(9), atol=1e-5),
        Sample(((real,),), FourierAttrs(6, 1, 0.5, 3), atol=1e-5),
        Sample(((half, half),), FourierAttrs(8, 1, to_real=True), atol=1e-5),
        Sample(((half, half),), FourierAttrs(9, -1, to_real=True), atol=1e-5),
        Sample(((Arr((3, 17)),),), FourierAttrs(17), atol=1e-5),
        Sample(((Arr(("n", 6, 17)), Arr(("n", 6, 17))),), FourierAttrs(6, 1, 0.5, 3, columns=True), atol=1e-5),
    )


FOURIER_TRANSFORM = OpDef(
    "fourier",
    FourierAttrs,
    inputs=(Input("parts", "the real parts, and the imaginary ones", kind="tensors"),),
    outputs=lambda a: None if a.to_real else 2,
    infer=infer,
    compute=compute,
    reference=reference,
    decompose=decompose,
    gradient=gradient,
    fusion=Fusion.OPAQUE,
    samples=_samples,
    summary="The discrete Fourier transform of the last axis, of real or complex rows.",
)
