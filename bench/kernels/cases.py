"""The kernels that are measured: products and convolutions at the sizes of well-known models."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from baton._src.ir.target import Target
from baton._src.ir.tensor_info import TensorInfo
from baton._src.lower.kernel_schedules.dot_products.word_plan import packable_words
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.pack_weights import reading_panels
from baton._src.ops.builders import RELAX
from baton._src.ops.nn.attention import ATTENTIONS, AttentionAttrs
from baton._src.ops.nn.convolution.convolution import CONV2D, Conv2DAttrs
from baton._src.passes.pipelines import kernels
from baton._src.passes.relax.operators.kernel_of_call import make_kernel
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import constant_shape
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.passes import Sequential
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class Case:
    """A kernel with the shapes of its arguments, and the floating operations of one call."""

    name: str
    func: PrimFunc
    shapes: tuple[tuple[int, ...], ...]
    flops: float
    dtypes: tuple[str, ...] = ()
    """Of the arguments; float32 where there are none."""


def matmul(m: int | tir.Var, n: int, k: int, transposed: bool = False) -> Case:
    """C[m, n] = A[m, k] B[k, n] (or B[n, k], as weights lie); any number of rows if `m` is a variable."""
    shape = (n, k) if transposed else (k, n)
    a, b = placeholder((m, k), "float32", "a"), placeholder(shape, "float32", "b")
    r = reduce_axis((0, k), "r")
    c = compute((m, n), lambda i, j: reduction.sum(a[i, r] * (b[j, r] if transposed else b[r, j]), r), "c")
    name = f"matmul {m}x{n}x{k}{' (weights n,k)' if transposed else ''}"
    count = m if isinstance(m, int) else 0
    return Case(name, create_prim_func([a, b, c]), ((count, k), shape, (count, n)), 2.0 * count * n * k)


def packed(m: int | tir.Var, n: int, k: int) -> Case:
    """The same with constant weights, which compilation packs."""
    plain = matmul(m, n, k)
    weight = packable_weight(plain.func, Target("llvm"))
    assert weight is not None
    panels = (-(-n // weight.width), k, weight.width)
    func = reading_panels(plain.func, weight)
    return Case(f"{plain.name} (packed)", func, (plain.shapes[0], panels, plain.shapes[2]), plain.flops)


BYTES, HALVES = ("uint8", "int8", "int32"), ("bfloat16", "bfloat16", "float32")


def narrow_matmul(m: int, n: int, k: int, dtypes: tuple[str, ...]) -> Case:
    """C[m, n] = A[m, k] B[k, n] of bytes or bfloat16, B constant."""
    a, b = placeholder((m, k), dtypes[0], "a"), placeholder((k, n), dtypes[1], "b")
    r = reduce_axis((0, k), "r")

    def term(i: Any, j: Any) -> Any:
        return reduction.sum(ops.cast(dtypes[2], a[i, r]) * ops.cast(dtypes[2], b[r, j]), r)

    func = create_prim_func([a, b, compute((m, n), term, "c")])
    shapes: tuple[tuple[int, ...], ...] = ((m, k), (k, n), (m, n))
    weight = packable_words(func, Target("llvm")) or packable_weight(func, Target("llvm"))
    if weight is not None:
        func = reading_panels(func, weight)
        group = (weight.group,) if weight.group > 1 else ()
        shapes = (shapes[0], (-(-n // weight.width), -(-k // weight.group), weight.width, *group), shapes[2])
    return Case(f"{dtypes[1]} matmul {m}x{n}x{k}", func, shapes, 2.0 * m * n * k, dtypes)


def narrow_convolution(ic: int, size: int, oc: int, window: int, dtypes: tuple[str, ...], stride: int = 1) -> Case:
    """NCHW, padded to keep the size, of bytes or bfloat16."""
    pad, kinds = window // 2, [DataType(d) for d in dtypes]
    out = (size + 2 * pad - window) // stride + 1
    shapes = ((1, ic, size, size), (oc, ic, window, window), (1, oc, out, out))
    attrs = Conv2DAttrs(strides=stride, padding=pad, out_dtype=dtypes[2])
    infos = [TensorInfo(s, kind) for s, kind in zip(shapes, kinds, strict=True)]
    func = make_kernel(CONV2D, infos[:2], attrs, infos[2]).function
    flops = 2.0 * oc * out * out * ic * window * window
    return Case(f"{dtypes[1]} conv {window}x{window}/{stride} {ic}->{oc} @{size}", func, shapes, flops, dtypes)


def transpose(rows: int, heads: int, size: int) -> Case:
    """(rows, heads, size) to (heads, size, rows), as the keys of attention; counted as one operation an element."""
    a = placeholder((rows, heads, size), "float32", "a")
    func = create_prim_func([a, compute((heads, size, rows), lambda h, d, s: a[s, h, d], "t")])
    shapes = ((rows, heads, size), (heads, size, rows))
    return Case(f"transpose {rows}x{heads}x{size}", func, shapes, float(rows * heads * size))


def attention(length: int, heads: int = 12, size: int = 64) -> Case:
    """softmax(Q Kᵀ / 8 + bias) V of one batch, operands (batch, length, heads, size); only the products count."""
    whole = (1, length, heads, size)
    shapes = (whole, whole, whole, (1, 1, 1, length))
    infos = [TensorInfo(s, DataType("float32")) for s in shapes]
    func = make_kernel(ATTENTIONS[1], infos, AttentionAttrs(), TensorInfo(whole, DataType("float32"))).function
    name = f"attention {length}x{heads}x{size}"
    return Case(name, func, (*shapes, whole), 4.0 * heads * length * length * size)


def convolution(ic: int, size: int, oc: int, window: int, stride: int = 1) -> Case:
    """NCHW, padded to keep the size, with bias and ReLU."""
    pad = window // 2
    wide, out = size + 2 * pad, (size + 2 * pad - window) // stride + 1
    x, w = placeholder((1, ic, size, size), "float32", "x"), placeholder((oc, ic, window, window), "float32", "w")
    v = placeholder((oc,), "float32", "v")

    def bordered(a: Any, c: Any, i: Any, j: Any) -> Any:
        inside = ops.all(i >= pad, i < size + pad, j >= pad, j < size + pad)
        return if_then_else(inside, x[a, c, i - pad, j - pad], 0.0)

    p = compute((1, ic, wide, wide), bordered, "p") if pad else x
    c, h, u = reduce_axis((0, ic), "c"), reduce_axis((0, window), "h"), reduce_axis((0, window), "u")

    def element(a: Any, o: Any, i: Any, j: Any) -> Any:
        return reduction.sum(p[a, c, i * stride + h, j * stride + u] * w[o, c, h, u], [c, h, u])

    y = compute((1, oc, out, out), element, "y")
    z = compute((1, oc, out, out), lambda a, o, i, j: ops.max(y[a, o, i, j] + v[o], 0.0), "z")
    shapes = ((1, ic, size, size), (oc, ic, window, window), (oc,), (1, oc, out, out))
    name = f"conv {window}x{window}/{stride} {ic}->{oc} @{size}"
    return Case(name, create_prim_func([x, w, v, z]), shapes, 2.0 * oc * out * out * ic * window * window)


def blocked_convolution(ic: int, size: int, oc: int, window: int, stride: int = 1, block: int = 16) -> Case:
    """The same with channels in blocks, weights packed; `ic` 0: depthwise."""
    pad, depthwise = window // 2, ic == 0
    inner = oc if depthwise else ic
    wide, out = size + 2 * pad, (size + 2 * pad - window) // stride + 1
    shape = (1, inner // block, size, size, block)
    taps = (oc // block, 1 if depthwise else ic // block, window, window)
    kernel = (*taps, block) if depthwise else (*taps, block, block)
    x, w = placeholder(shape, "float32", "x"), placeholder(kernel, "float32", "w")
    v = placeholder((oc // block, block), "float32", "v")

    def bordered(a: Any, c: Any, i: Any, j: Any, n: Any) -> Any:
        inside = ops.all(i >= pad, i < size + pad, j >= pad, j < size + pad)
        return if_then_else(inside, x[a, c, i - pad, j - pad, n], 0.0)

    p = compute((1, inner // block, wide, wide, block), bordered, "p") if pad else x
    c, n = reduce_axis((0, ic // block), "c"), reduce_axis((0, block), "n")
    h, u = reduce_axis((0, window), "h"), reduce_axis((0, window), "u")

    def element(a: Any, o: Any, i: Any, j: Any, m: Any) -> Any:
        row, column = i * stride + h, j * stride + u
        if depthwise:
            return reduction.sum(p[a, o, row, column, m] * w[o, 0, h, u, m], [h, u])
        return reduction.sum(p[a, c, row, column, n] * w[o, c, h, u, n, m], [c, n, h, u])

    result = (1, oc // block, out, out, block)
    y = compute(result, element, "y")
    z = compute(result, lambda a, o, i, j, m: ops.max(y[a, o, i, j, m] + v[o, m], 0.0), "z")
    name = f"{'depthwise' if depthwise else 'blocked'} {window}x{window}/{stride} {inner}->{oc} @{size}"
    flops = 2.0 * oc * out * out * max(1, ic) * window * window
    return Case(name, create_prim_func([x, w, v, z]), (shape, kernel, (oc // block, block), result), flops)


def layer(name: str, data: tuple[int, ...], kernel: tuple[int, ...], **attrs: Any) -> Case:
    """A convolution of any kind, channels first; what it is called says whether it is a transposed one. Only products
    with elements of the data count, not those with zeros.
    """
    transposed = name.startswith("transposed")
    relax: Any = RELAX
    operator = getattr(relax.nn, f"conv{len(data) - 2}d{'_transpose' if transposed else ''}")
    x, w = Var("x", TensorStructInfo(list(data), "float32")), Var("w", TensorStructInfo(list(kernel), "float32"))
    builder = BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            result = builder.emit_output(operator(x, w, **attrs))
        builder.emit_func_output(result)
    (func,) = (f for f in Sequential(kernels())(builder.get()).functions.values() if isinstance(f, PrimFunc))
    shapes = [constant_shape(func.buffer_map[p]) or () for p in func.params]
    points = data if transposed else shapes[2]
    return Case(name, func, tuple(shapes), 2.0 * math.prod(points) * math.prod(kernel[1:]))


def layers() -> list[Case]:
    """Kinds of convolutions beside those of ResNet: in groups, depthwise, dilated, transposed, over 1 and 3 axes, of
    odd channels, over several images.
    """
    return [
        layer("conv1d 3, 128->128 @1024", (1, 128, 1024), (128, 128, 3), padding=1),
        layer("conv1d 15/2, 64->64 @4096", (1, 64, 4096), (64, 64, 15), padding=7, strides=2),
        layer("conv1d 3 dilated by 4, 128->128 @1024", (1, 128, 1024), (128, 128, 3), padding=4, dilation=4),
        layer("conv1d 31 depthwise, 256 @1000", (1, 256, 1000), (256, 1, 31), padding=15, groups=256),
        layer("conv3d 3, 32->32 @16x28x28", (1, 32, 16, 28, 28), (32, 32, 3, 3, 3), padding=1),
        layer("conv3d 3, 64->64 @8x14x14", (1, 64, 8, 14, 14), (64, 64, 3, 3, 3), padding=1),
        layer("conv3d 3/2, 64->128 @8x28x28", (1, 64, 8, 28, 28), (128, 64, 3, 3, 3), padding=1, strides=2),
        layer("conv3d 3, 128->128 @4x7x7", (1, 128, 4, 7, 7), (128, 128, 3, 3, 3), padding=1),
        layer("transposed 1d 4/2, 128->64 @512", (1, 128, 512), (128, 64, 4), strides=2, padding=1),
        layer("transposed 2x2/2, 64->32 @56", (1, 64, 56, 56), (64, 32, 2, 2), strides=2),
        layer("transposed 2x2/2, 256->128 @28", (1, 256, 28, 28), (256, 128, 2, 2), strides=2),
        layer("transposed 3x3/2, 64->64 @28", (1, 64, 28, 28), (64, 64, 3, 3), output_padding=1, strides=2, padding=1),
        layer("transposed 4x4/2, 128->64 @28", (1, 128, 28, 28), (128, 64, 4, 4), strides=2, padding=1),
        layer("transposed 4x4/2, 64->3 @64", (1, 64, 64, 64), (64, 3, 4, 4), strides=2, padding=1),
        layer("transposed 3d 2/2, 64->32 @8x14x14", (1, 64, 8, 14, 14), (64, 32, 2, 2, 2), strides=2),
        layer("transposed 3d 4/2, 32->32 @8x14x14", (1, 32, 8, 14, 14), (32, 32, 4, 4, 4), strides=2, padding=1),
        layer("groups of 4, 3x3 128 @56", (1, 128, 56, 56), (128, 4, 3, 3), groups=32, padding=1),
        layer("groups of 8, 3x3 256 @28", (1, 256, 28, 28), (256, 8, 3, 3), groups=32, padding=1),
        layer("groups of 16, 3x3 512 @14", (1, 512, 14, 14), (512, 16, 3, 3), groups=32, padding=1),
        layer("groups of 32, 3x3 1024 @7", (1, 1024, 7, 7), (1024, 32, 3, 3), groups=32, padding=1),
        layer("groups of 8, 3x3/2 256 @56", (1, 256, 56, 56), (256, 8, 3, 3), groups=32, padding=1, strides=2),
        layer("depthwise 3x3 144 @56", (1, 144, 56, 56), (144, 1, 3, 3), groups=144, padding=1),
        layer("depthwise 3x3 times 2, 32->64 @56", (1, 32, 56, 56), (64, 1, 3, 3), groups=32, padding=1),
        layer("depthwise 5x5 240 @28", (1, 240, 28, 28), (240, 1, 5, 5), groups=240, padding=2),
        layer("depthwise 5x5/2 144 @56", (1, 144, 56, 56), (144, 1, 5, 5), groups=144, padding=2, strides=2),
        layer("depthwise 7x7 96 @56", (1, 96, 56, 56), (96, 1, 7, 7), groups=96, padding=3),
        layer("conv 5x5, 32->64 @28", (1, 32, 28, 28), (64, 32, 5, 5), padding=2),
        layer("conv 7x7, 16->32 @56", (1, 16, 56, 56), (32, 16, 7, 7), padding=3),
        layer("conv 3x3 dilated by 2, 64->64 @56", (1, 64, 56, 56), (64, 64, 3, 3), padding=2, dilation=2),
        layer("conv 3x3, 17->17 @56", (1, 17, 56, 56), (17, 17, 3, 3), padding=1),
        layer("conv 3x3, 64->3 @56", (1, 64, 56, 56), (3, 64, 3, 3), padding=1),
        layer("conv 1x1, 64->21 @56", (1, 64, 56, 56), (21, 64, 1, 1)),
        layer("conv 3x3, 64->64 @14, 8 images", (8, 64, 14, 14), (64, 64, 3, 3), padding=1),
        layer("conv 3x3, 512->512 @7, 8 images", (8, 512, 7, 7), (512, 512, 3, 3), padding=1),
    ]


NARROW_PRODUCTS = [(64, 64, 64), (256, 256, 256), (128, 768, 768), (128, 768, 3072), (1, 768, 768)]
RESNET = [
    (64, 56, 64, 3),
    (128, 28, 128, 3),
    (256, 14, 256, 3),
    (512, 7, 512, 3),
    (64, 56, 256, 1),
    (1024, 14, 256, 1),
]
"""Convolutions of ResNet-50: input channels, size, output channels, window."""


def products() -> list[Case]:
    """Products: square ones, then those of transformers, with few rows and with all."""
    return [
        *(matmul(n, n, n) for n in (64, 128, 200, 256, 512, 1024, 3072)),
        packed(4096, 3072, 768),
        matmul(128, 768, 768),
        matmul(128, 768, 768, transposed=True),
        matmul(128, 3072, 768),
        matmul(1, 768, 768),
        matmul(1, 768, 768, transposed=True),
        packed(128, 768, 768),
        packed(128, 3072, 768),
        packed(128, 768, 3072),
        packed(1, 768, 768),
        packed(1, 768, 3072),
        matmul(96, 16, 128),
        matmul(96, 17, 128),
        packed(96, 17, 128),
        matmul(128, 3, 768),
        matmul(8, 768, 768, transposed=True),
        matmul(1, 4096, 4096),
        matmul(1, 4096, 4096, transposed=True),
        packed(1, 4096, 4096),
        *(matmul(m, 4096, 4096) for m in (8, 16, 64)),
        matmul(16, 768, 768),
    ]


def convolutions() -> list[Case]:
    """The convolutions of ResNet as they are, then with channels in blocks."""
    return [
        *(convolution(*sizes) for sizes in RESNET),
        convolution(128, 56, 128, 3, stride=2),
        convolution(3, 224, 64, 7, stride=2),
        *(blocked_convolution(*sizes) for sizes in RESNET),
        blocked_convolution(128, 56, 128, 3, stride=2),
        blocked_convolution(0, 56, 144, 3),
        blocked_convolution(0, 14, 384, 3),
        blocked_convolution(0, 28, 240, 5),
        blocked_convolution(0, 56, 144, 5, stride=2),
        blocked_convolution(0, 56, 96, 7),
    ]


def cases() -> list[Case]:
    """All of them."""
    return [
        *products(),
        *(narrow_matmul(*size, kinds) for kinds in (BYTES, HALVES) for size in NARROW_PRODUCTS),
        *(narrow_convolution(*sizes, kinds) for kinds in (BYTES, HALVES) for sizes in RESNET),
        transpose(128, 12, 64),
        *(attention(length) for length in (32, 128, 512)),
        *convolutions(),
        *layers(),
    ]
