"""Relay's dyn.image.resize2d, dyn.nn.upsampling and dyn.nn.upsampling3d: the extents or factors are tensors.

Known constants give known extents; otherwise those of the image are unknown, and they become Relax's resizes to sizes
that are read when the program runs (`lower.relay_to_relax.operators_by_sizes`; a box that is computed waits for its
values, over NumPy). DynamicToStatic makes the static operators of them where the values are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.image.resize import ResizeAttrs, infer, reference
from baton._src.ops.image.upsampling import (
    Upsampling3DAttrs,
    UpsamplingAttrs,
    infer_upsampling,
    reference_upsampling,
)
from baton._src.ops.layout_names import layout_over
from baton._src.ops.windows import SPATIAL
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class DynResizeAttrs(Attrs):
    """As image.resize2d's, without the size and the box."""

    layout: str = attr("NCHW", "layout of the data")
    method: str = attr("linear", "nearest_neighbor, linear or cubic")
    coordinate_transformation_mode: str = attr("half_pixel", "the coordinate transformation mode")
    rounding_method: str = attr(
        "round", "the rounding of nearest_neighbor; empty: round with align_corners, else floor"
    )
    cubic_alpha: float = attr(-0.5, "the cubic coefficient")
    cubic_exclude: int = attr(0, "exclude taps outside the image from cubic interpolation")
    extrapolation_value: float = attr(0.0, "the value outside the image in tf_crop_and_resize")
    out_dtype: DataType = attr(None, "dtype of the result; None: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))

    def static(self, size: npt.ArrayLike, roi: npt.ArrayLike) -> ResizeAttrs:
        """image.resize2d's attributes."""
        return ResizeAttrs(size=_integers(size), roi=np.asarray(roi).reshape(-1).tolist(), **dict(self.items()))


@attrs
class DynUpsamplingAttrs(Attrs):
    """As nn.upsampling's, without the factors."""

    layout: str = attr("NCHW", "layout of the data")
    method: str = attr("nearest_neighbor", "nearest_neighbor, bilinear or bicubic")
    align_corners: bool = attr(False, "align the corner pixels of input and output")

    def static(self, *scales: npt.ArrayLike) -> UpsamplingAttrs:
        """nn.upsampling's attributes."""
        return UpsamplingAttrs(*map(_number, scales), **dict(self.items()))


@attrs
class DynUpsampling3DAttrs(Attrs):
    """As nn.upsampling3d's, without the factors."""

    layout: str = attr("NCDHW", "layout of the data")
    method: str = attr("nearest_neighbor", "nearest_neighbor or trilinear")
    coordinate_transformation_mode: str = attr("half_pixel", "the coordinate transformation mode")

    def static(self, *scales: npt.ArrayLike) -> Upsampling3DAttrs:
        """nn.upsampling3d's attributes."""
        return Upsampling3DAttrs(*map(_number, scales), **dict(self.items()))


def _integers(values: npt.ArrayLike) -> tuple[int, ...]:
    return tuple(int(v) for v in np.asarray(values).reshape(-1))


def _number(value: npt.ArrayLike) -> float:
    found: float = np.asarray(value).reshape(()).item()
    return found


Dynamic = DynResizeAttrs | DynUpsamplingAttrs | DynUpsampling3DAttrs


def _infer(call: OpCall[Dynamic]) -> Info:
    """As the static operator if every number is known, else with unknown extents of the image."""
    _check_operands(call)
    given = [v for v in call.values[1 : len(call.op.inputs)] if v is not None]
    known = len(given) == len(call.op.inputs) - 1
    # Any numbers serve to check the rest of the call and to find its dtype.
    resizes = isinstance(call.attrs, DynResizeAttrs)
    stand_ins: Sequence[npt.ArrayLike] = ((1, 1), (0, 0, 1, 1)) if resizes else (1,) * (len(call.args) - 1)
    found = _infer_static(call, given if known else stand_ins)
    if known or not isinstance(found, TensorInfo) or found.shape is None:
        return found
    order = layout_over(call.attrs.layout, "NC" + _letters(call), "layout")
    images = {order.position(letter) for letter in _letters(call)}
    dims = tuple(AnyDim() if axis in images else dim for axis, dim in enumerate(found.shape))
    return TensorInfo(dims, found.dtype, vdevice=found.vdevice)


def _infer_static(call: OpCall[Dynamic], numbers: Sequence[npt.ArrayLike]) -> Info:
    """What the static operator infers with these numbers."""
    attributes = call.attrs.static(*numbers)
    if isinstance(attributes, ResizeAttrs):
        return infer(OpCall(call.op, call.args[:1], attributes, call.prover, span=call.span))
    return infer_upsampling(OpCall(call.op, call.args[:1], attributes, call.prover, span=call.span))


def _letters(call: OpCall[Dynamic]) -> str:
    return SPATIAL[3 if isinstance(call.attrs, DynUpsampling3DAttrs) else 2]


_EXTENTS = {"size": 2, "roi": 4}


def _check_operands(call: OpCall[Attrs]) -> None:
    """size and roi are vectors, factors are scalars."""
    sizes = DimMath(call.prover)
    for position, operand in enumerate(call.op.inputs[1:], start=1):
        given, count = call.tensor(position), _EXTENTS.get(operand.name)
        wanted = () if count is None else (count,)
        ranks, dims = given.ndim not in (-1, len(wanted)), given.shape
        if ranks or (dims is not None and any(sizes.equal(d, w) is False for d, w in zip(dims, wanted))):
            call.fail(f"{operand.name} must have shape {show_shape(wanted)}, got {show_shape(dims, given.ndim)}")
        if operand.name == "size" and not given.dtype.is_void and not given.dtype.is_int:
            call.fail(f"size must hold integers, got {given.dtype}", code="op-dtype")


def _define(
    name: str, record: type[Attrs], operands: tuple[Input, ...], meaning: Callable[..., AnyArray]
) -> Definition:
    return OpDef(
        f"dyn.{name}",
        record,
        inputs=(Input("data", "the images"), *operands),
        infer=_infer,
        compute=NotApplicable("the shape depends on values that are computed"),
        reference=lambda inputs, a: meaning(inputs[:1], a.static(*inputs[1:])),
        gradient=NotApplicable("made static before differentiation"),
        fusion=Fusion.OPAQUE,
        in_relax=False,
        shape_values=tuple(range(1, len(operands) + 1)),
        samples=lambda: (),
        summary="Resize images to extents computed at run time.",
    )


_FACTORS = tuple(
    Input(f"scale_{letter}", f"factor of the {name}, a scalar")
    for letter, name in (("d", "depth"), ("h", "height"), ("w", "width"))
)

DYNAMIC_RESIZES: tuple[Definition, ...] = (
    _define("image.resize2d", DynResizeAttrs, (Input("size", "height and width"), Input("roi", "a box")), reference),
    _define("nn.upsampling", DynUpsamplingAttrs, _FACTORS[1:], reference_upsampling),
    _define("nn.upsampling3d", DynUpsampling3DAttrs, _FACTORS, reference_upsampling),
)
