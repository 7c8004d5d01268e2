"""The gradient of convolution: towards the data a transposed convolution, towards the kernel a convolution of the
data.

Towards the kernel, batch and channels change places: the gradient is the kernel that slides over the data, strides
become dilation and dilation strides. Of groups each takes its own channels to the place of the batch; over two spatial
axes an operator of its own does that.
"""

from __future__ import annotations

from typing import Any

from baton._src.ops.nn.convolution.depth_multiplier import depth_multiplier
from baton._src.support.diagnostics import fail


def gradient(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
    """[towards data, towards weight]"""
    x, w = args
    count = a.spatial
    letters = {1: "W", 2: "HW", 3: "DHW"}[count]
    if a.data_layout != "NC" + letters or a.kernel_layout != "OI" + letters:
        raise fail("op-gradient", "the gradient of a convolution is implemented for channels-first layouts only")
    extents, kernel, result = (_numbers(t.struct_info.shape.values[2:]) for t in (x, w, out))
    outputs, inner = _numbers(w.struct_info.shape.values[:2])
    has_multiplier = depth_multiplier(a, {"O": outputs, "I": inner}) > 1
    if has_multiplier:
        w = b.op("reshape", w, b.shape((outputs * inner, 1, *kernel)))
    begins, ends = a.padding[:count], a.padding[count:]
    left_over = tuple(
        extents[i] + begins[i] + ends[i] - (kernel[i] - 1) * a.dilation[i] - 1 - (result[i] - 1) * a.strides[i]
        for i in range(count)
    )
    to_data = b.op(
        f"nn.conv{count}d_transpose",
        grad,
        w,
        strides=a.strides,
        padding=a.padding,
        output_padding=left_over,
        dilation=a.dilation,
        groups=a.groups,
        data_layout=a.data_layout,
        kernel_layout="IO" + letters,
    )
    to_kernel = _towards_kernel(b, x, a, grad, kernel, left_over)
    return [to_data, b.op("reshape", to_kernel, b.shape((outputs, inner, *kernel))) if has_multiplier else to_kernel]


def _towards_kernel(b: Any, x: Any, a: Any, grad: Any, kernel: tuple[int, ...], left_over: tuple[int, ...]) -> Any:
    """`left_over`: the elements at the end of each axis that no window reaches."""
    count = a.spatial
    if a.groups != 1 and count == 2:
        geometry = {name: getattr(a, name) for name in ("strides", "padding", "dilation", "groups")}
        return b.op("nn.conv2d_backward_weight", grad, x, kernel_size=kernel, **geometry)
    begins, ends = a.padding[:count], a.padding[count:]
    fits = min(ends) >= max(left_over)
    swap = (1, 0, *range(2, count + 2))
    slid = b.op(
        f"nn.conv{count}d",
        b.op("permute_dims", x, axes=swap) if a.groups == 1 else _channels_before_groups(b, x, a.groups),
        b.op("permute_dims", grad, axes=swap),
        strides=a.dilation,
        dilation=a.strides,
        groups=a.groups,
        padding=(*begins, *(e - r for e, r in zip(ends, left_over))) if fits else a.padding,
    )
    found = b.op("permute_dims", slid, axes=swap)
    if fits:
        return found
    return b.op("strided_slice", found, tuple(range(2, count + 2)), (0,) * count, kernel)


def _channels_before_groups(b: Any, x: Any, groups: int) -> Any:
    """(batch, groups * channels, ...) as (channels, groups * batch, ...)."""
    batch, channels, *extents = x.struct_info.shape.values
    each = int(channels) // groups
    split = b.op("reshape", x, b.shape((batch, groups, each, *extents)))
    turned = b.op("permute_dims", split, axes=(2, 1, 0, *range(3, len(extents) + 3)))
    return b.op("reshape", turned, b.shape((each, groups * batch, *extents)))


def _numbers(dims: Any) -> tuple[int, ...]:
    return tuple(int(d) for d in dims)
