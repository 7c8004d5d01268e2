"""CallClosures: closures that are called where they are made, and those that are not known there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.passes.relax.bindings.call_closures import CallClosures
from baton._src.passes.relax.bindings.lambda_lift import LambdaLift
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.relax.build import load

HEAD = "from baton.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass M:\n"
LOOP = """
    @R.function
    def main(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def loop(i: R.Tensor((), "int32"), x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            if R.less(i, R.const(1, "int32")):
                r = x
            else:
                r = loop(R.subtract(i, R.const(1, "int32")), R.add(x, w))
            return r
        y = loop(i, x)
        return y
"""
SIZES = """
    @R.function
    def main(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32"), w: R.Tensor(("m",), "float32")):
        n, m = T.int64(), T.int64()
        with R.dataflow():
            @R.function
            def size(i: R.Tensor((), "int32")) -> R.Tensor((), "float32"):
                y = R.multiply(R.astype(i, "float32"), R.astype(R.const(1, "int64"), "float32"))
                z = R.add(R.sum(R.ones((n, m), "float32")), y)
                return z
            y = size(i)
            R.output(y)
        return y
"""
CHOSEN = """
    @R.function
    def main(i: R.Tensor((), "int32"), x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def plus(x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            return R.add(x, w)
        @R.function
        def minus(x: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            return R.subtract(x, w)
        if R.less(i, R.const(1, "int32")):
            f = plus
        else:
            f = minus
        y = f(x)
        return y
"""
ARGUMENTS = (np.int32(3), np.arange(4, dtype="float32"), np.ones(4, "float32"))


def rewritten(text: str) -> tuple[Any, Any]:
    module = load(HEAD + text)
    after = CallClosures()(LambdaLift()(module))
    assert not well_formed(after)
    found = VirtualMachine(relax_build(after))["main"](*map(array, ARGUMENTS))
    wanted = Interpreter(module, {})["main"](*map(array, ARGUMENTS))
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    return after, module


@pytest.mark.parametrize("text", [LOOP, SIZES], ids=["loop", "sizes"])
def test_a_closure_is_called_by_its_function(text: str) -> None:
    """Guards what closures capture, among that sizes that none of their tensors have."""
    after, _ = rewritten(text)
    assert "invoke_pure_closure" not in after.script()


def test_a_closure_that_is_chosen_stays() -> None:
    after, _ = rewritten(CHOSEN)
    assert "R.make_closure" in after.script()
