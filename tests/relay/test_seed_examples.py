"""Every code block of seeds 003 and 004 that is Relay text: it reads, types, and gives the value its text states."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from baton._src.ir.structural import structural_equal
from baton._src.ir.types import TensorType
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call, Let, Var, var
from baton._src.relay.text.parser import parse, parse_expr
from tests.relay.programs import NAT, error_of, full, plain, read, read_module, run, type_of

LOCALS = """
    let %a = 1;
    let %b = 2 * %a;  // %b = 2
    let %a = %a + %a; // %a = 2. %a is shadowed
    %a + %b           // has value 2 + 2 = 4
"""
ADD = "fn(%x, %y) { add(%x, %y) }"
ANNOTATED = """
    fn(%x : Tensor[(10, 10), float32], %y : Tensor[(10, 10), float32])
               -> Tensor[(10, 10), float32] {
        add(%x, %y)
    }
"""
FACTORIAL = """
    let %fact = fn(%x : Tensor[(10, 10), float32]) -> Tensor[(10, 10), float32] {
        if (%x == Constant(0, (10, 10), float32)) {
            Constant(1, (10, 10), float32)
        } else {
            %x * %fact(%x - Constant(1, (10, 10), float32))
        }
    };
    %fact(Constant(10, (10, 10), float32))
"""
CLOSURE = """
    let %g = fn() {
      let %x = Constant(0, (10, 10), float32);
      // %x is a free variable in the below function
      fn(%y) { %y * %x }
    };
    // the %x in %g's body is not in scope anymore
    // %f is a closure where %x maps to Constant(0, (10, 10), float32)
    let %f = %g();
    let %x = Constant(1, (10, 10), float32);
    %f(%x) // evaluates to Constant(0, (10, 10), float32)
"""
IDENTITY = """
    fn<t : Type>(%x : t) -> t {
        %x
    }
"""
SHAPES = """
    fn<s : Shape, bt : BaseType>(%x : Tensor[s, bt]) {
        %x
    }
"""
WHERE = "fn(%x, %y) where Broadcast { add(%x, %y) }"
CALL = """
   let %c = 1;
   let %f = fn(%x : Tensor[(), float32], %y : Tensor[(), float32]) { %x + %y + %c };
   %f(10, 11)
"""
TYPE_ARGS = """
    free_var %f : fn<a : Type, b : Type, c : Type>(a, b) -> c
    let %x1 = %f<Tensor[(), bool], Tensor[(), bool], Tensor[(), bool]>(True, False);
    // %x1 is of type Tensor[(), bool]
    let %x2 : () = %f(%x1, %x1)
    // the type arguments in the second call are inferred to be <Tensor[(), bool], Tensor[(), bool], ()>
    ; %x2
"""
ANNOTATED_CALL = """
   let %x : Tensor[(100, 100, 100), float32] = %f(%a, %b);
   %x
"""
ACKERMANN = """
   def @ackermann(%m : Tensor[(), int32], %n : Tensor[(), int32]) -> Tensor[(), int32] {
       if (%m == 0) {
           %n + 1
       } else if (%m > 0 && %n == 0) {
           @ackermann(%m - 1, 1)
       } else {
           @ackermann(%m - 1, @ackermann(%m, %n - 1))
       }
   }
"""
TUPLES = """
   fn(%a : Tensor[(10, 10), float32], %b : float32, %c : Tensor[(100, 100), float32]) {
       let %tup = (%a, %b);     // type: (Tensor[(10, 10), float32], float32)
       ((%tup.0 + %tup.1), %c)  // type: (Tensor[(10, 10), float32], Tensor[(100, 100), float32])
   }
"""
LET = """
   let %x : Tensor[(10, 10), float32] = Constant(1, (10, 10), float32);
   %x + %x
"""
LETS = """
   let %x = %a + %b;
   let %y = %c + %d;
   %x * %y
"""
GRAPH = """
   %1 = %a + %b
   %2 = %1 + %1
   %2 * %2
"""
IF = """
    if (%t == %u) {
        %t
    } else {
        %u
    }
"""
PREDECESSOR = """
   fn(%v: Nat[]) -> Nat[] {
     match(%v) {
       case Z() { Z() }
       case S(%n) { %n } # the variable %n is bound in the scope of this clause
     }
   }
"""
MINUS_TWO = """
   fn(%v : Nat[]) -> Nat[] {
     match(%v) {
        case S(S(%n)) { %n }
        # wildcard pattern: matches all cases not matched already
        case _ { %v }
     }
   }
"""
UNREACHABLE = """
   fn(%v : Nat[]) -> Nat[] {
     match(%v) {
       case _ { %v }
       case S(S(%n)) { S(%n) }
       case S(%n) { %n }
       case Z() { S(Z()) }
     }
   }
"""
SCOPES = """
fn (%x) {
  %1 = log(%x)
  %2 = fn(%y) {
    add(%y, %1)
  }
  %2
}
"""


def scalars(*names: str, dtype: str = "float32") -> dict[str, Var]:
    return {name: var(name, shape=(), dtype=dtype) for name in names}


def evaluate(text: str, variables: dict[str, Var], **values: Any) -> Any:
    expr = parse_expr(text, CATALOGUE, variables=variables)
    return plain(Interpreter().evaluate(expr, {variables[k]: v for k, v in values.items()}))


@pytest.mark.rule("RELAY-VAR-5")
@pytest.mark.rule("RELAY-VAR-6")
def test_shadowing() -> None:
    assert run(LOCALS) == 4
    assert type_of(LOCALS) == "int32"
    outer = read(LOCALS)
    inner = outer.body.body
    assert outer.var.name_hint == inner.var.name_hint == "a"
    assert outer.var is not inner.var


@pytest.mark.rule("RELAY-FN-1")
def test_an_empty_parameter_list() -> None:
    assert type_of("fn() { () }") == "fn () -> ()"


@pytest.mark.rule("RELAY-FN-2")
def test_parameters_are_locals() -> None:
    assert run(f"({ADD})(2f, 3f)") == 5.0


@pytest.mark.rule("RELAY-FN-3")
def test_annotations() -> None:
    tensor = "Tensor[(10, 10), float32]"
    assert type_of(ANNOTATED) == f"fn ({tensor}, {tensor}) -> {tensor}"


@pytest.mark.rule("RELAY-FN-7")
def test_recursion_through_a_let() -> None:
    assert run(FACTORIAL) == full(3628800, (10, 10))


@pytest.mark.rule("RELAY-CLOSURE-2")
def test_a_closure_keeps_its_environment() -> None:
    assert type_of(CLOSURE) == "Tensor[(10, 10), float32]"
    assert run(CLOSURE) == full(0, (10, 10))


@pytest.mark.rule("RELAY-POLY-1")
def test_a_polymorphic_identity() -> None:
    assert run(f"({IDENTITY})((1, True))") == (1, True)
    assert run(f"({IDENTITY})(2f)") == 2.0


@pytest.mark.rule("RELAY-POLY-2")
def test_shape_and_base_type_parameters() -> None:
    assert type_of(SHAPES) == "fn <s : Shape, bt : BaseType>(Tensor[s, bt]) -> Tensor[s, bt]"
    assert type_of(f"({SHAPES})(Constant(1, (2, 3), int8))") == "Tensor[(2, 3), int8]"


@pytest.mark.rule("RELAY-POLY-2", rejects=True)
def test_a_shape_parameter_takes_no_tuple() -> None:
    error = error_of(lambda: read(f"({SHAPES})((1, 2))"))
    assert error.code == "relay-type"
    assert "(int32, int32)" in str(error) or "Tensor[s" in str(error) or "?shape" in str(error)


@pytest.mark.rule("RELAY-REL-1")
def test_where() -> None:
    call = f"({WHERE})(Constant(1, (2, 1), float32), Constant(1, (3,), float32))"
    assert type_of(call) == "Tensor[(2, 3), float32]"


@pytest.mark.rule("RELAY-REL-1", rejects=True)
def test_where_is_checked() -> None:
    error = error_of(lambda: read(f"({WHERE})(Constant(1, (2,), float32), Constant(1, (3,), float32))"))
    assert "2" in str(error)
    assert "3" in str(error)


@pytest.mark.rule("RELAY-CALL-1")
def test_open_literals_take_the_dtype_wanted() -> None:
    assert run(CALL) == 22.0
    assert type_of(CALL) == "float32"
    assert read(CALL).value.data.dtype == "float32"


@pytest.mark.rule("RELAY-CALL-4")
def test_type_arguments() -> None:
    assert type_of(TYPE_ARGS) == "()"
    assert read(TYPE_ARGS).var.checked_type.dtype == "bool"


@pytest.mark.rule("RELAY-CALL-4", rejects=True)
def test_a_stray_bracket_is_refused() -> None:
    error = error_of(lambda: read(TYPE_ARGS.replace("Tensor[(), bool]>", "Tensor[(), bool)]>")))
    assert error.code == "relay-parse"


@pytest.mark.rule("RELAY-CALL-6")
@pytest.mark.parametrize(
    ("a", "b"), [((100, 100, 100), (100, 100, 100)), ((100, 1, 100), (100, 100, 1)), ((100, 100, 100), ())]
)
def test_every_typing_a_relation_allows(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    variables = {"a": var("a", shape=a), "b": var("b", shape=b)}
    text = f"let %f = {WHERE}; {ANNOTATED_CALL}"
    expr = parse_expr(text, CATALOGUE, variables=variables)
    assert [d.value for d in expr.checked_type.shape] == [100, 100, 100]


@pytest.mark.rule("RELAY-CALL-6", rejects=True)
def test_the_annotation_has_to_be_met() -> None:
    variables = {name: var(name, shape=(100, 100)) for name in "ab"}
    text = f"let %f = {WHERE}; {ANNOTATED_CALL}"
    error = error_of(lambda: parse_expr(text, CATALOGUE, variables=variables))
    assert "rank" in str(error)


@pytest.mark.rule("RELAY-MOD-3")
def test_ackermann() -> None:
    module = read_module(ACKERMANN)
    for m, n, wanted in ((2, 3, 9), (1, 2, 4), (0, 5, 6)):
        assert run(f"@ackermann({m}, {n})", module=module) == wanted
    assert type_of("@ackermann", module) == "fn (int32, int32) -> int32"


@pytest.mark.rule("RELAY-MOD-3", rejects=True)
def test_ackermann_takes_integers() -> None:
    assert "float32" in str(error_of(lambda: read("@ackermann(1f, 2f)", read_module(ACKERMANN))))


@pytest.mark.rule("RELAY-TUPLE-1")
def test_tuples() -> None:
    function = read(TUPLES)
    kinds = [type(t) for t in function.checked_type.ret_type.fields]
    assert kinds == [TensorType, TensorType]
    assert type_of(TUPLES).endswith("-> (Tensor[(10, 10), float32], Tensor[(100, 100), float32])")


@pytest.mark.rule("RELAY-TUPLE-2")
def test_projection() -> None:
    assert run("(1, 2, 3).1") == 2
    assert evaluate("(%a, %b, %c).1", scalars("a", "b", "c"), a=1.0, b=2.0, c=3.0) == 2.0


@pytest.mark.rule("RELAY-TUPLE-2", rejects=True)
def test_projection_out_of_range() -> None:
    assert "index 3" in str(error_of(lambda: read("(1, 2, 3).3")))


@pytest.mark.rule("RELAY-LET-3")
def test_let() -> None:
    assert run(LET) == full(2, (10, 10))


@pytest.mark.rule("RELAY-LET-4")
def test_independent_lets_may_be_swapped() -> None:
    swapped = "let %y = %c + %d; let %x = %a + %b; %x * %y"
    values = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    for text in (LETS, swapped):
        assert evaluate(text, scalars("a", "b", "c", "d"), **values) == 21.0


@pytest.mark.rule("RELAY-LET-4", rejects=True)
def test_dependent_lets_may_not() -> None:
    assert "%x is not bound" in str(error_of(lambda: read("let %y = %x; let %x = 1; %y")))


@pytest.mark.rule("RELAY-GRAPH-1")
@pytest.mark.rule("RELAY-GRAPH-2")
@pytest.mark.rule("RELAY-GRAPH-5")
def test_graph_bindings() -> None:
    variables = scalars("a", "b")
    assert evaluate(GRAPH, variables, a=1.0, b=2.0) == 36.0
    root = parse_expr(GRAPH, CATALOGUE, variables=variables)
    assert root.args[0] is root.args[1]
    assert not isinstance(root, Let)
    add, multiply = CATALOGUE.relay("add"), CATALOGUE.relay("multiply")
    sum1 = Call(add, (variables["a"], variables["b"]))
    sum2 = Call(add, (sum1, sum1))
    assert structural_equal(root, Call(multiply, (sum2, sum2)), map_free_vars=True)


@pytest.mark.rule("RELAY-IF-1")
def test_if() -> None:
    variables = scalars("t", "u", dtype="int32")
    assert evaluate(IF, variables, t=3, u=3) == 3
    assert evaluate(IF, variables, t=3, u=4) == 4


@pytest.mark.rule("RELAY-MATCH-1")
def test_data() -> None:
    module = read_module(NAT)
    assert type_of("Z", module) == "Nat[]"
    assert type_of("S", module) == "fn (Nat[]) -> Nat[]"


@pytest.mark.rule("RELAY-MATCH-2")
@pytest.mark.rule("RELAY-MATCH-3")
def test_match() -> None:
    module = read_module(NAT)
    assert run(f"({PREDECESSOR})(S(S(Z())))", module=module) == ("S", ("Z",))
    assert run(f"({PREDECESSOR})(Z())", module=module) == ("Z",)
    for given, wanted in (("S(S(S(Z())))", ("S", ("Z",))), ("S(Z())", ("S", ("Z",))), ("Z()", ("Z",))):
        assert run(f"({MINUS_TWO})({given})", module=module) == wanted


@pytest.mark.rule("RELAY-MATCH-4")
def test_the_first_clause_wins() -> None:
    module = read_module(NAT)
    assert run(f"({UNREACHABLE})(S(S(Z())))", module=module) == ("S", ("S", ("Z",)))
    with pytest.warns(UserWarning, match="can never run"):
        parse_expr(UNREACHABLE, CATALOGUE, module=module)


@pytest.mark.rule("RELAY-GRAPH-7")
def test_a_node_shared_with_a_closure() -> None:
    assert run(f"({SCOPES})(2f)(1f)") == pytest.approx(1 + np.log(2))


@pytest.mark.rule("RELAY-ADT-2")
@pytest.mark.rule("RELAY-ADT-3")
def test_constructors_of_a_polymorphic_type() -> None:
    module = read_module("data D<a, b> { C1 : (a, b) -> D[a, b]  C2 : () -> D[a, b] }")
    assert type_of("C1(1, True)", module) == "D[int32, bool]"
    assert type_of("let %d : D[int32, bool] = C2(); %d", module) == "D[int32, bool]"


@pytest.mark.rule("RELAY-ADT-3", rejects=True)
def test_an_undetermined_constructor() -> None:
    module = read_module("data D<a, b> { C1 : (a, b) -> D[a, b]  C2 : () -> D[a, b] }")
    assert error_of(lambda: read("let %d = C2(); ()", module)).code == "relay-infer"


def test_warnings_only_where_text_says_something_odd() -> None:
    """The examples that are not about warnings give none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (LOCALS, ADD, CLOSURE, IDENTITY, SHAPES, WHERE, CALL, LET, SCOPES):
            parse_expr(text, CATALOGUE)
        parse(ACKERMANN, CATALOGUE)
