"""`recast`, `FoldConstantExpr`, and functions for external compilers moved out of expressions."""

from __future__ import annotations

import numpy as np
import pytest

from baton import relay
from baton._src.ir.module import IRModule
from baton._src.relay.check.show import show_type
from baton._src.support.diagnostics import DiagnosticError
from tests.relay.programs import plain, read, read_module


def test_recast() -> None:
    """The chosen operators take and give other dtypes; the program's own type stays."""
    x, w = relay.var("x", shape=(1, 2, 4, 4)), relay.var("w", shape=(2, 2, 1, 1))
    body = relay.nn.conv2d(relay.nn.conv2d(relay.nn.conv2d(x, w), w), w)
    function = relay.Function([x, w], body)
    after = relay.transform.recast(function, "int8", "int32", skip_layers=[0, -1])
    text = after.astext()
    assert text.count('dtype="int8"') == 2
    assert text.count('out_dtype="int32"') == 1
    assert show_type(after.checked_type.ret_type) == "Tensor[(1, 2, 4, 4), float32]"
    data = np.arange(32, dtype="float32").reshape(1, 2, 4, 4) % 5
    weight = np.ones((2, 2, 1, 1), "float32")
    run = [relay.create_executor("vm").evaluate(f)(data, weight).numpy() for f in (function, after)]
    np.testing.assert_array_equal(*run)


def test_recast_of_tuples() -> None:
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], relay.concatenate((x, x), axis=0))
    after = relay.transform.recast(function, "float16", "float16", ops=["concatenate"])
    assert after.astext().count('dtype="float16"') == 2
    assert show_type(after.checked_type.ret_type) == "Tensor[(4), float32]"


def test_fold_constant_expr() -> None:
    found = relay.transform.FoldConstantExpr(read("fn (%x: float32) { %x + (1f + 2f) }"), IRModule())
    assert "add(%x, 3f " in found.astext()


OUTLINED = """
def @main(%x: float32) {
  (fn (%a: float32, Compiler="mine", global_symbol="mine_0") { exp(%a) })(%x)
  + (fn (%a: float32, Compiler="other", global_symbol="other_0") { log(%a) })(%x)
}
"""


def test_outline() -> None:
    module = read_module(OUTLINED)
    outline = relay.transform.OutlineCompilerFunctionsWithExistingGlobalSymbols
    after = outline("mine")(module)
    assert {v.name_hint for v in after.functions} == {"main", "mine_0"}
    everything = outline()(after)
    assert {v.name_hint for v in everything.functions} == {"main", "mine_0", "other_0"}
    values = [plain(relay.create_executor("debug", m).evaluate()(2.0)) for m in (module, after, everything)]
    assert values[0] == values[1] == values[2]
    with pytest.raises(DiagnosticError, match="defined already"):
        outline()(read_module(OUTLINED.replace("other_0", "mine_0")))


def test_inline_composites() -> None:
    module = read_module("""
def @part(%a: float32, Compiler="mine") { (fn (%b: float32, Composite="mine.exp") { exp(%b) + 1f })(%a) }
def @main(%x: float32) { @part(%x) }""")
    after = relay.transform.InlineComposites("mine")(module)
    assert "Composite" not in after.astext()
    assert "Composite" in relay.transform.InlineComposites("other")(module).astext()
    assert plain(relay.create_executor("debug", after).evaluate()(0.0)) == 2.0


def test_faces() -> None:
    """Modules scripts import from."""
    assert relay.analysis.call_graph.CallGraph is relay.analysis.CallGraph
    assert relay.analysis.feature.Feature is relay.analysis.Feature
    assert relay.analysis.annotated_regions.AnnotatedRegionSet is relay.analysis.AnnotatedRegionSet
    assert relay.param_dict.save_param_dict is relay.save_param_dict
    assert relay.data_dep_optimization.simplify_fc_transpose.convert
    assert relay.op.algorithm.argsort is relay.argsort


def test_functions_a_compiler_is_done_with() -> None:
    """They lose what their compiler knows them by, and mean what they did."""
    outline = relay.transform.OutlineCompilerFunctionsWithExistingGlobalSymbols
    module = outline()(read_module(OUTLINED))
    after = relay.transform.MarkCompilerFunctionsAsExtern("mine")(module)
    assert dict(after["mine_0"].attrs) == {"Extern": 1}
    assert after["other_0"] is module["other_0"]
    assert dict(relay.transform.MarkCompilerFunctionsAsExtern()(after)["other_0"].attrs) == {"Extern": 1}
    values = [plain(relay.create_executor("debug", m).evaluate()(2.0)) for m in (module, after)]
    assert values[0] == values[1]
