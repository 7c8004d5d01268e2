"""Winograd's convolution in two operators: nn.contrib_conv2d_winograd_weight_transform, ..._without_weight_transform.

    weight_transform            kernel (O, I, r, r) -> (m + r - 1, m + r - 1, O, I)     U = G g Gᵀ
    without_weight_transform    data NCHW, U -> the convolution                         Y = Aᵀ (U * Bᵀ d B) A

Tiles of m x m results come from (m + r - 1)² products instead of m² r². The three matrices are those of Toom and Cook
for the points 0, 1, -1, 2, -2, 1/2, -1/2, ... and infinity. nn.conv2d's own kernels do this by themselves where it is
quicker; these operators are for programs that say it. Source: Lavin and Gray, Fast Algorithms for Convolutional Neural
Networks; facts relay-language §6 level 10.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, known_dim, show_shape
from baton._src.ops.layout_names import layout_over
from baton._src.ops.linalg.products import product_dtype, rounded
from baton._src.ops.nn.convolution.convolution import Conv2DAttrs
from baton._src.ops.nn.convolution.geometry import normalise_geometry
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.positional import by_name
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import np_padded, padded, window_extent
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

_POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1 / 3, -1 / 3)
_NO_SLOPE = NotApplicable("kernels are transformed after differentiation")


@functools.cache
def matrices(m: int, r: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(A, B, G) for m results of a kernel of r: (n, m), (n, n), (n, r) with n = m + r - 1, in float64."""
    n = m + r - 1
    points = np.array(_POINTS[: n - 1])
    a, b, g = np.zeros((n, m)), np.zeros((n, n)), np.zeros((n, r))
    for j, point in enumerate(points):
        others = np.delete(points, j)
        a[j] = point ** np.arange(m)
        g[j] = point ** np.arange(r) / np.prod(point - others)
        b[: n - 1, j] = np.atleast_1d(np.poly(others))[::-1]
    a[-1, -1] = g[-1, -1] = 1.0
    b[:, -1] = np.atleast_1d(np.poly(points))[::-1]
    return a, b, g


@attrs
class WeightTransformAttrs(Attrs):
    """Tiles."""

    tile_size: int = attr(doc="extent of a tile of results")


@attrs
class WinogradAttrs(Conv2DAttrs):
    """Tiles, and a convolution's geometry."""

    tile_size: int = attr(2, "extent of a tile of results")

    def __post_init__(self) -> None:
        normalise_geometry(self, "OI")


def _check_tile(call: OpCall[Attrs], m: int, r: int) -> None:
    if m < 1 or r < 1 or m + r - 2 > len(_POINTS):
        call.fail(f"tile_size {m} for a kernel of {r} is out of range", code="op-attribute")


def _table(matrix: AnyArray, dtype: DataType, name: str) -> k.Tensor:
    """A small matrix as a tensor."""

    def body(i: k.Scalar, j: k.Scalar) -> k.Scalar:
        value, place = k.const(0, dtype), i * k.index(matrix.shape[1]) + j
        for number, element in enumerate(matrix.ravel().tolist()):
            value = k.select(k.tir.EQ(place, k.index(number)), k.const(element, dtype), value) if element else value
        return value

    return k.compute(matrix.shape, body, name)


def infer_weight(call: OpCall[WeightTransformAttrs]) -> Info:
    """(n, n, O, I)"""
    w, m = call.tensor(0), call.attrs.tile_size
    check_floats(call, 0)
    check_ranks(call, 4)
    if w.shape is None:
        return TensorInfo(None, w.dtype, 4)
    o, i, rows, columns = w.shape
    if not isinstance(rows, int) or DimMath(call.prover).equal(rows, columns) is False:
        call.fail(f"the kernel must be square, got {show_shape(w.shape)}")
    _check_tile(call, m, rows)
    return TensorInfo((m + rows - 1, m + rows - 1, o, i), w.dtype)


def compute_weight(inputs: Sequence[k.Tensor], a: WeightTransformAttrs, out: k.Result) -> k.Tensor:
    """One reduction over both axes of the kernel."""
    (w,) = inputs
    kept, r = accumulator(out.dtype), known_dim(w.shape[3])
    table = _table(matrices(a.tile_size, r)[2], kept, "G")
    axes = [k.reduce_axis(r, name) for name in ("p", "q")]
    p, q = (axis.var for axis in axes)

    def body(x: k.Scalar, y: k.Scalar, o: k.Scalar, i: k.Scalar) -> k.Scalar:
        return k.reduce_sum(k.cast(kept, w(o, i, p, q)) * table(x, p) * table(y, q), axes)

    return rounded(k.compute(out.shape, body, "transform_weight"), out.dtype)


def reference_weight(inputs: Sequence[AnyArray], a: WeightTransformAttrs) -> AnyArray:
    """G g Gᵀ"""
    g = matrices(a.tile_size, inputs[0].shape[3])[2]
    found: AnyArray = np.einsum("xp,oipq,yq->xyoi", g, inputs[0].astype(np.float64), g).astype(inputs[0].dtype)
    return found


def infer(call: OpCall[WinogradAttrs]) -> Info:
    """Extents as those of a convolution; the kernel's from the tiles'."""
    x, u, a = call.tensor(0), call.tensor(1), call.attrs
    if a.data_layout != "NCHW" or a.out_layout not in ("", "NCHW") or a.strides != (1, 1) or a.dilation != (1, 1):
        call.fail("takes NCHW data, strides and dilation of 1", code="op-attribute", help="nn.conv2d takes the others")
    if a.groups != 1:
        call.fail("takes one group", code="op-attribute", help="nn.conv2d takes several")
    dtype = product_dtype(call, x, u, a.out_dtype)
    if dtype.is_int or dtype.is_bool:
        call.fail(f"multiplies by fractions, so the result cannot be {dtype}", code="op-dtype", help="use nn.conv2d")
    check_ranks(call, 4, 4)
    if x.shape is None or u.shape is None:
        return TensorInfo(None, dtype, 4)
    rows, columns, outputs, channels = u.shape
    if not isinstance(rows, int) or DimMath(call.prover).equal(rows, columns) is False:
        call.fail(f"the kernel must be (n, n, O, I), got {show_shape(u.shape)}")
    r = rows - a.tile_size + 1
    _check_tile(call, a.tile_size, r)
    if a.kernel_size not in (None, (r, r)):
        call.fail(f"kernel_size is {a.kernel_size}, tiles of {rows} and tile_size {a.tile_size} make it {r}")
    math = DimMath(call.prover)
    if math.equal(x.shape[1], channels) is False:
        help = "it comes as contrib_conv2d_winograd_weight_transform makes it: (n, n, O, I)"
        call.fail(f"the data has {x.shape[1]} channels, the kernel {show_shape(u.shape)} takes {channels}", help=help)
    if a.channels is not None and math.equal(outputs, a.channels) is False:
        call.fail(f"channels is {a.channels}, but the kernel has {outputs}")
    extents = [window_extent(math, x.shape[2 + i], r, 1, 1, a.padding[i], a.padding[2 + i]) for i in (0, 1)]
    if any(math.at_most(1, extent) is False for extent in extents):
        call.fail(f"the kernel of {r} x {r} is larger than the data {show_shape(x.shape)}, padded by {a.padding}")
    return TensorInfo((x.shape[0], outputs, *extents), dtype)


def compute(inputs: Sequence[k.Tensor], a: WinogradAttrs, out: k.Result) -> k.Tensor:
    """Transform tiles of data, multiply by channels, transform back."""
    x, u = inputs
    m, n = a.tile_size, known_dim(u.shape[0])
    kept = accumulator(out.dtype)
    to_out, to_data = (_table(t, kept, name) for t, name in zip(matrices(m, n - m + 1)[:2], ("A", "B")))
    height, width = (k.index(d) for d in out.shape[2:])
    high, wide = ((d + k.index(m - 1)) // k.index(m) for d in (height, width))
    # Tiles at the end reach beyond the border: there are zeros there too.
    begins, ends = a.padding[:2], [p + m - 1 for p in a.padding[2:]]
    source = padded(x, layout_over("NCHW", "NCHW", "data_layout"), "HW", begins, ends, 0)
    tiles = k.index(x.shape[0]) * high * wide

    def tile(e: k.Scalar, f: k.Scalar, c: k.Scalar, t: k.Scalar) -> k.Scalar:
        p, q = (axis.var for axis in taps)
        row, column = t // wide % high * k.index(m) + p, t % wide * k.index(m) + q
        value = k.cast(kept, source(t // (high * wide), c, row, column))
        return k.reduce_sum(value * to_data(p, e) * to_data(q, f), taps)

    def product(e: k.Scalar, f: k.Scalar, o: k.Scalar, t: k.Scalar) -> k.Scalar:
        return k.reduce_sum(k.cast(kept, u(e, f, o, channel.var)) * data(e, f, channel.var, t), [channel])

    def back(b: k.Scalar, o: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        p, q = (axis.var for axis in places)
        t = (b * high + i // k.index(m)) * wide + j // k.index(m)
        return k.reduce_sum(products(p, q, o, t) * to_out(p, i % k.index(m)) * to_out(q, j % k.index(m)), places)

    taps, places = ([k.reduce_axis(n, name) for name in names] for names in ("pq", "ef"))
    channel = k.reduce_axis(x.shape[1], "c")
    data = k.compute((k.index(n), k.index(n), x.shape[1], tiles), tile, "transform_data")
    products = k.compute((k.index(n), k.index(n), u.shape[2], tiles), product, "tile_products")
    return rounded(k.compute(out.shape, back, "winograd"), out.dtype)


def reference(inputs: Sequence[AnyArray], a: WinogradAttrs) -> AnyArray:
    """Aᵀ (U * Bᵀ d B) A, tile by tile."""
    x, u = (v.astype(np.float64) for v in inputs)
    m, n = a.tile_size, len(u)
    to_out, to_data, _ = matrices(m, n - m + 1)
    top, left, bottom, right = a.padding
    height, width = x.shape[2] + top + bottom - (n - m), x.shape[3] + left + right - (n - m)
    x = np_padded(x, ((0, 0), (0, 0), (top, bottom + m - 1), (left, right + m - 1)))
    found = np.zeros((len(x), u.shape[2], height + m - 1, width + m - 1))
    for i in range(0, height, m):
        for j in range(0, width, m):
            data = np.einsum("pe,ncpq,qf->efnc", to_data, x[:, :, i : i + n, j : j + n], to_data)
            products = np.einsum("efoc,efnc->efno", u, data)
            found[:, :, i : i + m, j : j + m] = np.einsum("ei,efno,fj->noij", to_out, products, to_out)
    return found[:, :, :height, :width].astype(a.out_dtype.numpy if not a.out_dtype.is_void else inputs[0].dtype)


def relay_builder(
    make: OwnMaker, data: GraphExpr, weight: GraphExpr, tile_size: int, *geometry: object, **options: object
) -> GraphExpr:
    """TVM's order: the tile size, then strides, padding, dilation, groups, channels, kernel_size, layouts, dtype."""
    names = "strides padding dilation groups channels kernel_size data_layout kernel_layout out_layout out_dtype"
    given = by_name(make.definition.name, names.split(), geometry, options)
    return make(data, weight, tile_size=tile_size, **given)


WEIGHT_TRANSFORM = OpDef(
    "nn.contrib_conv2d_winograd_weight_transform",
    WeightTransformAttrs,
    inputs=(Input("weight", "the kernel, OIHW"),),
    infer=infer_weight,
    compute=compute_weight,
    reference=reference_weight,
    gradient=_NO_SLOPE,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((4, 3, 3, 3)),), WeightTransformAttrs(2), atol=1e-5),
        Sample((Arr((2, "n", 5, 5)),), WeightTransformAttrs(4), rtol=1e-4, atol=1e-4),
    ),
    summary="Transform a kernel for Winograd convolution.",
)
WINOGRAD = OpDef(
    "nn.contrib_conv2d_winograd_without_weight_transform",
    WinogradAttrs,
    inputs=(Input("data", "the images, NCHW"), Input("weight", "(n, n, O, I), transformed")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=_NO_SLOPE,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr((2, 3, 5, 6)), Arr((4, 4, 2, 3))), WinogradAttrs(padding=1, tile_size=2), rtol=1e-3, atol=1e-3),
        Sample((Arr((1, 2, 9, 7)), Arr((6, 6, 3, 2))), WinogradAttrs(tile_size=4), rtol=1e-3, atol=1e-2),
    ),
    summary="Winograd convolution with a kernel that is transformed already.",
)

WINOGRAD_CONVOLUTION: tuple[Definition, ...] = (WEIGHT_TRANSFORM, WINOGRAD)
