"""BlockChannels: which values it keeps in blocks, and that programs compute the same afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.layouts.block_channels import BlockChannels
from baton._src.passes.relax.layouts.channel_blocks import blocked_constant, pack_weight
from baton._src.relax.nodes import Tuple
from baton._src.transform.context import PassContext
from tests.passes.relax.programs import R, arrays, bindings, called, check, const, dim, program, tensor, weights

WIDE = Target("llvm -mcpu=skylake-avx512")


def blocked(module: IRModule) -> IRModule:
    """The pass and what always follows it, for vectors of 16."""
    with WIDE:
        found: IRModule = DeadCodeElimination()(BlockChannels()(module))
    return found


def conv(b: Any, x: Any, outer: int, inner: int, window: int = 3, seed: int = 0, **attrs: Any) -> Any:
    kernel = weights(outer, inner, window, window, seed=seed)
    return b.emit(R.nn.conv2d(x, kernel, padding=window // 2, **attrs))


def layouts(module: IRModule) -> list[str]:
    """The data layouts of its convolutions and pools."""
    found = []
    for binding in bindings(module):
        attrs = getattr(binding.value, "attrs", None)
        if attrs is not None and attrs.get("data_layout" if "data_layout" in dict(attrs.items()) else "layout"):
            found.append(attrs.get("data_layout") or attrs.get("layout"))
    return found


def test_a_chain_is_put_back_in_order_once() -> None:
    """conv, bias, relu, conv: nothing is moved between, the plain input is read as it is."""

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.relu(b.emit(R.add(conv(b, x, 32, 3), weights(1, 32, 1, 1)))))
        return conv(b, y, 16, 32, 1)

    before = program([tensor("x", 1, 3, 6, 5)], build)
    after = check(blocked, before, *arrays((1, 3, 6, 5)), rtol=1e-3)
    assert called(after)[:6] == ["nn.conv2d", "add", "nn.relu", "nn.conv2d", "permute_dims", "reshape"]
    assert layouts(after) == ["NCHW", "NCHW16c"]


def test_residuals_pools_joins_and_means_follow() -> None:
    """One piece of a residual network and one of a densely connected one; the classifier's features need no move."""

    def build(b: Any, x: Any) -> Any:
        y = conv(b, x, 32, 3)
        p = b.emit(R.nn.max_pool2d(y, pool_size=3, strides=2, padding=1))
        q = conv(b, p, 32, 32)
        s = b.emit(R.clip(b.emit(R.add(p, q)), 0, 6))
        j = b.emit(R.concat(Tuple([s, q]), axis=1))
        return b.emit(R.mean(b.emit(R.multiply(j, const(0.5))), axis=[2, 3]))

    after = check(blocked, program([tensor("x", 2, 3, 8, 8)], build), *arrays((2, 3, 8, 8)), rtol=1e-3)
    assert "permute_dims" not in called(after)
    assert layouts(after) == ["NCHW", "NCHW16c", "NCHW16c"]


def test_borders_around_maps_stay_in_blocks() -> None:
    """A constant border around the two axes of the map."""

    def build(b: Any, x: Any) -> Any:
        wide = b.emit(R.nn.pad(conv(b, x, 32, 3), [0, 0, 0, 0, 1, 2, 0, 1], pad_value=1.5))
        return conv(b, wide, 16, 32, 1)

    before = program([tensor("x", 1, 3, 6, 5)], build)
    after = check(blocked, before, *arrays((1, 3, 6, 5)), rtol=1e-3)
    assert called(after)[:3] == ["nn.conv2d", "nn.pad", "nn.conv2d"]
    assert layouts(after) == ["NCHW", "NCHW16c"]


def test_axes_counted_from_the_end() -> None:
    """Values in blocks have an axis more at their end."""

    def build(b: Any, x: Any) -> Any:
        y = conv(b, x, 32, 3)
        q = conv(b, y, 32, 32, seed=1)
        j = b.emit(R.concat(Tuple([y, q]), axis=-3))
        return b.emit(R.mean(j, axis=[-1, -2]))

    after = check(blocked, program([tensor("x", 2, 3, 8, 8)], build), *arrays((2, 3, 8, 8)), rtol=1e-3)
    assert "permute_dims" not in called(after)


@pytest.mark.parametrize(("taps", "others"), [(3, ["NCHW8c"]), (1, ["NCHW", "NCHW", "NCHW8c"])])
def test_depthwise_and_channels_in_eights(taps: int, others: list[str]) -> None:
    """24 channels are three blocks of 8 beside blocks of 16 where Winograd's algorithm makes up for the empty lanes,
    and otherwise in the plain layout.
    """

    def build(b: Any, x: Any) -> Any:
        y = conv(b, x, 32, 32, 1)
        y = conv(b, y, 24, 32, taps, seed=4)
        y = conv(b, y, 48, 24, 1, seed=1)
        y = conv(b, y, 48, 1, 3, seed=2, groups=48, strides=2)
        return conv(b, y, 16, 48, 1, seed=3)

    after = check(blocked, program([tensor("x", 1, 32, 6, 6)], build), *arrays((1, 32, 6, 6)), rtol=1e-3)
    assert [layout for layout in layouts(after) if layout != "NCHW16c"] == others


def test_symbolic_batch() -> None:
    before = program(
        [tensor("x", dim("n"), 16, 4, 4)], lambda b, x: conv(b, b.emit(R.nn.relu(conv(b, x, 16, 16))), 16, 16)
    )
    after = check(blocked, before, *arrays((3, 16, 4, 4)), rtol=1e-3)
    assert layouts(after) == ["NCHW16c", "NCHW16c"]


def test_values_that_others_read_are_given_back() -> None:
    """A result of the function, and an operator that knows axes, read the plain layout."""

    def build(b: Any, x: Any) -> Any:
        y = conv(b, x, 16, 16)
        z = b.emit(R.nn.softmax(y, axis=1))
        return b.emit(R.add(conv(b, y, 16, 16, seed=1), z))

    check(blocked, program([tensor("x", 1, 16, 4, 4)], build), *arrays((1, 16, 4, 4)), rtol=1e-3)


def _alone(b: Any, x: Any) -> Any:
    return b.emit(R.nn.relu(conv(b, x, 16, 16)))


def _grouped(b: Any, x: Any) -> Any:
    return conv(b, conv(b, x, 16, 2, groups=8), 16, 2, groups=8)


def _odd(b: Any, x: Any) -> Any:
    return conv(b, conv(b, x, 20, 16), 12, 20)


@pytest.mark.parametrize("build", [_alone, _grouped, _odd])
def test_left_alone(build: Any) -> None:
    """One convolution, groups of several channels, channels that do not divide into blocks."""
    before = program([tensor("x", 1, 16, 4, 4)], build)
    assert BlockChannels()(before) is before


def test_symbolic_maps() -> None:
    """Maps of any size are in blocks like others, pools and residuals among them; depthwise windows alone, too."""

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.relu(conv(b, x, 32, 16, strides=2)))
        z = b.emit(R.nn.max_pool2d(y, pool_size=3, padding=1))
        return conv(b, b.emit(R.add(conv(b, z, 32, 32), y)), 16, 32, 1)

    data = tensor("x", dim("n"), 16, dim("h"), dim("w"))
    for shape in ((1, 16, 1, 1), (2, 16, 7, 4)):
        after = check(blocked, program([data], build), *arrays(shape), rtol=1e-3)
        assert layouts(after) == ["NCHW16c", "NCHW16c", "NCHW16c", "NCHW16c"]
    before = program([data], lambda b, x: conv(b, x, 16, 1, 5, groups=16))
    assert layouts(check(blocked, before, *arrays((1, 16, 3, 4)), rtol=1e-3)) == ["NCHW16c"]


def test_unknown_weights_are_left_alone() -> None:
    before = program(
        [tensor("x", 1, 16, 4, 4), tensor("w", 16, 16, 3, 3)],
        lambda b, x, w: b.emit(R.nn.conv2d(b.emit(R.nn.conv2d(x, w, padding=1)), w, padding=1)),
    )
    assert BlockChannels()(before) is before


def test_constants_in_blocks() -> None:
    """Weight (o, i, y, x) is at [o // 16, i // 8, y, x, i % 8, o % 16]; a bias follows the channels."""
    kernel = np.arange(32 * 16 * 3 * 2, dtype="float32").reshape(32, 16, 3, 2)
    packed = pack_weight(kernel, "OIHW8i16o")
    assert packed.shape == (2, 2, 3, 2, 8, 16)
    assert packed[1, 1, 2, 0, 3, 5] == kernel[21, 11, 2, 0]
    bias = np.arange(32, dtype="float32").reshape(32, 1, 1)
    assert blocked_constant(bias, 16).shape == (1, 2, 1, 1, 16)
    assert blocked_constant(np.ones((4, 1), "float32"), 16).shape == (1, 1, 4, 1, 1)


def test_one_alone_where_winograd_pays() -> None:
    """A single 3x3 convolution of 32 channels goes into blocks and out again; others do not, nor with the flag off."""

    def build(b: Any, x: Any) -> Any:
        return conv(b, x, 32, 32)

    before = program([tensor("x", 1, 32, 6, 5)], build)
    assert called(check(blocked, before, *arrays((1, 32, 6, 5)), rtol=1e-3)).count("nn.conv2d") == 1
    assert layouts(blocked(before)) == ["NCHW16c"]
    with PassContext(config={"baton.winograd": False}):
        assert layouts(blocked(before)) == ["NCHW"]
    assert layouts(blocked(program([tensor("x", 1, 32, 6, 5)], lambda b, x: conv(b, x, 32, 32, 1)))) == ["NCHW"]


def test_groups_of_whole_blocks() -> None:
    """ResNeXt's middle convolution: two groups of 32 channels stay in blocks, four of 16 too, eight of 8 do not."""

    def build(b: Any, x: Any, groups: int) -> Any:
        y = conv(b, conv(b, x, 64, 64, 1), 64, 64 // groups, groups=groups)
        return conv(b, y, 64, 64, 1, seed=2)

    for groups, inside in ((2, True), (4, True), (8, False)):
        before = program([tensor("x", 1, 64, 5, 6)], lambda b, x, g=groups: build(b, x, g))
        after = check(blocked, before, *arrays((1, 64, 5, 6)), rtol=1e-3)
        assert (layouts(after)[1] == "NCHW16c") is inside
