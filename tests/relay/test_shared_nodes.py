"""Programs that share parts: what is inferred, or built, of one changes nothing in another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton.relay import transform

PAIR, MATRIX = np.ones(2, "float32"), np.ones((3, 4), "float64")


def two_programs() -> tuple[baton.IRModule, baton.IRModule]:
    """A function literal without annotations, called in two programs."""
    x = relay.var("x")
    doubled = relay.Function([x], relay.exp(relay.add(x, x)))
    args = relay.var("a", shape=PAIR.shape), relay.var("b", shape=MATRIX.shape, dtype="float64")
    one, other = (baton.IRModule.from_expr(relay.Function([a], relay.Call(doubled, [a]))) for a in args)
    return transform.InferType()(one), transform.InferType()(other)


@pytest.mark.parametrize("step", [transform.FuseOps(2), transform.SimplifyExpr(), transform.PartialEvaluate()])
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_a_function_without_annotations_in_two_programs(step: Any, kind: str) -> None:
    for module, value in zip(two_programs(), (PAIR, MATRIX)):
        run = relay.create_executor(kind, step(module)).evaluate()
        np.testing.assert_allclose(run(value).numpy(), np.exp(2 * value), rtol=1e-5)


def test_a_closure_runs_after_another_program_was_inferred() -> None:
    x = relay.var("x")
    body = relay.add(x, x)
    a, b = relay.var("a", shape=(2,)), relay.var("b", shape=(3,))
    first = relay.create_executor("debug").evaluate(relay.Function([a], relay.Let(x, a, body)))
    relay.create_executor("debug").evaluate(relay.Function([b], relay.Let(x, b, body)))
    assert first(PAIR).numpy().tolist() == [2, 2]


def test_names_of_functions_have_the_type_of_this_module() -> None:
    module = relay.fromtext("""#[version = "0.0.5"]
        def @f(%x: float32) -> float32 { exp(%x) }
        def @apply(%g: fn(float32) -> float32, %x: float32) -> float32 { %g(%x) }
        def @main(%x: float32) { @apply(@f, %x) }""")
    name, x = module.get_global_var("f"), relay.var("x", shape=(3,), dtype="int32")
    transform.InferType()(baton.IRModule({name: relay.Function([x], x)}))
    expanded = transform.EtaExpand(expand_global_var=True)(module)
    assert relay.create_executor("debug", expanded).evaluate()(0.0).numpy() == 1


class Larger(relay.ExprMutator):
    """The program for a larger image."""

    def visit_var(self, var: relay.Var) -> relay.Var:
        return relay.var("x", shape=(1, 3, 11, 9)) if var.name_hint == "x" else var


def test_rules_see_the_sizes_of_the_program_not_of_the_one_it_was_made_of() -> None:
    """Copies of nodes took along how rules had seen the originals: gradients of another size."""
    x, w = relay.var("x", shape=(2, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    loss = relay.sum(relay.nn.adaptive_avg_pool2d(relay.nn.conv2d(x, w, strides=(2, 2)), (2, 2)))
    module = transform.InferType()(baton.IRModule.from_expr(relay.Function([x, w], loss)))
    transform.gradient(module["main"], module)
    larger = Larger().visit(module["main"])
    assert larger.body.checked_type_ is None
    found = transform.InferType()(baton.IRModule.from_expr(larger))
    again = relay.fromtext(found.astext())
    args = np.ones((1, 3, 11, 9), "float32"), np.ones((4, 3, 3, 3), "float32")
    one, other = (relay.create_executor("debug", m).evaluate(transform.gradient(m["main"], m)) for m in (found, again))
    for left, right in zip(one(*args)[1], other(*args)[1]):
        np.testing.assert_allclose(left.numpy(), right.numpy())


def test_a_function_without_annotations_in_several_threads() -> None:
    x = relay.var("x")
    doubled = relay.Function([x], relay.add(x, x))

    def evaluated(size: int) -> list[float]:
        a = relay.var("a", shape=(size,))
        module = baton.IRModule.from_expr(relay.Function([a], relay.Call(doubled, [a])))
        return [relay.create_executor("debug", module).evaluate()(np.ones(size, "f")).numpy().sum() for _ in range(5)]

    with ThreadPoolExecutor(6) as pool:
        assert [sum(found) for found in pool.map(evaluated, range(1, 7))] == [10 * size for size in range(1, 7)]
