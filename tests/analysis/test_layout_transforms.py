"""suggest_layout_transforms: what is suggested can be done, and the kernel computes the same rearranged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, tir
from baton.error import DiagnosticError
from baton.script import tir as T


@T.prim_func
def scaled(A: T.Buffer((2, 8), "float32"), S: T.Buffer((8,), "float32"), B: T.Buffer((2, 8), "float32")) -> None:
    C = T.alloc_buffer((2, 8))
    for n, c in T.grid(2, 8):
        with T.block("multiply"):
            i, j = T.axis.remap("SS", [n, c])
            C[i, j] = A[i, j] * S[j]
    for n, c in T.grid(2, 8):
        with T.block("add"):
            i, j = T.axis.remap("SS", [n, c])
            B[i, j] = C[i, j] + A[i, 0]


@T.prim_func
def summed(A: T.Buffer((2, 5, 8), "float32"), B: T.Buffer((2, 8), "float32")) -> None:
    for n, c, h in T.grid(2, 8, 5):
        with T.block("sum"):
            i, j, k = T.axis.remap("SSR", [n, c, h])
            with T.init():
                B[i, j] = T.float32(0)
            B[i, j] = B[i, j] + A[i, k, j]


@T.prim_func
def spread(A: T.Buffer((16,), "float32"), W: T.Buffer((8, 2), "float32"), B: T.Buffer((2, 8), "float32")) -> None:
    for n, c in T.grid(2, 8):
        with T.block("spread"):
            i, j = T.axis.remap("SS", [n, c])
            B[i, j] = A[i * 8 + j] * W[j, i]


def by_four(n: Any, c: Any) -> Any:
    return n, c // 4, c % 4


def transformed(func: Any, suggestions: Any) -> tuple[Any, dict[str, Any]]:
    """The kernel with everything done that is suggested, and the maps of its buffers by name."""
    schedule, maps = tir.Schedule(func), {}
    for block, found in suggestions.items():
        place = schedule.get_block(block.name_hint)
        for what, index_map in found.items():
            if what is not block and what.name not in maps:
                maps[what.name] = index_map
                schedule.transform_layout(place, what.name, index_map, assume_injective_transform=True)
        schedule.transform_block_layout(place, found[block])
    return schedule.mod["main"], maps


def run(func: Any, arrays: list[np.ndarray]) -> np.ndarray:
    given = [tvm.nd.array(a) for a in arrays]
    result = tvm.nd.array(np.zeros([int(d) for d in func.buffer_map[func.params[-1]].shape], "float32"))
    tvm.build(func, target="llvm")(*given, result)
    return np.asarray(result.numpy())


@pytest.mark.parametrize(
    ("func", "named"),
    [
        (scaled, {"multiply": {"C", "S"}, "add": {"A", "B", "C"}}),  # A stays: `add` reads one of its columns
        (summed, {"sum": {"A", "B"}}),
        (spread, {"spread": {"B"}}),  # W is read across the block's order, A by two axes at once
    ],
)
def test_what_is_suggested_computes_the_same(func: Any, named: dict[str, set[str]]) -> None:
    suggestions = relax.analysis.suggest_layout_transforms(func, [by_four])
    found = {block.name_hint: {b.name for b in s if b is not block} for block, s in suggestions.items()}
    assert found == named
    after, maps = transformed(func, suggestions)
    rng = np.random.default_rng(0)
    buffers = [func.buffer_map[p] for p in func.params]
    arrays = [rng.normal(size=[int(d) for d in b.shape]).astype("float32") for b in buffers[:-1]]
    rearranged = [maps[b.name].map_ndarray(a).numpy() if b.name in maps else a for b, a in zip(buffers, arrays)]
    expected = maps["B"].map_ndarray(run(func, arrays)).numpy()
    np.testing.assert_allclose(run(after, rearranged), expected, rtol=1e-5)


def test_a_transform_that_would_tear_an_operand_apart_suggests_nothing_for_it() -> None:
    flattened = relax.analysis.suggest_layout_transforms(scaled, [lambda n, c: (n * 8 + c,)])
    by_name = {block.name_hint: {b.name for b in s if b is not block} for block, s in flattened.items()}
    assert by_name == {"multiply": {"C", "A"}, "add": {"B", "C"}}


def test_blocks_that_a_transform_does_not_fill_stay() -> None:
    padded = relax.analysis.suggest_layout_transforms(summed, [lambda n, c: (n, c // 3, c % 3)])
    assert padded == {}
    assert relax.analysis.suggest_layout_transforms(summed, []) == {}


def test_transforms_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="B has 2 dims, its transform 3"):
        relax.analysis.suggest_layout_transforms(summed, [tir.IndexMap.from_func(lambda a, b, c: (a, b, c))])
    with pytest.raises(DiagnosticError, match="3 transforms are given, the kernel has 2 parameters"):
        relax.analysis.suggest_layout_transforms(summed, [by_four] * 3)
