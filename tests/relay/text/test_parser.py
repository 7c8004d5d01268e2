"""What the reader accepts and refuses, with the place and the help it gives."""

from __future__ import annotations

import pytest

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.structural import structural_equal
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, If, Tuple
from baton._src.relay.text.parser import parse_expr
from tests.relay.programs import NAT, error_of, read, read_module, run, type_of

ACCEPTED = [
    ("RELAY-VAR-8", "let %a = 1; (let %a = 2; %a) + %a", 3),
    ("RELAY-VAR-8", "let %a = 1; let %b = { let %a = 2; { %a } }; add({ %a }, %b)", 3),
    ("RELAY-TEXT-2", "1 /* a /* b */ c */ + 2 // x", 3),
    ("RELAY-TEXT-4", "10 - 4 - 3", 3),
    ("RELAY-TEXT-4", "1 + 2 * 3 == 7 && True", True),
    ("RELAY-TEXT-5", "let %r = ref(1); ref_write(%r, 2); 5", 5),
    ("RELAY-TEXT-5", "add(let %a = 2; %a * %a, match ((3, 4)) { (%b, %c) => let %d = %b + %c; %0 = %d * 2; %0 })", 18),
    ("RELAY-IF-3", "1 + if (True) {2} else {3}", 3),
    ("RELAY-TUPLE-4", "(1,)", (1,)),
    ("RELAY-MOD-4", "let %m = 1; let %n = 0; if (%m > 0 && %n == 0) {1} else if (%m == 0) {2} else {3}", 1),
    ("RELAY-GRAPH-10", "let %a = 1; let %b = 2; %1 = %a + %b; let %x = %1 * %1; %x + %1", 12),
    ("RELAY-LET-6", "let %x = 1; let %x = 2; %x", 2),
    ("RELAY-CLOSURE-1", "let %a = 5; let %f = fn() { %a }; let %a = 6; %f()", 5),
    ("RELAY-CALL-7", "add(1, 2)", 3),
    ("RELAY-OP-4", "let %f = add; %f(1, 2)", 3),
    ("RELAY-CONST-3", "sum(Constant(1, (10, 10), float32))", 100.0),
    ("RELAY-FN-5", "let %t = fn(%f, %x) { %f(%f(%x)) }; %t(fn(%y: Tensor[(), int32]) { %y + %y }, 3)", 12),
    (
        "RELAY-FN-8",
        "let %f = fn(%n: Tensor[(), int32]) -> Tensor[(), int32] { if (%n == 0) {0} else {%f(%n - 1)} }; %f(3)",
        0,
    ),
]


@pytest.mark.parametrize(("text", "value"), [pytest.param(t, v, marks=pytest.mark.rule(r)) for r, t, v in ACCEPTED])
def test_accepted(text: str, value: object) -> None:
    assert run(text) == value


REFUSED = [
    ("RELAY-VAR-1", "foo", "no operator or constructor foo"),
    ("RELAY-VAR-9", "%x + 1", "%x is not bound"),
    ("RELAY-FN-1", "fn { () }", "'('"),
    ("RELAY-FN-1", "fn() ()", "'{'"),
    ("RELAY-FN-2", "fn(%x, %x) { %x }", "two parameters"),
    ("RELAY-FN-8", "let %x = %x + 1; %x", "%x is not bound"),
    ("RELAY-FN-9", "fn(float32 %x) { %x }", "parameter"),
    ("RELAY-POLY-5", "fn<t : Knd>(%x : t) { %x }", "Knd is not a kind"),
    ("RELAY-POLY-6", "fn(%x : t) { %x }", "no type t"),
    ("RELAY-POLY-5", "fn<t : Type, t : Type>(%x : t) { %x }", "t is declared twice"),
    ("RELAY-REL-5", "fn(%x, %y) where NoSuchRelation { %x }", "no relation NoSuchRelation"),
    ("RELAY-OP-8", "1 + ", "expression"),
    ("RELAY-MOD-4", "if (True) {1}", "'else'"),
    ("RELAY-CONST-3", "Constant(1, (10, 10))", "','"),
    ("RELAY-CONST-3", "Constant(300, (2,), int8)", "300 does not fit int8"),
    ("RELAY-CONST-3", "Constant(-1, (2,), uint8)", "-1 does not fit uint8"),
    ("RELAY-CONST-3", "Constant(1.5, (2,), int8)", "1.5 does not fit int8"),
    ("RELAY-CONST-3", "fn<bt : BaseType>(%x: Tensor[(2), bt]) { Constant(0, (2,), bt) }", "bt stands for any"),
    ("RELAY-TUPLE-3", "let %t = (1, 2); %t.%i", "index of a projection"),
    ("RELAY-TUPLE-3", "let %t = (1, 2); %t.-1", "index of a projection"),
    ("RELAY-LET-1", "let %x = 1;", "body of let"),
    ("RELAY-LET-5", "let %y = %y; %y", "%y is not bound"),
    ("RELAY-LET-6", "let %x = 1; %x = 2", "cannot be assigned"),
    ("RELAY-GRAPH-1", "%2 = %1 + %1\n%2", "%1 is not defined"),
    ("RELAY-GRAPH-4", "let %f = fn(%y: int32) {\n %1 = %y + 1\n %1 };\n %1", "%y, which is out of scope"),
    ("RELAY-TEXT-2", "1 /* never closed", "never closed"),
    ("RELAY-TEXT-3", "1q", "not a number"),
    ("RELAY-TEXT-6", "nn.softmax(Constant(1, (2), float32), axes=1)", "did you mean axis"),
    ("RELAY-TEXT-8", "fn(Primitive=1, %x) { %x }", "parameters come before"),
    ("RELAY-TEXT-8", "fn(%x, Primitive=1, Primitive=0) { %x }", "Primitive is given twice"),
    ("RELAY-TEXT-6", "nn.softmax(Constant(1, (2), float32), axis=0, axis=1)", "axis is given twice"),
    ("RELAY-TEXT-6", "fn(%x, %w) { nn.conv2d(%x, %w, groups=1.5) }", "groups must be int, got 1.5"),
    ("RELAY-TEXT-12", "addd(1, 2)", "did you mean add"),
    ("RELAY-TEXT-13", "fn(%x: Tensor[10, float32]) { %x }", "'('"),
    ("RELAY-TEXT-7", 'meta[relay.Constant][5]\n#[metadata]\n{"relay.Constant": []}', "has 0 of them"),
]


@pytest.mark.parametrize(
    ("text", "message"), [pytest.param(t, m, marks=pytest.mark.rule(r, rejects=True)) for r, t, m in REFUSED]
)
def test_refused(text: str, message: str) -> None:
    error = error_of(lambda: read(text))
    assert error.code == "relay-parse"
    assert message in str(error)
    assert error.diagnostics[0].span is not None


REFUSED_MODULES = [
    ("RELAY-VAR-3", "def @f() {1}\ndef @f() {2}", "@f is defined twice"),
    ("RELAY-TEXT-1", '#[version = "9.9"]\ndef @f() {1}', "9.9"),
    ("RELAY-TEXT-9", "def @f( { 1 }", "1:9"),
    ("RELAY-ADT-9", "extern type T { C }", "no constructors"),
    ("RELAY-MATCH-1", "data Nat { Z : () -> Nat  Z : () -> Nat }", "Z is defined twice"),
    ("RELAY-TEXT-12", NAT + "def @f(%v: Nat) { match (%v) { Foo(%x) => %x } }", "no constructor Foo"),
    ("RELAY-MATCH-5", NAT + "def @f(%v: Nat) { match (%v) { case { %v } } }", "pattern"),
    ("RELAY-MATCH-2", NAT + "def @f(%v: Nat) { match (%v) { case Z() { %n } case S(%n) { %n } } }", "%n is not bound"),
]


@pytest.mark.parametrize(
    ("text", "message"), [pytest.param(t, m, marks=pytest.mark.rule(r, rejects=True)) for r, t, m in REFUSED_MODULES]
)
def test_refused_modules(text: str, message: str) -> None:
    assert message in str(error_of(lambda: read_module(text)))


def test_a_match_without_clauses_covers_a_type_without_values_only() -> None:
    error = error_of(lambda: read_module(NAT + "def @f(%v: Nat) -> int32 { match (%v) { } }"))
    assert "does not cover Nat" in str(error)
    read_module("extern type Nothing def @f(%v: Nothing) -> int32 { match (%v) { } }")


def test_what_cannot_be_typed_has_no_types() -> None:
    """Not even the parts that can: their holder would look typed."""
    text = "%x + nn.dense(%x, %x)"
    found = parse_expr(f"fn(%x: Tensor[(2, 3), float32]) {{ {text} }}", CATALOGUE, may_be_ill_typed=True)
    assert not [node for node in walk(found) if not isinstance(node, Op) and node.checked_type_ is not None]


@pytest.mark.rule("RELAY-TEXT-1")
def test_dims_of_numbers_are_calculated() -> None:
    """Guards printing: a difference of numbers was kept, and printed as what no reader knows."""
    program = read_module("def @main(%x: Tensor[(5 - 1, 2 * 3 + 1), float32]) { %x }")
    assert "Tensor[(4, 7), float32]" in str(program)
    assert "the dim -4 is negative" in str(error_of(lambda: read("fn (%x: Tensor[(1 - 5, 3), float32]) { %x }")))


def test_definitions_may_share_a_line() -> None:
    """Data types had to begin one; what followed an extern type on its line was passed over."""
    module = read_module(
        "type A { C } data B { D : () -> B } extern type E extern type F def @main() { 1 } type G { H }"
    )
    assert [t.name_hint for t in module.get_global_type_vars()] == ["A", "B", "E", "F", "G"]
    assert "main" in module


@pytest.mark.rule("RELAY-TEXT-9")
def test_several_faults_are_reported_with_their_places() -> None:
    error = error_of(lambda: read_module("def @f() { 1 + }\ndef @g(%x: int32) {\n  %x + %y\n}\ndef @h( {1}"))
    assert [(d.span.line, d.span.column) for d in error.diagnostics if d.span] == [(1, 16), (3, 8), (5, 9)]
    assert "^" in str(error)


@pytest.mark.rule("RELAY-TEXT-1")
def test_the_header_is_optional() -> None:
    text = "def @f(%x: int32) -> int32 { %x }"
    assert structural_equal(read_module(text), read_module('#[version = "0.0.5"]\n' + text))


@pytest.mark.rule("RELAY-ADT-9")
@pytest.mark.rule("RELAY-MATCH-5")
def test_both_notations_are_one() -> None:
    old = NAT + "def @f(%v: Nat[]) -> Nat[] { match(%v) { case Z() { Z() } case S(%n) { %n } } }"
    new = "type Nat { Z, S(Nat) }\ndef @f(%v: Nat) -> Nat { match (%v) { Z => Z, S(%n) => %n, } }"
    assert structural_equal(read_module(old), read_module(new))


@pytest.mark.rule("RELAY-POLY-5")
def test_both_notations_of_type_parameters_are_one() -> None:
    one = read_module("def @id<t : Type>(%x : t) -> t { %x }")
    assert structural_equal(one, read_module("def @id[t](%x : t) -> t { %x }"))


@pytest.mark.rule("RELAY-TEXT-3")
@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("1.5f", "float32"),
        ("1f64", "float64"),
        ("2i64", "int64"),
        ("3i8", "int8"),
        ("3000000000", "int64"),
        ("4", "int32"),
    ],
)
def test_suffixes(text: str, dtype: str) -> None:
    assert type_of(text) == dtype


@pytest.mark.rule("RELAY-VAR-1")
@pytest.mark.rule("RELAY-OP-7")
@pytest.mark.rule("RELAY-MOD-6")
def test_callees_are_names() -> None:
    module = read_module("def @f(%x: int32) { %x }")
    call = read("@f(1)", module)
    assert isinstance(call.op, GlobalVar)
    assert call.op is module.get_global_var("f")
    added = read("1 + 2")
    assert isinstance(added, Call)
    assert added.op is CATALOGUE.relay("add")


@pytest.mark.rule("RELAY-MOD-4")
def test_else_if_is_a_nested_if() -> None:
    found = read("if (1 > 0 && 2 == 2) {1} else if (1 == 0) {2} else {3}")
    assert isinstance(found.false_branch, If)
    assert found.cond.op.name == "logical_and"


@pytest.mark.rule("RELAY-TUPLE-4")
def test_parentheses() -> None:
    assert isinstance(read("(1,)"), Tuple)
    assert type_of("()") == "()"
    assert type_of("(1)") == "int32"


@pytest.mark.parametrize("text", ["(" * 3000 + "1" + ")" * 3000, "if (True) {" * 2000 + "1" + "} else {2}" * 2000])
def test_deep_nesting(text: str) -> None:
    """Thousands of levels do not exhaust Python's stack."""
    assert run(text) == 1


def test_types_are_bounded() -> None:
    assert error_of(lambda: read("fn() {" * 2000 + "1" + "}" * 2000)).code == "relay-type-depth"


def test_nesting_is_bounded() -> None:
    assert "nested more than" in str(error_of(lambda: read("(" * 30_000 + "1" + ")" * 30_000)))


@pytest.mark.parametrize(
    "text", ["", "\x00", '"', "#[", "%", "def", "def @f", "@", "1 2", "(,)", "fn", "meta", "%1 =", "let"]
)
def test_rubbish_is_refused_politely(text: str) -> None:
    assert error_of(lambda: read(text)).code == "relay-parse"


def test_a_number_of_a_graph_stands_for_one_value_in_a_block() -> None:
    """The second took the place of the first; blocks of their own may count anew."""
    assert "%0 is defined twice" in str(error_of(lambda: run("%0 = 1 + 2; %0 = %0 + 3; %0")))
    assert run("%0 = 1 + 2; %1 = if (True) { %0 = 5; %0 } else { %0 = 6; %0 }; %1") == 5
