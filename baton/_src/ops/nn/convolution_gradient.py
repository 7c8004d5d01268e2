"""The gradient of convolution: towards the data a transposed convolution, towards the kernel a convolution of the
data.

Towards the kernel, batch and channels change places: the gradient is the kernel that slides over the data, strides
become dilation and dilation strides. Groups have an operator of their own for that, over two spatial axes.
"""

from __future__ import annotations

from typing import Any

from baton._src.support.diagnostics import fail


def gradient(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
    """[towards data, towards weight]"""
    x, w = args
    count = a.spatial
    letters = {1: "W", 2: "HW", 3: "DHW"}[count]
    if a.data_layout != "NC" + letters or a.kernel_layout != "OI" + letters or (a.groups != 1 and count != 2):
        message = "the gradient of convolution is known for channels-first layouts; of groups for two spatial axes"
        raise fail("op-gradient", message)
    extents, kernel, result = (_numbers(t.struct_info.shape.values[2:]) for t in (x, w, out))
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
    if a.groups != 1:
        geometry = {name: getattr(a, name) for name in ("strides", "padding", "dilation", "groups")}
        return [to_data, b.op("nn.conv2d_backward_weight", grad, x, kernel_size=kernel, **geometry)]
    swap = (1, 0, *range(2, count + 2))
    slid = b.op(
        f"nn.conv{count}d",
        b.op("permute_dims", x, axes=swap),
        b.op("permute_dims", grad, axes=swap),
        strides=a.dilation,
        dilation=a.strides,
        padding=(*begins, *(e - r for e, r in zip(ends, left_over))) if min(ends) >= max(left_over) else a.padding,
    )
    to_weight = b.op("permute_dims", slid, axes=swap)
    if min(ends) < max(left_over):
        axes = tuple(range(2, count + 2))
        to_weight = b.op("strided_slice", to_weight, axes, (0,) * count, kernel)
    return [to_data, to_weight]


def _numbers(dims: Any) -> tuple[int, ...]:
    return tuple(int(d) for d in dims)
