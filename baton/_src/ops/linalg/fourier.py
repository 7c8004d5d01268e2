"""dft and stft: the discrete Fourier transform of the last axis, and of windows that slide over a signal.

    dft    (re, im) -> X[f] = sum over t of x[t] * exp(-2 pi i f t / n); inverse: the other sign, divided by n
    stft   (rows, length) -> (rows, frequencies, frames, 2): the transform of window * frame, real and imaginary part

Where lengths are known both are decomposed into `fourier`; else they are sums.
Source: facts relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    Argument,
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    NotApplicable,
    OpCall,
    OpDef,
    OwnMaker,
)
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, as_dim, show_shape
from baton._src.ops.linalg.fourier_sums import LONG, sums, tables
from baton._src.ops.linear_axes import known_dims, named_dims
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.said_dims import said_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray


@attrs
class DftAttrs(Attrs):
    """Direction."""

    inverse: bool = attr(False, "the inverse transform")


@attrs
class StftAttrs(Attrs):
    """Frames and what is kept of them."""

    n_fft: int = attr(doc="elements of a frame")
    hop_length: int = attr(doc="step of the frames")
    win_length: int = attr(doc="elements of the window; as many as a frame has")
    normalized: bool = attr(False, "divide by the root of n_fft")
    onesided: bool = attr(True, "the frequencies up to half only")

    @property
    def frequencies(self) -> int:
        return self.n_fft // 2 + 1 if self.onesided else self.n_fft


def infer_dft(call: OpCall[DftAttrs]) -> Info:
    """Both parts as they are given."""
    re, im = call.tensor(0), call.tensor(1)
    same_dtype(call, (re, im))
    check_floats(call, 0, 1)
    if re.ndim == 0:
        call.fail("needs an axis to transform")
    math = DimMath(call.prover)
    if re.shape is not None and im.shape is not None:
        if re.ndim != im.ndim or any(math.equal(d, e) is False for d, e in zip(re.shape, im.shape)):
            call.fail(f"both parts must have one shape, got {show_shape(re.shape)} and {show_shape(im.shape)}")
    return TupleInfo((re, re))


def compute_dft(inputs: Sequence[k.Tensor], a: DftAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
    """One sum for each number."""
    length = inputs[0].shape[-1]
    count = k.cast(LONG, k.index(length))
    scaled = (lambda total: total / count) if a.inverse else (lambda total: total)
    return tuple(sums(inputs, length, 1.0 if a.inverse else -1.0, out.fields, scaled))


def decompose_dft(b: CallMaker, args: Exprs, a: DftAttrs, out: TensorInfo) -> GraphExpr | None:
    """`fourier`, where the length is known."""
    length = _number(args[0], -1)
    if not length:
        return None
    sign, scale = (1, 1 / length) if a.inverse else (-1, 1.0)
    return b.op("fourier", b.tuple(*args), length=length, sign=sign, scale=scale)


def _number(arg: GraphExpr, axis: int) -> int | None:
    """The size of an axis, if it is known and the other ones are, at least by name."""
    shape = said_dims(arg.struct_info_)
    size = as_dim(shape[axis]) if shape else None
    return size if isinstance(size, int) else None


def reference_dft(inputs: Sequence[AnyArray], a: DftAttrs) -> tuple[AnyArray, ...]:
    """NumPy's."""
    re, im = inputs
    value = re.astype(np.float64) + 1j * im.astype(np.float64)
    transform = np.fft.ifft if a.inverse else np.fft.fft
    found = transform(value) if value.size else value  # NumPy transforms no empty rows
    return found.real.astype(re.dtype), found.imag.astype(re.dtype)


def gradient_dft(b: CallMaker, args: Exprs, a: DftAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The transform is linear, and its transpose is the transform in the other direction, scaled."""
    info = args[0].struct_info
    count = float(*known_dims(named_dims(info, "dft")[-1:], "dft"))
    made = b.op("dft", b.item(grad, 0), b.item(grad, 1), inverse=not a.inverse)
    factor = b.const(1 / count if a.inverse else count, info.dtype)
    return [b.op("multiply", b.item(made, n), factor) for n in (0, 1)]


def infer_stft(call: OpCall[StftAttrs]) -> Info:
    """(rows, frequencies, frames, 2)"""
    x, window, a = call.tensor(0), call.tensor(1), call.attrs
    check_floats(call, 0)
    if a.n_fft < 1 or a.hop_length < 1:
        call.fail(f"n_fft {a.n_fft} and hop_length {a.hop_length} must be positive", code="op-attribute")
    if a.win_length != a.n_fft:
        help = "pad the window with zeros to n_fft elements"
        call.fail(f"win_length {a.win_length} must be n_fft, {a.n_fft}", code="op-attribute", help=help)
    if x.ndim not in (-1, 2) or window.ndim not in (-1, 1):
        call.fail(f"takes (rows, length) and a window, got {show_shape(x.shape, x.ndim)}")
    if window.shape is not None and DimMath(call.prover).equal(window.shape[0], a.win_length) is False:
        call.fail(f"the window has {window.shape[0]} elements, win_length is {a.win_length}")
    if x.shape is None:
        return TensorInfo(None, x.dtype, 4)
    math = DimMath(call.prover)
    if math.at_most(a.n_fft, x.shape[1]) is False:
        call.fail(f"a frame of {a.n_fft} does not fit into {x.shape[1]} elements")
    room = math.subtract(x.shape[1], a.n_fft)
    frames = math.add(math.floor_divide(room, a.hop_length), 1)
    return TensorInfo((x.shape[0], a.frequencies, frames, 2), x.dtype)


def compute_stft(inputs: Sequence[k.Tensor], a: StftAttrs, out: k.Result) -> k.Tensor:
    """One sum for each number."""
    x, window = inputs
    cosines, sines = tables(a.n_fft, -1.0)
    axis = k.reduce_axis(a.n_fft, "t")

    def body(row: k.Scalar, f: k.Scalar, frame: k.Scalar, part: k.Scalar) -> k.Scalar:
        place = f * axis.var % k.index(a.n_fft)
        value = k.cast(LONG, x(row, frame * k.index(a.hop_length) + axis.var)) * k.cast(LONG, window(axis.var))
        factor = k.select(k.tir.EQ(part, k.index(0)), cosines(place), sines(place))
        return k.reduce_sum(value * factor, [axis])

    sums = k.compute(out.shape, body, "stft")
    factor = k.const(a.n_fft**-0.5 if a.normalized else 1.0, LONG)
    return k.compute(out.shape, lambda *i: k.cast(out.dtype, sums(*i) * factor), "stft_scaled")


def decompose_stft(b: CallMaker, args: Exprs, a: StftAttrs, out: TensorInfo) -> GraphExpr | None:
    """`fourier` of all frames times the window, where the signal's length is known."""
    x, window = args
    length, dtype = _number(x, 1), x.struct_info.dtype
    if not length or window.struct_info.dtype != dtype:
        return None
    frames = (length - a.n_fft) // a.hop_length + 1
    places = (np.arange(frames) * a.hop_length)[:, None] + np.arange(a.n_fft)
    seen = b.op("multiply", b.op("take", x, b.const(places, "int64"), axis=1), window)
    scale = a.n_fft**-0.5 if a.normalized else 1.0
    found = b.op("fourier", b.tuple(seen), length=a.n_fft, scale=scale, kept=a.frequencies)
    parts = [b.op("permute_dims", b.item(found, n), axes=(0, 2, 1)) for n in (0, 1)]
    return b.op("stack", b.tuple(*parts), axis=3)


def reference_stft(inputs: Sequence[AnyArray], a: StftAttrs) -> AnyArray:
    """NumPy's transform of every frame."""
    x, window = inputs
    starts = range(0, x.shape[1] - a.n_fft + 1, a.hop_length)
    frames = np.stack([x[:, s : s + a.n_fft].astype(np.float64) * window for s in starts], axis=1)
    found = np.fft.fft(frames)[..., : a.frequencies].transpose(0, 2, 1)
    found = found / np.sqrt(a.n_fft) if a.normalized else found
    return np.stack([found.real, found.imag], axis=-1).astype(x.dtype)


def relay_stft(
    make: OwnMaker,
    data: GraphExpr,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Argument = None,
    normalized: bool = False,
    onesided: bool = True,
) -> GraphExpr:
    """A quarter of a frame as step, a window of ones, where they are left out."""
    given: dict[str, object] = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length}
    for name, value in given.items():
        if not isinstance(value, (int, np.integer, IntImm)) and (value is not None or name == "n_fft"):
            message = f"stft: {name} must be a number, got {type(value).__name__}: {value!r}"
            raise fail("op-attribute", message, kind=TypeError)
    length = win_length or n_fft
    window = make.const(np.ones(max(int(length), 0), "float32")) if window is None else window
    options = {"normalized": normalized, "onesided": onesided}
    return make(data, window, n_fft=n_fft, hop_length=hop_length or n_fft // 4, win_length=length, **options)


DFT = OpDef(
    "dft",
    DftAttrs,
    inputs=(Input("re_data", "real parts"), Input("im_data", "imaginary parts")),
    outputs=2,
    infer=infer_dft,
    compute=compute_dft,
    decompose=decompose_dft,
    reference=reference_dft,
    gradient=gradient_dft,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 6)), Arr(("n", 6))), DftAttrs(), atol=1e-5),
        Sample((Arr((2, 2, 5)), Arr((2, 2, 5))), DftAttrs(True), atol=1e-5),
        Sample((Arr(("k",), "float64"), Arr(("k",), "float64")), DftAttrs(), atol=1e-8),
    ),
    summary="The discrete Fourier transform along the last axis.",
)
STFT = OpDef(
    "stft",
    StftAttrs,
    inputs=(Input("data", "(rows, length)"), Input("window", "what frames are multiplied by")),
    infer=infer_stft,
    compute=compute_stft,
    decompose=decompose_stft,
    reference=reference_stft,
    fusion=Fusion.OPAQUE,
    gradient=NotApplicable("Relay does not offer it"),
    in_relax=False,
    relay_builder=relay_stft,
    samples=lambda: (
        Sample((Arr(("n", 13)), Arr((4,))), StftAttrs(4, 2, 4), atol=1e-5),
        Sample((Arr((1, 9)), Arr((5,))), StftAttrs(5, 1, 5, True, False), atol=1e-5),
    ),
    summary="The short-time Fourier transform of a signal.",
)

FOURIER: tuple[Definition, ...] = (DFT, STFT)
