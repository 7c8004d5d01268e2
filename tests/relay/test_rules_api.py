"""Rules of the Python interface: operators' columns, fragments, what building and running accept and refuse."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.relay.analysis import is_dataflow, unmatched_cases
from baton._src.relay.check.exhaustiveness import show_pattern
from baton._src.relay.check.infer_type import infer_type
from tests.relay.programs import error_of, plain, read, read_module

wire()


@pytest.mark.rule("RELAY-FRAG-1")
def test_the_dataflow_fragment() -> None:
    assert is_dataflow(read("free_var %a: int32; free_var %b: int32; let %x = add(%a, %b); (%x, %x).0"))


@pytest.mark.rule("RELAY-FRAG-2")
@pytest.mark.parametrize(
    "text", ["if (True) { 1 } else { 2 }", "match? (1) { case %x { %x } }", "let %f = fn() -> int32 { %f() }; %f()"]
)
def test_the_control_fragment(text: str) -> None:
    assert not is_dataflow(read(text))


@pytest.mark.rule("RELAY-FRAG-3")
def test_a_call_belongs_where_its_function_does() -> None:
    module = read_module(
        "def @double(%x: int32) { %x + %x } def @down(%x: int32) -> int32 { if (%x == 0) {0} else {@down(%x - 1)} }\n"
        "def @main(%x: int32) { (@double(%x), @down(%x)) }"
    )
    straight, looping = module["main"].body.fields
    assert is_dataflow(straight, module)
    assert not is_dataflow(looping, module)


@pytest.mark.rule("RELAY-OP-1")
def test_operators_have_no_body_in_the_language() -> None:
    add = relay.op.get("add")
    assert add.name == "add"
    assert not hasattr(add, "body")


@pytest.mark.rule("RELAY-OP-1", rejects=True)
def test_an_unknown_operator() -> None:
    assert error_of(lambda: relay.op.get("no_such_op")).code == "op-unknown"


@pytest.mark.rule("RELAY-OP-3")
def test_a_new_column() -> None:
    add = relay.op.get("add")
    add.set_attr("MyColumn", 3)
    try:
        assert add.get_attr("MyColumn") == 3
        assert relay.op.get("subtract").get_attr("MyColumn") is None
    finally:
        add.reset_attr("MyColumn")


@pytest.mark.rule("RELAY-OP-9")
def test_priorities_of_columns() -> None:
    add = relay.op.get("add")
    try:
        add.set_attr("Other", 1, plevel=10)
        add.set_attr("Other", 2, plevel=15)
        add.set_attr("Other", 1, plevel=5)
        assert add.get_attr("Other") == 2
    finally:
        add.reset_attr("Other")


@pytest.mark.rule("RELAY-OP-9", rejects=True)
def test_the_same_priority_twice() -> None:
    add = relay.op.get("add")
    try:
        add.set_attr("Third", 1, plevel=10)
        assert error_of(lambda: add.set_attr("Third", 2, plevel=10)).code == "op-column"
    finally:
        add.reset_attr("Third")


@pytest.mark.rule("RELAY-OP-10")
@pytest.mark.parametrize(
    ("name", "pattern"), [("add", 1), ("exp", 0), ("sum", 3), ("nn.conv2d", 4), ("reshape", 2), ("argsort", 8)]
)
def test_standard_columns(name: str, pattern: int) -> None:
    op = relay.op.get(name)
    assert op.get_attr("TOpPattern") == pattern
    assert op.get_attr("TOpIsStateful") is False
    assert 1 <= op.support_level <= 11


@pytest.mark.rule("RELAY-MOD-7", rejects=True)
def test_a_global_that_is_never_defined() -> None:
    function = relay.Function([], relay.Call(GlobalVar("later"), []))
    assert error_of(lambda: infer_type(IRModule({"main": function}))).code


@pytest.mark.rule("RELAY-CONST-1")
def test_constants_hold_arrays() -> None:
    made = relay.const(np.ones((2, 2)))
    assert plain(relay.create_executor("debug").evaluate(made)) == [[1, 1], [1, 1]]


@pytest.mark.rule("RELAY-BUILD-5", rejects=True)
def test_a_parameter_of_another_shape() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    function = relay.Function([x, w], relay.nn.dense(x, w))
    wrong = {"w": np.ones((3, 4), np.float32)}
    assert error_of(lambda: relay.build(function, "llvm", params=wrong)).code == "params-mismatch"
    with pytest.warns(UserWarning, match="no parameter q"):
        relay.build(function, "llvm", params={"q": np.ones(1, np.float32)})


@pytest.mark.rule("RELAY-BUILD-7")
@pytest.mark.rule("RELAY-BUILD-9")
@pytest.mark.rule("RELAY-BUILD-10")
def test_the_text_of_a_network() -> None:
    data = relay.var("data", shape=(1, 3, 8, 8))
    made = relay.nn.conv2d(data, relay.var("w"), channels=4, kernel_size=(3, 3))
    both = relay.nn.batch_norm(made, *[relay.var(n) for n in "gbmv"])
    made = relay.nn.relu(both[0])
    assert isinstance(both[0], relay.TupleGetItem)
    assert both[0].index == 0
    function = relay.Function(relay.analysis.free_vars(made), made)
    text = str(function)
    assert all(part in text for part in ("nn.conv2d", "nn.batch_norm", ".0", "nn.relu"))
    assert relay.var("x")


@pytest.mark.rule("RELAY-BUILD-9", rejects=True)
def test_a_projection_too_far() -> None:
    both = relay.nn.batch_norm(relay.var("x", shape=(1, 3)), *[relay.var(n, shape=(3,)) for n in "gbmv"])
    with pytest.raises(IndexError, match="3 fields"):
        _ = both[3]


@pytest.mark.rule("RELAY-EXEC-2")
@pytest.mark.rule("RELAY-EXEC-4")
def test_the_graph_executor_runs_straight_programs() -> None:
    module = read_module("def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }")
    x = np.float32([-1, 0, 2])
    for kind in ("debug", "graph", "vm", "aot"):
        assert relay.create_executor(kind, module).evaluate()(x).numpy().tolist() == [0, 0, 2]


@pytest.mark.rule("RELAY-REF-1")
@pytest.mark.rule("RELAY-REF-2")
@pytest.mark.parametrize("level", [0, 2, 4])
def test_references_keep_their_order(level: int) -> None:
    text = "let %r = ref(%x); ref_write(%r, %x + 1); ref_write(%r, ref_read(%r) * 2); ref_read(%r)"
    text = f"def @main(%x: int32) {{ {text} }}"
    with baton.transform.PassContext(opt_level=level):
        for kind in ("debug", "vm"):
            assert plain(relay.create_executor(kind, read_module(text)).evaluate()(np.int32(3))) == 8


@pytest.mark.rule("RELAY-REF-2", rejects=True)
def test_the_graph_executor_refuses_references() -> None:
    module = read_module("def @main(%x: int32) { ref_read(ref(%x)) }")
    assert error_of(lambda: relay.build(module, "llvm")).code == "graph-fragment"


ORDER = [
    *(("RemoveUnusedFunctions", 0), ("ToBasicBlockNormalForm", 0), ("Legalize", 0), ("SimplifyInference", 0)),
    *(("EliminateCommonSubexpr", 3), ("CombineParallelConv2D", 4), ("CombineParallelDense", 4)),
    *(("CombineParallelBatchMatmul", 4), ("FoldConstant", 0), ("BackwardFoldScaleAxis", 3)),
    *(("ForwardFoldScaleAxis", 3), ("FoldConstant", 0), ("SimplifyExpr", 0), ("CanonicalizeCast", 3)),
    *(("CanonicalizeOps", 3), ("FlattenAtrousConv", 0), ("AlterOpLayout", 3), ("FastMath", 4), ("FoldConstant", 0)),
]
LATER = {name for name, level in ORDER if level > 2}


@pytest.mark.rule("RELAY-BUILD-8")
def test_level_three_passes_run_at_level_three() -> None:
    @baton.ir.instrument.pass_instrument
    class Names:
        def __init__(self) -> None:
            self.names: list[str] = []

        def run_before_pass(self, module: object, info: object) -> None:
            self.names.append(info.name)

    module = read_module("def @main(%x: Tensor[(3), float32]) { exp(%x) + exp(%x) }")
    found = {}
    for level in (2, 3, 4):
        seen = Names()
        with baton.transform.PassContext(opt_level=level, instruments=[seen]):
            relay.build(module, "llvm")
        assert set(seen.names).isdisjoint({n for n, at in ORDER if at > level})
        found[level] = [n for n in seen.names[: seen.names.index("Inline")] if (n, 0) in ORDER or n in LATER]
        assert found[level][1:] == [n for n, at in ORDER if at <= level]  # the first RemoveUnusedFunctions is before


POLYMORPHIC = [
    "def @f(%x, %y) { %x + %y } def @main() { (@f(1f, 2f), @f(1, 2)) }",
    "def @main() { let %f = fn(%x) { %x + %x }; (%f(1f), %f(2)) }",
    "def @app(%g, %x) { %g(%x) } def @id<t: Type>(%x: t) -> t { %x } def @main() { (@app(@id, 1f), @app(@id, (1,))) }",
    "def @main() { let %f = add; (%f(1, 2), exp(0f)) }",
    "def @main() { let %t = fn(%g, %x) { %g(%g(%x)) }; (%t(fn(%y) { %y * 2 }, 3), %t(exp, 0f)) }",
    "def @main() { let %p = fn(%n: int32, %x) { if (%n == 0) { %x } else { %p(%n - 1, %x + %x) } };"
    "(%p(3, 1), %p(2, 1f)) }",
    "def @main() { let %f = fn(%x) { let %g = fn(%y) { (%y, %x) }; (%g(1), %g(2f)) }; (%f(1), %f(True)) }",
    # The type of what lies between two operators is a type parameter that only relations mention.
    "def @f(%x) { %x * 2 + 1 } def @main() { @f(5) }",
    "def @main() { let %f = fn(%x) { let %y = %x * %x; %y + %x }; (%f(2f), %f(3)) }",
    "def @main() { let %f = fn(%x) { exp(exp(%x)) }; let %g = %f; (%g(0f), %f(0.5f)) }",
    "def @f<t: Type>(%x: int32) -> int32 { let %g = fn(%y: t) { %y }; %x } def @main() { (@f<int32>(1), @f<bool>(2)) }",
    # As values, functions under relations have the types that their later calls need.
    "def @main() { let %f = fn(%x) { exp(%x) * %x }; let %p = (%f, %f);"
    "(%p.0(1f), sum(%p.1(Constant(1, (2,), float32)))) }",
    "def @main() { let %f = fn(%x) { exp(%x) }; let %g = if (True) { %f } else { log }; (%g(1f), %g(2f)) }",
    "def @main() { let %f = fn(%x) { exp(%x) * %x }; let %g = if (True) { let %h = %f; %h } else { %f };"
    "(%g(1f), %g(2f)) }",
    "def @main() { let %r = ref(fn(%x) { exp(%x) }); let %f = log; ref_write(%r, %f); (ref_read(%r)(2f), %f(1f)) }",
    # With several types the value is one function for each.
    "type Box[A] { Put(A) } def @main() { let %f = fn(%x) { exp(%x) * %x }; let %v = Constant(1, (2,), float32);"
    "let %p = if (True) { (%f, log) } else { (%f, exp) }; let %r = ref(%f);"
    "(%p.0(1f), sum(%p.0(%v)), %p.1(2f), sum(%p.1(%v)), ref_read(%r)(1f), sum(ref_read(%r)(%v)),"
    "match (Put(%f)) { Put(%g) => %g(2f) + sum(%g(%v)) }, match (Put(fn(%x) { %x })) { Put(%g) => %g(2f) }) }",
    "def @main() { let %k = fn(%x) { let %c = fn(%y) { %x }; %c }; (%k(1)(True), %k(2f)(1)) }",
    "type Box[A] { Put(A) } def @id(%x) { %x } def @main() { match (Put(@id)) { Put(%g) => (%g(2f), %g(1)) } }",
    # What nothing calls may have any type.
    "def @main() { let %p = (fn(%x) { exp(%x) * %x }, 1f); let %g = if (True) { fn(%x) { nn.relu(%x) } } else { log };"
    "let %r = ref(fn(%x, %w) { nn.dense(%x, %w) }); %p.1 }",
    "def @id(%x) { %x } def @main() { let %f = (fn(%y: int32) { @id(@id) })(3); 1f }",
    # What says its types may be removed before it is compiled.
    "def @id(%x) { %x } def @main() { let %f = if (True) { fn(%x) { 1f } } else { fn(%y: int32) { 2f } }; 3f }",
    # Recursion that would need ever more types: one function serves them all.
    "def @f<t: Type>(%n: int32, %x: t) -> int32 { if (%n == 0) {0} else {1 + @f(%n - 1, (%x, %x))} }"
    "def @id(%x) { let %g = fn(%y) { %y * %y }; let %u = (%g(1f), %g(2)); %x }"
    "def @main() { let %f = fn<t: Type>(%n: int32, %x: t) -> t { if (%n == 0) {%x} else {%f(%n - 1, (@id(%x), 1)).0} };"
    "(@f(3, 1), %f(2, 5f)) }",
]


@pytest.mark.parametrize("text", POLYMORPHIC)
@pytest.mark.parametrize("level", [0, 3])
def test_polymorphic_functions_run_compiled(text: str, level: int) -> None:
    module = read_module(text)
    with baton.transform.PassContext(opt_level=level):
        wanted = relay.create_executor("debug", module).evaluate()()
        found = relay.create_executor("vm", module).evaluate()()
    assert flat(plain(found)) == pytest.approx(flat(plain(wanted)), rel=1e-5)


def flat(value: object) -> list[float]:
    return [x for v in value for x in flat(v)] if isinstance(value, (tuple, list)) else [float(value)]


def test_results_of_any_type_run_compiled() -> None:
    """An empty list was refused as polymorphic; a function with operators that need types still is."""
    module = read_module("type List[A] { Cons(A, List[A]), Nil } def @main() { Nil }")
    assert plain(relay.create_executor("vm", module).evaluate()()) == ("Nil",)
    open_ = read_module("def @main() { let %f = fn(%x) { exp(%x) }; %f }")
    assert error_of(lambda: relay.create_executor("vm", open_).evaluate()()).code == "relay-infer"


def test_operators_in_recursion_at_ever_larger_types_are_refused() -> None:
    """They need known types, and their copies would not end; the message names the call and the operator."""
    text = (
        "def @f<t: Type>(%n: int32, %x: t) -> int32 { let %y = exp(%x); if (%n == 0) {0} else {@f(%n - 1, (%x, %x))} }"
    )
    error = error_of(lambda: Specialize()(read_module(text + "def @main() { @f(3, 1f) }")))
    assert error.code == "relay-specialize"
    assert "@f is called with more and more types" in str(error)
    assert "exp" in str(error)


def test_an_empty_module_is_text_that_reads_back() -> None:
    """Guards that `astext`, Relay's word, gives Relay's text where no function shows the language."""
    text = IRModule().astext()
    assert text.startswith('#[version = "0.0.5"]')
    assert not relay.parse(text).functions


@pytest.mark.rule("RELAY-MATCH-3")
def test_cases_are_those_of_the_types_of_a_module() -> None:
    """A module without the type was told that nothing is missing."""
    module = read_module("type N { Z, S(N) } def @main(%x: N) { match? (%x) { S(S(_)) => 1 } }")
    body = module["main"].body
    assert [show_pattern(p) for p in unmatched_cases(body, module)] == ["Z()", "S(Z())"]
    assert error_of(lambda: unmatched_cases(body)).code == "module-missing"
