"""The kernels that are measured: products and convolutions at the sizes of well-known models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.scalar_functions import if_then_else


@dataclass(frozen=True)
class Case:
    """A kernel with the shapes of its arguments, and the floating operations of one call."""

    name: str
    func: PrimFunc
    shapes: tuple[tuple[int, ...], ...]
    flops: float


def matmul(m: int, n: int, k: int, transposed: bool = False) -> Case:
    """C[m, n] = A[m, k] B[k, n] (or B[n, k], as weights lie)."""
    shape = (n, k) if transposed else (k, n)
    a, b = placeholder((m, k), "float32", "a"), placeholder(shape, "float32", "b")
    r = reduce_axis((0, k), "r")
    c = compute((m, n), lambda i, j: reduction.sum(a[i, r] * (b[j, r] if transposed else b[r, j]), r), "c")
    name = f"matmul {m}x{n}x{k}{' (weights n,k)' if transposed else ''}"
    return Case(name, create_prim_func([a, b, c]), ((m, k), shape, (m, n)), 2.0 * m * n * k)


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


def cases() -> list[Case]:
    """All of them."""
    return [
        matmul(64, 64, 64),
        matmul(256, 256, 256),
        matmul(512, 512, 512),
        matmul(1024, 1024, 1024),
        matmul(128, 768, 768),
        matmul(128, 768, 768, transposed=True),
        matmul(128, 3072, 768),
        matmul(1, 768, 768),
        matmul(1, 768, 768, transposed=True),
        convolution(64, 56, 64, 3),
        convolution(128, 28, 128, 3),
        convolution(256, 14, 256, 3),
        convolution(512, 7, 512, 3),
        convolution(64, 56, 256, 1),
        convolution(1024, 14, 256, 1),
        convolution(128, 56, 128, 3, stride=2),
        convolution(3, 224, 64, 7, stride=2),
    ]
