"""`time_evaluator`'s further options: `f_preproc` is called before each repetition, unknown ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, te
from baton._src.support.diagnostics import DiagnosticError
from baton.contrib import graph_executor
from baton.script import from_source

X = np.ones(3, "float32")


def kernel(**options: Any) -> Any:
    a = te.placeholder((3,), name="a")
    module = tvm.build(te.create_prim_func([a, te.compute((3,), lambda i: a[i] + 1.0, "b")]))
    return module.time_evaluator(module.entry_name, tvm.cpu(), number=2, repeat=3, **options)(
        tvm.nd.array(X), tvm.nd.empty((3,))
    )


def graph(**options: Any) -> Any:
    x = relay.var("x", shape=(3,))
    factory = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    module = graph_executor.GraphModule(factory["default"](tvm.cpu()))
    module.set_input("x", X)
    return module.module.time_evaluator("run", tvm.cpu(), number=2, repeat=3, **options)()


def machine(**options: Any) -> Any:
    module = from_source(
        '@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    with R.dataflow():\n        y = R.exp(x)\n'
        "        R.output(y)\n    return y\n"
    )
    vm = relax.VirtualMachine(relax.build(tvm.IRModule({"main": module}), "llvm"), tvm.cpu())
    return vm.time_evaluator("main", tvm.cpu(), number=2, repeat=3, **options)(tvm.nd.array(X))


@pytest.mark.parametrize("evaluated", [kernel, graph, machine])
def test_what_is_done_before_repetitions(evaluated: Callable[..., Any]) -> None:
    """Guards options that were passed over in silence."""
    calls: list[int] = []
    tvm.register_func("tests.before_repetitions", lambda *args: calls.append(len(args)), override=True)
    options = {"cooldown_interval_ms": 1, "repeats_to_cooldown": 2}
    assert len(evaluated(f_preproc="tests.before_repetitions", **options).results) == 3
    assert calls == [{kernel: 2, graph: 0, machine: 1}[evaluated]] * 3
    assert len(evaluated(f_preproc="cache_flush_cpu_non_first_arg").results) == 3
    with pytest.raises(DiagnosticError, match="registered as 'nowhere'"):
        evaluated(f_preproc="nowhere")
    with pytest.raises(TypeError, match="nonsense"):
        evaluated(nonsense=1)
