"""The printed form is TVM's (v0.19): what is numbered, in which order, and what is said behind it."""

from __future__ import annotations

import pytest

import baton
from baton import relay
from baton.ir import structural_equal


def lines(node: object) -> list[str]:
    return [line.strip() for line in str(node).split("\n")]


def typed(expr: relay.Expr) -> relay.Function:
    return relay.transform.InferType()(baton.IRModule.from_expr(expr))["main"]


def test_types_stand_behind_every_kind_of_value() -> None:
    """Parameters, constants, calls, tuples, functions and bound variables; results and lets get their annotations."""
    x, y = relay.var("x", shape=(2,)), relay.var("y")
    pair = relay.Tuple([relay.Let(y, relay.exp(x), y + relay.const(1.0)), x])
    function = typed(relay.Function([x], relay.TupleGetItem(pair, 0)))
    t = "Tensor[(2), float32]"
    assert lines(function) == [
        f"fn (%x: {t} /* ty={t} */) -> {t} {{",
        "%0 = (",
        f"let %y: {t} /* ty={t} */ = exp(%x) /* ty={t} */;",
        f"add(%y, 1f /* ty=float32 */) /* ty={t} */",
        ");",
        f"%1 = (%0, %x) /* ty=({t}, {t}) */;",
        f"%1.0 /* ty={t} */",
        f"}} /* ty=fn ({t}) -> {t} */",
    ]


def test_branches_and_references_have_no_types_behind_them() -> None:
    module = relay.parse("def @main(%c: bool) { let %r = ref(1); if (%c) { ref_read(%r) } else { 2 } }")
    text = lines(module)
    assert text[1].startswith("let %r: ref(int32) /* ty=ref(int32)")
    assert text[1].endswith("*/);")
    assert text[-3] == "}"
    assert text[-2] == "}"


def test_values_are_numbered_when_they_are_first_read() -> None:
    """Not when they are made: the operand of an operand comes before its neighbour."""
    x = relay.var("x", shape=(2,))
    assert lines(relay.Function([x], relay.exp(x) + relay.tanh(relay.sin(x))))[1:4] == [
        "%0 = sin(%x);",
        "%1 = exp(%x);",
        "%2 = tanh(%0);",
    ]


def test_places_of_what_was_read_from_a_text() -> None:
    """Expressions made in Python have none."""
    text = '#[version = "0.0.5"]\ndef @main(%x: float32) {\n  exp(%x)\n}\n'
    assert "exp(%x) /* ty=float32 span=from_string:3:3 */" in relay.parse(text).astext()
    assert "span" not in str(relay.exp(relay.var("x", shape=())))
    named = relay.Span(relay.SourceName("layer/*1*/"), line=7, end_line=7, column=0, end_column=0)
    assert "span=layer/_*1*_/:7:0 */" in str(relay.var("x", shape=(), span=named))


def test_free_variables_are_declared_where_they_are_first_read() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    expr = relay.exp(x) + y
    assert lines(expr) == [
        "free_var %x: Tensor[(2), float32];",
        "%0 = exp(%x);",
        "free_var %x1: Tensor[(2), float32];",
        "add(%0, %x1)",
    ]
    assert structural_equal(relay.parse_expr(expr.astext()), expr, map_free_vars=True)


def test_modules_are_in_the_order_of_names_and_number_on() -> None:
    """Names of variables are unique in the whole text, as in TVM."""
    x = relay.var("x", shape=())
    module = baton.IRModule({"second": relay.Function([x], relay.exp(relay.exp(x)))})
    z = relay.var("x", shape=())
    module["first"] = relay.Function([z], relay.sin(relay.sin(z)))
    text = lines(module)
    assert text[0] == "def @first(%x: float32) {"
    assert text[1] == "%0 = sin(%x);"
    assert text[5] == "def @second(%x1: float32) {"
    assert text[6] == "%1 = exp(%x1);"


def test_header_and_metadata() -> None:
    """`str` gives the program; `astext` a file: its version, and its constants or a word on them."""
    expr = relay.exp(relay.const([1.0, 2.0]))
    assert str(expr) == "exp(meta[relay.Constant][0])"
    assert expr.astext().startswith('#[version = "0.0.5"]\nexp(meta[relay.Constant][0])\n#[metadata]\n{')
    assert expr.astext(show_meta_data=False).splitlines()[-1].startswith("/* The metadata section")
    assert structural_equal(relay.parse_expr(expr.astext()), expr)


@pytest.mark.parametrize(
    "call",
    [
        "nn.instance_norm(%x, %g, %g, epsilon=1e-06f)",
        "nn.leaky_relu(%x, alpha=0.123456789f)",
        "clip(%x, a_min=-1f, a_max=6.5f)",
    ],
)
def test_floats_of_attributes(call: str) -> None:
    """Written with `f`, read as they stand: not rounded to float32."""
    module = relay.parse(f"def @main(%x: Tensor[(1, 2, 3), float32], %g: Tensor[(2), float32]) {{ {call} }}")
    assert call in module.astext()
    assert structural_equal(relay.parse(module.astext()), module)
    assert getattr(module["main"].body.attrs, "alpha", 0.123456789) == 0.123456789


def test_floats_have_the_exponents_of_tvm_and_all_their_digits() -> None:
    """A number is laid out as C++ does with six digits, more of them only where it needs more to be read back."""
    written = {1e11: "1e+11f", 1e6: "1e+06f", 123456.0: "123456f", 1e-4: "0.0001f", 1e-5: "1e-05f", 0.1: "0.1f"}
    written |= {1 / 3: "0.33333334f", 16777216.0: "16777216f", -1.5: "-1.5f", 1e-40: "1e-40f"}
    for number, text in written.items():
        literal = relay.const(number, "float32")
        assert lines(literal)[-1] == text
        assert relay.parse_expr(text).data.numpy() == literal.data.numpy()
    assert lines(relay.const(0.1, "float16"))[-1] == "0.1f16"
