"""`tvm.testing`: comparing arrays, expressions and gradients, and running a test file as a program."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.testing import pytest_plugin
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.values.convert import to_numpy
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Like `numpy.testing.assert_allclose`, for tensors too; the shapes must agree."""
    left, right = to_numpy(actual), to_numpy(desired)
    np.testing.assert_allclose(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=verbose)


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """`ValueError` unless two scalar expressions are certainly equal."""
    if not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not equal")


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Any,
    grad_values: Any,
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """`AssertionError` unless `grad_values` are near the differences of `function` (of arrays, giving a number).

    The arrays and their gradients are two lists, or two dictionaries by the names of the function's parameters.
    """
    named = isinstance(input_values, dict)
    inputs = dict(input_values) if named else dict(enumerate(input_values))
    gradients = dict(grad_values) if named else dict(enumerate(grad_values))

    def value(name: Any, moved: AnyArray) -> float:
        changed = {**inputs, name: moved}
        return float(function(**changed) if named else function(*changed.values()))

    for name, given in gradients.items():
        if given.shape != inputs[name].shape:
            raise AssertionError(f"the gradient of {name} has shape {given.shape}, not {inputs[name].shape}")
        found = _differences(partial(value, name), inputs[name], delta)
        distance, size = float(np.sqrt(np.sum((found - given) ** 2))), float(np.sqrt(np.sum(found**2)))
        if not np.isfinite(distance) or not np.isfinite(size):
            raise ValueError(f"the gradient of {name} is not finite: {given} against {found}")
        if distance > atol * np.sqrt(given.size) + rtol * size:
            raise AssertionError(f"the gradients of {name} differ: given {given}, by differences {found}")


def _differences(value: Callable[[AnyArray], float], at: AnyArray, delta: float) -> AnyArray:
    """The gradient of `value` at a point, by what it is `delta` before and behind it along each axis."""
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        ends = []
        for step in (delta, -delta):
            moved = at.copy()
            moved[place] += step
            ends.append(value(moved))
        found[place] = (ends[0] - ends[1]) / (2 * delta)
    return found


def get_dtype_range(dtype: str) -> tuple[Any, Any]:
    """The smallest and the largest value of a dtype."""
    kind = DataType(dtype)
    return (-kind.largest_float, kind.largest_float) if kind.is_float else kind.int_range


def strtobool(val: str) -> int:
    """1 for yes, true, on, ...; 0 for their contrary; `ValueError` for anything else."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")


def echo(x: Any) -> Any:
    """Returns its argument."""
    return x


def nop() -> None:
    """Nothing."""


def install_request_hook(depth: int) -> None:
    """Does nothing, as outside TVM's own servers, where it sends downloads of examples (which begin with it) to copies;
    `depth` says how far from the repository's root the calling file lies.
    """


def main() -> None:
    """Run the tests of the calling file with pytest and exit with its status."""
    pytest = importlib.import_module("pytest")
    file = sys._getframe(1).f_globals["__file__"]
    sys.exit(pytest.main([file, *sys.argv[1:]], plugins=[pytest_plugin]))
