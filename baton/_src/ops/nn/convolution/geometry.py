"""The geometry of convolutions: strides, borders and groups as the attributes spell them, layouts, extents of kernels.

Convolutions, transposed and deformable ones and their gradients share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from baton._src.ir.attrs import Attrs, set_attr
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops.broadcasting import same_vdevice
from baton._src.ops.dims import DimMath, as_dim, show_shape
from baton._src.ops.layout_names import AxisOrder, layout_over
from baton._src.ops.linalg.products import product_dtype
from baton._src.ops.operand_checks import check_layout_rank
from baton._src.ops.windows import SPATIAL, both_sides, per_axis, steps
from baton._src.values.dtype import VOID, DataType


class Geometry(Attrs):
    """What the attributes of convolutions have in common; `spatial` is the number of spatial axes."""

    spatial: ClassVar[int]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    channels: Dim | None
    kernel_size: tuple[int, ...] | None
    data_layout: str
    kernel_layout: str
    out_layout: str
    out_dtype: DataType


G = TypeVar("G", bound=Geometry)
Extents = dict[str, Dim]
"""By the letters of a layout."""
Rule = Callable[[OpCall[G], DimMath, Extents, Extents], Extents]
"""The extents of a result by those of the data and the kernel."""


def normalise_geometry(a: Geometry, kernel_channels: str) -> None:
    """One number for each spatial axis; both sides of the border; layouts spelled out."""
    count = a.spatial
    letters = SPATIAL[count]
    set_attr(a, "strides", steps(a.strides, count, "strides"))
    set_attr(a, "dilation", steps(a.dilation, count, "dilation"))
    set_attr(a, "padding", both_sides(a.padding, count))
    set_attr(a, "groups", steps(a.groups, 1, "groups")[0])
    set_attr(a, "channels", None if a.channels is None else as_dim(a.channels))
    if a.kernel_size is not None:
        set_attr(a, "kernel_size", per_axis(a.kernel_size, count, "kernel_size"))
    set_attr(a, "data_layout", a.data_layout or f"NC{letters}")
    set_attr(a, "kernel_layout", a.kernel_layout or f"{kernel_channels}{letters}")
    set_attr(a, "out_layout", a.out_layout or "")
    set_attr(a, "out_dtype", DataType(a.out_dtype or VOID))


def orders(attributes: Geometry) -> tuple[AxisOrder, AxisOrder, AxisOrder]:
    """The layouts of data, kernel and result."""
    letters = SPATIAL[attributes.spatial]
    data = layout_over(attributes.data_layout, "NC" + letters, "data_layout")
    kernel = layout_over(attributes.kernel_layout, "OI" + letters, "kernel_layout", nested=True)
    out = layout_over(attributes.out_layout or attributes.data_layout, "NC" + letters, "out_layout")
    return data, kernel, out


def kernel_size(a: Geometry) -> tuple[int, ...]:
    """Of an operator that is told it."""
    assert a.kernel_size is not None
    return a.kernel_size


def infer_extents(call: OpCall[G], rule: Rule[G]) -> Info:
    """The result of data and kernel: its extents by `rule`, none where those of an operand are unknown. (An unknown
    kernel is no obstacle if `channels` and `kernel_size` are given.)
    """
    a, x, w = call.attrs, call.tensor(0), call.tensor(1)
    data, kernel, out = orders(a)
    check_layout_rank(call, 0, data, "data_layout")
    check_layout_rank(call, 1, kernel, "kernel_layout")
    dtype = x.dtype if w.dtype.is_void and a.out_dtype.is_void else product_dtype(call, x, w, a.out_dtype)
    device = same_vdevice(call, (x, w))
    math = DimMath(call.prover)
    weights = _kernel_extents(call, math, kernel)
    if x.shape is None or weights is None:
        return TensorInfo(None, dtype, out.rank, device)
    extents = rule(call, math, data.canonical(math, x.shape), weights)
    return TensorInfo(out.physical(math, extents), dtype, vdevice=device)


def infer_kernel(
    call: OpCall[Geometry], channels: Callable[[DimMath, Dim, Dim], Extents]
) -> Sequence[TensorInfo | None]:
    """A kernel of unknown type: of the data's dtype, in its layout, of `kernel_size`. `channels` gives its O and I
    by the channels of the data and of the result.
    """
    a, x = call.attrs, call.tensor(0)
    if a.channels is None or a.kernel_size is None or x.shape is None or x.dtype.is_void:
        return (None, None)
    data, kernel, _ = orders(a)
    math = DimMath(call.prover)
    extents = dict(zip(SPATIAL[a.spatial], a.kernel_size)) | channels(
        math, data.canonical(math, x.shape)["C"], a.channels
    )
    return (None, TensorInfo(kernel.physical(math, extents), x.dtype))


def _kernel_extents(call: OpCall[Geometry], math: DimMath, kernel: AxisOrder) -> Extents | None:
    """O, I and spatial extents of the kernel, from its type or else from the attributes; None if unknown."""
    a, w = call.attrs, call.tensor(1)
    letters = SPATIAL[a.spatial]
    if w.shape is None:
        if a.channels is None or a.kernel_size is None:
            return None
        return {"O": a.channels, **dict(zip(letters, a.kernel_size))}
    found = kernel.canonical(math, w.shape)
    if a.kernel_size is not None:
        for letter, size in zip(letters, a.kernel_size):
            if math.equal(found[letter], size) is False:
                call.fail(
                    f"kernel_size is {a.kernel_size}, but the kernel has shape {show_shape(w.shape)}",
                    help=f"leave kernel_size out, or give a kernel of that size; its layout is {kernel.name}",
                )
    return found
