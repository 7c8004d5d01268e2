"""Options of Relay's passes as scripts give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import ir, relay
from baton._src.support.diagnostics import DiagnosticError
from baton.relay import transform
from baton.relay.dataflow_pattern import is_op, wildcard

TWO = """#[version = "0.0.5"]
def @f(%x: float32) { nn.relu(%x + 1f) }
def @g(%x: float32) { nn.relu(%x + 1f) }
def @main(%x: float32) { @f(%x) + @g(%x) }"""


@pytest.fixture(autouse=True, scope="module")
def supported() -> None:
    ir.register_op_attr("add", "target.once", True)


@pytest.mark.parametrize(
    "make",
    [
        lambda once: transform.MergeComposite(once([("a.b", is_op("nn.relu")(wildcard()))])),
        lambda once: transform.AnnotateTarget(once(["once"])),
        lambda once: transform.RemoveUnusedFunctions(once(["f"])),
    ],
)
def test_iterators_are_read_for_every_function_and_run(make: Any) -> None:
    """`zip(names, patterns)`: only the first function had its patterns merged."""
    module = transform.InferType()(relay.fromtext(TWO))
    wanted, step = make(list)(module), make(iter)
    for _ in range(2):
        ir.assert_structural_equal(step(module), wanted)


def test_layouts_by_iterators() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.const(np.ones((4, 3, 3, 3), "float32"))
    module = transform.InferType()(ir.IRModule.from_expr(relay.nn.conv2d(x, w)))
    made = [transform.ConvertLayout({"nn.conv2d": give(["NHWC", "default"])})(module) for give in (iter, list)]
    ir.assert_structural_equal(*made)


def test_operands_by_iterators() -> None:
    x = relay.var("x", shape=(2,))
    assert len(relay.concatenate((part for part in (x, x)), 0).args[0].fields) == 2


def change_batch(axis: int) -> Any:
    module = relay.fromtext(TWO)
    return transform.ChangeBatch({module["f"].params[0]: axis}, 4)(module)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: transform.ConvertLayout({"nn.conv2d": []}), "there is no layout for nn.conv2d"),
        (lambda: transform.MergeComposite([("a.b",)])(relay.fromtext(TWO)), r"an entry of a pattern table is \(name"),
        (lambda: transform.MergeComposite([("a.b", 3)])(relay.fromtext(TWO)), "partition takes patterns, got int"),
        (lambda: transform.RemoveUnusedFunctions(["mian"])(relay.fromtext(TWO)), "has no function 'mian'"),
        (lambda: transform.InlineCompilerFunctionsBoundTo(["h"])(relay.fromtext(TWO)), "has no function 'h'"),
        (lambda: transform.recast(relay.const(1), "int8", "int32", ops=["nn.conv2"]), "no Relay operator .*nn.conv2'"),
        (lambda: transform.ChangeBatch({relay.var("y"): 0})(relay.fromtext(TWO)), "no function has the parameter y"),
        (lambda: change_batch(1), r"%x is .*float32.*, which has no dim 1"),
        (lambda: relay.build_module.bind_params_by_name(relay.var("x"), {}), "parameters of a function are bound"),
    ],
)
def test_slips_are_named(wrong: Any, message: str) -> None:
    """Unknown names were passed over: RemoveUnusedFunctions removed everything."""
    with pytest.raises(DiagnosticError, match=message):
        wrong()
