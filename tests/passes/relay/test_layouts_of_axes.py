"""ConvertLayout goes through operators that speak of axes by number: between two convolutions no transform is left."""

from __future__ import annotations

import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relay.layouts.convert_layout import ConvertLayout
from tests.passes.relay.test_before_after import check_same, main, names

PARAMS = (
    "%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32], "
    "%v: Tensor[(8, {}, 1, 1), float32], %c: Tensor[(8), float32]"
)
FIRST = "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])"
BOXES = (
    "concatenate((Constant(0f, (2, 1), float32), Constant(1f, (2, 2), float32), Constant(4f, (2, 2), float32)), axis=1)"
)
THROUGH = {
    "mean(%0, axis=[2, 3], keepdims=True)": 8,
    "sum(%0, axis=[1], keepdims=True)": 1,
    "max(%0, axis=[-3, 0], keepdims=True, exclude=True)": 8,
    "argmax(%0, axis=[1], keepdims=True)": 1,
    "variance(%0, axis=[1], keepdims=True)": 1,
    "variance(%0, strided_slice(%x, begin=[0], end=[1], axes=[1]), axis=[1], keepdims=True)": 1,
    "nn.pad(%0, 1f, pad_width=[[0, 0], [2, 1], [1, 2], [0, 3]])": 11,
    "nn.mirror_pad(%0, pad_width=[[0, 0], [0, 0], [1, 2], [0, 3]])": 8,
    "strided_slice(%0, begin=[0, 7, 5], end=[1, 0, 0], strides=[1, -1, -2])": 7,
    "strided_slice(%0, begin=[1, 2], end=[5, 6], axes=[-1, 1])": 4,
    'strided_slice(%0, begin=[0, 2, 0, 0], end=[1, 4, -1, 3], slice_mode="size")': 4,
    "nn.upsampling(%0, scale_h=2f64, scale_w=2f64)": 8,
    "image.resize2d(%0, size=[9, 7])": 8,
    "nn.depth_to_space(%0, block_size=2)": 2,
    "nn.global_avg_pool2d(%0)": 8,
    f"vision.roi_align(%0, {BOXES}, pooled_size=[3, 2], spatial_scale=0.9f64, sample_ratio=2)": 8,
    f"vision.roi_pool(%0, {BOXES}, pooled_size=[2, 3], spatial_scale=1f64)": 8,
    "concatenate((%0, nn.relu(%0)), axis=-3)": 16,
    "nn.lrn(%0)": 8,
    "nn.l2_normalize(%0, eps=1e-05f64, axis=[1])": 8,
    "nn.prelu(%0, %c)": 8,
    "nn.instance_norm(%0, %c, %c)": 8,
    "nn.group_norm(%0, %c, %c, num_groups=2)": 8,
    "nn.layer_norm(%0, %c, %c, axis=1)": 8,
    "reverse(%0, axis=1)": 8,
    "repeat(%0, repeats=2, axis=1)": 16,
    "cumsum(%0, axis=-1)": 8,
    "transpose(transpose(%0, axes=[0, 2, 3, 1]), axes=[0, 3, 1, 2])": 8,
    "multiply(%0, sigmoid(mean(%0, axis=[2, 3], keepdims=True)))": 8,
}
"""An expression over the convolution %0, and its number of channels."""


def transforms_of_data(module: IRModule) -> int:
    """Transforms of values; each kernel has one, too."""
    return names(module).count("layout_transform") - names(module).count("nn.conv2d")


@pytest.mark.rule("RELAY-PASS-27")
@pytest.mark.parametrize("expression", THROUGH)
def test_between_convolutions(expression: str) -> None:
    channels = THROUGH[expression]
    between = f'cast({expression}, dtype="float32")' if "arg" in expression else expression
    last = f"nn.conv2d({between}, %v, channels=8, kernel_size=[1, 1])"
    before = main(PARAMS.format(channels), f"%0 = {FIRST}; {last}")
    after = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(before)
    assert transforms_of_data(after) == (3 if "%x" in expression else 2)
    check_same(before, after, 1e-3)
    check_same(before, ConvertLayout({"nn.conv2d": ["NCHW4c", "default"]})(before), 1e-3)


AT_THE_END = {
    "mean(%0, axis=[2, 3])": 1,
    "argmax(%0, axis=[1])": 1,
    "argmax(%0, axis=[1, 3])": 2,
    "sum(%0)": 1,
    "max(%0, axis=[3])": 2,
    "add(%0, max(%0, axis=[0]))": None,
    "tile(%0, reps=[1, 2, 1, 1])": 2,
    "broadcast_to(mean(%0, axis=[1], keepdims=True), shape=[1, 8, 6, 6])": 2,
    "add(%0, strided_slice(%c, begin=[0], end=[6]))": None,
    "add(%0, reshape(%c, newshape=[8, 1, 1, 1, 1]))": None,
    "transpose(%0, axes=[0, 2, 3, 1])": 1,
    "transpose(%0)": 2,
}
"""An expression over the convolution, and how many transforms of data are left; None: it does not matter."""


@pytest.mark.rule("RELAY-PASS-27")
@pytest.mark.parametrize("expression", AT_THE_END)
def test_what_comes_out_of_a_convolution(expression: str) -> None:
    """Results of other rank, tiles (which were taken in the wrong order), broadcasts that add axes (which broke)."""
    before = main(PARAMS.format(8), f"%0 = {FIRST}; {expression}")
    after = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(before)
    wanted = AT_THE_END[expression]
    assert wanted is None or transforms_of_data(after) == wanted
    check_same(before, after, 1e-3)
    check_same(before, ConvertLayout({"nn.conv2d": ["NCHW4c", "default"]})(before), 1e-3)


@pytest.mark.parametrize("layout", ["HWNC", "CNHW"])
@pytest.mark.parametrize("expression", THROUGH)
def test_where_the_batch_is_not_first(expression: str, layout: str) -> None:
    """instance_norm took height for the batch."""
    before = main(PARAMS.format(8), f"%0 = {FIRST}; {expression}")
    check_same(before, ConvertLayout({"nn.conv2d": [layout, "default"]})(before), 1e-3)


@pytest.mark.parametrize("pool", ["nn.avg_pool2d", "nn.max_pool2d"])
def test_pools_where_the_batch_is_not_first(pool: str) -> None:
    """The reference looked for the batch on the first axis."""
    param, window = "%x: Tensor[(8, 7, 2, 6), float32]", "pool_size=[3, 3], padding=[1, 1]"
    usual = f"transpose({pool}(transpose(%x, axes=[2, 3, 0, 1]), {window}), axes=[2, 3, 0, 1])"
    check_same(main(param, usual), main(param, f'{pool}(%x, {window}, layout="HWNC")'))


@pytest.mark.parametrize("name", ["vision.roi_align", "vision.roi_pool"])
def test_pooling_of_boxes_is_converted_where_asked(name: str) -> None:
    before = main(PARAMS.format(8), f"{name}(%x, {BOXES}, pooled_size=[3, 2], spatial_scale=0.9f64)")
    after = ConvertLayout({name: ["NHWC", "default"]})(before)
    check_same(before, after)
    assert names(after).count("layout_transform") == 2
    assert 'layout="NHWC"' in after.astext()
