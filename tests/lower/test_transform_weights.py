"""TransformWeights: what it changes, that the program means the same, and that a setting turns it off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.driver.relax.optimize import optimize
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.transform_weights import TransformWeights
from baton._src.passes.tir.lowering.check_sizes import size_tests
from baton._src.relax.nodes import Constant
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from tests.codegen.native_run import random_array
from tests.passes.relax.programs import R, dim, program, tensor, weights

WIDE = Target("llvm -mcpu=znver4")
OFF = {"baton.winograd": False}


def chain() -> IRModule:
    """Three convolutions of 32 channels; the last two have one weight and one kernel."""
    first, second = weights(32, 32, 3, 3, seed=1), weights(32, 32, 3, 3, seed=2)

    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(R.nn.relu(R.nn.conv2d(x, first, padding=1)))
        y = bb.emit(R.add(R.nn.conv2d(y, second, padding=1), y))
        return R.add(R.nn.conv2d(y, second, padding=1), y)

    return program([tensor("x", 1, 32, 28, 28)], build)


def optimized(config: dict[str, object]) -> IRModule:
    with PassContext(config=config):
        return optimize(chain(), WIDE, "default", lambda name, module: None)


def test_weights_are_transformed_once() -> None:
    """Kernels are replaced, weights lie by element of a tile, and equal ones are one constant."""
    module = optimized({})
    main = module["main"]
    names = [v.name_hint for v in {n for n in post_order(main) if isinstance(n, GlobalVar)}]
    assert [n for n in names if n.endswith("_winograd")]
    assert len([v for v in module.functions if v.name_hint.startswith("fused_conv") and v.name_hint not in names]) == 0
    shapes = {id(n): n.data.shape for n in post_order(main) if isinstance(n, Constant)}
    assert sorted(s[1] for s in shapes.values() if len(s) == 6) == [36, 36]


def test_setting_turns_it_off() -> None:
    """Guards the documented switch, and disabling the pass by name."""
    module = optimized(OFF)
    assert not [v for v in module.functions if "winograd" in v.name_hint]
    with WIDE, PassContext(config=OFF):
        assert TransformWeights()(module) is module


def test_the_program_means_the_same() -> None:
    """Both ways natively, to 1e-5 of the largest value."""
    x = random_array((1, 32, 28, 28), "float32", 3)
    found = VirtualMachine(relax_build(chain()))["main"](x)
    with PassContext(config=OFF):
        expected = np.asarray(VirtualMachine(relax_build(chain()))["main"](x))
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-5 * float(np.abs(expected).max()))


def test_open_sizes_are_tested_as_the_plain_kernel_has_them() -> None:
    """Guards the tests that a schedule is given of the kernel it computes: maps smaller than the window are a fault,
    and its own indices, which nobody has to ask for, are not asked for.
    """
    weight = weights(32, 32, 3, 3, seed=1)
    params = [tensor("x", 1, 32, dim("h"), dim("w"))]
    module = program(params, lambda bb, x: R.nn.relu(bb.emit(R.nn.conv2d(x, weight))))
    optimal = optimize(module, WIDE, "default", lambda name, module: None)
    (kernel,) = [f for v, f in optimal.functions.items() if v.name_hint.endswith("_winograd")]
    tests = size_tests(kernel)
    assert tests.first
    assert not tests.inside
    machine = VirtualMachine(relax_build(module))
    assert machine["main"](random_array((1, 32, 20, 33), "float32", 3)).shape == (1, 32, 18, 31)
    with pytest.raises(DiagnosticError, match="windows"):
        machine["main"](random_array((1, 32, 2, 33), "float32", 3))
