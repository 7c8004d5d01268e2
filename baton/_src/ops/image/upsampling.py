"""Images enlarged by factors: nn.upsampling and nn.upsampling3d, which are resizes. Relay only.

Factors that are computed make the operators of `dyn` (`dynamic_resize`). Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    Argument,
    CallMaker,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    OpCall,
    OpDef,
    OwnMaker,
)
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops.canonical_axes import to_canonical
from baton._src.ops.dims import DimMath
from baton._src.ops.image.resize import (
    Resize3DAttrs,
    ResizeAttrs,
    check_method,
    from_constant,
    resample,
    spread_back,
)
from baton._src.ops.image.resize_kernel import compute
from baton._src.ops.layout_names import layout_over
from baton._src.ops.layouts import Anchor
from baton._src.ops.linear_axes import known_extents
from baton._src.ops.operand_checks import check_layout_rank
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL
from baton._src.values.tensor import AnyArray


@attrs
class UpsamplingAttrs(Attrs):
    """Factors and method."""

    scale_h: float = attr(1, "factor of the height")
    scale_w: float = attr(1, "factor of the width")
    layout: str = attr("NCHW", "layout of the data")
    method: str = attr("nearest_neighbor", "nearest_neighbor, bilinear or bicubic")
    align_corners: bool = attr(False, "align the corner pixels of input and output")

    @property
    def scales(self) -> tuple[float, ...]:
        return (self.scale_h, self.scale_w)

    @property
    def mode(self) -> str:
        return "align_corners" if self.align_corners else "asymmetric"


@attrs
class Upsampling3DAttrs(Attrs):
    """Factors and method."""

    scale_d: float = attr(1, "factor of the depth")
    scale_h: float = attr(1, "factor of the height")
    scale_w: float = attr(1, "factor of the width")
    layout: str = attr("NCDHW", "layout of the data")
    method: str = attr("nearest_neighbor", "nearest_neighbor or trilinear")
    coordinate_transformation_mode: str = attr("half_pixel", "the coordinate transformation mode")

    @property
    def scales(self) -> tuple[float, ...]:
        return (self.scale_d, self.scale_h, self.scale_w)

    @property
    def mode(self) -> str:
        return self.coordinate_transformation_mode


Upsampling = UpsamplingAttrs | Upsampling3DAttrs
U = TypeVar("U", UpsamplingAttrs, Upsampling3DAttrs)

_LINEAR = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def as_resize(a: Upsampling) -> ResizeAttrs:
    """The resize that an upsampling is."""
    record = ResizeAttrs if len(a.scales) == 2 else Resize3DAttrs
    method = _LINEAR.get(a.method, a.method)
    return record(layout=a.layout, method=method, coordinate_transformation_mode=a.mode, rounding_method="")


def infer_upsampling(call: OpCall[Upsampling]) -> Info:
    """Spatial extents times their factors, rounded."""
    a, x = call.attrs, call.tensor(0)
    resize = as_resize(a)
    check_method(call, resize)
    letters = SPATIAL[resize.spatial]
    order = layout_over(a.layout, "NC" + letters, "layout")
    check_layout_rank(call, 0, order, "layout")
    if x.shape is None:
        return TensorInfo(None, x.dtype, order.rank, x.vdevice)
    math = DimMath(call.prover)
    extents: dict[str, Dim] = order.canonical(math, x.shape)
    for letter, scale in zip(letters, a.scales):
        extent = extents[letter]
        if isinstance(extent, int):
            extents[letter] = int(extent * scale + 0.5)
        elif float(scale).is_integer():
            extents[letter] = math.multiply(extent, int(scale))
        else:
            return TensorInfo(None, x.dtype, order.rank, x.vdevice)
    return TensorInfo(order.physical(math, extents), x.dtype, vdevice=x.vdevice)


def reference_upsampling(inputs: Sequence[AnyArray], a: Upsampling) -> AnyArray:
    """Resampled to the scaled extents."""
    x = inputs[0]
    resize = as_resize(a)
    letters = SPATIAL[resize.spatial]
    image = to_canonical(x, layout_over(a.layout, "NC" + letters, "layout"), "NC" + letters)
    return resample(x, tuple(int(d * s + 0.5) for d, s in zip(image.shape[2:], a.scales)), resize)


def _gradient_upsampling(b: CallMaker, args: Exprs, a: Upsampling, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """That of the resize which it is."""
    info, resize = args[0].struct_info, as_resize(a)
    order = layout_over(a.layout, "NC" + SPATIAL[resize.spatial], "layout")
    extents = known_extents(info, "upsampling", (order.position(letter) for letter in SPATIAL[resize.spatial]))
    size = tuple(int(extent * s + 0.5) for extent, s in zip(extents.values(), a.scales))
    return [spread_back(b, grad, info, size, resize)]


def _scaled(make: OwnMaker, data: GraphExpr, scales: Mapping[str, Argument], **options: object) -> GraphExpr:
    """The call; factors that are computed make it the operator of `dyn`."""
    given = {name: from_constant(scale) for name, scale in scales.items()}
    if any(isinstance(scale, GraphExpr) for scale in given.values()):
        factors = (s if isinstance(s, GraphExpr) else np.array(s, "float64") for s in given.values())
        return make.op(f"dyn.{make.definition.name}", data, *factors, **options)
    return make(data, **given, **options)


def relay_upsampling(
    make: OwnMaker,
    data: GraphExpr,
    scale_h: Argument = 1,
    scale_w: Argument = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> GraphExpr:
    """Factors that are computed make it `dyn.nn.upsampling`."""
    scales = {"scale_h": scale_h, "scale_w": scale_w}
    return _scaled(make, data, scales, layout=layout, method=method, align_corners=align_corners)


def relay_upsampling3d(
    make: OwnMaker,
    data: GraphExpr,
    scale_d: Argument = 1,
    scale_h: Argument = 1,
    scale_w: Argument = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> GraphExpr:
    """Factors that are computed make it `dyn.nn.upsampling3d`."""
    scales = {"scale_d": scale_d, "scale_h": scale_h, "scale_w": scale_w}
    mode = coordinate_transformation_mode
    return _scaled(make, data, scales, layout=layout, method=method, coordinate_transformation_mode=mode)


def _define_upsampling(
    name: str, record: type[U], builder: Callable[..., GraphExpr], samples: Callable[[], Sequence[Sample]]
) -> OpDef[U]:
    return OpDef(
        name,
        record,
        inputs=(Input("data", "the images"),),
        infer=infer_upsampling,
        compute=lambda inputs, a, out: compute(inputs, as_resize(a), out),
        reference=reference_upsampling,
        gradient=_gradient_upsampling,
        fusion=Fusion.INJECTIVE,
        layout=Anchor("layout"),
        in_relax=False,
        relay_builder=builder,
        samples=samples,
        summary="Upsample images by given factors.",
    )


UPSAMPLING = _define_upsampling(
    "nn.upsampling",
    UpsamplingAttrs,
    relay_upsampling,
    lambda: (
        Sample((Arr(("n", 2, 3, "w")),), UpsamplingAttrs(2, 3)),
        Sample((Arr((1, 3, 4, 2)),), UpsamplingAttrs(2, 1.5, "NHWC", "bilinear", True), rtol=1e-4, atol=1e-5),
    ),
)
UPSAMPLING3D = _define_upsampling(
    "nn.upsampling3d",
    Upsampling3DAttrs,
    relay_upsampling3d,
    lambda: (Sample((Arr(("n", 2, 2, 3, 4)),), Upsampling3DAttrs(2, 2, 1, method="trilinear"), rtol=1e-4, atol=1e-5),),
)

UPSAMPLINGS: tuple[Definition, ...] = (UPSAMPLING, UPSAMPLING3D)
