"""One-to-one maps of loops: found, inverted, and refused where they are not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import operators as ops
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import IntImm, SizeVar, Var
from baton._src.tir.text.printer import node_text

N = SizeVar("n", "int64")
L, J, F = Var("l", "int64"), Var("j", "int64"), Var("f", "int64")
A, B = Var("a", "int64"), Var("b", "int64")


def domains(**extents: Any) -> dict[Var, Range]:
    names = {"l": L, "j": J, "f": F}
    zero = IntImm("int64", 0)
    return {names[k]: Range(zero, ops.convert(v, zero.dtype)) for k, v in extents.items()}


def shown(found: dict[Var, PrimExpr] | None) -> dict[str, str] | None:
    if found is None:
        return None
    return {v.name: node_text(e).replace("T.int64(", "").replace(")", "") for v, e in found.items()}


def test_fusions_and_splits_are_inverted() -> None:
    """Guards reshapes both ways, with numbers and symbolic sizes, and transposes."""
    assert shown(invert([L * 8 + J], [A], domains(l=N, j=8))) == {"l": "a // 8", "j": "a % 8"}
    assert shown(invert([F // 12, F % 12], [A, B], domains(f=N * 12))) == {"f": "a * 12 + b"}
    assert shown(invert([L * N + J], [A], domains(l=4, j=N))) == {"l": "a // n", "j": "a % n"}
    assert shown(invert([J, L], [A, B], domains(l=N, j=8))) == {"l": "b", "j": "a"}
    # (l, j) -> flat -> split elsewhere
    assert shown(invert([(L * 8 + J) // 4, (L * 8 + J) % 4], [A, B], domains(l=N, j=8))) == {
        "l": "a // 2",
        "j": "a % 2 * 4 + b",
    }


@pytest.mark.parametrize(
    ("indices", "extents"),
    [
        ([L * 8 + J], {"l": 4, "j": 7}),
        ([L + J], {"l": 4, "j": 7}),
        ([L], {"l": 4, "j": 7}),
        ([L * L], {"l": 4}),
        ([F // 5, F % 5], {"f": 12}),
        ([F // 4], {"f": 12}),
        ([L, L], {"l": 4}),
        ([L + 1], {"l": 4}),
    ],
)
def test_what_is_not_one_to_one_is_refused(indices: list[PrimExpr], extents: dict[str, Any]) -> None:
    """Guards gaps, overlaps, missing and doubled pieces, offsets."""
    assert invert(indices, [A, B][: len(indices)], domains(**extents)) is None


@settings(max_examples=60)
@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=2, max_size=4), st.randoms())
def test_inverses_undo_random_reshapes(shape: list[int], random: Any) -> None:
    """Guards reshape after permutation: flat index split along another factorisation."""
    loops = [Var(f"v{k}", "int64") for k in range(len(shape))]
    zero = IntImm("int64", 0)
    ranges = {v: Range(zero, IntImm("int64", e)) for v, e in zip(loops, shape)}
    order = list(range(len(shape)))
    random.shuffle(order)
    flat: PrimExpr = zero
    for k in order:
        flat = flat * shape[k] + loops[k]
    last = shape[order[-1]]
    indices = [flat // last, flat % last]
    outputs = [A, B]
    found = invert(indices, outputs, ranges)
    assert found is not None
    for point in itertools.product(*(range(e) for e in shape)):
        values = dict(zip(loops, point))
        at = {o: evaluate(i, values) for o, i in zip(outputs, indices)}
        assert tuple(evaluate(found[v], at) for v in loops) == point
