"""Algebraic rewrites of matrix products, and TopologicalSort: same values, and the form they promise."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.relax.bindings.topological_sort import TopologicalSort
from baton._src.passes.relax.products.adjust_matmul_order import AdjustMatmulOrder
from baton._src.passes.relax.products.combine_parallel_matmul import CombineParallelMatmul
from baton._src.passes.relax.products.expand_matmul_of_sum import ExpandMatmulOfSum
from baton._src.passes.relax.products.fuse_transpose_matmul import FuseTransposeMatmul
from baton._src.passes.relax.products.reorder_permute_dims_after_concat import ReorderPermuteDimsAfterConcat
from baton._src.passes.relax.products.reorder_take_after_matmul import ReorderTakeAfterMatmul
from baton._src.relax.nodes import Tuple
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.programs import R, arrays, bindings, called, check, const, dim, program, tensor


@pytest.mark.rule("RELAX-PASS-19")
def test_the_cheaper_order_of_products() -> None:
    """A vector times two matrices never makes their product; a tall matrix behind two thin ones does."""

    def right(b: Any, x: Any, a: Any, c: Any) -> Any:
        return R.matmul(x, b.emit(R.matmul(a, c)))

    shapes = (1, 8), (8, 8), (8, 8)
    params = [tensor(n, *s) for n, s in zip("xac", shapes)]
    after = check(AdjustMatmulOrder(), program(params, right), *arrays(*shapes), rtol=1e-4)
    first, second = bindings(after)
    assert first.value.args[0].name_hint == "x"
    assert second.value.args[0] is first.var

    def left(b: Any, x: Any, a: Any, c: Any) -> Any:
        return R.matmul(b.emit(R.matmul(x, a)), c)

    shapes = (64, 8), (8, 8), (8, 1)
    params = [tensor(n, *s) for n, s in zip("xac", shapes)]
    after = check(AdjustMatmulOrder(), program(params, left), *arrays(*shapes), rtol=1e-4)
    assert bindings(after)[0].value.args[0].name_hint == "a"
    assert AdjustMatmulOrder()(after) is after


@pytest.mark.rule("RELAX-PASS-19")
def test_a_low_rank_correction_is_multiplied_out() -> None:
    def build(b: Any, x: Any, w: Any, p: Any, q: Any) -> Any:
        return R.matmul(x, b.emit(R.add(w, b.emit(R.matmul(p, q)))))

    shapes = (2, 4), (4, 4), (4, 1), (1, 4)
    params = [tensor(n, *s) for n, s in zip("xwpq", shapes)]
    after = check(ExpandMatmulOfSum(), program(params, build), *arrays(*shapes), rtol=1e-4)
    assert called(after).count("matmul") == 3
    both = check(AdjustMatmulOrder(), after, *arrays(*shapes), rtol=1e-4)
    assert called(both).count("matmul") == 3
    ahead = program(params[:2], lambda b, x, w: R.matmul(x, b.emit(R.add(w, w))), num_input=1)
    assert ExpandMatmulOfSum()(ahead) is ahead


@pytest.mark.rule("RELAX-PASS-19")
def test_columns_are_taken_behind_the_product() -> None:
    def build(b: Any, x: Any, w: Any) -> Any:
        return R.matmul(x, b.emit(R.take(w, const([2, 0], dtype="int64"), axis=1)))

    before = program([tensor("x", dim(), 4), tensor("w", 4, 3)], build)
    assert called(check(ReorderTakeAfterMatmul(), before, *arrays((2, 4), (4, 3)), rtol=1e-4)) == ["matmul", "take"]


@pytest.mark.rule("RELAX-PASS-19")
def test_one_transpose_behind_a_concatenation() -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        parts = [b.emit(R.permute_dims(v, axes=[1, 0])) for v in (x, y)]
        return R.concat(Tuple(parts), axis=0)

    before = program([tensor("x", 2, 3), tensor("y", 2, 4)], build)
    after = check(ReorderPermuteDimsAfterConcat(), before, *arrays((2, 3), (2, 4)))
    assert called(after) == ["concat", "permute_dims"]


@pytest.mark.rule("RELAX-PASS-19")
def test_products_of_one_operand_become_one() -> None:
    def build(b: Any, x: Any, p: Any, q: Any, r: Any) -> Any:
        one, two, three = (b.emit(R.matmul(x, w)) for w in (p, q, r))
        return R.concat(Tuple([b.emit(R.nn.relu(one)), two, three]), axis=1)

    shapes = (2, 4), (4, 3), (4, 1), (4, 2)
    before = program([tensor(n, *s) for n, s in zip("xpqr", shapes)], build)
    after = check(CombineParallelMatmul(), before, *arrays(*shapes), rtol=1e-4)
    assert called(after).count("matmul") == 1
    assert CombineParallelMatmul(check=lambda x, weights, biases, values: len(weights) > 3)(before) is before

    def added(b: Any, x: Any, p: Any, q: Any) -> Any:
        """The second product is added to the first one, as a bias would be."""
        return R.add(b.emit(R.matmul(x, p)), b.emit(R.matmul(x, q)))

    shapes = (2, 4), (4, 3), (4, 3)
    before = program([tensor(n, *s) for n, s in zip("xpq", shapes)], added)
    after = check(CombineParallelMatmul(), before, *arrays(*shapes), rtol=1e-4)
    assert called(after).count("matmul") == 1


def test_weights_that_come_later_are_left_alone() -> None:
    """The second weight depends on the first product."""

    def build(b: Any, x: Any, w: Any) -> Any:
        first = b.emit(R.matmul(x, w))
        return R.matmul(x, b.emit(R.exp(first)))

    before = program([tensor("x", 4, 4), tensor("w", 4, 4)], build)
    assert CombineParallelMatmul()(before) is before


@pytest.mark.rule("RELAX-PASS-04")
def test_sorting_keeps_uses_behind_bindings() -> None:
    def build(b: Any, x: Any) -> Any:
        p, q = b.emit(R.exp(x), "p"), b.emit(R.sin(x), "q")
        p1, q1 = b.emit(R.cos(p), "p1"), b.emit(R.tan(q), "q1")
        return R.add(p1, q1)

    before = program([tensor("x", 3)], build)
    orders = {}
    for order in ("depth-first", "breadth-first"):
        for direction in ("from-inputs", "from-outputs"):
            after = check(TopologicalSort(order, direction), before, *arrays((3,)))
            orders[order, direction] = [b.var.name_hint for b in bindings(after)][:4]
    assert orders["depth-first", "from-inputs"] == ["p", "p1", "q", "q1"]
    assert orders["breadth-first", "from-inputs"] == ["p", "q", "p1", "q1"]
    assert orders["depth-first", "from-outputs"] == ["p", "p1", "q", "q1"]
    with pytest.raises(DiagnosticError, match="not one of"):
        TopologicalSort("sideways")


@pytest.mark.parametrize(("m", "fused"), [(4, True), (5, False), (0, False)])
def test_products_of_few_rows_read_transposed_weights_in_place(m: int, fused: bool) -> None:
    """Guards what the default pipeline does: a transposed copy of the weights took seven times as long as one row's
    product with them.
    """
    rows: Any = m or dim()
    params = [tensor("x", rows, 8), tensor("w", 16, 8), tensor("y", 2, rows, 8), tensor("z", 2, 3, 8)]

    def build(b: Any, x: Any, w: Any, y: Any, z: Any) -> Any:
        first = b.emit(R.matmul(x, b.emit(R.permute_dims(w))))
        return Tuple([first, b.emit(R.matmul(y, b.emit(R.permute_dims(z, [0, 2, 1]))))])

    given = arrays((m or 4, 8), (16, 8), (2, m or 4, 8), (2, 3, 8))
    after = check(FuseTransposeMatmul(most_rows=4), program(params, build), *given, rtol=1e-4)
    assert (["nn.dense", "nn.batch_matmul"] if fused else ["matmul", "matmul"]) == [
        name for name in called(after) if name in ("nn.dense", "nn.batch_matmul", "matmul")
    ]


def test_sums_that_wrap_are_multiplied_as_they_are() -> None:
    """100 + 100 is -56 in int8; the products alone, summed in int32, were 200."""

    def build(b: Any, x: Any, w: Any, p: Any) -> Any:
        return R.matmul(x, b.emit(R.add(w, p)), out_dtype="int32")

    narrow = program([tensor(n, 1, 1, dtype="int8") for n in "xwp"], build)
    assert ExpandMatmulOfSum()(narrow) is narrow
