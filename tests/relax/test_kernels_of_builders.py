"""Kernels that `BlockBuilder.emit_te` makes: what becomes a parameter, and of what form the result is."""

from __future__ import annotations

import numpy as np

from baton._src.ir.global_info import VDevice
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import PrimStructInfo
from baton._src.te.computation import compute
from tests.relax.build import Ts


def test_a_scalar_of_unknown_value_is_passed_to_the_kernel() -> None:
    """It was refused: only scalars whose value is known could be used."""
    x, factor = Var("x", Ts((3,), "float32")), Var("factor", PrimStructInfo("float32"))
    builder = BlockBuilder()
    with builder.function("main", [x, factor]):
        scaled = builder.emit_te(lambda a, f: compute(a.shape, lambda i: a[i] * f), x, factor)
        builder.emit_func_output(scaled)
    found = Interpreter(builder.get()).run("main", np.array([1, 2, 3], "float32"), 0.5)
    np.testing.assert_array_equal(found.numpy(), [0.5, 1, 1.5])


def test_a_list_of_one_is_no_tuple_and_results_are_where_the_operands_are() -> None:
    """A te function that gives a list of one tensor, as a split in one part does, gives a tensor in TVM."""
    device = VDevice("llvm", 0, "global")
    x = Var("x", Ts((3,), "float32", vdevice=device))
    builder = BlockBuilder()
    with builder.function("main", [x]):
        one = builder.emit_te(lambda a: [compute(a.shape, lambda i: a[i])], x)
        builder.emit_func_output(one)
    assert one.struct_info == Ts((3,), "float32", vdevice=device)
