"""Points to read images at: image.affine_grid.

data (b, 2, 3) -> grid (b, 2, h, w): the points of [-1, 1] x [-1, 1], mapped; row 0: x, row 1: y. Source: facts
relax-ops-passes-vm §1 (image).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.image.resampling import weighed_in
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import target_dims, target_numbers
from baton._src.values.tensor import AnyArray


@attrs
class AffineGridAttrs(Attrs):
    """Relay's size."""

    target_shape: tuple[Dim, ...] | None = attr(None, "height and width of the grid", relay_only=True)

    def __post_init__(self) -> None:
        if self.target_shape is not None:
            set_attr(self, "target_shape", tuple(self.target_shape))


def infer_affine(call: OpCall[AffineGridAttrs]) -> Info:
    """(b, 2, h, w)"""
    x = call.tensor(0)
    size = target_dims(call, 1, "target_shape")
    check_floats(call, 0)
    if x.ndim not in (-1, 3):
        call.fail(f"takes matrices (batch, 2, 3), got {show_shape(x.shape, x.ndim)}")
    if size is not None and len(size) != 2:
        call.fail(f"the size must be a height and a width, got {show_shape(size)}")
    if x.shape is None or size is None:
        return TensorInfo(None, x.dtype, 4, x.vdevice)
    same = DimMath(call.prover)
    if same.equal(x.shape[1], 2) is False or same.equal(x.shape[2], 3) is False:
        call.fail(f"takes matrices (batch, 2, 3), got {show_shape(x.shape)}")
    return TensorInfo((x.shape[0], 2, *size), x.dtype, vdevice=x.vdevice)


def compute_affine(inputs: Sequence[k.Tensor], a: AffineGridAttrs, out: k.Result) -> k.Tensor:
    """m[r, 0] * x + m[r, 1] * y + m[r, 2]"""
    x = inputs[0]
    height, width, wide = out.shape[2], out.shape[3], weighed_in(x)

    def point(i: k.Scalar, extent: Dim) -> k.Scalar:
        """Number `i` of `extent` even steps from -1 to 1."""
        steps = k.maximum(k.index(1), k.index(extent) - k.index(1))
        return k.cast(wide, i) * k.const(2.0, wide) / k.cast(wide, steps) - k.const(1.0, wide)

    def body(b: k.Scalar, row: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        m = [k.cast(wide, x(b, row, k.index(n))) for n in range(3)]
        return k.cast(out.dtype, m[0] * point(j, width) + m[1] * point(i, height) + m[2])

    return k.compute(out.shape, body, "affine_grid")


def reference_affine(inputs: Sequence[AnyArray], a: AffineGridAttrs) -> AnyArray:
    """A product of matrices."""
    x = inputs[0]
    height, width = target_numbers(inputs, 1, a.target_shape)
    across, down = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    points = np.stack([across, down, np.ones_like(across)]).reshape(3, height * width)
    wide = weighed_in(x)
    found: AnyArray = (x.astype(wide) @ points.astype(wide)).reshape(len(x), 2, height, width).astype(x.dtype)
    return found


AFFINE_GRID = OpDef(
    "image.affine_grid",
    AffineGridAttrs,
    inputs=(
        Input("data", "affine maps"),
        Input("size", "height and width", kind="shape", relay_name="target_shape", languages=("relax",)),
    ),
    infer=infer_affine,
    compute=compute_affine,
    reference=reference_affine,
    gradient=NotApplicable("not offered"),
    fusion=Fusion.INJECTIVE,
    samples=lambda: (
        Sample((Arr(("n", 2, 3)), Shape((4, 5))), AffineGridAttrs(), rtol=1e-4, atol=1e-5),
        Sample((Arr((1, 2, 3)),), AffineGridAttrs(target_shape=(3, 2)), rtol=1e-4, atol=1e-5),
    ),
    summary="The sampling grid of an affine map: the points to which it maps a regular grid.",
)
