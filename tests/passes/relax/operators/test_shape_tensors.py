"""Sizes as elements of tensors: by kernels, so that what is computed of them is native code."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.driver.relax.build import relax_build
from baton._src.ops.builders import RELAX as R
from baton._src.passes.relax.operators.shape_tensors import ShapeTensors
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.special_builders import shape_to_tensor
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.tensor import array
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import program, tensor

N, M = TirVar("n", "int64"), TirVar("m", "int64")


def sizes(bb: Any, x: Any) -> Any:
    """[n, m // 2] + [m, 7]"""
    first = bb.emit(shape_to_tensor(ShapeExpr([N, M // 2])))
    return R.add(first, bb.emit(shape_to_tensor(ShapeExpr([M, 7]))))


def test_sizes_that_a_run_tells() -> None:
    """Guards the values, one kernel for as many sizes, and that the program needs no machine."""
    module = program([tensor("x", N, M)], sizes)
    done = ShapeTensors()(module)
    assert sum(isinstance(f, PrimFunc) for f in done.functions.values()) == 1
    executable = relax_build(module)
    assert executable.entry("main").kind == "native"
    for shape in ((3, 5), (0, 1), (7, 8)):
        x = np.zeros(shape, "float32")
        expected = [shape[0] + shape[1], shape[1] // 2 + 7]
        np.testing.assert_array_equal(VirtualMachine(executable)["main"](array(x)).numpy(), expected)
        np.testing.assert_array_equal(evaluate(done, "main", x), expected)
