"""nn.deformable_conv2d: a convolution each of whose taps reads the image where a tensor of offsets moves it to.

    y[n,o,i,j] = sum over c,p,q of w[o,c,p,q] * x[n, c, i*sh - top + p*dh + dy, j*sw - left + q*dw + dx] * mask

(dy, dx) = offset[n, 2*tap and 2*tap + 1, i, j] with tap = (group*kh + p)*kw + q; the channels fall into
`deformable_groups` of equal size. Reads are bilinear, zero beyond the image. ONNX's DeformConv has a `mask` that weighs
every tap; TVM's builder has none. Data, offsets and result are NCHW or NHWC alike, kernels OIHW or HWIO. Source: Dai et
al., Deformable Convolutional Networks; ONNX DeformConv; facts relay-language §6 level 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np

from baton._src.ir.attrs import attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.linalg.products import rounded
from baton._src.ops.nn.convolution.convolution import Conv2DAttrs
from baton._src.ops.nn.convolution.convolution import infer as infer_convolution
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.positional import by_name
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.ops.windows import steps
from baton._src.values.tensor import AnyArray

_KERNELS = {"NCHW": "OIHW", "NHWC": "HWIO"}


@attrs
class DeformableAttrs(Conv2DAttrs):
    """A convolution's geometry, and the groups of channels that move together."""

    deformable_groups: int = attr(1, "channels are moved in so many groups")

    def __post_init__(self) -> None:
        super().__post_init__()
        set_attr(self, "deformable_groups", steps(self.deformable_groups, 1, "deformable_groups")[0])


def infer(call: OpCall[DeformableAttrs]) -> Info:
    """The plain convolution's result; the offsets (and the mask) cover it, with numbers for each tap."""
    a, x, w = call.attrs, call.tensor(0), call.tensor(2)
    if _KERNELS.get(a.data_layout) != a.kernel_layout or a.out_layout not in ("", a.data_layout):
        call.fail("layouts must be NCHW with OIHW or NHWC with HWIO", code="op-attribute")
    check_ranks(call, *[4] * len(call.args))
    plain: Info = infer_convolution(OpCall(call.op, (x, w), a, call.prover, (), call.span))
    assert isinstance(plain, TensorInfo)
    if x.shape is None or w.shape is None or plain.shape is None:
        return plain
    math, place = DimMath(call.prover), a.data_layout.index
    if any(math.at_most(1, plain.shape[place(letter)]) is False for letter in "HW"):
        call.fail(f"the kernel {show_shape(w.shape)} is larger than the padded data {show_shape(x.shape)}")
    channels = x.shape[place("C")]
    if math.divides(a.deformable_groups, channels) is False:
        call.fail(f"{channels} channels cannot be divided into {a.deformable_groups} deformable groups")
    kernel = [w.shape[a.kernel_layout.index(letter)] for letter in "HW"]
    for position, numbers in ((1, 2), (3, 1)):
        if position >= len(call.args) or (shape := call.tensor(position).shape) is None:
            continue
        wanted = {"C": math.product((numbers * a.deformable_groups, *kernel))}
        wanted |= {letter: plain.shape[place(letter)] for letter in "NHW"}
        if any(math.equal(shape[place(letter)], dim) is False for letter, dim in wanted.items()):
            needed = show_shape(tuple(wanted[letter] for letter in a.data_layout))
            call.fail(f"{call.op.inputs[position].name} must have shape {needed}, got {show_shape(shape)}")
    return plain


def _at(layout: str, **axes: k.Scalar) -> list[k.Scalar]:
    return [axes[letter] for letter in layout]


def compute(inputs: Sequence[k.Tensor], a: DeformableAttrs, out: k.Result) -> k.Tensor:
    """First the image as every tap sees it, then the reduction over channels and taps."""
    x, offset, w = inputs[:3]
    mask = inputs[3] if len(inputs) > 3 else None
    layout, place = a.data_layout, a.kernel_layout.index
    height, width = (k.index(w.shape[place(letter)]) for letter in "HW")
    channels, inner = k.index(x.shape[layout.index("C")]), k.index(w.shape[place("I")])
    rows, columns = (x.shape[layout.index(letter)] for letter in "HW")
    each = channels // k.index(a.deformable_groups)
    real = "float64" if x.dtype == "float64" else "float32"

    def seen(n: k.Scalar, c: k.Scalar, p: k.Scalar, q: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        tap = (c // k.divisor(each) * height + p) * width + q
        moves = [
            k.cast(real, offset(*_at(layout, N=n, C=tap * k.index(2) + k.index(axis), H=i, W=j))) for axis in (0, 1)
        ]
        corners = []
        for axis, (o, r) in enumerate(((i, p), (j, q))):
            whole = o * k.index(a.strides[axis]) + r * k.index(a.dilation[axis]) - k.index(a.padding[axis])
            corners.append(_neighbours(k.cast(real, whole) + moves[axis], rows if axis == 0 else columns))
        total, *others = (
            k.cast(real, x(*_at(layout, N=n, C=c, H=row, W=column))) * (by_row * by_column)
            for (row, by_row), (column, by_column) in itertools.product(*corners)
        )
        for value in others:
            total = total + value
        return total if mask is None else total * k.cast(real, mask(*_at(layout, N=n, C=tap, H=i, W=j)))

    result = [out.shape[layout.index(letter)] for letter in "HW"]
    shape = (x.shape[layout.index("N")], channels, height, width, *result)
    patches = k.compute(shape, seen, "deformed")
    axes = [k.reduce_axis(extent, name) for extent, name in ((inner, "rc"), (height, "rh"), (width, "rw"))]
    outputs = k.index(w.shape[place("O")]) // k.index(a.groups)

    def body(*indices: k.Scalar) -> k.Scalar:
        o = dict(zip(layout, indices))
        channel, p, q = (axis.var for axis in axes)
        read = channel if a.groups == 1 else o["C"] // k.divisor(outputs) * inner + channel
        weight = k.cast(real, w(*_at(a.kernel_layout, O=o["C"], I=channel, H=p, W=q)))
        return k.reduce_sum(patches(o["N"], read, p, q, o["H"], o["W"]) * weight, axes)

    return rounded(k.compute(out.shape, body, "deformable_conv2d"), out.dtype)


def _neighbours(u: k.Scalar, extent: Dim) -> list[tuple[k.Scalar, k.Scalar]]:
    """The two pixels around a coordinate, moved into the image, and their weights; weight zero outside.

    The coordinate is bounded first: an offset may be any float, a pixel number may not.
    """
    none, one = k.const(0.0, u.dtype), k.const(1.0, u.dtype)
    bounded = k.maximum(k.const(-1.0, u.dtype), k.minimum(u, k.cast(u.dtype, k.index(extent))))
    first = k.floor(bounded)
    t = bounded - first
    found = []
    for pixel, weight in ((first, one - t), (first + one, t)):
        at = k.cast("int64", pixel)
        inside = k.all_of([at >= k.index(0), at < k.index(extent)])
        legal = k.maximum(k.index(0), k.minimum(at, k.index(extent) - k.index(1)))
        found.append((legal, k.select(inside, weight, none)))
    return found


def reference(inputs: Sequence[AnyArray], a: DeformableAttrs) -> AnyArray:
    """Tap by tap: the image is sampled for all results at once, then multiplied."""
    is_last = a.data_layout == "NHWC"
    x, offset, w, *mask = (np.asarray(v).astype(np.float64) for v in inputs)
    if is_last:
        x, offset, *mask = (np.moveaxis(v, 3, 1) for v in (x, offset, *mask))
        w = w.transpose(3, 2, 0, 1)
    batch, channels = x.shape[:2]
    outputs, inner, height, width = w.shape
    rows, columns = offset.shape[2:]
    found = np.zeros((batch, outputs, rows, columns))
    each, block = channels // a.deformable_groups, outputs // a.groups
    for p, q in itertools.product(range(height), range(width)):
        patch = np.zeros((batch, channels, rows, columns))
        for g in range(a.deformable_groups):
            tap = (g * height + p) * width + q
            v = np.arange(rows)[:, None] * a.strides[0] - a.padding[0] + p * a.dilation[0] + offset[:, 2 * tap]
            u = np.arange(columns) * a.strides[1] - a.padding[1] + q * a.dilation[1] + offset[:, 2 * tap + 1]
            weight = mask[0][:, tap, None] if mask else 1.0
            patch[:, g * each : (g + 1) * each] = _sampled(x[:, g * each : (g + 1) * each], v, u) * weight
        for g in range(a.groups):
            part, mine = patch[:, g * inner : (g + 1) * inner], slice(g * block, (g + 1) * block)
            found[:, mine] += np.einsum("nchw,oc->nohw", part, w[mine, :, p, q])
    found = np.moveaxis(found, 1, 3) if is_last else found
    return found.astype(inputs[0].dtype if a.out_dtype.is_void else a.out_dtype.numpy)


def _sampled(x: AnyArray, v: AnyArray, u: AnyArray) -> AnyArray:
    """Bilinear samples of images (n, c, h, w) at rows v and columns u, each (n, i, j)."""
    total = np.zeros((*x.shape[:2], *v.shape[1:]))
    image = np.arange(len(x))[:, None, None]
    for down, across in itertools.product((0, 1), (0, 1)):
        row, column = np.floor(v) + down, np.floor(u) + across
        weight = (1 - abs(v - row)) * (1 - abs(u - column))
        inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
        at = np.clip(row, 0, x.shape[2] - 1).astype(int), np.clip(column, 0, x.shape[3] - 1).astype(int)
        total += np.moveaxis(np.moveaxis(x, 1, -1)[(image, *at)] * (weight * inside)[..., None], -1, 1)
    return total


def relay_deformable(
    make: OwnMaker, data: GraphExpr, offset: GraphExpr, weight: GraphExpr, *numbers: object, **options: object
) -> GraphExpr:
    """TVM's signature: strides, padding, dilation, deformable_groups, groups, ... follow the operands."""
    return make(data, offset, weight, **by_name("nn.deformable_conv2d", _ORDER, numbers, options))


_ORDER = (
    *("strides", "padding", "dilation", "deformable_groups", "groups", "channels", "kernel_size"),
    *("data_layout", "kernel_layout", "out_layout", "out_dtype"),
)


def _samples() -> tuple[Sample, ...]:
    def moves(*shape: SampleDim) -> Arr:
        return Arr(shape, low=-1.6, high=1.6)

    sample = partial(Sample, rtol=1e-4, atol=1e-4)
    return (
        sample((Arr(("n", 2, 5, 6)), moves("n", 18, 5, 6), Arr((3, 2, 3, 3))), DeformableAttrs(padding=1)),
        sample(
            (Arr((1, 4, 6, 5)), moves(1, 16, 3, 2), Arr((2, 2, 2, 2)), Arr((1, 8, 3, 2))),
            DeformableAttrs(strides=2, groups=2, deformable_groups=2),
        ),
        sample(
            (Arr((1, 5, 6, 2)), moves(1, 3, 4, 8), Arr((2, 2, 2, 3))),
            DeformableAttrs(dilation=2, data_layout="NHWC", kernel_layout="HWIO"),
        ),
        sample(
            (Arr((1, 1, 4, 4), "float64"), moves(1, 8, 3, 3), Arr((1, 1, 2, 2), "float64")),
            DeformableAttrs(),
            rtol=1e-12,
            atol=1e-12,
        ),
    )


DEFORMABLE_CONV2D = OpDef(
    "nn.deformable_conv2d",
    DeformableAttrs,
    inputs=(
        Input("data", "the images"),
        Input("offset", "rows and columns by which every tap is moved"),
        Input("weight", "the kernel"),
        Input("mask", "factors of the taps", optional=True),
    ),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    relay_builder=relay_deformable,
    samples=_samples,
    summary="Deformable convolution: each tap of the kernel is displaced by an offset.",
)
