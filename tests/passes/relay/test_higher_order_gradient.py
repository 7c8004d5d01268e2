"""Gradients through ifs, matches, closures, references and recursion agree with differences; so do their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relay.executors import create_executor
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import TensorType
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.passes.relay.gradients.higher_order_gradient import higher_order_gradient
from baton._src.passes.relay.infer_type import InferType
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function, Let, TupleGetItem, Var
from tests.relay.programs import error_of, plain, read, read_module

TYPES = """
type List[A] { Cons(A, List[A]), Nil }
type Shape { Dot(float32), Box(float32, float32) }
def @fold[A](%xs: List[A], %f: fn(A, A) -> A, %z: A) -> A {
  match (%xs) { Cons(%x, %rest) => %f(%x, @fold(%rest, %f, %z)), Nil => %z, }
}
def @area(%s: Shape) -> float32 { match (%s) { Dot(%r) => %r * %r, Box(%a, %b) => %a * %b, } }
def @power(%x: float32, %n: int32) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }
"""
PROGRAMS = {
    "if": "fn(%x: float32) { if (%x < 0f) { %x * %x * %x } else { exp(%x) * %x } }",
    "nested if": "fn(%x: float32) { (if (%x < 0f) { %x * 2f } else { if (%x < 1f) { sin(%x) } else { %x } }) * %x }",
    "closure": "fn(%x: float32) { let %f = fn(%y: float32) { %y * %x + tanh(%y) }; %f(%f(%x)) }",
    "closure as a value": "fn(%x: float32) { (fn(%f, %a: float32) { %f(%a) * %a })(fn(%y) { %y * %x }, %x + 1f) }",
    "operator as a value": "fn(%x: float32) { @fold(Cons(%x, Cons(%x * %x, Nil)), multiply, 2f) }",
    "reference": "fn(%x: float32) { let %r = ref(%x); ref_write(%r, ref_read(%r) * %x); ref_read(%r) * ref_read(%r) }",
    "reference to a function": "fn(%x: float32) { let %r = ref(fn(%y: float32) { %y * %x });"
    " let %f = ref_read(%r); ref_write(%r, fn(%y: float32) { %f(%y) + exp(%y) }); ref_read(%r)(%x) }",
    "local recursion": "fn(%x: float32) { let %f = fn(%n: int32, %a: float32) -> float32 {"
    " if (%n == 0) { %a } else { %f(%n - 1, %a * %x + 1f) } }; %f(4, %x) }",
    "recursion": "fn(%x: float32) { @power(%x, 5) + @power(sin(%x), 2) }",
    "match": "fn(%x: float32) { @area(Box(%x, %x + 3f)) * @area(Dot(%x)) }",
    "lists": "fn(%x: float32) { @fold(Cons(%x, Cons(@area(Dot(%x)), Nil)), fn(%a, %b) { %a * %b + %x }, 2f) }",
    "tuples": "fn(%x: float32) { let %t = (%x, (%x * %x, 3)); let %u = (%t.1, %t.0); %u.0.0 * %u.1 }",
    "constants": "fn(%x: float32) { let %t = (2f, %x); (if (%x < 0f) { 3f } else { %t.0 }) * %x }",
    "sharing": "fn(%x: float32) { %1 = exp(%x); let %f = fn(%y: float32) { %y * %1 }; %f(%1) + %1 }",
    "tensors": "fn(%x: float32) { let %f = fn(%v: Tensor[(2, 3), float32]) { sum(tanh(%v) * %x) };"
    " %f(broadcast_to(%x, shape=[2, 3]) + Constant(2, (3), float32)) }",
    "split and concatenate": "fn(%x: float32) { let %f = fn(%v: Tensor[(4), float32]) {"
    " let %s = split(%v, indices_or_sections=2); concatenate((%s.1, %s.0 * %s.1)) };"
    " sum(%f(broadcast_to(%x, shape=[4]) * Constant(3, (4), float32)) * %x) }",
}
POINTS = (-0.7, 0.4, 1.3)


def program(text: str) -> tuple[IRModule, Function]:
    module = read_module(TYPES)
    return module, read(text, module)


def value(module: IRModule, function: Function, *args: Any) -> Any:
    return plain(Interpreter(module).evaluate(function)(*args))


def slope(function: Any, x: float, step: float = 1e-2) -> float:
    """Central differences of fourth order."""
    f = [float(function(np.float32(x + k * step))) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def only_slope(made: Function) -> Function:
    """fn (x) { gradient.1.0 }, itself a program to be differentiated."""
    fresh = [p.copy() for p in made.params]
    return Function(fresh, TupleGetItem(TupleGetItem(made(*fresh), 1), 0))


@pytest.mark.rule("RELAY-PASS-29")
@pytest.mark.parametrize("name", PROGRAMS)
def test_against_differences(name: str) -> None:
    module, function = program(PROGRAMS[name])
    made = higher_order_gradient(function, module)
    for x in POINTS:
        found, (grad,) = value(module, made, x)
        assert found == pytest.approx(value(module, function, x), rel=1e-5)
        assert grad == pytest.approx(slope(lambda v: value(module, function, v), x), rel=2e-2, abs=2e-2)


@pytest.mark.rule("RELAY-PASS-29")
@pytest.mark.parametrize("name", ["if", "closure", "reference", "recursion", "match", "tuples", "tensors"])
def test_gradients_of_gradients(name: str) -> None:
    module, function = program(PROGRAMS[name])
    first = only_slope(higher_order_gradient(function, module))
    typed = InferType()(module.with_functions({**module.functions, GlobalVar("slope_of"): first}))
    second = higher_order_gradient(typed["slope_of"], module)
    for x in POINTS:
        found, (grad,) = value(module, second, x)
        assert found == pytest.approx(slope(lambda v: value(module, function, v), x), rel=2e-2, abs=2e-2)
        assert grad == pytest.approx(slope(lambda v: value(typed, first, v), x), rel=2e-2, abs=3e-2)


@pytest.mark.parametrize("name", ["if", "closure", "reference", "lists"])
def test_the_machine_agrees(name: str) -> None:
    module, function = program(PROGRAMS[name])
    made = gradient(function, module)
    whole = InferType()(module.with_functions({**module.functions, GlobalVar("main"): made}))
    found = create_executor("vm", whole).evaluate()(np.float32(0.4))
    flat = [float(found[0].numpy()), float(found[1][0].numpy())]
    expected, (grad,) = value(module, made, 0.4)
    assert flat == pytest.approx([expected, grad], rel=1e-5)


def test_dataflow_programs_need_no_references() -> None:
    made = gradient(read("fn(%x: float32) { let %y = %x * %x; %y * %x }"))
    again = gradient(only_slope(made))
    assert value(IRModule(), again, 3.0) == (27.0, (18.0,))
    assert "ref" not in repr(made)


def test_both_ways_agree_on_dataflow() -> None:
    text = "fn(%x: Tensor[(3), float32], %n: Tensor[(3), int32]) { exp(%x) * %x / (cast_like(%n, %x) + 9f) }"
    function = read(text)
    x, n = np.float32([0.1, -0.4, 0.7]), np.int32([1, 2, 3])
    one = value(IRModule(), gradient(function), x, n)
    other = value(IRModule(), higher_order_gradient(function, IRModule()), x, n)
    np.testing.assert_allclose(np.float32(one[0]), np.float32(other[0]), rtol=1e-6)
    np.testing.assert_allclose(np.float32(one[1][0]), np.float32(other[1][0]), rtol=1e-6)


def test_tuples_in_the_interface() -> None:
    function = read("fn(%t: (float32, float32)) { if (%t.0 < 0f) { (%t.0, %t.0) } else { (%t.1 * %t.0, %t.1) } }")
    made = gradient(function)
    assert value(IRModule(), made, (2.0, 3.0)) == ((6.0, 3.0), ((3.0, 3.0),))
    assert value(IRModule(), made, (-2.0, 3.0)) == ((-2.0, -2.0), ((2.0, 0.0),))


def test_results_that_are_no_floats() -> None:
    """They carry no gradient, alone and beside others."""
    alone = read("fn(%x: float32, %n: int32) { %n + 1 }")
    assert value(IRModule(), higher_order_gradient(alone, IRModule()), 2.0, 3) == (4, (0.0, 0))
    beside = read("fn(%x: float32, %n: int32) { (%n, (%x * %x, %n + 1)) }")
    assert value(IRModule(), higher_order_gradient(beside, IRModule()), 2.0, 3) == ((3, (4.0, 4)), (4.0, 0))


def test_type_arguments_that_were_written_stay() -> None:
    """Nothing else says what an empty list is a list of."""
    module = read_module(TYPES)
    nil = module.type_definitions[module.get_global_type_var("List")].constructors[1]
    x = Var("x", TensorType((), "float32"))
    unused = Var("xs")
    function = Function([x], Let(unused, Call(nil, (), None, (x.type_annotation,)), Call(CATALOGUE.relay("exp"), (x,))))
    whole = InferType()(module.with_functions({**module.functions, GlobalVar("main"): function}))
    made = higher_order_gradient(whole["main"], module)
    assert value(module, made, 0.0) == (1.0, (1.0,))
    lists = [n for n in walk(made) if isinstance(n, Call) and getattr(n.op, "name_hint", "") == "Nil"]
    assert [len(n.type_args) for n in lists] == [1]


@pytest.mark.rule("RELAY-PASS-29", rejects=True)
@pytest.mark.parametrize(
    "text",
    [
        "fn(%x: float32) { if (%x < 0f) { floor(%x) } else { %x } }",
        "fn(%f: fn(float32) -> float32) { %f(1f) }",
        "fn(%x: float32) { fn(%y: float32) { %x } }",
    ],
)
def test_what_has_no_gradient(text: str) -> None:
    assert error_of(lambda: gradient(read(text))).code == "relay-gradient"
