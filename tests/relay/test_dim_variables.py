"""Dim variables of a function stand for other sizes in every call; those of the functions around it stay."""

from __future__ import annotations

import numpy as np
import pytest

from baton import ir, relay, te
from baton._src.ir.module import IRModule
from baton._src.relay.check.show import show_type
from tests.relay.programs import error_of, read_module

ROWS = "def @rows(%x: Tensor[(n, m), float32]) -> Tensor[(n), float32] { sum(%x, axis=[1]) }\n"
ADDED = "def @added(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) -> Tensor[(n), float32] { %x + %y }\n"
TWICE = "def @twice(%x: Tensor[(n), float32]) { concatenate((%x, %x)) }\n"
FOLD = "def @fold(%x: Tensor[(n), float32]) -> Tensor[(1), float32] { @fold(strided_slice(%x, begin=[1], end=[9])) }\n"
BOX = "type Box { Full(Tensor[(n), float32]) }\ndef @open(%b: Box) { match (%b) { Full(%x) => %x } }\n"
AB = "def @main(%a: Tensor[(3, 4), float32], %b: Tensor[(5, 6), float32])"
YZ = "def @main(%y: Tensor[(3), float32], %z: Tensor[(4), float32])"


def result(text: str) -> str:
    return show_type(read_module(text)["main"].ret_type)


@pytest.mark.rule("RELAY-REL-3")
@pytest.mark.rule("RELAY-POLY-4")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ROWS + AB + " { (@rows(%a), @rows(%b)) }", "(Tensor[(3), float32], Tensor[(5), float32])"),
        (ROWS + AB + " { concatenate((@rows(%a), @rows(%b))) }", "Tensor[(8), float32]"),
        (ADDED + YZ + " { (@added(%y, %y), @added(%z, %z)) }", "(Tensor[(3), float32], Tensor[(4), float32])"),
        (TWICE + YZ + " { (@twice(%y), @twice(@twice(%z))) }", "(Tensor[(6), float32], Tensor[(16), float32])"),
        (TWICE + "def @main(%x: Tensor[(?), float32]) { @twice(%x) }", "Tensor[(?), float32]"),
        (TWICE + "def @main(%x: Tensor[(k), float32]) { @twice(%x) }", "Tensor[(k * 2), float32]"),
        (FOLD + YZ + " { @fold(%y) }", "Tensor[(1), float32]"),
        (BOX + YZ + " { (@open(Full(%y)), @open(Full(%z))) }", "(Tensor[(?), float32], Tensor[(?), float32])"),
        (
            YZ + " { let %g = fn(%x: Tensor[(n), float32]) { %x }; (%g(%y), %g(%z)) }",
            "(Tensor[(3), float32], Tensor[(4), float32])",
        ),
        (
            "def @main(%x: Tensor[(n), float32]) { let %g = fn(%y: Tensor[(n), float32]) { %y + %x }; %g(%x) }",
            "Tensor[(n), float32]",
        ),
        (
            "def @call(%f: fn(Tensor[(n), float32]) -> float32, %x: Tensor[(n), float32]) { (%f(%x), %x) }\n"
            + YZ
            + " { @call(fn(%v: Tensor[(4), float32]) { sum(%v) }, %z) }",
            "(float32, Tensor[(4), float32])",
        ),
        ("def @f(%x: Tensor[(n), float32], %y) { %x + %y }\n" + YZ + " { @f(%y, %y) }", "Tensor[(3), float32]"),
    ],
)
def test_each_call_has_sizes_of_its_own(text: str, wanted: str) -> None:
    assert result(text) == wanted


@pytest.mark.rule("RELAY-FN-3", rejects=True)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ADDED + YZ + " { @added(%y, %z) }", "dim 0 is 4 against 3"),
        (ROWS + AB + " { add(@rows(%a), @rows(%b)) }", "shapes (3,) and (5,) do not broadcast"),
        (ROWS + AB + " -> Tensor[(4), float32] { @rows(%a) }", "dim 0 is 3 against 4"),
    ],
)
def test_sizes_that_do_not_fit(text: str, says: str) -> None:
    assert says in str(error_of(lambda: read_module(text)))


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_sizes_come_out_as_the_types_say(kind: str) -> None:
    module = read_module(ROWS + TWICE + AB + " { @twice(@rows(%b)) }")
    ones = [np.ones((3, 4), np.float32), np.ones((5, 6), np.float32)]
    found = relay.create_executor(kind, module).evaluate()(*ones).numpy()
    assert show_type(module["main"].ret_type) == "Tensor[(10), float32]"
    assert found.tolist() == [6] * 10


def test_calculated_dims() -> None:
    """A parameter of `n + 1` rows takes any number of them; results are calculated with the sizes of the call."""
    n = te.var("n")
    x, y = relay.var("x", shape=(n,)), relay.var("y", shape=(n + 1,))
    joined = relay.Function([x, y], relay.concatenate([x, y], 0), relay.TensorType((n * 2 + 1,), "float32"))
    a, b = relay.var("a", shape=(3,)), relay.var("b", shape=(4,))
    module = IRModule({"joined": joined})
    module["main"] = relay.Function([a, b], relay.Call(module.get_global_var("joined"), [a, b]))
    assert show_type(relay.transform.InferType()(module)["main"].ret_type) == "Tensor[(7), float32]"


@pytest.mark.rule("RELAY-TEXT-10")
def test_calculated_dims_read_back() -> None:
    """What FuseOps writes beside its parameters; it could not be read."""
    text = "def @main(%x: Tensor[(k, j), float32], %y: Tensor[(q, j), float32]) { exp(concatenate((%y, %x), axis=0)) }"
    fused = relay.transform.FuseOps(2)(read_module(text + "\n" + TWICE))
    assert "q + k" in fused.astext()
    ir.assert_structural_equal(relay.parse(fused.astext()), fused)
    assert result("def @main(%x: Tensor[(n * 2 + 1, 3), float32]) -> Tensor[(n * 2 + 1, 3), float32] { exp(%x) }")
    assert "calculated with" in str(error_of(lambda: read_module("def @main(%x: Tensor[(? + 1), float32]) { %x }")))
