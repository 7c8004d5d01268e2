"""Tiles of a blocked convolution prefetch the next group's weights: for every line of them, each for its part."""

from __future__ import annotations

from collections import Counter

import pytest

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv, read_conv
from baton._src.lower.kernel_schedules.convolution.blocked.shapes import tile_shape
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import Place, Stream, Turns
from baton._src.lower.kernel_schedules.convolution.blocked.weights_ahead import weight_prefetches
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import intrinsic
from tests.codegen.native_run import HOST
from tests.lower.kernel_schedules.convolution.test_conv_blocked import BLOCKED, convolution


def value(expr: PrimExpr, where: dict[tir.Var, PrimExpr]) -> int:
    found = substitute_and_fold(expr, where)
    assert isinstance(found, tir.IntImm)
    return found.value


def read(data: list[int], kernel: list[int], padding: int) -> BlockedConv:
    _, func = convolution(data, kernel, padding=padding, **BLOCKED)
    found = read_conv(func)
    assert not isinstance(found, Declined)
    return found[1]


def asked_by_all_tiles(conv: BlockedConv, every_image: bool, parts: int = 1) -> list[list[int]]:
    """Of each tile of the first group, the elements of the weight that begin what it asks for at the first tap."""
    blocks, points, lines = tile_shape(conv, HOST)
    turns = Turns.of(conv, points, lines, every_image, parts=parts)
    assert turns is not None
    image, columns = conv.anchored.stage.spatial[0], conv.columns.axis
    zeros: dict[tir.Var, PrimExpr] = {a.var: i64(0) for a in (*conv.anchored.stage.reduce, conv.blocks, columns)}
    weight = Stream.of(load_of(conv.weight), zeros, conv)
    height = conv.rows.axis.size if conv.rows is not None else None
    found = []
    for at in range(image.size if every_image and image.size else 1):
        for row in range(0, height or 1, lines):
            for start in range(0, columns.size or 0, points):
                place = Place(i64(0), blocks, None if height is None else i64(row), turns=turns)
                (prefetch,) = weight_prefetches(conv, weight, weight.place, place, i64(start))
                found.append(elements(prefetch, {image.var: tir.IntImm(image.var.dtype, at)}))
    return found


def elements(prefetch: st.Stmt, where: dict[tir.Var, PrimExpr]) -> list[int]:
    """What the loop prefetches, as it runs."""
    assert isinstance(prefetch, st.For)
    assert isinstance(prefetch.body, st.Evaluate)
    assert isinstance(prefetch.body.value, tir.Call)
    address = prefetch.body.value.args[0]
    assert isinstance(address, tir.Call)
    assert isinstance(address.args[0], tir.BufferLoad)
    (index,) = address.args[0].indices
    return [value(index, {**where, prefetch.loop_var: i64(n)}) for n in range(value(prefetch.extent, {}))]


@pytest.mark.parametrize(
    ("data", "kernel", "padding", "every_image"),
    [
        ([1, 2, 7, 7, 16], [8, 2, 1, 1, 16, 16], 0, False),
        ([1, 2, 7, 7, 16], [4, 2, 3, 3, 16, 16], 1, False),
        ([1, 1, 14, 14, 16], [6, 1, 3, 3, 16, 16], 1, False),
        ([3, 2, 7, 7, 16], [8, 2, 3, 3, 16, 16], 1, True),
        ([1, 2, 56, 56, 16], [4, 2, 1, 1, 16, 16], 0, False),
    ],
)
def test_every_line_of_the_next_group_is_asked_for(
    data: list[int], kernel: list[int], padding: int, every_image: bool
) -> None:
    conv = read(data, kernel, padding)
    blocks, _, _ = tile_shape(conv, HOST)
    each = kernel[1] * kernel[2] * kernel[3] * 256
    wanted = {(blocks + j) * each + line * 16 for j in range(blocks) for line in range(16)}
    asked = asked_by_all_tiles(conv, every_image)
    assert set().union(*asked) == wanted
    share = -(-len(wanted) // len(asked))
    assert all(len(part) == share for part in asked)
    spread = Counter(e for part in asked for e in set(part))
    assert max(spread.values()) - min(spread.values()) <= 2, "some lines are asked for by most tiles"


@pytest.mark.parametrize("data", [[1, 2, 56, 56, 16], [1, 2, 14, 14, 16]])
def test_each_part_of_a_map_asks_for_every_line(data: list[int]) -> None:
    """Guards threads that go through the channels for a part of the rows each."""
    conv = read(data, [8, 2, 3, 3, 16, 16], 1)
    whole = asked_by_all_tiles(conv, False)
    asked = asked_by_all_tiles(conv, False, parts=2)
    half = len(asked) // 2
    wanted = {element for tile in whole for element in tile}
    assert set().union(*asked[:half]) == set().union(*asked[half:]) == wanted


@pytest.mark.parametrize(("cpu", "locality"), [("znver5", 3), ("sapphirerapids", 2)])
def test_where_weights_are_prefetched_to(cpu: str, locality: int) -> None:
    """Guards the hint: the first-level cache, or the second-level one where memory is far."""
    _, func = convolution([1, 2, 7, 7, 16], [8, 2, 1, 1, 16, 16], padding=0, **BLOCKED)
    decision = decide(func, Target(f"llvm -mcpu={cpu}"))
    calls = [n for n in post_order(decision.func.body) if isinstance(n, tir.Call) and n.op is intrinsic("prefetch")]
    assert decision.rule == "conv_blocked"
    assert calls
    assert {value(call.args[2], {}) for call in calls} == {locality}
