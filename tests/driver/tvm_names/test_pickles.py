"""Programs go to other processes (pools of workers) and are copied, as scripts do with TVM's."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251  # what pools of workers send programs by
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, relay, te, tir


def through_pickle(node: Any) -> Any:
    return pickle.loads(pickle.dumps(node))  # noqa: S301


x = relay.var("x", shape=(3, 4))
SUM = relay.Function([x], relay.nn.relu(x + relay.const(np.arange(12, dtype="float32").reshape(3, 4))))


def test_names_that_no_text_can_say_are_kept() -> None:
    """Guards names of inputs and weights: with others, weights were bound to nothing."""
    params = [relay.var(n, shape=(2,)) for n in ("l.weight", "data:0", "x", "x")]
    function = relay.Function(params, relay.concatenate(params, 0))
    for node in (function, tvm.IRModule.from_expr(function)):
        copied = tvm.ir.load_json(tvm.ir.save_json(node))
        tvm.ir.assert_structural_equal(copied, node)
        found = copied if isinstance(copied, relay.Function) else copied["main"]
        assert [p.name_hint for p in found.params] == ["l.weight", "data:0", "x", "x"]
    wrong = tvm.ir.save_json(tvm.IRModule.from_expr(function)).replace('"data:0",', "")
    with pytest.raises(tvm.error.DiagnosticError, match="do not fit"):
        tvm.ir.load_json(wrong)


def relax_module() -> tvm.IRModule:
    builder = relax.BlockBuilder()
    v = relax.Var("v", relax.TensorStructInfo((tir.Var("n", "int64"), 4), "float32"))
    with builder.function("main", [v]):
        with builder.dataflow():
            out = builder.emit_output(builder.emit_te(lambda a: te.compute(a.shape, lambda i, j: a[i, j] * 2.0), v))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.parametrize(
    "node",
    [tvm.IRModule.from_expr(SUM), relax_module(), SUM, relay.TensorType((1, 2), "int8"), tir.Var("n", "int64") + 1],
    ids=["relay", "relax", "function", "type", "scalar"],
)
def test_programs(node: Any) -> None:
    for again in (through_pickle(node), copy.deepcopy(node), copy.copy(node)):
        tvm.ir.assert_structural_equal(again, node, map_free_vars=True)


def test_operators_stay_themselves() -> None:
    """Passes compare `call.op` with what `relay.op.get` gives."""
    for again in (copy.deepcopy(SUM), through_pickle(SUM)):
        assert again.body.op is relay.op.get("nn.relu")


def test_deep_programs() -> None:
    """Guards Python's stack: a thousand operators one after the other."""
    value: Any = x
    for _ in range(1000):
        value = relay.nn.relu(value)
    module = tvm.IRModule.from_expr(relay.Function([x], value))
    assert tvm.ir.structural_equal(through_pickle(module), module)
    assert tvm.ir.structural_equal(copy.deepcopy(module), module)


def test_a_copy_is_a_module_of_its_own() -> None:
    module = tvm.IRModule.from_expr(SUM)
    again = copy.deepcopy(module)
    again["other"] = SUM
    assert "other" not in module


def test_another_process_reads_it(tmp_path: Path) -> None:
    """Nothing of the compiler is imported there before."""
    (tmp_path / "module").write_bytes(pickle.dumps(tvm.IRModule.from_expr(SUM)))
    code = "import pickle, sys; print(pickle.loads(open(sys.argv[1], 'rb').read()))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "module")], capture_output=True, text=True, check=True
    )
    assert "nn.relu" in done.stdout
