"""Programs that become straight once what is known of them is evaluated run in the graph executors; others do not."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relay
from baton._src.driver.relay.executors import create_executor
from baton._src.relay.interpreter import Interpreter
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib.graph_executor import GraphModule
from baton.relay import testing
from tests.relay.programs import plain, read_module

KNOWN = {
    "a local function": "def @main(%x: float32) { let %f = fn (%y: float32) { %y * 2f }; %f(%f(%x)) }",
    "a function passed on": """
def @twice(%f: fn(float32) -> float32, %x: float32) -> float32 { %f(%f(%x)) }
def @main(%x: float32) { @twice(fn (%y: float32) -> float32 { %y + %x }, %x) }
""",
    "a closure that is returned": """
def @adder(%x: float32) -> fn(float32) -> float32 { fn (%y: float32) -> float32 { %x + %y } }
def @main(%x: float32) { let %f = @adder(%x); %f(3f) }
""",
    "data": """
type Pair { P(float32, float32) }
def @swap(%p: Pair) -> Pair { match (%p) { P(%a, %b) => P(%b, %a) } }
def @main(%x: float32) { match (@swap(P(%x, 1f))) { P(%a, %b) => %a - %b } }
""",
    "a loop of known length": """
def @power(%x: float32, %n: int32) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }
def @main(%x: float32) { @power(%x, 3) }
""",
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_what_is_known_is_evaluated(name: str, kind: str) -> None:
    module = read_module(KNOWN[name])
    expected = plain(Interpreter(module).evaluate(module["main"])(np.float32(2)))
    assert plain(create_executor(kind, module).evaluate()(np.float32(2))) == expected
    runtime = GraphModule(relay.build(module, "llvm", executor=relay.backend.Executor(kind))["default"]())
    runtime.set_input(0, np.float32(2))
    runtime.run()
    assert float(runtime.get_output(0).numpy()) == expected


UNKNOWN = {
    "a reference": "def @main(%x: float32) { let %r = ref(%x); ref_write(%r, ref_read(%r) * 3f); ref_read(%r) }",
    "an if": "def @main(%c: bool, %x: int32) { if (%c) { %x } else { 1 } }",
    "calls itself": "def @main(%n: int32) -> int32 { @main(%n) }",
    "an if, elsewhere": """
def @f(%n: int32) -> int32 { if (%n == 0) { 1 } else { @f(%n - 1) } }
def @main(%n: int32) -> int32 { @f(%n) }
""",
    "gives data of the type N": "type N { Z, S(N) } def @main(%x: int32) -> N { S(Z) }",
    "takes or gives functions": "def @main(%f: fn (int32) -> int32) -> int32 { %f(1) }",
    "unknown until run time": "def @main(%x: Tensor[(?), float32]) { let %f = fn (%y: int32) { %y }; (%f(1), %x) }",
}


@pytest.mark.rule("RELAY-EXEC-2", rejects=True)
@pytest.mark.parametrize("word", UNKNOWN)
def test_what_depends_on_the_run_is_refused(word: str) -> None:
    with pytest.raises(DiagnosticError, match="graph-fragment") as found:
        relay.build(read_module(UNKNOWN[word]), "llvm")
    assert word.split(",")[0] in str(found.value)
    assert "relay.vm.compile" in str(found.value)


def test_lstm_is_a_graph() -> None:
    """Guards `relay.testing.lstm`, whose cells are local functions over tuples."""
    module, params = testing.lstm.get_workload(3, 4)
    x = np.linspace(-1, 1, 4, dtype="float32").reshape(1, 4)
    runtime = GraphModule(relay.build(module, "llvm", params=params)["default"]())
    runtime.set_input("data", x)
    runtime.run()
    expected = create_executor("debug", module, params=params).evaluate()(x)
    np.testing.assert_allclose(runtime.get_output(0).numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_parameters_are_bound_before_the_fragment_is_looked_at() -> None:
    """A loop whose length is a parameter is a straight program once that parameter is given."""
    text = """
def @power(%x: float32, %n: int32) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }
def @main(%x: float32, %n: int32) { @power(%x, %n) }
"""
    with pytest.raises(DiagnosticError, match="cannot run this program"):
        relay.build(read_module(text), "llvm")
    runtime = GraphModule(relay.build(read_module(text), "llvm", params={"n": np.int32(3)})["default"]())
    runtime.run(x=np.float32(2))
    assert runtime.get_output(0).numpy() == 8
