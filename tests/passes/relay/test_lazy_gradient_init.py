"""LazyGradientInit: zeros and ones are made only where they are needed, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relay.executors import create_executor
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.gradients.higher_order_gradient import higher_order_gradient
from baton._src.passes.relay.gradients.lazy_gradient_init import LazyGradientInit
from baton._src.passes.relay.partial_evaluation.partial_evaluate import PartialEvaluate
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call
from tests.passes.relay.test_higher_order_gradient import PROGRAMS, program
from tests.relay.programs import plain, read_module

BODIES = [
    "add(zeros_like(%x), %x * %x)",
    "multiply(ones_like(%x), exp(%x))",
    'let %z = zeros_like(%x); (%z + ones_like(%x), %z * %x, zeros(shape=[2], dtype="float32") + %x)',
    "let %f = fn(%y: Tensor[(2), float32]) { %y + zeros_like(%y) }; let %r = ref(%f(%x)); ref_read(%r) * 2f",
    "if (%c) { ones_like(%x) } else { %x * zeros_like(%x) }",
]


def value(module: IRModule, *args: Any) -> Any:
    return plain(Interpreter(module).evaluate(module["main"])(*args))


@pytest.mark.rule("RELAY-PASS-33")
@pytest.mark.parametrize("body", BODIES)
def test_values_stay(body: str) -> None:
    before = read_module(f"def @main(%x: Tensor[(2), float32], %c: bool) {{ {body} }}")
    x = np.float32([1.5, -2])
    assert value(LazyGradientInit()(before), x, True) == value(before, x, True)


@pytest.mark.rule("RELAY-PASS-33")
@pytest.mark.parametrize("name", ["if", "closure", "reference", "lists", "tensors"])
def test_gradients_stay(name: str) -> None:
    module, function = program(PROGRAMS[name])
    made = higher_order_gradient(function, module)
    whole = module.with_functions({**module.functions, GlobalVar("main"): made})
    lazy = LazyGradientInit()(whole)
    (found, (slope,)), (expected, (known,)) = value(lazy, 0.4), value(whole, 0.4)
    assert (found, slope) == pytest.approx((expected, known), rel=1e-5)


def test_additions_of_zero_disappear() -> None:
    before = read_module("def @main(%x: Tensor[(2), float32]) { zeros_like(%x) + (zeros_like(%x) + exp(%x)) }")
    after = RemoveUnusedFunctions()(PartialEvaluate()(LazyGradientInit()(before)))
    assert [n.op.name for n in walk(after["main"]) if isinstance(n, Call)] == ["exp"]


def test_the_machine_agrees() -> None:
    before = read_module("def @main(%x: Tensor[(2), float32]) { multiply(ones_like(%x), exp(%x)) + zeros_like(%x) }")
    x = np.float32([0.5, 1])
    found = create_executor("vm", LazyGradientInit()(before)).evaluate()(x)
    np.testing.assert_allclose(found.numpy(), np.exp(x), rtol=1e-5)


@pytest.mark.parametrize("between", [Specialize(), RemoveUnusedFunctions()], ids=repr)
def test_again(between: Any) -> None:
    """Passes between drop the functions over cells that nothing uses; the types stay."""
    before = read_module("def @main(%x: Tensor[(2), float32]) { multiply(ones_like(%x), exp(%x)) + zeros_like(%x) }")
    after = LazyGradientInit()(between(LazyGradientInit()(before)))
    x = np.float32([0.5, 1])
    assert value(after, x) == value(before, x)
