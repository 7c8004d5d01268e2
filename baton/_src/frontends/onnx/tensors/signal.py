"""Fourier transforms (of open lengths products with matrices that the program makes), and the mel scale."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.fourier import fourier
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import dtype_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as tir_max
from baton._src.values.dtype import FLOAT64, INT64


def dft(node: OnnxNode) -> Value:
    """[..., length, ..., 1 or 2] to [..., length or length/2+1, ..., 2] (one real part when inverse and one-sided)."""
    g, x, rank = node.graph, node[0], node.rank()
    lengths = node.optional(1)
    given = node.constant(2, "axis") if node.opset >= 20 else None
    axis = int(given.reshape(-1)[0]) if given is not None else int(node.attr("axis", -2 if node.opset >= 20 else 1))
    axis = node.place(axis, rank)
    if axis == rank - 1:
        node.fail(f"axis {axis} holds the real and the imaginary parts of {x}", help="transform an axis before it")
    if x.shape is None:
        node.fail("the axes must be known", code="onnx-dynamic")
    size, one_sided, inverse = x.shape[axis], bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    known = None if lengths is None else g.numbers(lengths)
    if lengths is not None and known is None:
        node.fail("dft_length must be a constant, or a size", code="onnx-dynamic")
    wanted: Dim = size if known is None else known.reshape(-1)[0]
    if one_sided and inverse and known is None:
        wanted = 2 * (size - 1)
    if isinstance(size, int) and isinstance(wanted, int):
        return _transform(node, x, axis, wanted, inverse, one_sided)
    if not g.prover.equal(size, wanted):
        node.fail(
            f"a transform of {size} elements with {wanted} frequencies must have known lengths", code="onnx-dynamic"
        )
    order = [a for a in range(rank - 1) if a != axis] + [axis, rank - 1]
    found = _of_open_length(node, g.transpose(x, order), size, inverse, one_sided)
    return g.transpose(found, [order.index(a) for a in range(rank)])


def _transform(node: OnnxNode, x: Value, axis: int, length: int, inverse: bool, one_sided: bool) -> Value:
    """The transform along an axis of [..., 1 or 2], cut or padded with zeros to `length`."""
    g, count = node.graph, x.shape[-1] if x.shape is not None else None
    if not isinstance(count, int) or count not in (1, 2):
        node.fail(f"the last axis must be known to hold 1 number (real) or 2 (complex), not {count}")
    if length < 1:
        node.fail(f"the transform of {x} would have length {length}, it must be 1 or more", code="op-shape")
    to_real = inverse and one_sided
    size = length // 2 + 1 if to_real else length
    parts = [_of_size(node, _part(node, x, n), axis, size) for n in range(count)]
    if to_real and count == 1:
        parts.append(g.call("zeros_like", parts[0]))
    sign, scale = (1, 1 / length) if inverse else (-1, 1.0)
    kept = length // 2 + 1 if one_sided and not to_real else length
    found = fourier(g, parts, axis, length=length, sign=sign, scale=scale, kept=kept, to_real=to_real)
    return g.call("stack", tuple(found), axis=x.rank - 1)


def _of_size(node: OnnxNode, x: Value, axis: int, size: int) -> Value:
    """Cut, or zeros appended, along an axis."""
    g = node.graph
    given = x.shape[axis] if x.shape is not None else None
    if not isinstance(given, int) or given == size:
        return x
    if given > size:
        return g.call("strided_slice", x, axes=(axis,), begin=(0,), end=(size,), strides=(1,))
    width = tuple((0, size - given if a == axis else 0) for a in range(x.rank))
    return g.call("nn.pad", x, pad_width=width)


def _product(node: OnnxNode, x: Value, real: Value, imaginary: Value) -> list[Value]:
    """The real and the imaginary part of the product of [..., size, 1 or 2] and a matrix."""
    g, a = node.graph, _part(node, x, 0)
    out = [g.call("matmul", a, real), g.call("matmul", a, imaginary)]
    if x.shape is not None and x.shape[-1] == 2:
        b = _part(node, x, 1)
        out[0] = g.call("subtract", out[0], g.call("matmul", b, imaginary))
        out[1] = g.call("add", out[1], g.call("matmul", b, real))
    return out


def _of_open_length(node: OnnxNode, x: Value, length: Dim, inverse: bool, one_sided: bool) -> Value:
    """The transform of [..., length, 1 or 2] by a matrix that the program makes."""
    g, rank = node.graph, x.rank
    if x.shape is None or x.shape[-1] not in (1, 2) or (inverse and one_sided):
        node.fail("real numbers from half a spectrum must be of known length", code="onnx-dynamic")
    columns = length // 2 + 1 if one_sided else length
    at = [g.call("arange", start=0, stop=count, step=1, dtype=INT64) for count in (length, columns)]
    turns = g.call("multiply", g.reshape(at[0], (length, 1)), g.reshape(at[1], (1, columns)))
    part = g.cast(g.call("floor_mod", turns, g.dims(length)), FLOAT64)
    count = g.cast(g.dims(length), FLOAT64)
    angle = g.call("divide", g.call("multiply", part, g.constant((1 if inverse else -1) * 2 * np.pi)), count)
    matrix = [g.call("cos", angle), g.call("sin", angle)]
    if inverse:
        matrix = [g.call("divide", m, count) for m in matrix]
    real, imaginary = (g.cast(m, x.dtype) for m in matrix)
    return g.call("stack", tuple(_product(node, x, real, imaginary)), axis=rank - 1)


def _part(node: OnnxNode, x: Value, index: int) -> Value:
    """The real or the imaginary parts."""
    if x.shape is not None and x.shape[-1] == 1:
        return node.graph.reshape(x, x.shape[:-1])
    return node.graph.call("take", x, node.graph.constant(index, "int64"), axis=x.rank - 1)


def stft(node: OnnxNode) -> Value:
    """[batch, length, 1 or 2] to [batch, frames, bins, 2]: the transform of overlapping frames. The signal's length may
    be open. What PyTorch exports leaves out the last axis of real signals."""
    g, x = node.graph, node[0]
    if x.rank == 2:
        x = g.call("expand_dims", x, axis=(2,))
    step_array, window, length_array = (
        node.constant(1, "frame_step"),
        node.optional(2),
        node.constant(3, "frame_length"),
    )
    if x.shape is None or step_array is None:
        node.fail("the signal's rank and the frame_step must be known", code="onnx-dynamic")
    step = int(step_array.reshape(-1)[0])
    length = int(length_array.reshape(-1)[0]) if length_array is not None else None
    if length is None:
        extent = None if window is None or window.shape is None else window.shape[0]
        if not isinstance(extent, int):
            node.fail("neither frame_length nor a window of known length is given")
        length = extent
    if length < 1 or step < 1:
        node.fail(f"frames of {length} every {step} places: both must be 1 or more")
    frames = g.call("take", x, _frame_places(node, x.shape[1], length, step), axis=1)
    if window is not None:
        frames = g.call("multiply", frames, g.reshape(window, (length, 1)))
    return _transform(node, frames, 2, length, inverse=False, one_sided=bool(node.attr("onesided", 1)))


def _frame_places(node: OnnxNode, size: Dim, length: int, step: int) -> Value:
    """int64 [frames, length]: where the elements of each frame lie in a signal of `size`."""
    g, within = node.graph, np.arange(length, dtype=np.int64)[None, :]
    if isinstance(size, int):
        if length > size:
            node.fail(f"a frame of {length} is longer than the signal of {size}")
        return g.constant((np.arange((size - length) // step + 1) * step)[:, None] + within)
    count = tir_max((size - length) // step + 1, 0)
    starts = g.call("multiply", g.call("arange", start=0, stop=count, step=1, dtype=INT64), g.constant(np.int64(step)))
    return g.call("add", g.reshape(starts, (count, 1)), g.constant(within))


_MEL = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")


def mel_weight_matrix(node: OnnxNode) -> Value:
    """[spectrogram bins, mel bins]: triangles of height one, whose corners lie evenly on the mel scale.

    mel = 2595 log10(1 + hertz / 700). A triangle without a rising side is one at its middle.
    """
    given = [node.constant(i, name) for i, name in enumerate(_MEL)]
    count, length, rate, *edges = (float(v.reshape(-1)[0]) for v in given if v is not None)
    if min(count, length, rate) < 1:
        node.fail(f"its numbers {', '.join(_MEL[:3])} are {count}, {length}, {rate}: all must be 1 or more")
    low, high = (2595.0 * np.log10(1.0 + e / 700.0) for e in edges)
    points = low + np.arange(int(count) + 2) * (high - low) / (int(count) + 2)
    corners = ((length + 1) * 700.0 * (10.0 ** (points / 2595.0) - 1.0) // rate).astype(np.int64)
    left, middle, right = corners[:-2], corners[1:-1], corners[2:]
    bins = np.arange(int(length) // 2 + 1)[:, None]
    rising = np.where(left == middle, bins == middle, (bins - left) / np.maximum(middle - left, 1))
    falling = (right - bins) / np.maximum(right - middle, 1)
    matrix = np.where((bins >= left) & (bins <= middle), rising, 0.0)
    matrix = np.where((bins >= middle) & (bins < right), falling, matrix)
    code = node.attr("output_datatype")
    return node.graph.constant(matrix, dtype_of(int(code), node.title) if code else "float32")


SIGNAL: dict[str, Converter] = {"DFT": dft, "STFT": stft, "MelWeightMatrix": mel_weight_matrix}
