"""Rules of the language that each need a line of text: what it means, or which type it has; and what is refused."""

from __future__ import annotations

import pytest

from baton._src.ir.expr import GlobalVar
from baton._src.relay.nodes import Call, Function, Let, Var
from tests.relay.programs import NAT, error_of, read, read_module, run, type_of

LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
VALUES = [
    ("RELAY-VAR-4", "", "(fn(%x) { let %y = %x; %y })(4)", 4),
    ("RELAY-VAR-9", "", "(fn(%q: Tensor[(), int32]) { %q + 1 })(2)", 3),
    ("RELAY-FN-4", "", "(fn(%x: Tensor[(2), int32]) -> Tensor[(2), int32] { %x })(Constant(3, (2,), int32))", [3, 3]),
    ("RELAY-CLOSURE-3", "", "let %mk = fn(%a: int32) { fn(%b: int32) { %a - %b } }; %mk(5)(3)", 2),
    ("RELAY-ADT-5", NAT, "S(Z())", ("S", ("Z",))),
    ("RELAY-ADT-6", NAT, "let %f = S; %f(Z())", ("S", ("Z",))),
    ("RELAY-CONST-2", "", "(1f, True)", (1.0, True)),
    ("RELAY-TUPLE-3", "", "let %t = (7, 8); %t.0", 7),
    ("RELAY-LET-5", "", "let %f = fn(%n: int32) -> int32 { if (%n == 0) {1} else {%n * %f(%n - 1)} }; %f(4)", 24),
    ("RELAY-IF-2", "", "if (True) {1} else {2}", 1),
    ("RELAY-IF-4", "", "if (False) {1} else {2}", 2),
    ("RELAY-REF-1", "", "let %r = ref(1); ref_write(%r, 2); ref_read(%r)", 2),
    ("RELAY-CALL-2", NAT, "((fn(%x) { %x })(1), add(1, 2), S(Z()))", (1, 3, ("S", ("Z",)))),
    ("RELAY-CALL-3", "", "(fn(%x, %y) { %x })(1, 2)", 1),
    ("RELAY-MATCH-6", NAT, "match(S(Z())) { case S(%n) { %n } case Z() { Z() } }", ("Z",)),
    ("RELAY-MATCH-9", NAT, "match(Z()) { case Z() { Z() } case S(%n) { %n } }", ("Z",)),
    ("RELAY-MATCH-10", NAT, "match((1, Z())) { case (%a, Z()) { %a } case (%a, S(%n)) { %a } }", 1),
    ("RELAY-REL-5", "", "(fn(%x, %y) where Broadcast, Identity { add(%x, %y) })(1f, 2f)", 3.0),
    ("RELAY-TEXT-6", "", "nn.softmax(Constant(1, (1, 2), float32), axis=1)", [[0.5, 0.5]]),
    ("RELAY-TEXT-12", "", "add(1, 2)", 3),
    ("RELAY-FRAG-1", "", "let %x = 1 + 2; (%x, %x).0", 3),
]


@pytest.mark.parametrize(
    ("defs", "text", "value"), [pytest.param(d, t, v, marks=pytest.mark.rule(r)) for r, d, t, v in VALUES]
)
def test_values(defs: str, text: str, value: object) -> None:
    assert run(text, module=read_module(defs) if defs else None) == value


TYPES = [
    ("RELAY-POLY-3", "", "fn<s : Shape>(%x : Tensor[s, float32]) { %x }", None),
    ("RELAY-POLY-6", "", "fn<t : Type>(%x : t) { %x }", "fn [t](t) -> t"),
    ("RELAY-ADT-1", NAT, "S", "fn (Nat[]) -> Nat[]"),
    ("RELAY-ADT-4", "data L<a> { Nl : () -> L[a]  Cs : (a, L[a]) -> L[a] }", "Cs(1, Nl())", "L[int32]"),
    ("RELAY-ADT-7", NAT, "S(S(Z()))", "Nat[]"),
    ("RELAY-TYPE-1", "", "fn(%x: float32, %y: Tensor[(?, 3), int8]) { (%x, %y) }",
     "fn (float32, Tensor[(?, 3), int8]) -> (float32, Tensor[(?, 3), int8])"),
    ("RELAY-TYPE-2", "", "fn<a : Type>(%x: a, %y: a) -> a { %x }", "fn [a](a, a) -> a"),
    ("RELAY-TYPE-3", LIST, "fn(%l: List[int32]) { %l }", "fn (List[int32]) -> List[int32]"),
    ("RELAY-TYPE-4", "", "let %x : (_, Tensor[(2), int32]) = (True, Constant(1, (2,), int32)); %x",
     "(bool, Tensor[(2), int32])"),
    ("RELAY-TYPE-5", "", "let %x : Tensor[(?), int32] = Constant(1, (3,), int32); %x", None),
    ("RELAY-TYPE-6", LIST, "let %d : List[int32] = Nil(); %d", "List[int32]"),
    ("RELAY-OP-5", "", "fn(%x: Tensor[(2, 1), int32], %y: Tensor[(3), int32]) { add(%x, %y) }",
     "fn (Tensor[(2, 1), int32], Tensor[(3), int32]) -> Tensor[(2, 3), int32]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("defs", "text", "wanted"), [pytest.param(d, t, w, marks=pytest.mark.rule(r)) for r, d, t, w in TYPES]
)
def test_types(defs: str, text: str, wanted: str | None) -> None:
    found = type_of(text, read_module(defs) if defs else None)
    assert wanted is None or found == wanted


REFUSED = [
    ("RELAY-VAR-4", "", "(let %y = 1; %y) + %y"),
    ("RELAY-REL-4", "", "let %d = (fn() { fn(%y) { %y } })(); ()"),
    ("RELAY-REF-1", "", "let %r = ref(1); ref_write(%r, True)"),
    ("RELAY-REF-1", "", "ref_read(1)"),
    ("RELAY-TYPE-1", "", "fn(%x: Tensor[(2), int33]) { %x }"),
    ("RELAY-TYPE-3", LIST, "fn(%x: int32[int32]) { %x }"),
    ("RELAY-OP-11", "", "nn.dense(1f, 2f)"),
    ("RELAY-OP-11", "", "nn.conv2d(Constant(1, (2, 2), float32), Constant(1, (2, 2), float32))"),
    ("RELAY-OP-2", "", "no_such_operator(1)"),
]


@pytest.mark.parametrize(
    ("defs", "text"), [pytest.param(d, t, marks=pytest.mark.rule(r, rejects=True)) for r, d, t in REFUSED]
)
def test_refused(defs: str, text: str) -> None:
    module = read_module(defs) if defs else None
    assert error_of(lambda: type_of(text, module)).code


@pytest.mark.rule("RELAY-VAR-2")
@pytest.mark.rule("RELAY-VAR-3")
@pytest.mark.rule("RELAY-MOD-1")
def test_globals_are_found_by_name() -> None:
    module = read_module("def @f() { 1 } def @main() { @f() }")
    assert isinstance(module["f"], Function)
    assert isinstance(module[module.get_global_var("f")], Function)
    assert isinstance(module["main"].body.op, GlobalVar)
    assert module["main"].body.op.name_hint == "f"


@pytest.mark.rule("RELAY-MOD-1", rejects=True)
def test_a_missing_global() -> None:
    assert error_of(lambda: read_module("def @f() { 1 }")["nope"]).code == "module-missing"


@pytest.mark.rule("RELAY-FN-9")
def test_annotated_parameters() -> None:
    assert str(read("fn(%x : float32) { %x }").params[0].type_annotation.dtype) == "float32"


@pytest.mark.rule("RELAY-VAR-9")
def test_declared_free_variables() -> None:
    found = read("free_var %x: Tensor[(), int32]; %x + 1")
    assert isinstance(found, Call)
    assert isinstance(found.args[0], Var)


@pytest.mark.rule("RELAY-OP-8")
def test_sugar_is_a_call_of_the_operator() -> None:
    found = read("let %x = 1; let %y = 2; let %z = 3; %x + %y * %z").body.body.body
    assert found.op.name == "add"
    assert found.args[1].op.name == "multiply"


@pytest.mark.rule("RELAY-ADT-8")
def test_both_spellings_of_a_type_without_parameters() -> None:
    module = read_module(NAT)
    assert type_of("fn(%v: Nat) { %v }", module) == type_of("fn(%v: Nat[]) { %v }", module)


@pytest.mark.rule("RELAY-TEXT-8")
def test_function_attributes_stand_last() -> None:
    assert read("fn(%x: int32, Primitive=1) { %x }").attrs["Primitive"] == 1


@pytest.mark.rule("RELAY-GRAPH-4")
def test_graph_names_reach_beyond_functions() -> None:
    text = "fn(%x: float32) { %1 = log(%x); (fn(%y: float32) { add(%y, %1) })(%x) + %1 }"
    found = read(text).body
    assert found.args[0].op.body.args[1] is found.args[1]


@pytest.mark.rule("RELAY-REL-3")
def test_each_call_solves_the_relations_anew() -> None:
    text = "let %f = fn(%x, %y) where Broadcast { add(%x, %y) }; (%f({a}, {a}), %f({b}, {c}))"
    shapes = {"{a}": "Constant(1, (2,), int32)", "{b}": "Constant(1, (3, 1), int32)", "{c}": "Constant(1, (4,), int32)"}
    for hole, shape in shapes.items():
        text = text.replace(hole, shape)
    assert type_of(text) == "(Tensor[(2), int32], Tensor[(3, 4), int32])"


@pytest.mark.rule("RELAY-REL-3", rejects=True)
def test_the_call_that_breaks_a_relation_is_named() -> None:
    text = (
        "let %f = fn(%x, %y) where Broadcast { add(%x, %y) };\n"
        "%f(Constant(1, (2,), int32), Constant(1, (2,), int32));\n"
        "%f(Constant(1, (2,), int32), Constant(1, (3,), int32))"
    )
    span = error_of(lambda: type_of(text)).diagnostics[0].span
    assert span is not None
    assert span.line == 3


@pytest.mark.rule("RELAY-LET-1")
def test_a_let_built_in_python() -> None:
    body = read("free_var %x: int32; add(%x, %x)")
    assert isinstance(Let(body.args[0], read("1"), body), Let)
    assert run("let %x = 1; add(%x, %x)") == 2
