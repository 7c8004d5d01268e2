"""Random statements whose operators look at windows, or between elements: convolutions, pools, resized images, borders.

As in `richer_statements`, each takes the generator. The rows are a batch, a height or a width of unknown size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from baton._src.relax.literals import const
from baton._src.relax.nodes import ShapeExpr, Tuple, TupleGetItem
from tests.relax.build import RELAX


def _emit(g: Any, name: str, *args: Any, **attrs: Any) -> Any:
    return g.builder.emit(RELAX.find(name)(*args, **attrs))


def _weight(g: Any, *shape: int) -> Any:
    """Small weights."""
    rng = np.random.default_rng(g.draw(st.integers(0, 3)))
    return const((rng.uniform(-1, 1, shape) / 4).astype(np.float32))


def _image(g: Any, channels: int = 1) -> Any:
    """(1, channels, n, 4): tensors in scope as channels of one image."""
    parts = [_emit(g, "reshape", g.pick(), ShapeExpr([1, 1, g.n, 4])) for _ in range(channels)]
    return parts[0] if channels == 1 else _emit(g, "concat", Tuple(parts), axis=1)


def _back(g: Any, image: Any) -> None:
    """An image of the same height and width, its channels added up."""
    rows = _emit(g, "reshape", _emit(g, "sum", image, axis=[1]), ShapeExpr([g.n, 4]))
    g.add(RELAX["tanh"](rows))


def _beside(g: Any, image: Any) -> None:
    """An image of another height and width: what it amounts to for each channel, added to a tensor in scope."""
    found = _emit(g, "max", image, axis=[0, 2, 3], keepdims=False)
    g.add(RELAX["add"](g.pick(), _emit(g, "tanh", _emit(g, "sum", found, axis=None, keepdims=False))))


def convolution(g: Any) -> None:
    """Over an image as high as there are rows; borders keep its size, strides do not."""
    groups = g.draw(st.sampled_from([1, 2]))
    size = g.draw(st.sampled_from([1, 3]))
    dilation = g.draw(st.sampled_from([1, 2]))
    stride = g.draw(st.sampled_from([1, 1, 2]))
    weight = _weight(g, 4, 2 // groups, size, size)
    image = _image(g, 2)
    border = dilation * (size // 2)
    found = _emit(
        g, "nn.conv2d", image, weight, padding=border, dilation=dilation, groups=groups, strides=[stride, stride]
    )
    if g.draw(st.booleans()):
        found = _emit(g, "nn.relu", _emit(g, "add", found, _weight(g, 1, 4, 1, 1)))
    (_back if stride == 1 else _beside)(g, found)


def convolution_with_channels_behind(g: Any) -> None:
    """NHWC, with as many images as rows."""
    images = _emit(g, "reshape", g.pick(), ShapeExpr([g.n, 2, 2, 1]))
    weight = _weight(g, 3, 3, 1, 2)
    found = _emit(g, "nn.conv2d", images, weight, padding=1, data_layout="NHWC", kernel_layout="HWIO")
    g.add(RELAX["reshape"](_emit(g, "mean", found, axis=[3]), ShapeExpr([g.n, 4])))


def convolution_in_one_dimension(g: Any) -> None:
    """Along the rows, or along the columns of a batch of rows."""
    if g.draw(st.booleans()):
        row = _emit(g, "expand_dims", g.pick(), axis=1)
        found = _emit(g, "nn.conv1d", row, _weight(g, 3, 1, 3), padding=1)
        g.add(RELAX["tanh"](_emit(g, "sum", found, axis=[1])))
    else:
        columns = _emit(g, "expand_dims", _emit(g, "permute_dims", g.pick(), axes=None), axis=0)
        found = _emit(g, "nn.conv1d", columns, _weight(g, 4, 2, 3), padding=1, groups=2)
        turned = _emit(g, "permute_dims", _emit(g, "squeeze", found, axis=[0]), axes=None)
        g.add(RELAX["tanh"](turned))


def transposed_convolution(g: Any) -> None:
    """Twice as high and wide, and shrunk again by a pool."""
    weight = _weight(g, 2, 3, 3, 3)
    larger = _emit(g, "nn.conv2d_transpose", _image(g, 2), weight, strides=2, padding=1, output_padding=1)
    _back(g, _emit(g, "nn.max_pool2d", larger, pool_size=2, strides=2))


def pool(g: Any) -> None:
    """Windows that hang over, count borders or not, and step."""
    kind = g.draw(st.sampled_from(["max", "avg"]))
    attrs: dict[str, Any] = {"ceil_mode": g.draw(st.booleans())}
    if kind == "avg":
        attrs["count_include_pad"] = g.draw(st.booleans())
    stride = g.draw(st.sampled_from([1, 2]))
    found = _emit(g, f"nn.{kind}_pool2d", _image(g), pool_size=3, strides=stride, padding=1, **attrs)
    (_back if stride == 1 else _beside)(g, found)


def adaptive_pool(g: Any) -> None:
    """As many windows as are wanted, whatever the height: fewer, or more."""
    size = (g.draw(st.integers(1, 5)), g.draw(st.integers(1, 5)))
    found = _emit(g, "nn.adaptive_avg_pool2d", _image(g, 2), output_size=size)
    _beside(g, found)


def resized(g: Any) -> None:
    """To another size, known or not."""
    wanted = g.draw(st.sampled_from([(g.n * 2, 8), (g.n + 1, 3), (5, 4), (g.n, 2)]))
    method = g.draw(st.sampled_from(["nearest_neighbor", "linear", "cubic"]))
    place = g.draw(st.sampled_from(["half_pixel", "align_corners", "asymmetric"]))
    rounding = "floor" if place == "asymmetric" else "round"
    attrs = {"method": method, "coordinate_transformation_mode": place}
    if method == "nearest_neighbor":
        attrs["rounding_method"] = rounding
    larger = _emit(g, "image.resize2d", _image(g), ShapeExpr(wanted), layout="NCHW", **attrs)
    _beside(g, larger)


def sampled(g: Any) -> None:
    """Taken from where another tensor says, inside the image and beside it."""
    places = _emit(g, "concat", Tuple([g.pick(), g.pick()]), axis=1)
    grid = _emit(g, "reshape", _emit(g, "multiply", places, const(1.5)), ShapeExpr([1, 2, g.n, 4]))
    _back(g, _emit(g, "image.grid_sample", _image(g, 2), grid, method=g.draw(st.sampled_from(["bilinear", "nearest"]))))


def borders(g: Any) -> None:
    """Around the tensor: a value, the edge again, or its mirror image; and a part of what that gives."""
    mode = g.draw(st.sampled_from(["constant", "edge", "reflect"]))
    padded = _emit(g, "nn.pad", g.pick(), (0, 0, 2, 1), pad_mode=mode)
    rows = _emit(g, "nn.pad", padded, (1, 2, 0, 0), pad_mode="constant" if mode == "reflect" else mode)
    begin = g.draw(st.integers(0, 2))
    part = _emit(g, "strided_slice", rows, axes=[0, 1], begin=[begin, begin + 1], end=[g.n + begin, begin + 5])
    g.pool.append(g.builder.match_cast(part, g.wide))  # rows are counted by minima and maxima


def attended(g: Any) -> None:
    """Rows that look at rows, with two heads and perhaps a bias."""
    q, k, v = (_emit(g, "reshape", g.pick(), ShapeExpr([1, g.n, 2, 2])) for _ in range(3))
    if g.draw(st.booleans()):
        bias = _emit(g, "matmul", g.pick(), _emit(g, "permute_dims", g.pick(), axes=None))
        bias = _emit(g, "reshape", bias, ShapeExpr([1, 1, g.n, g.n]))
        found = _emit(g, "nn.attention_bias", q, k, v, bias)
    else:
        mask = g.draw(st.sampled_from([None, "TopLeft", "BottomRight"]))
        found = _emit(g, "nn.attention", q, k, v, causal_mask=mask)
    g.add(RELAX["reshape"](found, ShapeExpr([g.n, 4])))


def normalised_image(g: Any) -> None:
    """By the statistics given, or by those of groups of channels."""
    image = _image(g, 4)
    scale, shift = g.params[2], _weight(g, 4)
    if g.draw(st.booleans()):
        spread = _emit(g, "add", _emit(g, "abs", _weight(g, 4)), const(0.5))
        found = _emit(g, "nn.batch_norm", image, scale, shift, _weight(g, 4), spread, axis=1, training=False)
        image = _emit(g, "nn.relu", g.builder.emit(TupleGetItem(found, 0)))
    else:
        image = _emit(g, "nn.group_norm", image, scale, shift, num_groups=2, channel_axis=1, axes=[2, 3])
    _back(g, image)


WINDOWS = [
    convolution,
    convolution_with_channels_behind,
    convolution_in_one_dimension,
    transposed_convolution,
    pool,
    adaptive_pool,
    resized,
    sampled,
    borders,
    attended,
    normalised_image,
]
