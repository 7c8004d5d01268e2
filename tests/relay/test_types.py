"""Type inference: generalisation, relations, kinds, ADTs, references, and what is refused with which words."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.check.show import show_type
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Constant, Function, If, Tuple, Var, var
from baton._src.values.tensor import array
from tests.relay.programs import NAT, error_of, read, read_module, run, type_of

POLY = "type List[A] { Cons(A, List[A]), Nil }\ntype Option[A] { Some(A), None }\n"

TYPES = [
    ("RELAY-FN-6", "fn(%x) { %x }", "fn [t](t) -> t"),
    (
        "RELAY-FN-6",
        "let %f = fn(%x, %y) { add(%x, %y) }; %f(Constant(1, (2,), float32), Constant(1, (2,), float32))",
        None,
    ),
    ("RELAY-POLY-4", "let %id = fn<t : Type>(%x : t) -> t { %x }; (%id(1), %id(True))", "(int32, bool)"),
    ("RELAY-REL-4", "let %f = (let %x = 2f; fn(%y) { %y * %x }); %f(1f)", "float32"),
    ("RELAY-CONST-4", "let %x = 2f; let %c = 1; %x + %c", "float32"),
    ("RELAY-CONST-4", "let %a = 1; %a", "int32"),
    ("RELAY-CONST-4", "where(Constant(1, (2,), float32), 1, 2)", "Tensor[(2), int32]"),
    ("RELAY-CONST-4", "where(Constant(1, (2,), float32), 1, 2) + 1f", "Tensor[(2), float32]"),
    ("RELAY-CONST-4", "let %c = 1; (full_like(Constant(1, (2,), int8), %c), %c)", "(Tensor[(2), int8], int32)"),
    ("RELAY-TYPE-7", "ref(1)", "ref(int32)"),
    ("RELAY-CALL-5", "let %id = fn<t : Type>(%x : t) -> t { %x }; %id<Tensor[(), bool]>(True)", "bool"),
    ("RELAY-REL-8", "less(Constant(1, (2, 1), int32), Constant(1, (3,), int32))", "Tensor[(2, 3), bool]"),
    ("RELAY-REL-2", "fn(%a, %b) where Broadcast { %a + %b }", None),
    ("RELAY-LET-2", "let %x : Tensor[(), int32] = 1; %x", "int32"),
    ("RELAY-TEXT-13", "let %x : _ = 1; %x", "int32"),
    ("RELAY-IF-6", "if (Constant(1, (2,), int32) == Constant(1, (2,), int32)) {1} else {2}", "int32"),
]


@pytest.mark.parametrize(("text", "wanted"), [pytest.param(t, w, marks=pytest.mark.rule(r)) for r, t, w in TYPES])
def test_types(text: str, wanted: str | None) -> None:
    assert wanted is None or type_of(text) == wanted
    read(text)


REFUSED = [
    (
        "RELAY-FN-3",
        "(fn(%x: Tensor[(10), float32]) { %x })(Constant(1, (5,), float32))",
        "dim 0 is 5 against 10",
    ),
    ("RELAY-FN-4", "fn(%x: Tensor[(2), int32]) -> Tensor[(3), int32] { %x }", "2 against 3"),
    ("RELAY-FN-6", "let %f = fn(%x, %y) { add(%x, %y) }; %f(1f, 1i32)", "float32 and int32"),
    ("RELAY-POLY-3", "fn<t : Type>(%x : Tensor[t, float32]) { %x }", "kind Type"),
    ("RELAY-POLY-3", "fn<s : Shape>(%x : s) { %x }", "kind Shape"),
    ("RELAY-REL-2", "(fn(%a, %b) where Broadcast { %a })((1, 2), 3)", "must be a tensor"),
    ("RELAY-REL-7", "1f + 1i32", "float32 and int32"),
    ("RELAY-OP-4", "add(1)", "2 arguments, got 1"),
    ("RELAY-OP-5", "add((1, 2), 3)", "must be a tensor"),
    ("RELAY-CALL-2", "let %x = 1; %x(2)", "not a function"),
    ("RELAY-CALL-3", "let %f = fn(%x, %y) { %x }; %f(1)", "1 arguments for 2"),
    ("RELAY-CALL-5", "let %id = fn<t : Type>(%x : t) -> t { %x }; %id<Tensor[(), bool]>(1f)", "float32"),
    ("RELAY-CALL-5", "let %id = fn<t : Type>(%x : t) -> t { %x }; %id<int32, bool>(1)", "2 type arguments for 1"),
    ("RELAY-CONST-4", "1i64 + 1f", "int64 and float32"),
    ("RELAY-CONST-4", "qnn.quantize(1f, 0.5f, 3f)", "output_zero_point must be an integer"),
    ("RELAY-LET-2", "let %x : Tensor[(2), int32] = 1; %x", "rank"),
    ("RELAY-IF-2", "if (1) {1} else {2}", "condition"),
    ("RELAY-IF-2", "fn(%c: Tensor[(2), bool]) { if (%c) {1} else {2} }", "condition"),
    ("RELAY-IF-4", "if (True) {1f} else {(1f, 2f)}", "branches"),
    ("RELAY-IF-6", "fn(%x: Tensor[(2), int32]) { if (%x < %x) {1} else {2} }", "condition"),
    ("RELAY-TYPE-4", "let %f = fn(%x) { %x(%x) }; 1", "contain itself"),
    ("RELAY-TYPE-5", "fn(%y: Tensor[(3), int32]) { let %x : Tensor[(?, ?), int32] = %y; %x }", "rank 1 against rank 2"),
    ("RELAY-VAR-2", "@g()", "@g is not defined"),
]


@pytest.mark.parametrize(
    ("text", "message"), [pytest.param(t, m, marks=pytest.mark.rule(r, rejects=True)) for r, t, m in REFUSED]
)
def test_refused(text: str, message: str) -> None:
    error = error_of(lambda: read(text))
    assert message in str(error)
    assert error.code.startswith(("relay-", "op-"))


ADT_REFUSED = [
    ("RELAY-ADT-1", "S(1)"),
    ("RELAY-ADT-1", "S()"),
    ("RELAY-MATCH-6", "fn(%v: Nat) { match(%v) { case S(%a, %b) { %a } case _ { %v } } }"),
    ("RELAY-MATCH-6", "fn(%v: Nat) { match(%v) { case Cons(%h, %t) { 1 } case _ { 2 } } }"),
    ("RELAY-MATCH-6", "fn(%v: int32) { match(%v) { case S(%n) { 1 } case _ { 2 } } }"),
    ("RELAY-MATCH-9", "fn(%v: Nat) { match(%v) { case Z() { 1 } case S(%n) { %n } } }"),
    ("RELAY-MATCH-10", "match((1, Z())) { case (%a, %b, %c) { %a } }"),
    ("RELAY-ADT-8", "fn(%v: List[]) { %v }"),
    ("RELAY-ADT-8", "fn(%v: List[int32, bool]) { %v }"),
    ("RELAY-TYPE-6", "let %d = None(); ()"),
]


@pytest.mark.parametrize(("text"), [pytest.param(t, marks=pytest.mark.rule(r, rejects=True)) for r, t in ADT_REFUSED])
def test_adts_refused(text: str) -> None:
    module = read_module(NAT + POLY)
    assert error_of(lambda: read(text, module)).code.startswith("relay-")


@pytest.mark.rule("RELAY-MATCH-7", rejects=True)
@pytest.mark.rule("RELAY-MATCH-11", rejects=True)
def test_missing_cases_are_named() -> None:
    module = read_module(NAT)
    for clauses, missing in (("S(%n) => %n", "Z()"), ("Z => Z, S(S(%n)) => %n", "S(Z())")):
        error = error_of(lambda c=clauses: read(f"fn(%v: Nat) {{ match (%v) {{ {c} }} }}", module))
        assert missing in str(error)


@pytest.mark.rule("RELAY-MATCH-7")
@pytest.mark.rule("RELAY-MATCH-8")
@pytest.mark.rule("RELAY-MATCH-11")
def test_matches_that_cover_enough() -> None:
    module = read_module(NAT)
    assert run("match?(S(Z())) { case S(%n) { %n } }", module=module) == ("Z",)
    read("fn(%v: Nat) { match (%v) { Z => 0, S(Z) => 1, S(S(%n)) => 2 } }", module)


@pytest.mark.rule("RELAY-MATCH-8", rejects=True)
def test_no_clause_fits() -> None:
    error = error_of(lambda: run("match?(Z()) { case S(%n) { %n } }", module=read_module(NAT)))
    assert error.code == "match-failed"


@pytest.mark.rule("RELAY-ADT-4", rejects=True)
@pytest.mark.rule("RELAY-ADT-7", rejects=True)
def test_definitions() -> None:
    assert "no type b" in str(error_of(lambda: read_module("data L<a> { Cs : (b) -> L[a] }")))
    module = read_module("type A { MkA(int32) }\ntype B { MkB(int32) }")
    assert "A[]" in str(error_of(lambda: read("(fn(%x: B) { %x })(MkA(1))", module)))


@pytest.mark.rule("RELAY-MOD-7")
def test_declaring_precedes_defining() -> None:
    later = GlobalVar("later")
    main = Function([], Call(later, ()))
    error = error_of(lambda: infer_type(IRModule({"main": main})))
    assert "@later is not defined" in str(error)
    module = IRModule({"main": main, later: Function([], Constant(array(1, dtype="int32")))})
    assert show_type(infer_type(module)["main"].checked_type) == "fn () -> int32"


@pytest.mark.rule("RELAY-IF-6", rejects=True)
def test_trees_from_python_stay_strict() -> None:
    x = var("x", shape=(2,), dtype="int32")
    node = If(Call(CATALOGUE.relay("equal"), (x, x)), x, x)
    assert "condition" in str(error_of(lambda: infer_type(IRModule({"main": Function([x], node)}))))


@pytest.mark.rule("RELAY-PASS-18")
def test_inference_is_incremental_and_idempotent() -> None:
    module = read_module("def @f(%x: int32) -> int32 { %x + 1 }\ndef @main() { @f(1) }")
    assert infer_type(module) is module
    changed = module.with_function(module.get_global_var("f"), read("fn(%x: int32) -> int32 { %x * 2 }"))
    again = infer_type(changed)
    assert again["main"] is module["main"]


HELPED = [
    ("let %y: Tensor[(3), float32] = %x; %y", 5, "behind the name"),
    ("let %f = fn() -> int32 { %x }; %f()", 14, "behind ->"),
    ("let %f = fn(%a: int32) { %a }; %f(%x)", 36, "convert the argument"),
    ("let %r = ref(1i32); ref_write(%r, %x)", 25, "ref(...) was made with"),
    ("ref_read(%x)", 5, "ref(...) makes"),
    ("match(%x) { case _ { 1i32 } case _ { %x } }", 5, "make its clauses agree"),
    ("if (%x) { 1 } else { 2 }", 5, "relay.any"),
]


@pytest.mark.parametrize(("body", "column", "help"), HELPED)
def test_mismatches_say_what_to_do_and_where_the_value_is_used(body: str, column: int, help: str) -> None:
    error = error_of(lambda: read_module(f"def @main(%x: Tensor[(2), float32]) {{\n    {body}\n}}"))
    assert help in (error.diagnostics[0].help or "")
    assert f":2:{column}\n" in str(error)


def test_errors_say_where() -> None:
    error = error_of(lambda: read_module("def @main(%x: float32) {\n  let %y = %x + 1i32;\n  %y\n}"))
    text = str(error)
    assert ":2:" in text
    assert "in function @main" in text
    assert "^" in text


def test_untyped_parameters_are_annotated() -> None:
    x = Var("x")
    data = var("data", shape=(1, 3, 8, 8))
    conv = CATALOGUE.relay("nn.conv2d")
    attrs = conv.definition.attrs(channels=4, kernel_size=(3, 3))
    module = infer_type(IRModule({"main": Function([data, x], Call(conv, (data, x), attrs))}))
    annotation: Any = module["main"].params[1].type_annotation
    assert show_type(annotation) == "Tensor[(4, 3, 3, 3), float32]"


def _module_type(text: str, name: str) -> str:
    return show_type(read_module(POLY + text)[name].checked_type)


_MAP = "(%f, %xs) { match (%xs) { Cons(%x, %r) => Cons(%f(%x), {again}(%f, %r)), Nil => Nil, } }"
_USES = "({0}(fn(%x: float32) { %x + 1f }, Cons(1f, Nil)), {0}(fn(%x: int32) { %x > 1 }, Cons(1, Nil)))"


@pytest.mark.rule("RELAY-FN-6")
@pytest.mark.parametrize("let", [False, True])
def test_recursive_functions_generalise(let: bool) -> None:
    """Within its definition a function has one type; every call outside instantiates the general one."""
    name = "%map" if let else "@map"
    body = _MAP.replace("{again}", name)
    uses = _USES.replace("{0}", name)
    if let:
        text = f"def @main() {{ let %map = fn{body}; {uses} }}"
    else:
        text = f"def @map{body}\ndef @main() {{ {uses} }}"
        assert _module_type(text, "map") == "fn [t, t1](fn (t) -> t1, List[t]) -> List[t1]"
    assert _module_type(text, "main") == "fn () -> (List[float32], List[bool])"


_PAIR = """
def @even(%f, %xs) { match (%xs) { Cons(%x, %r) => Cons(%f(%x), @odd(%f, %r)), Nil => Nil, } }
def @odd(%g, %ys) { match (%ys) { Cons(%y, %s) => @even(%g, %s), Nil => Nil, } }
"""


@pytest.mark.rule("RELAY-FN-6")
@pytest.mark.parametrize("pair", [_PAIR, "\n".join(reversed(_PAIR.strip().splitlines()))])
def test_mutually_recursive_functions_generalise_together(pair: str) -> None:
    text = (
        f"{pair}\ndef @main() {{ {_USES.replace('{0}', '@even')} }}\ndef @more() {{ {_USES.replace('{0}', '@odd')} }}"
    )
    assert _module_type(text, "main") == _module_type(text, "more") == "fn () -> (List[float32], List[bool])"


@pytest.mark.rule("RELAY-REL-4")
def test_relations_constrain_every_function_of_a_cycle() -> None:
    """What @down adds up, @up adds up too, whichever of them is called."""
    cycle = """
def @down(%n: int32, %x) { if (%n == 0) { %x } else { %x + @up(%n - 1, %x) } }
def @up(%n: int32, %x) { @down(%n, %x) }
"""
    both = "def @main() { (@up(3, 1f), @down(3, 2), @up(1, Constant(1, (2,), float32))) }"
    assert _module_type(cycle + both, "main") == "fn () -> (float32, int32, Tensor[(2), float32])"
    error = error_of(lambda: read_module(cycle + "def @main() { @up(3, (1f, 2f)) }"))
    assert "must be a tensor" in str(error)


@pytest.mark.rule("RELAY-FN-6", rejects=True)
@pytest.mark.parametrize(
    "text",
    [
        "def @f(%x, %n: int32) { if (%n == 0) { 0 } else { @f((%x, %x), %n - 1) } }",
        "def @f(%x, %n: int32) { if (%n == 0) { 0 } else { @f(1f, 2) + @f(True, 3) } }",
        "def @main() { let %f = fn(%x, %n: int32) { if (%n == 0) { 0 } else { %f((%x, %x), %n - 1) } }; 1 }",
    ],
)
def test_polymorphic_recursion_has_to_be_declared(text: str) -> None:
    assert "one type, unless that is declared" in str(error_of(lambda: read_module(text)))


@pytest.mark.rule("RELAY-POLY-4")
def test_declared_polymorphic_recursion() -> None:
    text = """
def @depth<t : Type>(%x: t, %n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @depth((%x, %x), %n - 1) } }
def @main() { @depth(1f, 3) }
"""
    assert _module_type(text, "main") == "fn () -> int32"


def test_every_expression_has_its_type() -> None:
    """Also those in closures, patterns, and mentions of globals; operators alone have one type for all uses."""
    text = f"def @map{_MAP.replace('{again}', '@map')}\ndef @main() {{ {_USES.replace('{0}', '@map')} }}"
    module = read_module(POLY + text)
    for function in module.functions.values():
        for expr in walk(function):
            assert isinstance(expr, Op) or expr.checked_type_ is not None, expr


def test_the_result_type_follows_the_body() -> None:
    """`ret_type` is what was written, else what was inferred; a pass that changes the body changes it."""
    x = var("x", shape=(2, 3))
    module = IRModule({"main": Function([x], Call(CATALOGUE.relay("nn.relu"), (x,)))})
    assert module["main"].ret_type is None
    typed = infer_type(module)["main"]
    assert show_type(typed.ret_type) == "Tensor[(2, 3), float32]"
    (param,) = typed.params
    changed = infer_type(IRModule({"main": typed.with_fields(body=Tuple((typed.body, param)))}))["main"]
    assert show_type(changed.ret_type) == "(Tensor[(2, 3), float32], Tensor[(2, 3), float32])"
    written = infer_type(IRModule({"main": Function([x], x, typed.ret_type)}))["main"]
    assert written.ret_annotation is typed.ret_type
    inner = read_module("def @main(%x: float32) { let %f = fn(%y) { (%y, %x) }; %f(1) }")["main"].body.value
    assert inner.ret_type is None  # generalised: (t, float32)


@pytest.mark.rule("RELAY-POLY-4")
def test_a_polymorphic_function_without_a_result_type_as_a_value_of_a_particular_one() -> None:
    """Its result, a hole that turned out to be a parameter, is chosen by this use as the parameter is."""
    text = "def @main[A]() -> fn (A, (A, A)) -> (A, A) { fn [B](%x: B, %xs: (B, B)) { (%xs.1, %x) } }"
    assert _module_type(text, "main") == "fn [A]() -> fn (A, (A, A)) -> (A, A)"
    error = error_of(lambda: read_module("def @main[A](%y: A) -> fn (A) -> int32 { fn [B](%x: B) { %x } }"))
    assert "does not fit" in str(error)


@pytest.mark.rule("RELAY-FN-6", rejects=True)
@pytest.mark.parametrize("function", ["fn(%x) { %x }", "fn(%x: int32) { %x }"])
def test_functions_beside_literals(function: str) -> None:
    """The open dtype of the literal kept the call waiting, which became a constraint of the function around it."""
    error = error_of(lambda: read_module(f"def @main() {{ let %f = {function}; %f + 1 }}"))
    assert error.code == "op-argument"
    assert "add(%f: fn" in str(error)
    assert "int32" in str(error)


@pytest.mark.parametrize(
    "call",
    ["negative(%x)", "sign(%x)", "mean(%x)", "%x - %x", "%x / %x", "floor_divide(%x, %x)", "mod(%x, %x)"],
)
def test_bools_are_no_numbers(call: str) -> None:
    """Some machines refused what others ran: NumPy has no difference of bools, kernels no quotient."""
    assert error_of(lambda: read(f"fn (%x: Tensor[(3), bool]) {{ {call} }}")).code == "op-dtype"


@pytest.mark.parametrize("call", ["nn.avg_pool2d(%x)", "nn.global_avg_pool2d(%x)", "nn.adaptive_avg_pool2d(%x)"])
def test_bools_have_no_mean(call: str) -> None:
    assert error_of(lambda: read(f"fn (%x: Tensor[(1, 2, 3, 3), bool]) {{ {call} }}")).code == "op-dtype"


@pytest.mark.parametrize("call", ["nn.nll_loss(%x, %t, %w)", "nn.cross_entropy(%x, %x)"])
def test_losses_are_of_floats(call: str) -> None:
    """They were interpreted, and compiled to errors about expressions nobody wrote."""
    params = "%x: Tensor[(2, 3), int32], %t: Tensor[(2), int32], %w: Tensor[(3), int32]"
    assert error_of(lambda: read(f"fn ({params}) {{ {call} }}")).code == "op-dtype"
