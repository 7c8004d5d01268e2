"""The gradient of convolution: towards the data a transposed convolution, towards the kernel an operator of its own.

Layouts that are not channels first are transposed before and after.
"""

from __future__ import annotations

from typing import Any

from baton._src.ops.nn.convolution.depth_multiplier import depth_multiplier
from baton._src.ops.windows import SPATIAL
from baton._src.support.diagnostics import fail


def gradient(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
    """[towards data, towards weight]"""
    letters = SPATIAL[a.spatial]
    plain = ("NC" + letters, "OI" + letters)
    layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    if layouts == (*plain, plain[0]):
        return _channels_first(b, args, a, [_sizes(t) for t in (*args, out)], grad)
    if any(sorted(given) != sorted(order) for given, order in zip(layouts, (*plain, plain[0]))):
        raise fail("op-gradient", f"the gradient of a convolution is for layouts without blocks, not {layouts}")
    first = [_turned(b, arg, given, order) for arg, given, order in zip(args, layouts, plain)]
    sizes = [
        tuple(_sizes(t)[given.index(letter)] for letter in order)
        for t, given, order in zip((*args, out), layouts, (*plain, plain[0]))
    ]
    found = _channels_first(b, first, a, sizes, _turned(b, grad, layouts[2], plain[0]))
    return [_turned(b, value, order, given) for value, order, given in zip(found, plain, layouts)]


def _sizes(t: Any) -> tuple[Any, ...]:
    info = getattr(t, "struct_info", t)
    return tuple(info.shape.values if hasattr(info.shape, "values") else info.shape)


def _turned(b: Any, x: Any, given: str, wanted: str) -> Any:
    """From one order of axes to another one."""
    return x if given == wanted else b.op("permute_dims", x, axes=tuple(given.index(letter) for letter in wanted))


def _channels_first(b: Any, args: Any, a: Any, sizes: Any, grad: Any) -> list[Any]:
    x, w = args
    count, letters = a.spatial, SPATIAL[a.spatial]
    extents, kernel, result = (_numbers(s[2:]) for s in sizes)
    outputs, inner = _numbers(sizes[1][:2])
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
        data_layout="NC" + letters,
        kernel_layout="IO" + letters,
    )
    to_kernel = _towards_kernel(b, x, a, sizes, grad)
    return [to_data, b.op("reshape", to_kernel, b.shape((outputs, inner, *kernel))) if has_multiplier else to_kernel]


def _towards_kernel(b: Any, x: Any, a: Any, sizes: Any, grad: Any) -> Any:
    """Of one axis as of two, the first of one element."""
    kernel = _numbers(sizes[1][2:])
    geometry = {name: getattr(a, name) for name in ("strides", "padding", "dilation")}
    if a.spatial != 1:
        name = f"nn.conv{a.spatial}d_backward_weight"
        return b.op(name, grad, x, kernel_size=kernel, groups=a.groups, **geometry)
    flat = {name: (1, *geometry[name]) for name in ("strides", "dilation")}
    padding = (0, geometry["padding"][0], 0, geometry["padding"][1])
    planes = [b.op("expand_dims", t, axis=(2,)) for t in (grad, x)]
    found = b.op(
        "nn.conv2d_backward_weight", *planes, kernel_size=(1, *kernel), groups=a.groups, padding=padding, **flat
    )
    return b.op("squeeze", found, axis=(2,))


def _numbers(dims: Any) -> tuple[int, ...]:
    return tuple(int(d) for d in dims)
