"""Reshapes of open sizes: elements keep their order, and no index is divided by a size that only a run tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, tir
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton.script import relax as R

H, W = tir.Var("h", "int64"), tir.Var("w", "int64")
SPLIT: list[tuple[list[Any], list[Any]]] = [
    ([2, H, 2, W, 2], [2, H * 2, W * 2]),
    ([H * 2, W * 2], [H, 2, W, 2]),
    ([H, W, 6], [H, W, 2, 3]),
    ([H, 2, 3], [H * 6, 1]),
    ([H, 1, W], [1, H, W, 1]),
    ([H, 12, W], [H * 3, 4, W]),
]
DIVIDED: list[tuple[list[Any], list[Any]]] = [([4, H, W], [4, H * W]), ([4, H * W], [4, H, W]), ([H, W], [W, H])]
"""Which cannot do without."""


def program(old: list[Any], new: list[Any]) -> baton.IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor(old, "float32"))
    with bb.function("main", [x, relax.Var("sizes", R.Tensor([H, W], "float32"))]):
        bb.emit_func_output(bb.emit(relax.op.reshape(x, R.shape(new))))
    return bb.finalize()


@pytest.mark.parametrize(("old", "new"), SPLIT + DIVIDED)
def test_elements_keep_their_order(old: list[Any], new: list[Any]) -> None:
    """Guards sizes of none, of one, and others."""
    compiled = baton.compile(program(old, new))
    for h, w in [(3, 5), (1, 1), (0, 4), (7, 0), (16, 33)]:
        shape, expected = (_numbers(dims, {H: h, W: w}) for dims in (old, new))
        x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        (found,) = compiled(x, np.zeros((h, w), "float32"))
        np.testing.assert_array_equal(found, x.reshape(expected))


def _numbers(dims: list[Any], sizes: dict[Any, int]) -> list[int]:
    known = {var: tir.IntImm("int64", size) for var, size in sizes.items()}
    return [int(substitute_and_fold(tir.IntImm("int64", 0) + dim, known)) for dim in dims]


@pytest.mark.parametrize(("old", "new"), SPLIT)
def test_no_division_by_an_open_size(old: list[Any], new: list[Any]) -> None:
    """Guards the mechanism: what depth-to-space after a convolution cost was mostly such divisions."""
    made = relax.transform.LegalizeOps()(program(old, new))
    kernel = next(f for f in made.functions.values() if isinstance(f, tir.PrimFunc))
    for node in post_order(kernel.body):
        if isinstance(node, (tir.FloorDiv, tir.FloorMod)):
            assert isinstance(node.b, tir.IntImm)
