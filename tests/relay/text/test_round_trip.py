"""What prints reads back to the same program; both take linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from baton._src.driver.tvm_names.target.targets import VirtualDevice
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.ir.types import Constructor, GlobalTypeVar, TypeCall, TypeData, TypeVar
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Call, Constant, Function, Let, Var, var
from baton._src.relay.text.parser import parse
from baton._src.relay.text.printer import astext
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.device import Device
from baton._src.values.dtype import DataType
from baton._src.values.tensor import array
from tests.relay.programs import NAT, read, read_module
from tests.relay.rare_expressions import op as call
from tests.relay.strategies import modules


@pytest.mark.rule("RELAY-TEXT-10")
@given(modules())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_generated_programs(module: IRModule) -> None:
    """Untyped as made, and typed."""
    assert_structural_equal(module, parse(astext(module), CATALOGUE))
    typed = infer_type(module)
    assert_structural_equal(typed, parse(astext(typed), CATALOGUE))


@pytest.mark.rule("RELAY-TEXT-10")
@pytest.mark.parametrize(
    "text",
    [
        NAT + "def @f(%v: Nat) -> Nat[] { match (%v) { Z => Z(), S(S(%n)) => %n, _ => %v } }",
        "def @f<s : Shape, bt : BaseType>(%x : Tensor[s, bt]) { %x }",
        "def @f(%x, %y) where Broadcast, Identity { add(%x, %y) }",
        'def @f(%x: Tensor[(?, n, 3), float32], Primitive=1, hash="ab") { exp(%x) }',
        "def @f() { let %r = ref((1, (2f, ()), (3i64,))); ref_write(%r, (4, (5f, ()), (6i64,))); ref_read(%r).1.0 }",
        "extern type Storage\ndef @f(%s: Storage) { %s }",
        "def @f(%g: fn<a : Type>(a) -> a) { (%g<int32>(1), %g(True), inff, -2.5f16, 255u8) }",
        "def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
        "def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }",
    ],
)
def test_every_construct(text: str) -> None:
    module = read_module(text)
    assert_structural_equal(module, parse(astext(module), CATALOGUE))


@pytest.mark.rule("RELAY-TEXT-10")
@pytest.mark.parametrize("said", ['a"b', "a\\b", "two\nlines", "end\n", "\\", '"', "é\t\x01", "// no", "/* no", ""])
def test_strings_and_odd_names(said: str) -> None:
    """Quotes were printed as apostrophes; names that differ in signs only (f-1, f_1) became one function."""
    x = var("x", shape=(2,), dtype="float32")
    functions = {
        GlobalVar(name): Function([x], x, attrs={"said": said}) for name in ("f-1" + said, "f_1", "f" + said, "1", said)
    }
    module = IRModule(functions)
    assert_structural_equal(module, parse(astext(module), CATALOGUE))


@pytest.mark.rule("RELAY-TEXT-2")
@pytest.mark.parametrize("string", [r'"a\q"', r'"\u12"'])
def test_escapes_that_mean_nothing_are_errors(string: str) -> None:
    with pytest.raises(DiagnosticError, match="unknown escape sequence"):
        parse(f"def @f(%x, said={string}) {{ %x }}", CATALOGUE)


@pytest.mark.rule("RELAY-TEXT-10")
@pytest.mark.rule("RELAY-GRAPH-4")
def test_what_a_block_names_is_read_after_it() -> None:
    """%0 is computed in a branch, which prints first, and below: names stood before they were given."""
    module = read_module(
        """def @main(%x: float32, %c: bool) -> float32 {
          %0 = (fn (%a: float32) -> float32 { %a + %x }, %x);
          %1 = if (%c) { %0.0 } else { fn (%a: float32) -> float32 { %a * %0.1 } };
          %1(%0.1) }"""
    )
    assert_structural_equal(module, parse(astext(module), CATALOGUE))


def test_what_a_block_within_a_block_names_is_read_after_both() -> None:
    """`%1` is first read, and so written, inside `%2`, which has to come before what `%3` reads first."""
    text = """
def @main(%x: float32) {
  %1 = (let %u = 1f; %0 = exp(%x); %0 - %0 * %u);
  %2 = (let %w = %1; tanh(%w));
  %3 = (let %v = %0 + 2f; %v + %2);
  (%1, %2, %3)
}"""
    module = infer_type(read_module(text))
    assert_structural_equal(module, infer_type(parse(astext(module), CATALOGUE)))


@pytest.mark.rule("RELAY-TEXT-11")
@pytest.mark.rule("RELAY-TEXT-7")
def test_constants_print_inline_or_as_metadata() -> None:
    assert astext(Constant(array(np.float32(1)))) == '#[version = "0.0.5"]\n1f'
    big = Constant(array(np.arange(6, dtype="float32").reshape(2, 3)))
    text = astext(big)
    assert text.startswith('#[version = "0.0.5"]\nmeta[relay.Constant][0]\n#[metadata]')
    assert "#[metadata]" not in astext(big, show_meta_data=False)
    assert_structural_equal(big, read(text))
    assert "ty=int32" in astext(read("1 + 2"))


@pytest.mark.rule("RELAY-GRAPH-8")
@pytest.mark.rule("RELAY-OP-6")
def test_a_graph_prints_one_call_a_line() -> None:
    a, b = var("a", shape=()), var("b", shape=())
    add, multiply = CATALOGUE.relay("add"), CATALOGUE.relay("multiply")
    first = Call(add, (a, b))
    second = Call(add, (first, first))
    lines = astext(Function([a, b], Call(multiply, (second, second)))).split("\n")
    assert [line.strip() for line in lines[2:5]] == ["%0 = add(%a, %b);", "%1 = add(%0, %0);", "multiply(%1, %1)"]


def _graph(count: int) -> IRModule:
    x = var("x", shape=(2,))
    expr: object = x
    for _ in range(count):
        expr = Call(CATALOGUE.relay("add"), (expr, expr))
    return IRModule({"main": Function([x], expr)})


def _lets(count: int) -> IRModule:
    x = var("x", shape=(2,))
    names = [x, *(Var(f"v{i}") for i in range(count))]
    body: object = names[-1]
    for i in range(count, 0, -1):
        body = Let(names[i], Call(CATALOGUE.relay("add"), (names[i - 1], names[i - 1])), body)
    return IRModule({"main": Function([x], body)})


LONGEST = [pytest.param(make, 100_000, marks=pytest.mark.fuzz) for make in (_graph, _lets)]
"""Ten seconds each: `make fuzz` runs them, `make test` a fifth of their length."""


@pytest.mark.parametrize(("make", "length"), [(_graph, 20_000), (_lets, 20_000), *LONGEST])
def test_long_programs(make: Callable[[int], IRModule], length: int) -> None:
    """A depth far beyond Python's stack, in time that grows with the length only."""
    module = make(length)
    start = time.process_time()
    text = astext(module)
    assert_structural_equal(module, parse(text, CATALOGUE))
    assert time.process_time() - start < 30


@pytest.mark.rule("RELAY-TEXT-7")
@pytest.mark.parametrize(("number", "dtype"), [(float("nan"), "float32"), (1.5, "bfloat16"), (2, "float16")])
def test_scalars_of_the_metadata_stay_scalars(number: float, dtype: str) -> None:
    """Those that the text has no literal for came back as vectors of one element."""
    module = infer_type(IRModule({"main": Function([], Constant(array(np.asarray(number, DataType(dtype).numpy))))}))
    assert_structural_equal(module, parse(astext(module), CATALOGUE))


def quantized(x: Var) -> Call:
    """The zero point is int32 beside float32; it was read as 3f."""
    return call("qnn.quantize", x, Constant(array(np.float32(0.5))), Constant(array(np.int32(3))))


def chosen_by_numbers(x: Var) -> Call:
    """The branches do not have the condition's dtype."""
    return Call(CATALOGUE.relay("where"), [x, Constant(array(np.int32(1))), Constant(array(np.int32(2)))])


def unnamed_twice(x: Var) -> Let:
    """The second one hid the first, which is used behind it."""
    first, second = Var("_"), Var("_")
    return Let(
        first,
        x,
        Let(second, Call(CATALOGUE.relay("negative"), [x]), Call(CATALOGUE.relay("subtract"), [first, second])),
    )


@pytest.mark.rule("RELAY-TEXT-10")
@pytest.mark.parametrize(
    "make",
    [
        quantized,
        chosen_by_numbers,
        unnamed_twice,
        lambda x: call("on_device", x, virtual_device=Device(1, 0), constrain_result=True),
        lambda x: call("on_device", x, virtual_device=VirtualDevice(Device(2, 1))),
    ],
    ids=["quantized", "chosen by numbers", "unnamed twice", "device", "virtual device"],
)
def test_built_programs(make: Callable[[Var], Any]) -> None:
    """Guards what a text cannot say in words of its own: dtypes of literals, names that two variables have, devices."""
    x = var("x", shape=(2,))
    module = infer_type(IRModule.from_expr(Function([x], make(x))))
    assert_structural_equal(module, parse(astext(module), CATALOGUE))


@pytest.mark.rule("RELAY-TEXT-10")
def test_parameters_say_where_tvm_placed_them() -> None:
    """Guards texts of modules that TVM's PlanDevices has seen."""
    assert_structural_equal(
        read('fn (%x {virtual_device="cpu"}: float32, %y) { %x + %y }'), read("fn (%x: float32, %y) { %x + %y }")
    )
    with pytest.raises(DiagnosticError, match="expected virtual_device"):
        read("fn (%x {device=1}) { %x }")
    placed = 'def @main(%x {virtual_device="cpu"}: float32) { @f(%x) } def @f(%y: float32) { %y }'
    assert_structural_equal(parse(placed, CATALOGUE), parse(placed.replace(' {virtual_device="cpu"}', ""), CATALOGUE))


def test_attributes_of_functions_may_be_dicts() -> None:
    """They were text after the round trip; the braces are no body of the function."""
    made = parse(
        'def @main(%x: float32, m={"a": 1, 3: (2, 0.5f), "e": {}}) { @f(%x) } def @f(%y: float32) { %y }', CATALOGUE
    )
    main = made["main"]
    assert main.attrs["m"] == {"a": 1, 3: (2, 0.5), "e": {}}
    assert_structural_equal(parse(astext(made), CATALOGUE), made)
    for text in ('m={"a" 1}', 'm={"a": 1', "m={[{}]: 1}"):
        with pytest.raises(DiagnosticError, match=r"after the key|after the values|a key is"):
            parse(f"def @main(%x: float32, {text}) {{ %x }}", CATALOGUE)


@pytest.mark.parametrize("name", ["int32", "bool", "List", "fn"])
def test_type_variables_named_as_types_are(name: str) -> None:
    """The parameter hid the type: `Tensor[(2), int32]` was read as a tensor of the parameter."""
    given, listed = TypeVar(name), TypeVar("A")
    header = GlobalTypeVar("List")
    nil = Constructor("Nil", (), header)
    x, y = Var("x", given), Var("y", TypeCall(header, (given,)))
    z = var("z", shape=(2,), dtype="int32")
    function = Function([x, y, z], Call(CATALOGUE.relay("add"), [z, z]), None, [given])
    module = infer_type(IRModule({GlobalVar("f"): function}, {header: TypeData(header, (listed,), [nil])}))
    assert_structural_equal(parse(astext(module), CATALOGUE), module)


def test_constants_among_the_attributes_of_functions() -> None:
    x, held = var("x", shape=(2,)), Constant(array(np.ones(3, "f")))
    module = infer_type(IRModule({GlobalVar("f"): Function([x], x, attrs={"held": held})}))
    assert_structural_equal(parse(astext(module), CATALOGUE), module)


@pytest.mark.rule("RELAY-TEXT-10")
def test_attributes_of_modules() -> None:
    """They were not printed, so what a text was read back as lost them."""
    made = parse(
        'attributes {\n  "a b" = 1,\n  "c" = {"d": ("e", 2f, None)}\n}\n'
        "data T { C : () -> T }\ndef @main() { (C(), meta[relay.Constant][0]) }",
        CATALOGUE,
        metadata={"relay.Constant": [Constant(array(np.ones(2, "f")))]},
    )
    assert made.attrs == {"a b": 1, "c": {"d": ("e", 2.0, None)}}
    made = made.with_attr("held", Constant(array(np.arange(3, dtype="f"))))
    assert_structural_equal(parse(astext(made), CATALOGUE), made)
    assert_structural_equal(parse('attributes {"a" = 1}', CATALOGUE), IRModule(attrs={"a": 1}))
    for text in ('{"a" 1}', "{a = 1}", '{"a" = 1', '{"a" = 1, "a" = 2}'):
        with pytest.raises(DiagnosticError, match=r"name of an attribute|names an attribute|attributes of a|twice"):
            parse(f"attributes {text}\ndef @main() {{ 1 }}", CATALOGUE)
