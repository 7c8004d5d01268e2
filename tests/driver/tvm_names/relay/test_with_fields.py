"""TVM's copies of nodes with changed fields, and what executors answer about what was built."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relay
from baton.contrib import graph_executor
from baton.contrib.debugger import debug_executor
from baton.relay.backend.vm import VMExecutor
from baton.relay.transform.transform import InferType


def test_copies_with_changed_fields() -> None:
    """None keeps a field; where nothing changes the node itself is given back; a changed one has no type yet."""
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    call = InferType()(baton.IRModule.from_expr(relay.Function([x], relay.exp(x))))["main"].body
    assert relay.expr.CallWithFields(call) is call
    assert relay.expr.CallWithFields(call, args=list(call.args)) is call
    changed = relay.expr.CallWithFields(call, op=relay.op.get("tanh"))
    assert changed.op.name == "tanh"
    assert changed.args[0].same_as(call.args[0])
    assert changed.checked_type_ is None
    assert call.checked_type_ is not None
    function = relay.Function([x], relay.exp(x))
    other = relay.FunctionWithFields(function, params=[y], body=relay.exp(y), attrs={"Inline": 1})
    assert [p.name_hint for p in other.params] == ["y"]
    assert other.attrs["Inline"] == other.attrs.Inline == 1
    pair = relay.Tuple([x, y])
    assert relay.expr.TupleWithFields(pair, fields=[y, x]).fields == (y, x)
    assert relay.expr.TupleGetItemWithFields(relay.TupleGetItem(pair, 0), index=1).index == 1
    assert relay.expr.VarWithFields(x, vid="x") is x
    with pytest.raises(TypeError, match="takes a Let, not a Call"):
        relay.expr.LetWithFields(call, body=x)
    assert isinstance(call, relay.expr.ExprWithOp)
    assert relay.testing.count_ops(relay.exp(call)) == {"exp": 2}


def test_graph_libraries_say_what_they_are() -> None:
    x = relay.var("x", shape=(2,))
    module = baton.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    lib = relay.build(module, "llvm", mod_name="mine")
    assert lib.libmod_name == "mine"
    assert lib.ir_mod is module
    assert lib.executor == "graph"
    assert graph_executor.GraphModule(lib["mine"](baton.cpu())).get_input_name(0) == "x"
    debug = debug_executor.create(lib.get_graph_json(), lib.get_lib(), baton.cpu())
    debug.run(x=np.zeros(2, "float32"))
    assert debug.run_individual_node(0, number=1).mean >= 0
    with pytest.raises(baton.TVMError, match="no number 9"):
        debug.run_individual_node(9)


def test_executables_and_machines() -> None:
    """Parameters and results by name and in place; what was saved is an executable again."""
    x = relay.var("x", shape=(relay.Any(), 2))
    weight = relay.const(np.ones((3, 2), "float32"))
    module = baton.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.exp(x), relay.nn.dense(x, weight)])))
    compiler = relay.vm.VMCompiler()
    optimized, _ = compiler.optimize(module, "llvm")
    assert "nn.dense" in optimized.astext()
    executable = relay.vm.compile(module, "llvm")
    assert "VM Constant[0]" in executable.constants
    machine = baton.runtime.vm.VirtualMachine(baton.runtime.vm.Executable(executable.mod), baton.cpu())
    assert machine.get_input_index("x") == 0
    assert machine.get_input_index("z") == -1
    first, second = baton.nd.empty((1, 2)), baton.nd.empty((1, 3))
    machine.invoke_with_outputs("main", {"x": np.zeros((1, 2), "float32")}, [first, second])
    assert first.numpy().tolist() == [[1, 1]]
    assert second.numpy().tolist() == [[0, 0, 0]]
    found = VMExecutor(module).evaluate()(np.zeros((1, 2), "float32"))
    assert found[0].numpy().tolist() == [[1, 1]]
