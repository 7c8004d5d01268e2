"""PhasesOfTransposed: the same numbers by ordinary convolutions, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.products.phases_of_transposed import PhasesOfTransposed
from baton._src.relax.nodes import Call
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, dim, program, tensor, weights

CASES: list[tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    (R.nn.conv2d_transpose, (2, 3, 4, 5), (3, 2, 4, 4), {"strides": 2, "padding": 1}),
    (R.nn.conv2d_transpose, (1, 3, 4, 5), (3, 2, 3, 3), {"strides": 2, "padding": 1, "output_padding": 1}),
    (R.nn.conv2d_transpose, (1, 2, 5, 4), (2, 2, 2, 2), {"strides": 2}),
    (R.nn.conv2d_transpose, (1, 2, 5, 4), (2, 2, 3, 5), {"padding": (1, 2, 0, 3)}),
    (R.nn.conv2d_transpose, (1, 2, 3, 3), (2, 2, 2, 5), {"strides": (3, 2), "padding": (0, 4, 1, 0)}),
    (R.nn.conv2d_transpose, (1, 4, 3, 3), (4, 3, 4, 4), {"strides": 2, "padding": 1, "groups": 2}),
    (R.nn.conv1d_transpose, (2, 3, 6), (3, 4, 5), {"strides": 3, "padding": 2, "output_padding": 2}),
    (R.nn.conv3d_transpose, (1, 2, 2, 3, 3), (2, 2, 3, 2, 4), {"strides": 2, "padding": 1}),
]


def operators(module: IRModule) -> list[str]:
    return [n.op.name for n in post_order(module["main"]) if isinstance(n, Call)]


@pytest.mark.parametrize("case", CASES)
def test_means_the_same(case: tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]) -> None:
    """Strides that divide the kernel and do not, padding inside and beyond it, output padding, groups, 1 to 3 axes."""
    op, data, kernel, attrs = case
    before = program([tensor("x", *data)], lambda bb, x: op(x, weights(*kernel), **attrs))
    after = PhasesOfTransposed()(before)
    assert not [name for name in operators(after) if "transpose" in name]
    x = np.random.default_rng(1).standard_normal(data).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_symbolic_maps(case: tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]) -> None:
    """The same for extents that only a run tells, larger maps with small strides among them."""
    op, data, kernel, attrs = case
    sizes = [dim(f"d{n}") for n in range(len(data) - 2)]
    before = program([tensor("x", dim("n"), data[1], *sizes)], lambda bb, x: op(x, weights(*kernel), **attrs))
    after = PhasesOfTransposed()(before)
    assert not [name for name in operators(after) if "transpose" in name]
    for extents in (data[2:], [n + 4 for n in data[2:]]):
        x = np.random.default_rng(1).standard_normal((*data[:2], *extents)).astype("float32")
        np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


def test_symbolic_batch() -> None:
    before = program(
        [tensor("x", dim(), 2, 4, 4)], lambda bb, x: R.nn.conv2d_transpose(x, weights(2, 3, 2, 2), strides=2)
    )
    after = PhasesOfTransposed()(before)
    assert not [name for name in operators(after) if "transpose" in name]
    x = np.random.default_rng(1).standard_normal((3, 2, 4, 4)).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kernel", "row", "is_left"), [(4, 8, False), (3, 8, True), (4, 32, True)])
def test_short_rows_in_whole_blocks(kernel: int, row: int, is_left: bool) -> None:
    """Maps with a schedule of their own that fills no vectors; zero taps and long rows are left to it."""
    w, data = weights(16, 4, kernel, kernel), (2, 16, 4, row)
    before = program([tensor("x", *data)], lambda bb, x: R.nn.conv2d_transpose(x, w, strides=2, padding=1))
    after = PhasesOfTransposed()(before)
    assert (after["main"] is before["main"]) == is_left
    x = np.random.default_rng(1).standard_normal(data).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


def test_phases_of_one_tap() -> None:
    """Guards kernels as wide as their strides: one product for all phases (64 to 32 channels of 56x56 330, 237 us)."""
    w = weights(3, 5, 3, 2)
    before = program([tensor("x", 2, 3, 9, 8)], lambda bb, x: R.nn.conv2d_transpose(x, w, strides=(3, 2)))
    after = PhasesOfTransposed()(before)
    assert [name for name in operators(after) if "conv" in name] == ["relax.nn.conv2d"]
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 8)).astype("float32")
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(before, "main", x), rtol=1e-4, atol=1e-5)


def test_left_alone() -> None:
    """Kernels given at run time, dilation; strides over large maps, which have a schedule, and those of one tap whose
    result leaves the caches.
    """
    w, wide = weights(2, 3, 2, 2), weights(2, 3, 3, 3)
    for before in (
        program([tensor("x", 1, 2, 4, 4), tensor("w", 2, 3, 2, 2)], lambda bb, x, w: R.nn.conv2d_transpose(x, w)),
        program([tensor("x", 1, 2, 4, 4)], lambda bb, x: R.nn.conv2d_transpose(x, w, dilation=2)),
        program([tensor("x", 1, 2, 8, 8)], lambda bb, x: R.nn.conv2d_transpose(x, wide, strides=2)),
        program([tensor("x", 1, 2, 600, 600)], lambda bb, x: R.nn.conv2d_transpose(x, w, strides=2)),
    ):
        assert PhasesOfTransposed()(before)["main"] is before["main"]
