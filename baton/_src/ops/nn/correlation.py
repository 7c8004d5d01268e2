"""nn.correlation: how alike patches of two images are, for each displacement of the second (FlowNet's layer).

    y[n, q, i, j] = mean over c and the patch of a[n, c, i*stride1 + m + p, ...] * b[n, c, i*stride1 + m + p + dy, ...]

Both images have a border of `padding` zeros; m is `max_displacement`, and (dy, dx) run over the multiples of `stride2`
up to it, row by row: (2 * (m // stride2) + 1)**2 channels. Without `is_multiply` the absolute difference takes the
place of the product. Source: Fischer et al., FlowNet; facts relay-language §6 level 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layout_names import layout_over
from baton._src.ops.linalg.products import rounded
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import both_sides, np_padded, padded
from baton._src.values.tensor import AnyArray


@attrs
class CorrelationAttrs(Attrs):
    """Patches and displacements."""

    kernel_size: int = attr(1, "extent of a patch, odd")
    max_displacement: int = attr(1, "greatest displacement")
    stride1: int = attr(1, "step of the patches of the first image")
    stride2: int = attr(1, "step of the displacements")
    padding: tuple[int, ...] = attr(0, "padding: one value, one per axis, or begins then ends")
    is_multiply: bool = attr(True, "products; else absolute differences")
    layout: str = attr("NCHW", "NCHW")

    def __post_init__(self) -> None:
        set_attr(self, "padding", both_sides(self.padding, 2))

    @property
    def steps(self) -> int:
        """Displacements to either side."""
        return self.max_displacement // self.stride2


def infer(call: OpCall[CorrelationAttrs]) -> Info:
    """A channel for each displacement; the border that patches need on all sides is lost."""
    x, y, a = call.tensor(0), call.tensor(1), call.attrs
    if a.layout != "NCHW":
        call.fail(f"the layout must be NCHW, got {a.layout!r}", code="op-attribute")
    if a.kernel_size < 1 or a.kernel_size % 2 == 0 or min(a.stride1, a.stride2) < 1 or a.max_displacement < 0:
        call.fail("kernel_size must be odd, strides positive, max_displacement not negative", code="op-attribute")
    dtype, device = same_dtype(call, (x, y)), same_vdevice(call, (x, y))
    check_floats(call, 0, 1)
    check_ranks(call, 4, 4)
    if x.shape is None:
        return TensorInfo(None, dtype, 4, device)
    math = DimMath(call.prover)
    if y.shape is not None and any(math.equal(d, e) is False for d, e in zip(x.shape, y.shape)):
        call.fail(f"operands must have the same shape, got {show_shape(x.shape)} and {show_shape(y.shape)}")
    lost = 2 * (a.max_displacement + (a.kernel_size - 1) // 2)
    extents = []
    for axis in (0, 1):
        room = math.add(x.shape[2 + axis], a.padding[axis] + a.padding[2 + axis] - lost)
        if math.at_most(1, room) is False:
            call.fail(f"patches and displacements do not fit into {show_shape(x.shape)}", help="add padding")
        extents.append(math.ceil_divide(room, a.stride1))
    return TensorInfo((x.shape[0], (2 * a.steps + 1) ** 2, *extents), dtype, vdevice=device)


def compute(inputs: Sequence[k.Tensor], a: CorrelationAttrs, out: k.Result) -> k.Tensor:
    """A reduction over channels and the patch, divided by their number."""
    order = layout_over("NCHW", "NCHW", "layout")
    first, second = (
        padded(x, order, "HW", a.padding[:2], a.padding[2:], 0, f"padded{n}") for n, x in enumerate(inputs)
    )
    grid = 2 * a.steps + 1
    kept = k.sum_dtype(out.dtype)
    extents = ((first.shape[1], "rc"), (a.kernel_size, "rh"), (a.kernel_size, "rw"))
    axes = [k.reduce_axis(extent, name) for extent, name in extents]

    def body(n: k.Scalar, q: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        channel, p, r = (axis.var for axis in axes)
        at = [o * k.index(a.stride1) + k.index(a.max_displacement) + tap for o, tap in ((i, p), (j, r))]
        moved = [
            place + (step - k.index(a.steps)) * k.index(a.stride2)
            for place, step in zip(at, (q // k.index(grid), q % k.index(grid)))
        ]
        left, right = k.cast(kept, first(n, channel, *at)), k.cast(kept, second(n, channel, *moved))
        value = left * right if a.is_multiply else k.maximum(left - right, right - left)
        return k.reduce_sum(value, axes)

    sums = k.compute(out.shape, body, "correlation")
    count = k.cast(kept, k.index(first.shape[1])) * k.const(a.kernel_size**2, kept)
    return rounded(k.compute(out.shape, lambda *o: sums(*o) / count, "mean"), out.dtype)


def reference(inputs: Sequence[AnyArray], a: CorrelationAttrs) -> AnyArray:
    """Displacement by displacement."""
    top, left, bottom, right = a.padding
    x, y = (np_padded(v.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right))) for v in inputs)
    border = a.max_displacement + (a.kernel_size - 1) // 2
    rows, columns = (range(border, extent - border, a.stride1) for extent in x.shape[2:])
    radius, steps = (a.kernel_size - 1) // 2, [n * a.stride2 for n in range(-a.steps, a.steps + 1)]
    found = np.zeros((len(x), len(steps) ** 2, len(rows), len(columns)))
    patch = list(itertools.product(range(-radius, radius + 1), repeat=2))
    for q, (dy, dx) in enumerate(itertools.product(steps, steps)):
        for p, r in patch:
            one = x[:, :, np.array(rows)[:, None] + p, np.array(columns) + r]
            other = y[:, :, np.array(rows)[:, None] + p + dy, np.array(columns) + r + dx]
            found[:, q] += (one * other if a.is_multiply else abs(one - other)).sum(axis=1)
    return np.asarray(found / (len(patch) * x.shape[1])).astype(inputs[0].dtype)


CORRELATION = OpDef(
    "nn.correlation",
    CorrelationAttrs,
    inputs=(Input("data1", "the first image"), Input("data2", "the second image")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 2, 5, 6)), Arr(("n", 2, 5, 6))), CorrelationAttrs(), rtol=1e-4, atol=1e-5),
        Sample(
            (Arr((1, 3, 6, 7)), Arr((1, 3, 6, 7))),
            CorrelationAttrs(kernel_size=3, max_displacement=2, stride1=2, stride2=2, padding=3, is_multiply=False),
            rtol=1e-4,
            atol=1e-5,
        ),
    ),
    summary="The correlation of patches of two images, for each displacement.",
)
