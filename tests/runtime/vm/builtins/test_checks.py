"""Signatures of functions: what is checked quickly is checked as it is slowly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.runtime.executable.constants import Data
from baton._src.runtime.value_info import ObjectValue, ShapeValue, TensorValue, TupleValue
from baton._src.runtime.vm.builtins import checks
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

N, M = ("v", 0), ("v", 1)
INFOS = TupleValue((
    TensorValue("bool", 0, ()), TensorValue("float32", 2, (N, 4)), TensorValue("float32", 3, None),
    TensorValue("int64", 2, (M, N)), ObjectValue(),
))  # fmt: skip


def arguments(**changed: Any) -> list[Any]:
    """What fits `INFOS`, with some of it changed."""
    found = {
        "go": np.array(True), "x": np.zeros((2, 4), "float32"), "rows": np.zeros((7, 2, 4), "float32"),
        "places": np.zeros((3, 2), "int64"),
    }  # fmt: skip
    return [*(NDArray(changed.get(name, array)) for name, array in found.items()), "anything"]


def check(heap: list[Any], given: list[Any]) -> None:
    facts = Data(["f", ["go", "x", "rows", "places", "other"], ["n", "m"]])
    for _ in range(2):
        checks.check_signature(list(heap), INFOS, facts, *given)
    checks.check_signature(heap, INFOS, facts, *given)


def test_sizes_are_named_without_the_full_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards loops in the machine, which check 14 tensors in each iteration: with named sizes that took 130 us."""
    monkeypatch.setattr(checks, "check_values", None)
    heap = [None, None]
    check(heap, arguments())
    assert heap == [2, 3]
    captured = [2, None]
    check(captured, arguments())
    assert captured == [2, 3]


@pytest.mark.parametrize(("changed", "told"), [
    ({"go": np.zeros(1, "bool")}, "argument go: expected a tensor of rank 0"),
    ({"x": np.zeros((2, 5), "float32")}, "argument x: dimension 1 is 5, expected 4"),
    ({"x": np.zeros((2, 4), "float64")}, "argument x: expected a tensor of dtype float32"),
    ({"rows": np.zeros((2, 4), "float32")}, "argument rows: expected a tensor of rank 3"),
    ({"places": np.zeros((3, 1), "int64")}, r"argument places: dimension 1 is 1, expected 2 \(n\)"),
])  # fmt: skip
def test_what_does_not_fit(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(DiagnosticError, match=told):
        check([None, None], arguments(**changed))


def test_a_size_that_a_closure_captured() -> None:
    with pytest.raises(DiagnosticError, match="argument x: dimension 0 is 2, expected 5"):
        check([5, None], arguments())


DERIVED = TupleValue((
    ShapeValue(2, (N, ("+", M, 1))), TensorValue("float32", 1, (("*", N, 2),)), TensorValue("int64", 1, (M,)),
))  # fmt: skip


def derived(shape: tuple[int, ...], doubled: int) -> list[Any]:
    return [ShapeTuple(shape), NDArray(np.zeros(doubled, "float32")), NDArray(np.zeros(3, "int64"))]


def test_shapes_and_sizes_that_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards loops that pass shapes on: the expressions of sizes were compiled in every call."""
    facts = Data(["f", ["s", "x", "y"], ["n", "m"]])
    for shape, doubled, told in [
        ((4, 5), 8, r"argument s: member 1 is 5, expected 4 \(m \+ 1 with m = 3\)"),
        ((4, 4), 7, r"argument x: dimension 0 is 7, expected 8 \(n \* 2 with n = 4\)"),
        ((4,), 8, "argument s: expected a shape of 2 dims"),
    ]:
        with pytest.raises(DiagnosticError, match=told):
            checks.check_signature([None, None], DERIVED, facts, *derived(shape, doubled))
    monkeypatch.setattr(checks, "check_values", None)
    heap = [None, None]
    checks.check_signature(heap, DERIVED, facts, *derived((4, 4), 8))
    assert heap == [4, 3]


def test_casts_are_checked_left_to_right() -> None:
    """Guards the quick check of casts: it binds all variables first, which a size computed from one must not see."""
    facts = Data(["cast", ["n", "m"]])
    for heap, dims, told in [
        ([None, None], (("+", N, 1), N), "no argument determines n"),
        ([3, None], (("+", N, 1), N), None),
        ([4, None], (("+", N, 1), M), "dimension 0 is 4, expected 5"),
        ([3, None], (("+", N, 1), M), None),
        ([3, 2], (("+", N, 1), M), "dimension 1 is 3, expected 2"),
    ]:
        value = NDArray(np.zeros((4, 3), "float32"))
        for _ in range(2):
            if told is None:
                assert checks.match_cast(heap, TensorValue("float32", 2, dims), facts, value) is value
                continue
            with pytest.raises(DiagnosticError, match=told):
                checks.match_cast(list(heap), TensorValue("float32", 2, dims), facts, value)
        facts = Data(["cast", ["n", "m"]])


def test_tuples_are_checked_without_the_full_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards weights that are passed as one tuple: the full check of hundreds took as long as a token."""
    infos = TupleValue(
        (TensorValue("float32", 1, (N,)), TupleValue((TensorValue("float32", 2, (N, 4)), ObjectValue())))
    )
    facts = Data(["f", ["x", "weights"], ["n", "m"]])

    def run(x: int, *weights: Any) -> list[Any]:
        heap: list[Any] = [None, None]
        checks.check_signature(heap, infos, facts, NDArray(np.zeros(x, "float32")), weights)
        return heap

    matrix = NDArray(np.zeros((3, 4), "float32"))
    with pytest.raises(DiagnosticError, match=r"weights\[0\]: dimension 0 is 3, expected 2"):
        run(2, matrix, None)
    with pytest.raises(DiagnosticError, match="weights: expected a tuple of 2 values"):
        run(3, matrix)
    monkeypatch.setattr(checks, "check_values", None)
    assert run(3, matrix, "anything") == [3, None]
