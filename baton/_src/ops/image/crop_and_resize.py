"""image.crop_and_resize: boxes cut out of images, each resampled to one size.

    data, boxes (m, 4): y1, x1, y2, x2 in [0, 1], box_indices (m): which image -> (m, c, height, width)

Box corners map to the centres of the corner pixels; a box turned around is mirrored. Source: facts relay-language §6
level 5.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Argument, Definition, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import image_of
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.image.resampling import weighed_in
from baton._src.ops.operand_checks import check_integers, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.tir import expr as tir
from baton._src.values.dtype import VOID, DataType
from baton._src.values.tensor import AnyArray


@attrs
class CropAttrs(Attrs):
    """Size, layout and method."""

    crop_size: tuple[int, ...] = attr(doc="height and width of the result")
    layout: str = attr("NCHW", "NCHW or NHWC")
    method: str = attr("bilinear", "bilinear or nearest_neighbor")
    extrapolation_value: float = attr(0.0, "the value of pixels outside the image")
    out_dtype: DataType = attr(None, "dtype of the result; None: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "crop_size", tuple(map(operator.index, self.crop_size)))
        set_attr(self, "out_dtype", DataType(self.out_dtype or VOID))


def infer_crop(call: OpCall[CropAttrs]) -> Info:
    """One image a box."""
    x, boxes, which, a = call.tensor(0), call.tensor(1), call.tensor(2), call.attrs
    if a.layout not in ("NCHW", "NHWC") or a.method not in ("bilinear", "nearest_neighbor"):
        call.fail(f"layout {a.layout!r} or method {a.method!r} is unknown", code="op-attribute")
    if len(a.crop_size) != 2:
        call.fail(f"crop_size must be two numbers, got {a.crop_size}", code="op-attribute")
    check_ranks(call, 4, 2, 1)
    check_integers(call, 2)
    dtype = x.dtype if a.out_dtype.is_void else a.out_dtype
    check_fill(call, "extrapolation_value", a.extrapolation_value, dtype)
    if x.shape is None or boxes.shape is None:
        return TensorInfo(None, dtype, 4, x.vdevice)
    if DimMath(call.prover).equal(boxes.shape[1], 4) is False:
        call.fail(f"boxes must have four corners each, got {show_shape(boxes.shape)}")
    if which.shape is not None and DimMath(call.prover).equal(boxes.shape[0], which.shape[0]) is False:
        call.fail(f"there are {show_shape(boxes.shape)} boxes and {show_shape(which.shape)} box_indices")
    return TensorInfo(crops_shape(call, a.layout, x.shape, boxes.shape[0], a.crop_size), dtype, vdevice=x.vdevice)


def crops_shape(
    call: OpCall[Attrs], layout: str, images: Sequence[Dim], count: Dim, size: Sequence[int]
) -> tuple[Dim, ...]:
    """That of `count` parts of images, each of `size`; images without elements have no parts."""
    batch, channels, *extents = (images[layout.index(letter)] for letter in "NCHW")
    if 0 in (batch, *extents) and isinstance(count, int) and count > 0:
        what = call.op.inputs[1].name
        call.fail(f"data {show_shape(tuple(images))} has no elements that {count} {what} could name")
    return (count, channels, *size) if layout == "NCHW" else (count, *size, channels)


def compute_crop(inputs: Sequence[k.Tensor], a: CropAttrs, out: k.Result) -> k.Tensor:
    """Up to four reads an element."""
    x, boxes, which = inputs
    first = a.layout == "NCHW"
    extents = [k.index(d) for d in (x.shape[2:4] if first else x.shape[1:3])]
    beyond = k.const(as_element(a.extrapolation_value, out.dtype), out.dtype)
    real, wide = "float32", weighed_in(x)

    def source(m: k.Scalar, i: k.Scalar, axis: int) -> k.Scalar:
        low, high = (k.cast(real, boxes(m, k.index(axis + 2 * end))) for end in (0, 1))
        last = k.cast(real, extents[axis] - k.index(1))
        size = a.crop_size[axis]
        if size == 1:
            return k.const(0.5, real) * (low + high) * last
        return low * last + k.cast(real, i) * ((high - low) * last / k.const(float(size - 1), real))

    def body(*o: k.Scalar) -> k.Scalar:
        m, channel, position = (o[0], o[1], o[2:]) if first else (o[0], o[3], o[1:3])
        at = [source(m, position[axis], axis) for axis in (0, 1)]
        image = k.index(which(m))

        def read(row: k.Scalar, column: k.Scalar) -> k.Scalar:
            pixel = [
                k.maximum(k.index(0), k.minimum(k.cast("int64", p), e - k.index(1)))
                for p, e in zip((row, column), extents)
            ]
            return x(image, channel, *pixel) if first else x(image, *pixel, channel)

        if a.method == "bilinear":
            value = _blend(lambda *places: k.cast(wide, read(*places)), at, wide)
        else:
            value = read(*(k.call("round", u) for u in at))
        lasts = [k.cast(real, e - k.index(1)) for e in extents]
        valid = k.all_of([t for u, last in zip(at, lasts) for t in (tir.GE(u, k.const(0.0, real)), tir.LE(u, last))])
        return k.select(valid, k.cast(out.dtype, value), beyond)

    return k.compute(out.shape, body, "crop_and_resize")


def _blend(read: Callable[[k.Scalar, k.Scalar], k.Scalar], at: Sequence[k.Scalar], wide: str) -> k.Scalar:
    (top, down), (left, across) = ((k.floor(u), k.cast(wide, u - k.floor(u))) for u in at)
    bottom, right = k.ceil(at[0]), k.ceil(at[1])
    upper = read(top, left) + (read(top, right) - read(top, left)) * across
    lower = read(bottom, left) + (read(bottom, right) - read(bottom, left)) * across
    return upper + (lower - upper) * down


def reference_crop(inputs: Sequence[AnyArray], a: CropAttrs) -> AnyArray:
    """Box by box."""
    x, boxes, which = inputs
    images = x if a.layout == "NCHW" else np.moveaxis(x, 3, 1)
    images = images.astype(weighed_in(x)) if a.method == "bilinear" else images
    height, width = images.shape[2:]
    dtype = DataType(x.dtype) if a.out_dtype.is_void else a.out_dtype
    beyond = np.asarray(as_element(a.extrapolation_value, dtype), dtype.numpy)
    found = np.full((len(boxes), images.shape[1], *a.crop_size), beyond)
    for m, (box, number) in enumerate(zip(boxes.astype("float32"), which)):
        image = image_of(images, number)
        rows = _sources(box[0], box[2], height, a.crop_size[0])
        columns = _sources(box[1], box[3], width, a.crop_size[1])
        for i, u in enumerate(rows):
            for j, v in enumerate(columns):
                if 0 <= u <= height - 1 and 0 <= v <= width - 1:
                    found[m, :, i, j] = convert(_pixel(image, u, v, a.method), dtype)
    return np.ascontiguousarray(found if a.layout == "NCHW" else np.moveaxis(found, 1, 3))


def _sources(low: AnyArray, high: AnyArray, extent: int, size: int) -> list[AnyArray]:
    if size == 1:
        return [np.float32(0.5) * (low + high) * np.float32(extent - 1)]
    step = (high - low) * np.float32(extent - 1) / np.float32(size - 1)
    return [low * np.float32(extent - 1) + np.float32(i) * step for i in range(size)]


def _pixel(image: AnyArray, u: AnyArray, v: AnyArray, method: str) -> AnyArray:
    if method != "bilinear":
        return image[:, int(np.floor(u + 0.5)), int(np.floor(v + 0.5))]
    top, left, bottom, right = (int(f(z)) for f in (np.floor, np.ceil) for z in (u, v))
    upper = image[:, top, left] + (image[:, top, right] - image[:, top, left]) * (v - left)
    lower = image[:, bottom, left] + (image[:, bottom, right] - image[:, bottom, left]) * (v - left)
    found: AnyArray = upper + (lower - upper) * (u - top)
    return found


def relay_crop(
    make: OwnMaker,
    data: GraphExpr,
    boxes: Argument,
    box_indices: Argument,
    crop_size: Sequence[int],
    layout: str,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    out_dtype: object = None,
) -> GraphExpr:
    """The layout must be given."""
    return make(
        data,
        boxes,
        box_indices,
        crop_size=crop_size,
        layout=layout,
        method=method,
        extrapolation_value=extrapolation_value,
        out_dtype=out_dtype,
    )


_BOXES = Arr((3, 4), values=((0.0, 0.0, 1.0, 1.0), (0.25, 0.5, 0.5, -0.25), (0.9, 0.1, 0.2, 1.2)))

CROP_AND_RESIZE = OpDef(
    "image.crop_and_resize",
    CropAttrs,
    inputs=(Input("data"), Input("boxes"), Input("box_indices")),
    infer=infer_crop,
    compute=compute_crop,
    reference=reference_crop,
    gradient=NotApplicable("not offered"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    relay_builder=relay_crop,
    samples=lambda: (
        Sample(
            (Arr((2, "m", 5, 6)), _BOXES, Arr((3,), "int32", values=(1, 0, 1))), CropAttrs((3, 4)), rtol=1e-4, atol=1e-5
        ),
        Sample(
            (Arr((2, 5, 6, 2)), _BOXES, Arr((3,), "int32", values=(1, 0, 1))),
            CropAttrs((1, 3), layout="NHWC", method="nearest_neighbor", extrapolation_value=-1.0),
        ),
    ),
    summary="Crop boxes from images and resize them to one size.",
)

CROPS: tuple[Definition, ...] = (CROP_AND_RESIZE,)
