"""Passes of a script's own over kernels (`tir.add_lower_pass`), in programs as in single kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.relax import BlockBuilder
from baton.script import relax as R


def raising(seen: list[str]) -> Any:
    """A pass that notes the kernels it sees, and writes 4 where they have 0."""

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def change(func: tir.PrimFunc, module: Any, context: Any) -> tir.PrimFunc:
        seen.append(str(func.attrs.get("global_symbol", "kernel")))

        def replace(node: Any) -> Any:
            return tir.FloatImm("float32", 4.0) if isinstance(node, tir.FloatImm) and node.value == 0 else None

        return func.with_body(tir.stmt_functor.ir_transform(func.body, None, replace, ["tir.FloatImm"]))

    return change


@pytest.mark.parametrize("language", ["relay", "relax"])
def test_kernels_of_programs_go_through_them(language: str) -> None:
    """Guards `relay.build` and `relax.build` under the setting: it was passed over in silence."""
    seen: list[str] = []
    data = np.ones(3, "float32")
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, raising(seen))]}):
        if language == "relay":
            x = relay.var("x", shape=(3,))
            module = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
            graph = tvm.contrib.graph_executor.GraphModule(relay.build(module, "llvm")["default"](tvm.cpu()))
            graph.run(x=data)
            out = graph.get_output(0)
        else:
            builder, v = BlockBuilder(), relax.Var("x", R.Tensor((3,), "float32"))
            with builder.function("main", [v]):
                builder.emit_func_output(builder.emit(relax.op.nn.relu(v)))
            machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
            out = machine["main"](tvm.nd.array(data))
    assert len(seen) == 1
    assert out.numpy().tolist() == [4.0] * 3


def test_a_pass_that_drops_kernels_is_refused() -> None:
    x = relay.var("x", shape=(3,))
    with (
        tvm.transform.PassContext(config={"tir.add_lower_pass": [(0, lambda module: tvm.IRModule({}))]}),
        pytest.raises(DiagnosticError, match=r"pass-kernels.*removed the kernel"),
    ):
        relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
