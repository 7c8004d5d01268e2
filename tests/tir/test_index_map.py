"""IndexMap: indices, shapes, arrays, inverses, and its text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.structural import assert_structural_equal, structural_equal
from baton._src.relax.text.printer import script
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import SizeVar, Var
from baton._src.tir.index_map import IndexMap
from baton._src.tir.operators import bitwise_xor
from tests.relax.build import load

BLOCKED = IndexMap.from_func(lambda n, c: (n, c // 4, c % 4))


def test_shapes_and_arrays() -> None:
    assert [d.value for d in BLOCKED.map_shape([2, 8])] == [2, 2, 4]
    assert [d.value for d in BLOCKED.map_shape([2, 6])] == [2, 2, 4]
    n = Var("n", "int64")
    assert BLOCKED.map_shape([n, 8])[0] is n
    given = np.arange(12).reshape(2, 6)
    found = BLOCKED.map_ndarray(given).data
    assert found.shape == (2, 2, 4)
    np.testing.assert_array_equal(found.reshape(2, 8)[:, :6], given)


@pytest.mark.parametrize("size", [0, 1, 3, 8, 13])
def test_blocks_are_whole_whatever_the_size(size: int) -> None:
    """Fewer channels than a block made a smaller axis of it; what is said of open sizes holds of each."""
    n = Var("n", "int64")
    known = [evaluate(d, {}) for d in BLOCKED.map_shape([2, size])]
    assert known == [2, -(-size // 4), 4]
    assert [evaluate(d, {n: size}) for d in BLOCKED.map_shape([2, n])] == known
    back, empty = BLOCKED.non_surjective_inverse([2, n])
    for places in np.ndindex(*known):
        at = dict(zip(back.initial_indices, places))
        c = evaluate(back.final_indices[1], at)
        assert [places[0], c // 4, c % 4] == list(places)
        assert bool(evaluate(empty, {**at, n: size})) == (c >= size)


def test_open_sizes_of_indices_that_fall() -> None:
    """Guards what does not rise with its index: the size was one more than the last element's place."""
    n = SizeVar("n", "int64")
    turned = IndexMap.from_func(lambda i: n - 1 - i)
    assert turned.map_shape([n])[0] is n
    with pytest.raises(DiagnosticError, match=r"the greatest .* is not known"):
        IndexMap.from_func(lambda i: bitwise_xor(i, 3)).map_shape([n])


def test_there_and_back() -> None:
    """The inverse of the inverse is the map, and both composed leave an index where it is."""
    back = BLOCKED.inverse([2, 8])
    given = np.arange(16).reshape(2, 8)
    np.testing.assert_array_equal(back.map_ndarray(BLOCKED.map_ndarray(given)).data, given)
    assert back.inverse([2, 2, 4]).is_equivalent_to(BLOCKED)
    assert not BLOCKED.is_equivalent_to(IndexMap.from_func(lambda n, c: (n, c // 2, c % 4)))


def test_what_comes_out_uneven_has_an_inverse_with_a_condition() -> None:
    with pytest.raises(DiagnosticError, match="non_surjective_inverse"):
        BLOCKED.inverse([2, 6])
    back, empty = BLOCKED.non_surjective_inverse([2, 6])
    assert len(back.final_indices) == 2
    assert ">= " in repr(empty).replace(">=", ">= ")
    _, never = BLOCKED.non_surjective_inverse([2, 8])
    assert repr(never) in ("T.bool(False)", "T.bool(0)", "False")


def test_maps_without_inverse_and_wrong_counts() -> None:
    with pytest.raises(DiagnosticError, match="no inverse"):
        IndexMap.from_func(lambda i, j: (i + j,)).inverse([2, 3])
    with pytest.raises(DiagnosticError, match="takes 2 indices, got 1"):
        BLOCKED.map_indices([0])
    with pytest.raises(DiagnosticError, match="give ndim"):
        IndexMap.from_func(lambda *i: i)
    assert len(IndexMap.from_func(lambda *i: i[::-1], ndim=3).initial_indices) == 3
    found, separators = IndexMap.from_func_with_separators(lambda i, j: (i, IndexMap.AXIS_SEPARATOR, j))
    assert separators == [1]
    assert len(found.final_indices) == 2


def test_inverses_may_be_told() -> None:
    """Guards maps that nobody inverts by rules: banks of memory are told apart by `^`. What is told is checked."""
    rows, columns = Var("i", "int64"), Var("j", "int64")
    back = IndexMap.from_func(lambda i, k: (i, bitwise_xor(i, k)))
    swizzle = IndexMap([rows, columns], [rows, bitwise_xor(rows, columns)], back)
    assert swizzle.inverse_index_map is back
    assert [evaluate(i, dict(zip(back.initial_indices, (3, 1)))) for i in back.final_indices] == [3, 2]
    found, empty = swizzle.non_surjective_inverse([4, 4])
    assert evaluate(empty, {}) == 0
    given = np.arange(16).reshape(4, 4)
    np.testing.assert_array_equal(found.map_ndarray(swizzle.map_ndarray(given)).data, given)
    with pytest.raises(DiagnosticError, match="give inverse_index_map"):
        IndexMap([rows, columns], [rows, bitwise_xor(rows, columns)]).inverse([4, 4])
    wrong = IndexMap.from_func(
        lambda i, j: (i, bitwise_xor(i, j)), inverse_index_map=lambda i, k: (k, bitwise_xor(i, k))
    )
    with pytest.raises(DiagnosticError, match=r"sends \[0, 1\] to \[1, 1\]"):
        wrong.inverse([4, 4])


def test_a_layout_transform_reads_back() -> None:
    """A map is printed as a lambda, and a lambda in a text is a map."""
    text = """
@R.function
def main(x: R.Tensor(("n", 8), "float32")):
    y = R.layout_transform(x, index_map=lambda i, j: (i, j // 4, j % 4))
    z = R.layout_transform(y, T.index_map(lambda i, j, k: (i, j * 4 + k)), pad_value=None)
    return z
"""
    found: Any = load(text)
    printed = script(found)
    assert "index_map=T.index_map(lambda i, j: (i, j // 4, j % 4))" in printed
    assert_structural_equal(load(printed), found)
    other: Any = load(text.replace("j // 4, j % 4", "j // 2, j % 2"))
    assert not structural_equal(other, found)
    with pytest.raises(DiagnosticError, match="one by one"):
        load(text.replace("lambda i, j:", "lambda *i:"))


def test_inverses_of_constant_indices() -> None:
    """Guards axes of one element, whose index is a number: the comparison with their size is no longer one."""
    found, empty = IndexMap.from_func(lambda i, j: (j, i)).non_surjective_inverse([1, 4])
    assert len(found.final_indices) == 2
    assert int(empty) == 0


def test_maps_are_shown_as_they_are_written() -> None:
    assert (
        str(IndexMap.from_func(lambda i, j: (j, i // 4), index_dtype="int32"))
        == "T.index_map(lambda i, j: (j, i // 4))"
    )
