"""`relay.analysis.CallGraph`, parts of modules, and TVM's classes for executors and tensor arrays."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relay
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from tests.relay.programs import plain, read_module


def test_call_graph() -> None:
    module = read_module("""
def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
def @down(%n: int32) -> int32 { if (%n == 0) { 0 } else { @down(%n - 1) } }
def @main(%n: int32) { (@even(%n), @odd(%n), @even(1), @down(%n)) }
""")
    graph = relay.analysis.CallGraph(module)
    assert [graph.is_recursive(name) for name in ("even", "odd", "down", "main")] == [False, False, True, False]
    assert graph.global_call_count("main") == 3
    assert graph.global_call_count(module.get_global_var("odd")) == 1
    assert graph.ref_count("even") == 2
    assert graph.print_var("odd") == "Call graph node: odd,  #refs = 2\n  call site: <odd> calls even\n\n"
    assert str(graph).startswith(graph.print_var("main"))
    with pytest.raises(TypeError, match="got int"):
        graph.ref_count(1)


def test_fused_functions_are_found_once() -> None:
    x = relay.var("x", shape=(4,))
    module = IRModule.from_expr(relay.Function([x], relay.exp(relay.negative(x))))
    (function,) = relay.analysis.extract_fused_functions(module).values()
    assert function.attrs["Primitive"] == 1
    assert relay.analysis.list_op_freqs(IRModule.from_expr(function)) == {"negative": 1, "exp": 1}


def test_intermediate_values() -> None:
    module = read_module("def @main(%x: float32, %y: float32) { exp(%x * 2f) + %y }")
    part = relay.analysis.extract_intermdeiate_expr(module, 1)
    assert [p.name_hint for p in part["main"].params] == ["x"]
    assert plain(relay.create_executor("debug", part).evaluate()(np.float32(0))) == 1
    with pytest.raises(DiagnosticError, match="3 expressions"):
        relay.analysis.extract_intermdeiate_expr(module, 3)


def test_intermediate_values_of_calls() -> None:
    """Calls of functions have a number as those of operators have, and keep what they call."""
    module = read_module("def @f(%x: float32) { exp(%x) } def @main(%x: float32) { @f(%x * 0f) + 2f }")
    part = relay.analysis.extract_intermdeiate_expr(module, 1)
    assert plain(relay.create_executor("debug", part).evaluate()(np.float32(3))) == 1


def test_classes_of_executors() -> None:
    module = read_module("def @main(%x: float32) { %x + 1f }")
    for kind in (relay.build_module.GraphExecutor, relay.build_module.AotExecutor):
        assert plain(kind(module).evaluate()(np.float32(1))) == 2


def test_tensor_arrays_of_a_dtype() -> None:
    prelude = relay.Prelude(IRModule())
    arrays = relay.prelude.TensorArrayOps(prelude, "float32")
    arrays.register()
    assert arrays.get_name("tensor_t") == arrays.get_type("tensor_t").name_hint == "tensor_float32_t"
    assert arrays.get_ctor("tensor1").name_hint == "tensor1_float32"
    assert arrays.get_global_var("tensor_concatenate").name_hint == "tensor_concatenate_float32"
