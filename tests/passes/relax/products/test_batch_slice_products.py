"""BatchSliceProducts: what becomes one product, what stays, and that both compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.products.batch_slice_products import BatchSliceProducts
from baton._src.relax.nodes import Call, ExternFunc
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, check, const, program, tensor, weights


def sliced(
    places: list[int], shape: tuple[int, ...] = (6, 2, 4), dataflow: bool = True, second: bool = False
) -> IRModule:
    """The sum of tanh(x[place] @ w) over the places; `second`: every other product is with another weight."""
    chosen = (weights(4, 6), weights(4, 6, seed=1))

    def build(b: Any, x: Any) -> Any:
        total = None
        for number, place in enumerate(places):
            part = b.emit(R.take(x, const(place, dtype="int64"), axis=0))
            product = b.emit(R.tanh(b.emit(R.matmul(part, chosen[number % 2 if second else 0]))))
            total = product if total is None else b.emit(R.add(total, product))
        return total

    return program([tensor("x", *shape)], build, dataflow=dataflow)


def products(module: IRModule) -> int:
    calls = [n for n in post_order(module["main"]) if isinstance(n, Call)]
    return sum(getattr(c.op, "name", "") == "relax.matmul" for c in calls)


@pytest.mark.parametrize("dataflow", [True, False])
@pytest.mark.parametrize(
    ("places", "second", "left"),
    [
        ([0, 1, 2, 3, 4, 5], False, 1),
        ([5, 3, 1, 3, 0], False, 1),
        ([0, 1, 2, 3, 4, 5], True, 6),
        ([*range(6)] * 2, True, 12),
    ],
)
def test_slices_are_multiplied_at_once(places: list[int], second: bool, left: int, dataflow: bool) -> None:
    """Guards order, repeated slices, and that other weights (which see three of six slices) are left alone."""
    before = sliced(places, dataflow=dataflow, second=second)
    x = np.random.default_rng(0).standard_normal((6, 2, 4)).astype("float32")
    after = check(Sequential([BatchSliceProducts(), DeadCodeElimination()]), before, x)
    assert products(after) == left


@pytest.mark.parametrize(
    ("places", "shape"), [([0, 1, 2], (6, 2, 4)), ([0, 1, 2, 3], (20, 2, 4)), ([0, 1, 9, -1], (6, 2, 4))]
)
def test_what_stays(places: list[int], shape: tuple[int, ...]) -> None:
    """Guards restraint: few slices, slices of little of the tensor, places outside."""
    before = sliced(places, shape)
    assert BatchSliceProducts()(before) is before


def test_slices_of_a_tensor_that_is_written_stay() -> None:
    """The product of the whole was made after the write: of what the slices no longer are."""

    def build(b: Any, x: Any) -> Any:
        parts = [b.emit(R.take(x, const(n, dtype="int64"), axis=0)) for n in range(6)]
        b.emit(Call(ExternFunc("increase"), [x], None, (TupleStructInfo([]),)))
        weight = weights(4, 6)
        return R.add(*[b.emit(R.sum(b.emit(R.matmul(p, weight)))) for p in parts][:2])

    before = program([tensor("x", 6, 2, 4)], build, dataflow=False, pure=False)
    assert BatchSliceProducts()(before) is before


def test_slices_without_elements() -> None:
    """Beside a dim of 0, the number of rows has to be said."""

    def build(b: Any, x: Any) -> Any:
        parts = [b.emit(R.take(x, const(k, dtype="int64"), axis=0)) for k in range(4)]
        return R.concat([b.emit(R.matmul(part, weights(0, 5))) for part in parts])

    check(BatchSliceProducts(), program([tensor("x", 4, 2, 0)], build), np.zeros((4, 2, 0), "float32"))
