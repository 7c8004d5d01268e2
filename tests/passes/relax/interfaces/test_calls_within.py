"""What passes do to a function for its host leaves calls of it within the module as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relax.interfaces.bind_params import BindParams
from baton._src.passes.relax.interfaces.lazy_interfaces import LazyGetInput, LazySetOutput
from baton._src.passes.relax.interfaces.lift_transform_params import LiftTransformParams
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.values.tensor import array
from tests.passes.relax.programs import arrays, same_values
from tests.relax.build import module

CALLED = """
@R.function
def step(x: R.Tensor(("n", 4), "float32"), w: R.Tensor(("k", 4), "float32"), i: R.Tensor((), "int64")) -> R.Tensor(
    ("n", "k"), "float32"
):
    R.func_attr({"num_input": 1, "kept": 7})
    n, k = T.int64(), T.int64()
    with R.dataflow():
        turned = R.permute_dims(w)
        y = R.matmul(x, turned)
        R.output(y)
    go = R.greater(i, R.const(0, "int64"))
    if go:
        z = cls.step(x, R.add(w, w), R.subtract(i, R.const(1, "int64")))
    else:
        z = y
    return z

@R.function(private=True)
def step1(x: R.Tensor((2, 4), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((2, 3), "float32"):
    f = cls.step
    y = f(x, w, R.const(1, "int64"))
    return y

@R.function
def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((2, 3), "float32"):
    R.func_attr({"num_input": 2})
    y = cls.step(x, w, R.const(2, "int64"))
    z = cls.step1(x, w)
    return R.add(y, z)
"""
X, W = arrays((2, 4), (3, 4))
STEPS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "LazyGetInput": (LazyGetInput(), (X, lambda number, name: array(W) if name == "w" else array(np.int64(2)))),
    "BindParams": (BindParams("step", {"w": W}), (X, np.int64(2))),
    "LiftTransformParams": (LiftTransformParams(), (X, W, np.int64(2), W.T.copy())),
}


def _run(found: IRModule, name: str, *args: Any) -> Any:
    return Interpreter(found)[name](*(a if callable(a) else array(a) for a in args))


@pytest.mark.parametrize("name", STEPS)
def test_others_and_the_function_itself_go_on_calling_it(name: str) -> None:
    """Guards calls, uses as a value and recursion: they passed what the function no longer took."""
    step, args = STEPS[name]
    before = module(CALLED)
    after = step(before)
    assert well_formed(after) == []
    same_values(_run(after, "main", X, W).numpy(), _run(before, "main", X, W).numpy())
    same_values(_run(after, "step", *args).numpy(), _run(before, "step", X, W, np.int64(2)).numpy())
    kept = after["step2"]  # `step1` is another one
    assert kept.attrs == {"kept": 7}
    assert after["step"].attrs["kept"] == 7


def test_those_that_call_a_function_that_gives_its_results_away_still_get_them() -> None:
    """Guards purity, too: a pure function called what had become impure."""
    before = module(CALLED)
    after = LazySetOutput()(before)
    assert well_formed(after) == []
    given: list[Any] = []

    def give(number: int, value: Any) -> None:
        given.append(value.numpy())

    _run(after, "main", X, W, give)
    same_values(given.pop(), _run(before, "main", X, W).numpy())
    _run(after, "step", X, give, W, np.int64(2))
    same_values(given.pop(), _run(before, "step", X, W, np.int64(2)).numpy())
