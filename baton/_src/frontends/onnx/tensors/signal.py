"""Fourier transforms, as products with matrices made while importing, and the mel scale. Lengths of
transforms must be known."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import dtype_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as tir_max
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray

MAX_LENGTH = 1 << 13
"""A transform of length n costs an n x n matrix."""


def dft(node: OnnxNode) -> Value:
    """[..., length, ..., 1 or 2] to [..., length or length/2+1, ..., 2] (one real part when inverse and one-sided)."""
    g, x, rank = node.graph, node[0], node.rank()
    length = node.constant(1, "dft_length")
    given = node.constant(2, "axis") if node.opset >= 20 else None
    axis = int(given.reshape(-1)[0]) if given is not None else int(node.attr("axis", -2 if node.opset >= 20 else 1))
    axis = node.place(axis, rank)
    size = None if x.shape is None else x.shape[axis]
    if not isinstance(size, int):
        node.fail("the length must be known", code="onnx-dynamic")
    order = [a for a in range(rank - 1) if a != axis] + [axis, rank - 1]
    back = [order.index(a) for a in range(rank)]
    wanted = size if length is None else int(length.reshape(-1)[0])
    one_sided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    if one_sided and inverse and length is None:
        wanted = 2 * (size - 1)
    found = _transform(node, g.transpose(x, order), wanted, inverse, one_sided)
    return g.transpose(found, back)


def _transform(node: OnnxNode, x: Value, length: int, inverse: bool, one_sided: bool) -> Value:
    """The transform of [..., size, 1 or 2] along its last but one axis, cut or padded with zeros to `length`."""
    g, shape = node.graph, x.shape
    assert shape is not None
    size, parts = shape[-2], shape[-1]
    assert isinstance(size, int)
    if not isinstance(parts, int) or parts not in (1, 2):
        node.fail(f"the last axis must be known to hold 1 number (real) or 2 (complex), not {parts}")
    if length > MAX_LENGTH:
        node.fail(f"transforms of length {length} are not supported", help=f"at most {MAX_LENGTH}")
    if length < 1:
        node.fail(f"the transform of {x} would have length {length}, it must be 1 or more", code="op-shape")
    matrix = _matrix(length, inverse)
    if inverse and one_sided:
        real, imaginary = _from_half(matrix, length, size)
    else:
        rows = min(size, length)
        columns = length // 2 + 1 if one_sided else length
        real, imaginary = (np.zeros((size, columns)) for _ in range(2))
        real[:rows], imaginary[:rows] = matrix.real[:rows, :columns], matrix.imag[:rows, :columns]
    a = _part(node, x, 0)
    out = [_times(node, a, real), _times(node, a, imaginary)]
    if parts == 2:
        b = _part(node, x, 1)
        out[0] = g.call("subtract", out[0], _times(node, b, imaginary))
        out[1] = g.call("add", out[1], _times(node, b, real))
    return g.call("stack", tuple(out[:1] if inverse and one_sided else out), axis=len(shape) - 1)


def _from_half(matrix: AnyArray, length: int, size: int) -> tuple[AnyArray, AnyArray]:
    """What turns half a spectrum back into a real signal: the other half is its mirror image, conjugated."""
    rows = min(size, length // 2 + 1)
    real, imaginary = np.zeros((size, length)), np.zeros((size, length))
    for k in range(rows):
        twice = k > 0 and 2 * k != length
        real[k] = matrix.real[k] * (2 if twice else 1)
        imaginary[k] = matrix.imag[k] * (2 if twice else 1)
    return real, imaginary


def _matrix(length: int, inverse: bool) -> AnyArray:
    at = np.arange(length)
    angle = 2 * np.pi * ((at[:, None] * at[None, :]) % length) / length
    found: AnyArray = np.exp((1j if inverse else -1j) * angle) / (length if inverse else 1)
    return found


def _part(node: OnnxNode, x: Value, index: int) -> Value:
    return node.graph.call("take", x, node.graph.constant(index, "int64"), axis=x.rank - 1)


def _times(node: OnnxNode, x: Value, matrix: AnyArray) -> Value:
    return node.graph.call("matmul", x, node.graph.constant(matrix, x.dtype))


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
    return _transform(node, frames, length, inverse=False, one_sided=bool(node.attr("onesided", 1)))


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
