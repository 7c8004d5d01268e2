"""Functions that most passes leave alone (`SkipOptimization`, those for external compilers): passes that need a form of
a program bring them into it, too, or leave them alone in every respect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.defunctionalization import Defunctionalize
from baton._src.passes.relay.first_order.lambda_lift import LambdaLift
from baton._src.passes.relay.first_order.to_cps import ToCPS
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.passes.relay.gradients.lazy_gradient_init import LazyGradientInit
from baton._src.passes.relay.memory.manifest_alloc import ManifestAlloc
from baton._src.passes.relay.partial_evaluation.partial_evaluate import PartialEvaluate
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Function
from baton._src.transform.passes import Pass
from tests.relay.programs import plain, read_module, same

X = np.asarray([0.5, -2.0], np.float32)
SKIPPED = ["SkipOptimization=1", 'Compiler="mine", Primitive=1, global_symbol="k"']


def program(attributes: str) -> IRModule:
    return read_module(f"""
        def @k(%a: Tensor[(2), float32], %c: bool, {attributes}) {{
          %0 = exp(%a);
          %1 = fn (%p: Tensor[(2), float32]) {{ nn.relu(%p + %0) }};
          if (%c) {{ %1(%0) * sin(%0) }} else {{ %0 * %1(%a) }}
        }}
        def @main(%x: Tensor[(2), float32], %c: bool) {{ @k(%x * 2f, %c) }}""")


def results(module: IRModule, name: str = "main") -> Any:
    function = Interpreter(module).evaluate(module.get_global_var(name))
    return [plain(function(X, flag)) for flag in (True, False)]


@pytest.mark.parametrize("attributes", SKIPPED)
@pytest.mark.parametrize("step", [PartialEvaluate(), Defunctionalize(), LazyGradientInit(), ToCPS(), LambdaLift()])
def test_what_they_compute_stays(step: Pass, attributes: str) -> None:
    module = program(attributes)
    assert same(results(step(module)), results(module))


@pytest.mark.parametrize("attributes", SKIPPED)
def test_gradients_go_through_them(attributes: str) -> None:
    found = [with_gradient(program(a)) for a in (attributes, "Inline=1")]
    assert same(results(found[0]), results(found[1]))


def with_gradient(module: IRModule) -> IRModule:
    """`main` differentiated, with the functions that its gradient calls."""
    made = gradient(module["main"], module)
    return module.with_function(module.get_global_var("main"), made)


def test_translations_are_for_no_compiler() -> None:
    made = ToCPS()(program(SKIPPED[1]))
    assert not [f for f in made.functions.values() if isinstance(f, Function) and "Compiler" in f.attrs]


def test_explicit_memory_is_dissolved_before_values_are_translated() -> None:
    module = program("Inline=1")
    made = LazyGradientInit()(ManifestAlloc()(module))
    assert same(results(made), results(module))
