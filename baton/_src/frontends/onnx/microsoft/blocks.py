"""Low-bit weights of the domain `com.microsoft`: blocks of numbers share a scale and a zero point, and several numbers
are packed in a byte, the first in its lowest bits.
"""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.fused import derived
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.index import from_the_front
from baton._src.frontends.onnx.tensors.matrix import matmul
from baton._src.ir.tensor_info import Dim
from baton._src.ops.linalg.block_quantised.dense import suits
from baton._src.ops.linalg.block_quantised.weights import in_panels, packed
from baton._src.values.dtype import INT32, DataType
from baton._src.values.tensor import AnyArray

UINT8, REAL = DataType("uint8"), DataType("float32")


def unpacked(node: OnnxNode, packed: Value, bits: int) -> Value:
    """Unpack bytes (..., n) into numbers of `bits` bits, (..., n * 8 / bits)."""
    if bits not in (2, 4, 8):
        node.fail(f"weights of {bits} bits are not supported; 2, 4 and 8 are")
    if bits == 8:
        return packed
    g, dims = node.graph, packed.shape
    if dims is None:
        node.fail("the shape of its weights must be known", code="onnx-dynamic")
    shifts = g.constant(range(0, 8, bits), UINT8)
    apart = g.call("right_shift", g.call("expand_dims", packed, axis=(len(dims),)), shifts)
    numbers = g.call("bitwise_and", apart, g.constant((1 << bits) - 1, UINT8))
    return g.reshape(numbers, (*dims[:-1], dims[-1] * (8 // bits)))


def _front(node: OnnxNode, x: Value, count: Dim) -> Value:
    """The first `count` elements of the last axis."""
    axis = x.rank - 1
    if x.shape is not None and node.graph.prover.equal(x.shape[axis], count):
        return x
    return node.graph.call("strided_slice", x, axes=(axis,), begin=(0,), end=(count,), strides=(1,))


def in_blocks(node: OnnxNode, whole: Value, scales: Value, zeros: Value, block: int) -> Value:
    """(whole - zeros) * scales; each of the scales and zeros (..., blocks) applies to `block` numbers of the last
    axis.
    """
    g = node.graph
    if whole.shape is None or scales.shape is None:
        node.fail("the shapes of its weights must be known", code="onnx-dynamic")
    (*front, length), blocks = whole.shape, scales.shape[-1]
    if isinstance(length, int) and isinstance(blocks, int) and length < blocks * block:  # the last block is not full
        widths = (0, 0) * (whole.rank - 1) + (0, blocks * block - length)
        whole = g.call("nn.pad", whole, pad_width=widths, pad_value=0.0)
    numbers = g.reshape(g.cast(whole, scales.dtype), (*front, blocks, block))
    real = g.call("subtract", numbers, g.cast(zeros if zeros.rank == 0 else _column(node, zeros), scales.dtype))
    real = g.call("multiply", real, _column(node, scales))
    return _front(node, g.reshape(real, (*front, blocks * block)), length)


def _column(node: OnnxNode, x: Value) -> Value:
    return node.graph.call("expand_dims", x, axis=(x.rank,))


def matmul_nbits(node: OnnxNode) -> Value:
    """a (..., K), b (N, blocks, bytes), scales (N, blocks), zero_points, g_idx, bias (N,)"""
    g = node.graph
    bits, block = int(node.attr("bits", 4)), int(node.needed("block_size"))
    if block < 1:
        node.fail(f"its block_size is {block}, it must be 1 or more")
    inner, outer = int(node.needed("K")), int(node.needed("N"))
    if node.attr("weight_prepacked", 0):
        node.fail("weights packed for one device are not supported")
    blocks = -(-inner // block)
    given, groups, bias = node.optional(3), node.optional(4), node.optional(5)
    constant = all(value is None or value.array is not None for value in (node[1], node[2], given))
    if constant and groups is None and suits(block, bits) and node[0].shape is not None:
        out = _dense(node, bits, block, (outer, blocks))
        return out if bias is None else g.call("add", out, bias)
    scales = g.reshape(node[2], (outer, blocks))
    zeros = zero_points(node, given, (outer, blocks), bits)
    numbers = g.reshape(unpacked(node, node[1], bits), (outer, blocks * block))
    if groups is not None:
        weights = _in_groups(node, _front(node, numbers, inner), scales, zeros, _front(node, groups, inner))
    else:
        weights = _front(node, in_blocks(node, numbers, scales, zeros, block), inner)
    out = matmul(derived(node, node[0], g.transpose(weights, (1, 0))))
    return out if bias is None else g.call("add", out, bias)


def _dense(node: OnnxNode, bits: int, block: int, dims: tuple[int, int]) -> Value:
    """The product with constant weights of few bits, which stay what they are, in `dims` (units, blocks)."""
    g, x = node.graph, node[0]
    units, blocks = dims
    points = _numbers(node, 3, dims, bits) if node.optional(3) is not None else None
    rounded = int(node.attr("accuracy_level", 0)) == 4 and (points is None or points.dtype == np.uint8)
    operands = [
        packed(_numbers(node, 1, (units, blocks * block), bits), bits),
        in_panels(_numbers(node, 2, dims, bits)),
    ]
    operands += [] if points is None else [in_panels(points)]
    rows = g.reshape(g.cast(x, REAL), (-1, int(node.needed("K"))))
    options = {"block": block, "bits": bits, "rounded": rounded}
    found = g.call("nn.block_quantised_dense", rows, *map(g.constant, operands), **options)
    assert x.shape is not None
    return g.cast(g.reshape(_front(node, found, units), (*x.shape[:-1], units)), x.dtype)


def _numbers(node: OnnxNode, operand: int, dims: tuple[int, int], bits: int) -> AnyArray:
    """A constant as a matrix of `dims`; bytes are taken apart into numbers, of which the last of a row may be none."""
    found = np.asarray(node[operand].array)
    if found.dtype == np.uint8:
        places = np.arange(0, 8, bits, dtype="uint8")
        found = (found[..., None] >> places & np.uint8((1 << bits) - 1)).reshape(-1)
    rows, columns = dims
    if found.size % rows or not columns <= found.size // rows < columns + 8 // bits:
        node.fail(f"operand {operand} has {found.size} numbers, {rows} x {columns} are needed")
    return found.reshape(rows, -1)[:, :columns]


def _in_groups(node: OnnxNode, whole: Value, scales: Value, zeros: Value, groups: Value) -> Value:
    """(whole - zeros) * scales; column k of `whole` uses column `groups[k]` of scales and zeros."""
    g = node.graph
    zeros = zeros if zeros.rank == 0 else _of_groups(node, zeros, groups)
    real = g.call("subtract", g.cast(whole, scales.dtype), g.cast(zeros, scales.dtype))
    return g.call("multiply", real, _of_groups(node, scales, groups))


def _of_groups(node: OnnxNode, x: Value, groups: Value) -> Value:
    return node.graph.call("take", x, groups, axis=1, mode="fast")


def zero_points(node: OnnxNode, given: Value | None, dims: tuple[Dim, ...], bits: int) -> Value:
    """The zero points: the middle of the range by default; packed like the weights if they are bytes."""
    g = node.graph
    if given is None:
        return g.constant(1 << (bits - 1), UINT8)
    if given.dtype != UINT8:
        return g.reshape(given, dims)
    return _front(node, unpacked(node, g.reshape(given, (*dims[:-1], -1)), bits), dims[-1])


NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""The values of NormalFloat's codes: quantiles of a normal distribution (Dettmers et al., arXiv 2305.14314)."""
_FP4 = (0.0, 0.005208333333333333, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25)
FP4 = (*_FP4, *(-v for v in _FP4))
"""The values of the codes of bitsandbytes' 4-bit floats."""


def matmul_bnb4(node: OnnxNode) -> Value:
    """a (..., K), codes (N * K / 2,), the maximum of each block of N * K numbers; the first code is in the high bits"""
    g, block = node.graph, int(node.needed("block_size"))
    inner, outer, kind = (int(node.needed(name)) for name in ("K", "N", "quant_type"))
    if kind not in (0, 1):
        node.fail(f"quant_type {kind} is not known; 0 (FP4) and 1 (NF4) are")
    table = g.constant(NF4 if kind else FP4, node[2].dtype)
    pairs = g.call("right_shift", g.call("expand_dims", node[1], axis=(1,)), g.constant((4, 0), UINT8))
    codes = g.reshape(g.call("bitwise_and", pairs, g.constant(15, UINT8)), (-1,))
    numbers = g.call("take", table, g.cast(_front(node, codes, inner * outer), INT32), axis=0, mode="fast")
    weights = in_blocks(node, numbers, node[2], g.constant(0, UINT8), block)
    matrix = g.reshape(weights, (outer, inner))
    return matmul(derived(node, node[0], g.transpose(matrix, (1, 0)) if node.attr("transB", 1) else matrix))


def gather_block_quantized(node: OnnxNode) -> Value:
    """data, indices, scales, zero_points: rows of a low-bit table, dequantised."""
    g, data, scales = node.graph, node[0], node[2]
    bits, block, axis = int(node.attr("bits", 4)), int(node.attr("block_size", 128)), node.axis(0, 0, "gather_axis")
    if axis != 0 or node.axis(1, 0, "quantize_axis") != data.rank - 1 or data.dtype.is_float:
        node.fail("only rows (gather_axis 0) of integers in blocks along the last axis are supported")
    if scales.rank not in (-1, data.rank):
        node.fail(f"its scales are {scales}, they must have as many axes as its data", code="op-shape")
    indices = from_the_front(node, node[1], data, 0)
    rows, row_scales = (g.call("take", x, indices, axis=0, mode="fast") for x in (data, scales))
    zeros = node.optional(3)
    row_zeros = None if zeros is None else g.call("take", zeros, indices, axis=0)
    if data.dtype != UINT8:
        plain = g.constant(0, UINT8) if row_zeros is None else row_zeros
        return in_blocks(node, g.cast(rows, scales.dtype), row_scales, plain, block)
    dims = tuple(row_scales.shape or ())
    return in_blocks(node, unpacked(node, rows, bits), row_scales, zero_points(node, row_zeros, dims, bits), block)


CONTRIB_BLOCKS: dict[str, Converter] = {
    "MatMulNBits": matmul_nbits, "MatMulBnb4": matmul_bnb4, "GatherBlockQuantized": gather_block_quantized,
}  # fmt: skip
