"""Layers of images (NCHW): convolutions of all kinds, pools, what stands between and around them."""

from __future__ import annotations

from typing import Any

from baton._src.relax.nodes import Expr, ShapeExpr, Tuple
from tests.relax.networks.in_bytes import quantised_convolution
from tests.relax.networks.network import ACTIVATIONS, Net, Unsuited, alike, dims, least
from tests.relax.networks.volumes import lines, volumes

CHANNELS = (1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 33, 48, 64)
OUTPUTS = (1, 2, 3, 4, 7, 8, 13, 16, 20, 32, 33, 40, 64)
HEIGHTS = (1, 3, 5, 7, 8, 9, 13, 14, 17, 20, 28, 33)
WIDTHS = (1, 4, 6, 7, 11, 15, 16, 21, 30, 47)
WINDOWS = ((1, 1), (1, 1), (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (1, 3), (3, 1), (2, 2), (1, 7))
LARGE = (9, 10, 11, 13, 16, 19, 23, 33)
"""Open sizes that windows fit in."""


def image(g: Net) -> Expr:
    """What the network is given."""
    height = g.draw.choice(HEIGHTS)
    width = height if g.draw.random() < 0.5 else g.draw.choice(WIDTHS)
    n = g.size("n", g.draw.choice([1, 1, 2, 3]), (1, 2, 3, 5))
    return g.parameter(n, g.draw.choice(CHANNELS), g.size("h", height, LARGE), g.size("w", width, LARGE))


def _convolved(g: Net, x: Expr, outputs: int, groups: int) -> Expr:
    _, channels, height, width = dims(x)
    window = g.draw.choice(WINDOWS)
    step = g.draw.choice([1, 1, 1, 2, (2, 1), 3])
    apart = g.draw.choice([1, 1, 1, 1, 2])
    same = (window[0] // 2 * apart, window[1] // 2 * apart)
    border = g.draw.choice([same, same, (0, 0), (1, 0, 0, 1), (2, 1)])
    low, high = border[:2], border[-2:]
    for size, taps, before, after in zip((height, width), window, low, high):
        if (taps - 1) * apart + 1 > least(size) + before + after:
            raise Unsuited
    weight = g.weight(outputs, channels // groups, *window)
    y = g.emit("nn.conv2d", x, weight, strides=step, padding=border, dilation=apart, groups=groups)
    return g.behind(y, outputs)


def convolution(g: Net, x: Expr) -> Expr:
    """Of all channels."""
    return _convolved(g, x, g.draw.choice(OUTPUTS), 1)


def depthwise(g: Net, x: Expr) -> Expr:
    """Of each channel alone, one or two from each."""
    channels = dims(x)[1]
    return _convolved(g, x, channels * g.draw.choice([1, 1, 1, 2]), channels)


def grouped(g: Net, x: Expr) -> Expr:
    """Of some channels each."""
    channels = dims(x)[1]
    groups = g.draw.choice([k for k in (2, 3, 4, 8, 16) if channels % k == 0] or [1])
    return _convolved(g, x, groups * g.draw.choice([1, 2, 3, 4, 8, 16]), groups)


def transposed(g: Net, x: Expr) -> Expr:
    """As many times as large as the step says."""
    _, channels, height, width = dims(x)
    size, step = g.draw.choice([1, 2, 3, 4]), g.draw.choice([1, 2, 2, 3])
    border, more = g.draw.choice([0, 0, min(1, size - 1)]), g.draw.choice([0, min(1, step - 1)])
    apart = g.draw.choice([1, 1, 1, 2])
    groups = g.draw.choice([1, 1, 1, channels, *(k for k in (2, 3, 4) if channels % k == 0)])
    outputs = g.draw.choice([1, 3, 8, 16, 17]) if groups == 1 else g.draw.choice([1, 1, 2, 5])
    smallest = min(least(height), least(width))
    if (smallest - 1) * step + (size - 1) * apart - 2 * border < 0 or max(least(height), least(width)) > 30:
        raise Unsuited
    weight = g.weight(channels, outputs, size, size)
    steps = g.draw.choice([step, step, (step, max(1, step - 1))]) if not more else step
    borders = g.draw.choice([border, border, (border, 0, 0, border)])
    attrs = {"strides": steps, "padding": borders, "output_padding": more, "dilation": apart, "groups": groups}
    return g.behind(g.emit("nn.conv2d_transpose", x, weight, **attrs), outputs * groups)


def channels_behind(g: Net, x: Expr) -> Expr:
    """NHWC for a while."""
    channels = dims(x)[1]
    y = g.emit("permute_dims", x, axes=[0, 2, 3, 1])
    if g.draw.random() < 0.6:
        size, apart = g.draw.choice([1, 3]), g.draw.choice([1, 1, 2])
        groups = g.draw.choice([1, 1, channels, *(k for k in (2, 4) if channels % k == 0)])
        outputs = g.draw.choice([3, 8, 16, 20]) if groups == 1 else groups * g.draw.choice([1, 1, 2, 3])
        weight = g.weight(size, size, channels // groups, outputs)
        attrs: dict[str, Any] = {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": groups, "dilation": apart}
        y = g.emit("nn.conv2d", y, weight, padding=size // 2 * apart, strides=g.draw.choice([1, 1, 2]), **attrs)
    else:
        y = g.emit("nn.softmax", y, axis=-1)
    y = g.emit("nn.relu", y) if g.draw.random() < 0.5 else y
    return g.emit("permute_dims", y, axes=[0, 3, 1, 2])


def pool(g: Net, x: Expr) -> Expr:
    """Windows that hang over, count borders or not, and step."""
    window = g.draw.choice([(2, 2), (3, 3), (3, 3), (1, 3), (5, 5)])
    apart = g.draw.choice([1, 1, 1, 2])
    if (max(window) - 1) * apart + 1 > min(least(d) for d in dims(x)[2:]):
        raise Unsuited
    kind = g.draw.choice(["max", "avg"])
    attrs: dict[str, Any] = {"count_include_pad": g.draw.random() < 0.5} if kind == "avg" else {}
    border = g.draw.choice([0, 1, (0, 1, 1, 0)]) if min(window) > 1 else 0
    attrs |= {
        "strides": g.draw.choice([1, 2, 2, 3]),
        "padding": border,
        "dilation": apart,
        "ceil_mode": g.draw.random() < 0.4,
    }
    return g.emit(f"nn.{kind}_pool2d", x, pool_size=window, **attrs)


def averaged(g: Net, x: Expr) -> Expr:
    """One value, or a few, of each channel."""
    if g.draw.random() < 0.5:
        return g.emit("mean", x, axis=[2, 3], keepdims=True)
    return g.emit("nn.adaptive_avg_pool2d", x, output_size=[g.draw.choice([1, 2, 3])] * 2)


def activated(g: Net, x: Expr) -> Expr:
    """Elementwise."""
    return g.emit(g.draw.choice([*ACTIVATIONS, "exp", "erf", "negative"]), g.emit("clip", x, -4, 4))


def shifted(g: Net, x: Expr) -> Expr:
    """By a number for each channel."""
    return g.emit("add", x, g.shift(dims(x)[1], 1, 1))


def scaled(g: Net, x: Expr) -> Expr:
    """By an input, or by what the channels amount to."""
    n, channels, *_ = dims(x)
    if g.draw.random() < 0.5:
        return g.emit("multiply", x, g.parameter(n, channels, 1, 1))
    mean = g.emit("mean", x, axis=[2, 3], keepdims=True)
    gate = g.emit("sigmoid", g.emit("nn.conv2d", mean, g.weight(channels, channels, 1, 1)))
    return g.emit("multiply", x, gate)


def normalised(g: Net, x: Expr) -> Expr:
    """By given statistics, or by those of each image."""
    c = dims(x)[1]
    if g.draw.random() < 0.5:
        attrs = {"axis": 1, "training": False}
        return g.field(g.emit("nn.batch_norm", x, g.scale(c), g.shift(c), g.shift(c), g.scale(c), **attrs), 0)
    return g.emit("nn.instance_norm", x, g.scale(c), g.shift(c), channel_axis=1, axes=[2, 3])


def residual(g: Net, x: Expr) -> Expr:
    """A layer, added to what it is given."""
    y = g.layer(x, IMAGES)
    if not alike(x, y):
        return y
    return g.emit("add", *((x, y) if g.draw.random() < 0.5 else (y, x)))


def joined(g: Net, x: Expr) -> Expr:
    """A layer's channels beside those it is given."""
    y = g.layer(x, IMAGES)
    same = [str(d) for d in dims(x)[2:]] == [str(d) for d in dims(y)[2:]]
    return g.emit("concat", Tuple([x, y]), axis=1) if same else y


def divided(g: Net, x: Expr) -> Expr:
    """Some channels, or all of them in another order."""
    channels = dims(x)[1]
    if channels < 2:
        raise Unsuited
    parts = g.emit("split", x, [g.draw.randint(1, channels - 1)], axis=1)
    first, second = g.field(parts, 0), g.field(parts, 1)
    return first if g.draw.random() < 0.3 else g.emit("concat", Tuple([second, g.emit("nn.relu", first)]), axis=1)


def resized(g: Net, x: Expr) -> Expr:
    """To another size."""
    height, width = dims(x)[2:]
    if max(least(height), least(width)) > 20:
        raise Unsuited
    method = g.draw.choice(["linear", "nearest_neighbor", "cubic"])
    place = g.draw.choice(["half_pixel", "align_corners", "asymmetric"])
    attrs = {"method": method, "coordinate_transformation_mode": place}
    return g.emit("image.resize2d", x, ShapeExpr([height * 2, width + 3]), **attrs)


def padded(g: Net, x: Expr) -> Expr:
    """With a border of some kind."""
    few = min(least(d) for d in dims(x)[2:]) < 3
    mode = g.draw.choice(["constant", "edge", "edge" if few else "reflect"])
    return g.emit("nn.pad", x, [0, 0, 0, 0, 1, 2, 2, 0], pad_mode=mode)


def widened(g: Net, x: Expr) -> Expr:
    """In a wider dtype for a while."""
    return g.widened(x, IMAGES)


IMAGES = (
    *(convolution,) * 6, *(quantised_convolution,) * 2, *(depthwise,) * 2, grouped, *(transposed,) * 2, channels_behind,
    lines, volumes, *(pool,) * 2, averaged, activated, shifted, scaled, normalised, residual, joined, divided, resized,
    padded, widened,
)  # fmt: skip
