"""Layouts: blocked and channels-last convolutions, transforms at the borders only; rules that users register."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from baton import relay
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.layouts.alter_op_layout import AlterOpLayout
from baton._src.passes.relay.layouts.convert_layout import ConvertLayout
from baton._src.passes.relay.operators.legalize import Legalize
from baton._src.passes.relay.operators.to_mixed_precision import ToMixedPrecision
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Sequential
from tests.passes.relay.test_before_after import check_same, main, names

TWO = (
    "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(8, 3, 3, 3), float32], %v: Tensor[(16, 8, 3, 3), float32],"
    " %b: Tensor[(8), float32]"
)
FIRST = "nn.conv2d(%x, %w, kernel_size=[3, 3], channels=8, padding=[1, 1, 1, 1])"
CHAIN = f"nn.conv2d(nn.max_pool2d(nn.relu(nn.bias_add({FIRST}, %b)), pool_size=[2, 2]), %v, kernel_size=[3, 3])"
BLOCKED = "nn.contrib_conv2d_NCHWc"


@contextmanager
def column(op: str, name: str, rule: Any) -> Iterator[None]:
    """A rule that is registered for as long as the test runs."""
    found = CATALOGUE.relay(op)
    found.set_attr(name, rule)
    try:
        yield
    finally:
        found.reset_attr(name)


def data_layouts(module: Any) -> list[str]:
    return [n.attrs.data_layout for n in walk(module["main"]) if isinstance(n, Call) and "conv2d" in n.op.name]


@pytest.mark.rule("RELAY-PASS-27")
@pytest.mark.parametrize("step", [ConvertLayout, AlterOpLayout])
def test_blocks_of_channels(step: Any) -> None:
    before = main(TWO, CHAIN)
    with PassContext(opt_level=3):  # runs what the pass requires: bias_add becomes an addition
        after = Sequential([ConvertLayout({"nn.conv2d": ["NCHW", "default"]}), step({"nn.conv2d": ["NCHW8c"]})])(before)
    check_same(before, after)
    assert names(after).count(BLOCKED) == 2
    assert data_layouts(after) == ["NCHW3c", "NCHW8c"]
    # the image in, the result out, two kernels and the bias: nothing between the convolutions
    assert names(after).count("layout_transform") == 5


@pytest.mark.rule("RELAY-PASS-27")
def test_channels_last_through_a_pooling() -> None:
    before = main(TWO, CHAIN)
    with PassContext(opt_level=3):
        after = Sequential([ConvertLayout({"nn.conv2d": ["NHWC", "default"]})])(before)
    check_same(before, after)
    assert data_layouts(after) == ["NHWC", "NHWC"]
    assert names(after).count("layout_transform") == 5


@pytest.mark.parametrize("batch", ["1", "?"])
def test_default_layouts_of_kernels_are_those_of_tvm(batch: str) -> None:
    """Of depthwise convolutions with channels last, and of transposed ones with channels first."""
    params = (
        f"%x: Tensor[({batch}, 4, 8, 8), float32], %w: Tensor[(4, 1, 3, 3), float32], %v: Tensor[(4, 2, 3, 3), float32]"
    )
    depthwise = "nn.conv2d(%x, %w, groups=4, channels=4, kernel_size=[3, 3])"
    before = main(params, f"nn.conv2d_transpose({depthwise}, %v, channels=2, kernel_size=[3, 3])")
    layouts = {"NHWC": ["HWOI", "HWIO"], "NCHW": ["OIHW", "IOHW"]}
    module = before
    for data, kernels in layouts.items():
        wanted = {name: [data, "default"] for name in ("nn.conv2d", "nn.conv2d_transpose")}
        with PassContext(opt_level=3):
            module = Sequential([ConvertLayout(wanted)])(module)
        found = [n.attrs.kernel_layout for n in walk(module["main"]) if isinstance(n, Call) and "conv2d" in n.op.name]
        assert found == kernels
        if batch == "1":
            check_same(before, module)


def test_what_does_not_divide_stays() -> None:
    params = "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(6, 3, 3, 3), float32]"
    after = AlterOpLayout({"nn.conv2d": ["NCHW4c"]})(main(params, "nn.conv2d(%x, %w, kernel_size=[3, 3])"))
    assert names(after) == ["nn.conv2d"]


def test_rules_of_users() -> None:
    before = main(TWO, CHAIN)

    def to_nhwc(attrs: Any, args: Any, types: Any, desired: Any) -> Any:
        assert desired == ["NHWC", "HWIO"]
        if types[1].concrete_shape[0] == 16:
            return None
        return Call(CATALOGUE.relay("nn.conv2d"), args, replace(attrs, data_layout="NHWC", kernel_layout="HWIO"))

    with column("nn.conv2d", "FTVMConvertOpLayout", to_nhwc), PassContext(opt_level=3):
        after = Sequential([ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"]})])(before)
    check_same(before, after)
    assert data_layouts(after) == ["NHWC", "NCHW"]

    def alter(attrs: Any, args: Any, types: Any, result: Any) -> Any:
        return Call(CATALOGUE.relay("nn.conv2d"), args, replace(attrs, data_layout="NHWC", kernel_layout="HWIO"))

    with column("nn.conv2d", "FTVMAlterOpLayout", alter):
        altered = AlterOpLayout()(before)
    check_same(before, altered)
    assert data_layouts(altered) == ["NHWC", "NHWC"]


@pytest.mark.parametrize("layout", [{}, {"data_layout": "NHWC", "kernel_layout": "HWIO"}])
def test_a_kernel_that_a_rule_changes_is_used(layout: dict[str, str]) -> None:
    """The rule's kernel, in the layout it says, was replaced by the call's own."""
    before = main(TWO, FIRST)

    def doubled(attrs: Any, args: Any, types: Any, result: Any) -> Any:
        weight = relay.multiply(args[1], relay.const(2.0))
        weight = relay.transpose(weight, [2, 3, 1, 0]) if layout else weight
        return Call(CATALOGUE.relay("nn.conv2d"), (args[0], weight), replace(attrs, **layout))

    with column("nn.conv2d", "FTVMAlterOpLayout", doubled):
        altered = AlterOpLayout()(before)
    check_same(main(TWO, FIRST.replace("%w", "%w * 2f")), altered)

    def as_product(attrs: Any, args: Any, types: Any) -> Any:
        return Call(CATALOGUE.relay("multiply"), (args[0], args[0]))

    with column("square", "FTVMLegalize", as_product):
        assert names(Legalize()(main("%x: float32", "square(%x)"))) == ["multiply"]


def test_kernels_in_blocks_fold() -> None:
    body = "nn.conv2d(%x, Constant(2, (8, 4, 3, 3), float32), kernel_size=[3, 3])"
    before = main("%x: Tensor[(1, 4, 8, 8), float32]", body)
    after = FoldConstant()(AlterOpLayout({"nn.conv2d": ["NCHW4c"]})(before))
    check_same(before, after)
    assert names(after) == ["layout_transform", BLOCKED, "layout_transform"]


@pytest.mark.rule("RELAY-PASS-31")
def test_mixed_precision_by_rules_of_users() -> None:
    before = main(TWO, FIRST)
    kinds = []
    for category in (0, 2):
        with column("nn.conv2d", "FTVMMixedPrecisionConversionType", lambda call, dtype, c=category: [c, dtype, dtype]):
            after = ToMixedPrecision()(before)
        kinds += [str(n.checked_type.dtype) for n in walk(after["main"]) if isinstance(n, Call) and "conv" in n.op.name]
        check_same(before, after, 2e-2)
    assert kinds == ["float16", "float32"]

    def wide_sums(call: Call, dtype: str) -> list[Any]:
        return [0, "float32", "float16"]

    with column("nn.conv2d", "FTVMMixedPrecisionConversionType", wide_sums):
        after = ToMixedPrecision()(before)
    assert names(after) == ["cast", "cast", "nn.conv2d", "cast"]
    check_same(before, after, 2e-2)


def test_operators_without_a_layout_stay_as_they_are() -> None:
    """Guards `ConvertLayout({"nn.conv2d": [...], "nn.dense": [...]})` of scripts: TVM converts what it can."""
    module = main("%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]", "nn.dense(%x, %w)")
    with pytest.warns(UserWarning, match=r"nn\.dense has no layout to convert"):
        found = ConvertLayout({"nn.dense": ["NHWC", "default"]})(module)
    assert "nn.dense(%x, %w)" in str(found)
