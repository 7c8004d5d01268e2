"""`tvm.relay.testing`'s helpers: random inputs, numerical gradients, natural numbers, columns set for a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.driver.relay.executors import create_executor
from baton._src.driver.relay.prelude import Prelude
from baton._src.driver.wiring import wire
from baton._src.ir.expr import Op
from baton._src.ir.node import set_note
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function
from baton._src.support.diagnostics import fail
from baton._src.values.adt import ADT
from baton._src.values.convert import to_numpy
from baton._src.values.device import CPU, Device
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array


def rand(dtype: str = "float32", *shape: int) -> NDArray:
    """Random numbers between 0 and 1."""
    return array(np.random.random(shape), dtype=dtype)


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets there are, with their devices."""
    return [("llvm", CPU)]


ctx_list = enabled_targets


class TempOpAttr:
    """A column of an operator set for a `with` block."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        wire()
        self.op: Op = CATALOGUE.relay(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value
        self._before: Any = None

    def __enter__(self) -> TempOpAttr:
        self._before = self.op.columns
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, *error: object) -> None:
        set_note(self.op, "columns", self._before)


# ---- natural numbers (nat.rly)


def add_nat_definitions(prelude: Prelude) -> None:
    """Add the type `nat` and its functions to the prelude's module."""
    prelude.import_from_std("nat.rly")


def make_nat_expr(prelude: Prelude, n: int) -> Any:
    """The number `n` as an expression."""
    found: Any = Call(prelude.get_ctor("nat", "zero"), ())
    for _ in range(n):
        found = Call(prelude.get_ctor("nat", "succ"), (found,))
    return found


def make_nat_value(prelude: Prelude, n: int) -> ADT:
    """The number `n` as a value."""
    zero, succ = prelude.get_ctor("nat", "zero"), prelude.get_ctor("nat", "succ")
    found = ADT(zero.tag, (), zero)
    for _ in range(n):
        found = ADT(succ.tag, (found,), succ)
    return found


def count(prelude: Prelude, n: ADT) -> int:
    """The Python int of a value of type `nat`."""
    number = 0
    while n.tag == prelude.get_ctor("nat", "succ").tag:
        number += 1
        n = n.fields[0]
    return number


# ---- gradients


def check_grad(
    func: Function,
    inputs: Sequence[Any] | None = None,
    test_inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Any = None,
    executor_kind: str = "debug",
) -> None:
    """Compare `gradient(func)` with central differences at `inputs` (random where there are none).

    `test_inputs` are the inputs to differentiate by (all, if None). An `AssertionError` says where they differ.
    """
    wire()
    typed = infer_expr(func)
    given = list(inputs) if inputs is not None else [_random(p, scale, mean) for p in typed.params]
    backward = infer_expr(gradient(typed, mode=mode))
    forward = Interpreter().evaluate(typed)
    _, slopes = create_executor(executor_kind).evaluate(backward)(*given)
    chosen = given if test_inputs is None else list(test_inputs)
    for position, value in enumerate(given):
        if any(value is other for other in chosen):
            expected = _differences(forward, given, position, eps)
            np.testing.assert_allclose(slopes[position].numpy(), expected, atol=atol, rtol=rtol)


def _random(param: Any, scale: float | None, mean: float) -> Any:
    found = param.checked_type
    shape = tuple(int(d) for d in found.shape)
    spread = scale if scale is not None else 10 * max(1.0, float(np.prod(shape))) ** -0.5
    numbers = np.random.default_rng(0).uniform(-1, 1, shape) * spread + mean
    return np.asarray(numbers, DataType(found.dtype).numpy)


def _differences(forward: Callable[..., Any], given: list[Any], position: int, eps: float) -> Any:
    """The slope of the sum of the result by each element of one input, by central differences.

    They are taken of float64s, which `forward` (the interpreter) computes with: those of float32s drown in rounding.
    """
    arrays = [np.asarray(to_numpy(v)) for v in given]
    if arrays[position].dtype.kind != "f":
        raise fail(
            "api",
            f"a gradient with respect to a tensor of {arrays[position].dtype} is not defined",
            help="choose test_inputs",
        )
    given = [v.astype("float64") if v.dtype.kind == "f" else v for v in arrays]
    value, step = given[position], eps
    slopes = np.zeros(value.shape)
    for index in np.ndindex(*value.shape):
        ends = []
        for change in (step, -step):
            moved = value.copy()
            moved[index] += change
            result = forward(*given[:position], moved, *given[position + 1 :])
            ends.append(result.numpy().astype("float64").sum())
        slopes[index] = (ends[0] - ends[1]) / (2 * step)
    return slopes
