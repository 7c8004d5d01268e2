"""Resampled images: image.resize1d/2d/3d.

Methods nearest_neighbor, linear, cubic; coordinate transforms and roundings as in ONNX Resize (see `resampling`). Any
layout with N, C and the spatial axes. Elements are weighed in float32, those of float64 in it, and so are their
weights. Relax takes the size as an argument, Relay as an attribute. Source: facts relax-ops-passes-vm §1 (image),
relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.dims import DimMath, as_dims, show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.image.resampling import (
    IN_PLACE,
    METHODS,
    MODES,
    ROUNDINGS,
    box,
    coordinate,
    lowest,
    numpy_scalars,
    placed_in,
    taps,
    weighed_in,
)
from baton._src.ops.image.resize_kernel import compute
from baton._src.ops.layout_names import layout_over
from baton._src.ops.layouts import Anchor
from baton._src.ops.linear_axes import known_dims, known_extents, transposed
from baton._src.ops.operand_checks import check_layout_rank
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import target_dims, target_numbers
from baton._src.ops.windows import SPATIAL
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray, NDArray


def _extents(size: Dim | Iterable[Dim], spatial: int) -> tuple[Dim, ...]:
    """The extents that were asked for; one number is for all axes."""
    entries = tuple(size) if isinstance(size, Iterable) else (size,) * spatial
    wrong = next((e for e in entries if isinstance(e, bool)), None)
    if wrong is not None:
        raise TypeError(f"size is made of integers, got {wrong}")
    return as_dims(entries)


@attrs
class ResizeAttrs(Attrs):
    """Size (in Relay), method and the way coordinates are mapped."""

    spatial: ClassVar[int] = 2

    size: tuple[Dim, ...] | None = attr(None, "spatial extents of the result", relay_only=True)
    roi: tuple[float, ...] | None = attr(None, "box for tf_crop_and_resize: starts, then ends, from 0 to 1")
    layout: str = attr("", "layout of the data")
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
        set_attr(self, "layout", self.layout or f"NC{SPATIAL[self.spatial]}")
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))
        if self.size is not None:
            set_attr(self, "size", _extents(self.size, self.spatial))
        roi = None if self.roi is None else _numbers(self.roi)
        set_attr(self, "roi", roi if roi else None)


@attrs
class Resize1DAttrs(ResizeAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1


@attrs
class Resize3DAttrs(ResizeAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3


def _numbers(values: Iterable[float | FloatImm | IntImm]) -> tuple[float, ...]:
    return tuple(float(v.value) if isinstance(v, (FloatImm, IntImm)) else float(v) for v in values)


def infer(call: OpCall[ResizeAttrs]) -> Info:
    """Spatial extents as asked, the rest as the data."""
    a, x = call.attrs, call.tensor(0)
    check_method(call, a)
    order = layout_over(a.layout, "NC" + SPATIAL[a.spatial], "layout")
    dtype = x.dtype if a.out_dtype.is_void else a.out_dtype
    check_layout_rank(call, 0, order, "layout")
    if a.coordinate_transformation_mode == "tf_crop_and_resize":
        check_fill(call, "extrapolation_value", a.extrapolation_value, dtype)
    if a.roi is not None and len(a.roi) != 2 * a.spatial:
        call.fail(f"roi must have {2 * a.spatial} numbers, got {a.roi}", code="op-attribute")
    size = target_dims(call, 1, "size")
    if size is not None and len(size) == 1:
        size = size * a.spatial
    if size is not None and len(size) != a.spatial:
        call.fail(f"size must have {a.spatial} numbers, got {len(size)}")
    if x.shape is None or size is None:
        return TensorInfo(None, dtype, order.rank, x.vdevice)
    math = DimMath(call.prover)
    extents: dict[str, Dim] = order.canonical(math, x.shape)
    if any(extents[letter] == 0 and wanted != 0 for letter, wanted in zip(SPATIAL[a.spatial], size)):
        call.fail(f"an image of shape {show_shape(x.shape)} has no pixels to make {show_shape(size)} of")
    extents |= dict(zip(SPATIAL[a.spatial], size))
    return TensorInfo(order.physical(math, extents), dtype, vdevice=x.vdevice)


def check_method(call: OpCall[Attrs], a: ResizeAttrs) -> None:
    """Names must be known."""
    checks = (
        ("method", a.method, METHODS),
        ("coordinate_transformation_mode", a.coordinate_transformation_mode, MODES),
        ("rounding_method", a.rounding_method, ROUNDINGS),
    )
    for name, value, known in checks:
        if value not in known:
            call.fail(f"{name} {value!r} is not one of {', '.join(repr(n) for n in known)}", code="op-attribute")


def reference(inputs: Sequence[AnyArray], a: ResizeAttrs) -> AnyArray:
    """The same sum over whole axes."""
    size = target_numbers(inputs, 1, a.size)
    return resample(inputs[0], size * a.spatial if len(size) == 1 else size, a)


def resample(x: AnyArray, size: tuple[int, ...], a: ResizeAttrs) -> AnyArray:
    """Axis by axis."""
    letters = SPATIAL[a.spatial]
    order = layout_over(a.layout, "NC" + letters, "layout")
    image = to_canonical(x, order, "NC" + letters)
    dtype = DataType(image.dtype) if a.out_dtype.is_void else a.out_dtype
    value = image if a.method == "nearest_neighbor" else image.astype(weighed_in(image))
    s = numpy_scalars(placed_in(a, image))
    outside: list[AnyArray] = []
    for axis, after in enumerate(size):
        before = image.shape[2 + axis]
        if before == after and a.coordinate_transformation_mode in IN_PLACE:
            continue
        source = coordinate(s, np.arange(after), before, after, a.coordinate_transformation_mode, box(a, axis))
        outside.append((source < 0) | (source > before - 1))
        value = _along(value, 2 + axis, taps(s, source, lowest(s, source, a), before, a))
    value = convert(np.rint(value) if dtype.is_int and value.dtype.kind == "f" else value, dtype)
    if a.coordinate_transformation_mode == "tf_crop_and_resize":
        beyond = np.asarray(as_element(a.extrapolation_value, dtype), dtype.numpy)
        for axis, mask in enumerate(outside):
            shape = [1] * value.ndim
            shape[2 + axis] = -1
            value = np.where(mask.reshape(shape), beyond, value)
    return from_canonical(value, order, "NC" + letters)


def _along(value: AnyArray, axis: int, found: list[tuple[AnyArray, AnyArray | None]]) -> AnyArray:
    shape = [1] * value.ndim
    shape[axis] = -1
    taken = [(np.take(value, index, axis=axis), weight) for index, weight in found]
    total, *others = (part if weight is None else part * weight.reshape(shape) for part, weight in taken)
    for part in others:
        total = total + part
    return total


def _gradient(b: CallMaker, args: Exprs, a: ResizeAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Every element of the result hands its gradient to what it was weighed from."""
    info = args[0].struct_info
    wanted = known_dims(a.size if a.size is not None else args[1].struct_info.values, "resizing")
    return [spread_back(b, grad, info, wanted * a.spatial if len(wanted) == 1 else wanted, a), None][: len(args)]


def spread_back(
    b: CallMaker, grad: GraphExpr, info: TensorStructInfo, size: tuple[int, ...], a: ResizeAttrs
) -> GraphExpr:
    """The gradient of `resample` to `size`, towards its data."""
    letters = SPATIAL[a.spatial]
    order = layout_over(a.layout, "NC" + letters, "layout")
    extents = known_extents(info, "resizing", (order.position(letter) for letter in letters))
    if not a.out_dtype.is_void and a.out_dtype != info.dtype:
        grad = b.op("astype", grad, dtype=info.dtype)
    matrices, s = {}, numpy_scalars(placed_in(a, info))
    for axis, (letter, after) in enumerate(zip(letters, size)):
        before = extents[order.position(letter)]
        source = coordinate(s, np.arange(after), before, after, a.coordinate_transformation_mode, box(a, axis))
        found = taps(s, source, lowest(s, source, a), before, a)
        weights = np.array(_along(np.eye(before, dtype=placed_in(a, info)), 0, found))
        if a.coordinate_transformation_mode == "tf_crop_and_resize":
            weights[(source < 0) | (source > before - 1)] = 0
        matrices[order.position(letter)] = weights
    return transposed(b, grad, info, matrices)


def _samples(record: type[ResizeAttrs], spatial: int) -> tuple[Sample, ...]:
    s = (3,) * (spatial - 1)
    size = (5,) * (spatial - 1)
    last = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[spatial]

    def call(**options: Any) -> Sample:
        return Sample((Arr((1, 2, *s, 4)), Shape((*size, 7))), record(**options), rtol=1e-4, atol=1e-5)

    calls = [
        call(),
        call(method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method=""),
        call(method="nearest_neighbor", rounding_method="round_prefer_floor"),
        call(coordinate_transformation_mode="align_corners"),
        Sample((Arr(("n", 2, *s, "w")), Shape((*size, 3))), record(), rtol=1e-4, atol=1e-5),
        Sample((Arr((1, *s, 4, 2)),), record(size=(*size, 6), layout=last), rtol=1e-4, atol=1e-5),
    ]
    if spatial == 2:
        calls += [
            call(method="cubic"),
            call(
                method="cubic", cubic_alpha=-0.75, cubic_exclude=1, coordinate_transformation_mode="pytorch_half_pixel"
            ),
            call(
                coordinate_transformation_mode="tf_crop_and_resize", roi=(0.1, 0.0, 1.2, 0.8), extrapolation_value=9.0
            ),
            Sample((Arr((1, 2, 3, 3), "uint8", 0, 99), Shape((2, 5))), record(method="nearest_neighbor")),
        ]
    return tuple(calls)


def relay_resize2d(
    make: OwnMaker,
    data: GraphExpr,
    size: object,
    roi: object = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: object = None,
) -> GraphExpr:
    """A size or box that is computed makes it `dyn.image.resize2d`."""
    options = {
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
        "rounding_method": rounding_method,
        "cubic_alpha": cubic_alpha,
        "cubic_exclude": cubic_exclude,
        "extrapolation_value": extrapolation_value,
        "out_dtype": out_dtype,
    }
    size, roi = from_constant(size), from_constant(roi)
    if isinstance(size, GraphExpr) or isinstance(roi, GraphExpr):
        size = (
            size if isinstance(size, GraphExpr) else np.array((size,) * 2 if isinstance(size, int) else size, "int64")
        )
        roi = roi if isinstance(roi, GraphExpr) else np.array(roi or (0, 0, 1, 1), "float32")
        return make.op("dyn.image.resize2d", data, size, roi, **options)
    return make(data, size=size, roi=roi, **options)


def from_constant(given: object) -> object:
    """The numbers of a constant; anything else as it is."""
    data = getattr(given, "data", None)
    return data.numpy().tolist() if isinstance(data, NDArray) else given


def _kernel_fusion(a: ResizeAttrs) -> Fusion:
    """Elements that several results weigh are computed, and moved to where they lie, once."""
    return Fusion.INJECTIVE if a.method == "nearest_neighbor" else Fusion.OUT_ELEMWISE_FUSABLE


def _define(spatial: int, record: type[ResizeAttrs]) -> OpDef[ResizeAttrs]:
    return OpDef(
        f"image.resize{spatial}d",
        record,
        inputs=(Input("data", "the images"), Input("size", "extents", kind="shape", languages=("relax",))),
        infer=infer,
        compute=compute,
        reference=reference,
        gradient=_gradient,
        fusion=Fusion.INJECTIVE,
        kernel_fusion=_kernel_fusion,
        layout=Anchor("layout"),
        in_relax=spatial == 2,
        relay_builder=relay_resize2d if spatial == 2 else None,
        samples=lambda: _samples(record, spatial),
        summary=f"Images resampled to given extents, over {spatial} spatial {'axis' if spatial == 1 else 'axes'}.",
    )


RESIZES: tuple[Definition, ...] = (
    _define(1, Resize1DAttrs),
    _define(2, ResizeAttrs),
    _define(3, Resize3DAttrs),
)
