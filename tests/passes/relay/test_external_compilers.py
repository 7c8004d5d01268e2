"""Regions for external compilers: what is supported becomes functions, and the values stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relay.build import build
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.external.external_regions import AnnotateTarget, MergeCompilerRegions, MergeComposite
from baton._src.passes.relay.external.partition_graph import InlineCompilerFunctionsBoundTo, PartitionGraph
from baton._src.passes.relay.forms.inlining import Inline
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Function
from baton._src.relay.patterns import is_op, wildcard
from tests.passes.relay.test_before_after import names
from tests.relay.programs import error_of, plain, read_module

COLUMN = "target.mine"
X = np.float32([[1, 2], [3, 4]])


@pytest.fixture(autouse=True)
def supported() -> Iterator[None]:
    """The compiler `mine` does sums and products, and activations of ranks up to 2."""
    rules: dict[str, Any] = {"add": True, "multiply": True, "nn.relu": lambda c: len(c.args[0].checked_type.shape) < 3}
    for name, rule in rules.items():
        CATALOGUE.relay(name).set_attr(COLUMN, rule)
    yield
    for name in rules:
        CATALOGUE.relay(name).reset_attr(COLUMN)


def program(body: str) -> IRModule:
    return read_module(f"def @main(%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]) {{ {body} }}")


def carved(body: str) -> tuple[IRModule, IRModule, list[Function]]:
    before = program(body)
    after = PartitionGraph()(MergeCompilerRegions()(AnnotateTarget(["mine"])(before)))
    return before, after, [f for f in after.functions.values() if f.attrs.get("Compiler") == "mine"]


def value(module: IRModule) -> Any:
    return plain(Interpreter(module).evaluate(module["main"])(X, X * 3))


BODIES = {
    "%x + %y": 1,
    "nn.relu(%x + %y) * 2f": 1,
    "exp(%x + %y) * (%x + 1f)": 2,
    "tanh(%x)": 0,
    "%1 = %x + %y; (%1 * %x, %1 * %y)": 1,
    "let %s = %x + %y; (%s * %x, %s * %y)": 1,
    "let %s = %x + %y; let %e = exp(%s); let %t = %s * 2f; (%e, %t)": 1,
    "let %s = %x + %y; let %e = exp(%s); let %t = %e * %s; %t": 2,
    "let %s = %x + %y; let %e = exp(%s); let %t = tanh(%y); (%e, %t * %s)": 2,  # %e does not wait for %t
    "concatenate((%x + %y, %x * %y))": 1,  # the tuple is made there
    "%1 = %x + %y; exp(%1) + %1": 2,  # joined, the region would wait for itself through exp
    "%1 = %x + %y; %2 = exp(%1); (%2 * %1, %1 * 2f)": 2,
    "%1 = (%x + %y, %x * 2f); (%1.0 * %1.1, tanh(%y))": 1,
    "nn.relu(reshape(%x * %y, newshape=[1, 2, 2]))": 1,
    "%1 = %x + %y; if (True) { %1 * %x } else { exp(%1) }": 2,
    "let %f = fn(%z: Tensor[(2, 2), float32]) { %z + %x }; %f(%y * %y)": 2,
}


@pytest.mark.rule("RELAY-PASS-32")
@pytest.mark.parametrize("body", BODIES)
def test_supported_operators_become_functions(body: str) -> None:
    before, after, functions = carved(body)
    assert len(functions) == BODIES[body]
    assert value(before) == value(after)
    assert not any(n in ("add", "multiply", "nn.relu") for n in names(after)) or "reshape" in body
    assert all(f.attrs["global_symbol"].startswith("tvmgen_default_mine_main_") for f in functions)
    back = InlineCompilerFunctionsBoundTo()(after)
    assert not any(f.attrs.get("Compiler") for f in back.functions.values())
    assert value(back) == value(before)


def test_results_of_one_region_share_what_they_are_computed_from() -> None:
    before, after, functions = carved("%1 = %x + %y; %2 = %1 * %x; (exp(%2 + %y), exp(%2 * %y))")
    assert sum(isinstance(n, Call) for n in walk(functions[0])) == 4
    np.testing.assert_allclose(value(after), value(before))


@pytest.mark.rule("RELAY-PASS-32")
def test_composite_functions() -> None:
    pattern = is_op("tanh")(is_op("subtract")(wildcard(), wildcard()))
    before = program("tanh(%x - %y) + %x")
    composed = MergeComposite([("mine.tanh_of_difference", pattern, lambda matched: True)])(before)
    after = PartitionGraph()(MergeCompilerRegions()(AnnotateTarget("mine")(composed)))
    (function,) = [f for f in after.functions.values() if f.attrs.get("Compiler")]
    assert "tanh" in repr(function)
    assert value(after) == value(before)
    refused = MergeComposite([("mine.tanh_of_difference", pattern, lambda matched: False)])(before)
    assert names(refused) == names(before)


@pytest.mark.rule("RELAY-PASS-32")
def test_what_a_carved_function_says_of_itself() -> None:
    """TVM's attributes; parameters in the order in which they enter the region; `Inline` does not inline it."""
    _, after, _ = carved("exp((%x + %y) * %x)")
    (name,) = [v for v, f in after.functions.items() if f.attrs.get("Compiler")]
    attrs = {"Compiler": "mine", "Primitive": 1, "Inline": 1, "global_symbol": name.name_hint}
    assert dict(after[name].attrs) == attrs
    (call,) = [n for n in walk(after["main"]) if isinstance(n, Call) and n.op == name]
    assert [v.name_hint for v in call.args] == ["x", "y"]
    assert structural_equal(Inline()(after), after)


@pytest.mark.rule("RELAY-PASS-32", rejects=True)
def test_an_unregistered_compiler_at_build() -> None:
    _, after, _ = carved("%x + %y")
    error = error_of(lambda: build(after, "llvm"))
    assert error.code == "api"
    assert "mine" in str(error)
    assert build(InlineCompilerFunctionsBoundTo()(after), "llvm")
