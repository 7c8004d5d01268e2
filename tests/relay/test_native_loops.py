"""Loops over tensors, however they are written, are one native call; what needs the machine runs there, as deep.

Each loop is run a million times: in the machine that would take a minute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from baton import relay
from baton._src.driver.relax.build import relax_build
from baton._src.driver.relay.executable import build_executable
from baton._src.driver.relay.executors import create_executor
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from baton.relax.frontend.onnx import from_onnx
from tests.relay.programs import plain, read_module

wire()
MILLION = 1_000_000

COUNTER = """
def @loop(%n: T, %a: T) -> T {{ if (%n == {0}) {{ %a }} else {{ @loop(%n - {1}, %a + {1}) }} }}
def @main(%n: T) -> T {{ @loop(%n, {0}) }}
"""
LOOPS = {
    "int32": COUNTER.format("0", "1").replace("T", "int32"),
    "int64": COUNTER.format("0i64", "1i64").replace("T", "int64"),
    "float32": COUNTER.format("0f", "1f").replace("T", "float32"),
    "local function": """
def @main(%n: int32) -> int32 {
  let %loop = fn (%i: int32, %a: int32) -> int32 { if (%i == 0) { %a } else { %loop(%i - 1, %a + 1) } };
  %loop(%n, 0)
}
""",
    "local function with captured variables": """
def @main(%n: int32) -> int32 {
  let %one = %n / %n;
  let %loop = fn (%i: int32, %a: int32) -> int32 { if (%i == 0) { %a } else { %loop(%i - %one, %a + %one) } };
  %loop(%n, 0)
}
""",
    "several arms": """
def @loop(%i: int32, %a: int32) -> int32 {
  if (%i == 0) { %a } else { if (bitwise_and(%i, 1) == 0) { @loop(%i - 1, %a + 2) } else {
    let %b = %a + 0; @loop(%i - 1, %b) }
  }
}
def @main(%n: int32) -> int32 { @loop(%n, 0) }
""",
    "state in tuples": """
def @loop(%i: int32, %s: (int32, (Tensor[(3), float32], int32))) -> (int32, (Tensor[(3), float32], int32)) {
  if (%i == 0) { %s } else { let %t = %s.1; @loop(%i - 1, (%t.1, (%t.0 * 0.5f, %s.0 + 1))) }
}
def @main(%n: int32) -> int32 { let %r = @loop(%n + %n, (0, (ones(shape=[3], dtype="float32"), 0))); %r.0 }
""",
    "a flag among the state": """
def @loop(%go: bool, %i: int32) -> int32 { if (%go) { @loop(%i < 999999, %i + 1) } else { %i } }
def @main(%n: int32) -> int32 { @loop(True, 0) }
""",
    "two conditions": """
def @loop(%i: int32, %a: int32) -> int32 { if ((%i > 0) && (%a < 2000000)) { @loop(%i - 1, %a + 1) } else { %a } }
def @main(%n: int32) -> int32 { @loop(%n, 0) }
""",
    "a helper": """
def @step(%a: int32) -> (int32, int32) { (%a + 1, %a) }
def @loop(%i: int32, %a: int32) -> int32 { if (%i == 0) { %a } else { let %s = @step(%a); @loop(%i - 1, %s.0) } }
def @main(%n: int32) -> int32 { @loop(%n, 0) }
""",
    "a polymorphic loop": """
def @loop<t>(%i: int32, %x: t, %y: t) -> t { if (%i == 0) { %x } else { @loop(%i - 1, %y, %x) } }
def @main(%n: int32) -> int32 { @loop(%n, %n, 0) }
""",
    "a million loops": """
def @inner(%i: int32, %a: int32) -> int32 { if (%i == 0) { %a } else { @inner(%i - 1, %a + 1) } }
def @outer(%i: int32, %a: int32) -> int32 { if (%i == 0) { %a } else { @outer(%i - 1, @inner(4, %a) - 3) } }
def @main(%n: int32) -> int32 { @outer(%n, 0) }
""",
}


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("name", LOOPS)
def test_a_million_rounds(name: str) -> None:
    """Guards the usual forms of loops: native, and right."""
    module = read_module(LOOPS[name])
    assert is_native(build_executable(module)[0])
    dtype = name if name in ("int64", "float32") else "int32"
    assert plain(create_executor("vm", module).evaluate()(np.dtype(dtype).type(MILLION))) == MILLION


def is_native(executable: Executable, name: str = "main") -> bool:
    return executable.entry(name).kind == "native"


def test_dims_known_at_run_time() -> None:
    """Guards `?` in the types of a loop: what it returns has the dims of what it is left with."""
    module = read_module("""
def @loop(%n: int32, %x: Tensor[(?), float32]) -> Tensor[(?), float32] {
  if (%n == 0) { %x } else { @loop(%n - 1, %x + 1f) }
}
def @main(%n: int32, %x: Tensor[(?), float32]) { @loop(%n, %x) }
""")
    assert is_native(build_executable(module)[0])
    run = create_executor("vm", module).evaluate()
    for size in (3, 5):
        np.testing.assert_array_equal(run(np.int32(MILLION), np.zeros(size, "float32")).numpy(), [MILLION] * size)


def test_dims_that_change_stay_with_the_machine() -> None:
    """Guards that a loop whose tensor grows is not run in memory that does not."""
    text = """
def @loop(%n: int32, %x: Tensor[(?), float32]) -> Tensor[(?), float32] {
  if (%n == 0) { %x } else { @loop(%n - 1, concatenate((%x, ones(shape=[1], dtype="float32")))) }
}
def @main(%n: int32, %x: Tensor[(?), float32]) { @loop(%n, %x) }
"""
    run = create_executor("vm", read_module(text)).evaluate()
    assert run(np.int32(4), np.zeros(2, "float32")).numpy().tolist() == [0, 0, 1, 1, 1, 1]


def test_if_inside_a_graph() -> None:
    """Guards a choice between tensors in the middle of a graph: no machine for that either."""
    module = read_module("""
def @main(%c: bool, %x: Tensor[(4), float32]) {
  %0 = exp(%x);
  %1 = if (%c) { %0 + 1f } else { (if (True) { %0 } else { %x }) * 2f };
  nn.relu(%1)
}
""")
    assert is_native(build_executable(module)[0])
    run, x = create_executor("vm", module).evaluate(), np.zeros(4, "float32")
    assert [float(run(c, x).numpy()[0]) for c in (True, False)] == [2.0, 2.0]


def test_while_loop() -> None:
    """Guards `relay.loops.while_loop`, whose state is a tuple."""
    i, x = relay.var("i", shape=(), dtype="int32"), relay.var("x", shape=(2,))
    loop = relay.loops.while_loop(
        lambda i, _: relay.op.less(i, relay.const(MILLION)),
        [i, x],
        lambda i, x: [i + relay.const(1), x * relay.const(0.5) + relay.const(1.0)],
    )
    module = IRModule({"main": loop})
    assert is_native(build_executable(module)[0])
    count, found = create_executor("vm", module).evaluate()(np.int32(0), np.ones(2, "float32"))
    assert int(count.numpy()) == MILLION
    np.testing.assert_allclose(found.numpy(), [2, 2])


# ------------------------------------------------------------------------------------------- loops of ONNX


def onnx_loop(stops_itself: bool) -> Any:
    """x = x + 1, a number of times that is an input, or until the sum passes 3000."""
    body = [helper.make_node("Add", ["x_in", "one"], ["x_out"])]
    body += (
        [helper.make_node("ReduceSum", ["x_out"], ["s"], keepdims=0), helper.make_node("Less", ["s", "most"], ["go"])]
        if stops_itself
        else [helper.make_node("Identity", ["c"], ["go"])]
    )
    inner = helper.make_graph(
        body,
        "body",
        [scalar("i", TensorProto.INT64), scalar("c", TensorProto.BOOL), vector("x_in")],
        [scalar("go", TensorProto.BOOL), vector("x_out")],
        [numpy_helper.from_array(np.array(v, "float32"), n) for n, v in (("one", 1), ("most", 3000))],
    )
    node = helper.make_node("Loop", ["" if stops_itself else "m", "", "x"], ["y"], body=inner)
    inputs = [vector("x")] if stops_itself else [vector("x"), scalar("m", TensorProto.INT64)]
    graph = helper.make_graph([node], "g", inputs, [vector("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)])


def scalar(name: str, dtype: int) -> Any:
    return helper.make_tensor_value_info(name, dtype, [])


def vector(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])


@pytest.mark.parametrize("stops_itself", [True, False])
@pytest.mark.parametrize("language", ["relax", "relay"])
def test_loop_of_onnx(stops_itself: bool, language: str) -> None:
    """Guards Loop with a trip count or a condition known at run time only, through both languages."""
    model = onnx_loop(stops_itself)
    if language == "relax":
        executable = relax_build(from_onnx(model))
    else:
        executable, _ = build_executable(relay.frontend.from_onnx(model, freeze_params=True)[0])
    assert is_native(executable)
    arguments = [np.zeros(3, "float32"), *([] if stops_itself else [np.int64(MILLION)])]
    found = VirtualMachine(executable)["main"](*[array(a) for a in arguments])
    np.testing.assert_array_equal(found.numpy(), [1000 if stops_itself else MILLION] * 3)


def test_if_of_onnx() -> None:
    """Guards If on a condition of the data."""
    arms = {
        arm: helper.make_graph([helper.make_node(op, ["x"], [arm])], arm, [], [vector(arm)])
        for arm, op in (("then_branch", "Exp"), ("else_branch", "Neg"))
    }
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Less", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["y"], **arms),
    ]
    zero = numpy_helper.from_array(np.array(0, "float32"), "zero")
    graph = helper.make_graph(nodes, "g", [vector("x")], [vector("y")], [zero])
    executable = relax_build(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)])))
    assert is_native(executable)
    for x in (np.ones(3, "float32"), -np.ones(3, "float32")):
        found = VirtualMachine(executable)["main"](array(x))
        np.testing.assert_allclose(found.numpy(), np.exp(x) if x.sum() < 0 else -x, rtol=1e-6)
