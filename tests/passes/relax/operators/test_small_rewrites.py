"""RemoveRedundantReshape and FastMathTransform."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.relax.operators.fast_math import FastMathTransform
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.operators.remove_redundant_reshape import RemoveRedundantReshape
from tests.passes.relax.programs import R, arrays, bindings, called, check, dim, program, tensor
from tests.relax.build import load


@pytest.mark.rule("RELAX-PASS-19")
def test_reshapes_in_a_row() -> None:
    n = dim()

    def build(b: Any, x: Any) -> Any:
        flat = b.emit(R.reshape(x, (n * 6,)))
        return R.exp(b.emit(R.reshape(b.emit(R.reshape(flat, (n * 2, 3))), (n, 3, 2))))

    after = check(RemoveRedundantReshape(), program([tensor("x", n, 2, 3)], build), *arrays((2, 2, 3)))
    assert called(after) == ["reshape", "exp"]


@pytest.mark.rule("RELAX-PASS-19")
def test_reshapes_that_change_nothing() -> None:
    def build(b: Any, x: Any) -> Any:
        return R.exp(b.emit(R.reshape(b.emit(R.reshape(x, (3, 2))), (2, 3))))

    after = check(RemoveRedundantReshape(), program([tensor("x", 2, 3)], build), *arrays((2, 3)))
    assert called(after) == ["exp"] or called(after) == ["Var", "exp"]


@pytest.mark.rule("RELAX-PASS-19")
def test_fast_kernels() -> None:
    def build(b: Any, x: Any) -> Any:
        return R.tanh(b.emit(R.exp(x)))

    before = program([tensor("x", 7)], build)
    after = check(FastMathTransform(), before, *arrays((7,)), rtol=1e-3)
    assert called(after) == ["fast_exp", "fast_tanh"]
    assert all(b.value.op.name == "relax.call_tir" for b in bindings(after))
    exact = program([tensor("x", 7, dtype="float64")], build)
    assert FastMathTransform()(exact) is exact


@pytest.mark.rule("RELAX-PASS-19")
def test_fast_kernels_of_computed_sizes() -> None:
    """Guards outputs of the kernels: their size named a variable of the function instead of the kernel's own."""
    n = dim()

    def build(b: Any, x: Any) -> Any:
        return R.tanh(b.emit(R.exp(b.emit(R.reshape(x, (n * 2, 3))))))

    after = check(FastMathTransform(), program([tensor("x", n, 2, 3)], build), *arrays((2, 2, 3)), rtol=1e-3)
    assert called(after) == ["reshape", "fast_exp", "fast_tanh"]


def test_kernels_that_fail_on_constants_stay() -> None:
    """The pass failed instead of the program, which may never come to the call."""
    before = load("""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def pick(i: T.Buffer((T.int64(1),), "int32"), a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((), "float32")):
        with T.block("b"):
            b[()] = a[i[0]]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((), "float32"):
        cls = Module
        y = R.call_tir(cls.pick, (R.const([9], "int32"), R.const([1, 2, 3, 4], "float32")), R.Tensor((), "float32"))
        return y
""")
    assert FoldConstant()(before) is before
