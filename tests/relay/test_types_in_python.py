"""Algebraic data types and values of types that are built in Python, without the text format."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.relay.prelude import Prelude


def shapes() -> tuple[baton.IRModule, tuple[relay.Constructor, ...]]:
    """type Shape { Circle(int32), Point, Square(int32) }, and @size by match"""
    module = baton.IRModule()
    name = relay.GlobalTypeVar("Shape")
    number = relay.scalar_type("int32")
    circle, point, square = (
        relay.Constructor(c, [number] * n, name) for c, n in (("Circle", 1), ("Point", 0), ("Square", 1))
    )
    module[name] = relay.TypeData(name, [], [circle, point, square])
    value, radius, side = relay.Var("v", name()), relay.Var("r"), relay.Var("s")
    clauses = [
        relay.Clause(relay.PatternConstructor(circle, [relay.PatternVar(radius)]), radius),
        relay.Clause(relay.PatternConstructor(point, []), relay.const(7)),
        relay.Clause(relay.PatternConstructor(square, [relay.PatternVar(side)]), relay.add(side, relay.const(100))),
    ]
    module["size"] = relay.Function([value], relay.Match(value, clauses))
    return module, (circle, point, square)


@pytest.mark.rule("RELAY-ADT-5")
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_constructors_are_told_apart(kind: str) -> None:
    """Nobody numbered these: matching took each for any other."""
    module, (circle, point, square) = shapes()
    size = module.get_global_var("size")
    values = [circle(relay.const(1)), point(), square(relay.const(3))]
    module["main"] = relay.Function([], relay.Tuple([relay.Call(size, [v]) for v in values]))
    assert [int(n.numpy()) for n in relay.create_executor(kind, module).evaluate()()] == [1, 7, 103]


def test_a_tag_belongs_to_one_constructor() -> None:
    module, made = shapes()
    del module.functions[module.get_global_var("size")]  # the Prelude has one, too
    Prelude(module)
    for constructor in (*made, *module.get_type("List")[1:], *module.get_type("Option")[1:]):
        assert module.get_constructor(constructor.tag) is constructor


def test_closed_types_are_saved_by_themselves() -> None:
    inner = relay.TupleType([relay.TensorType((2, relay.Any()), "int8"), relay.scalar_type("bool")])
    for found in (inner, relay.FuncType([inner], relay.TupleType([]))):
        assert baton.ir.structural_equal(baton.ir.load_json(baton.ir.save_json(found)), found)


def test_an_expression_without_a_type_yet() -> None:
    with pytest.raises(ValueError, match="run InferType first"):
        _ = relay.var("x").checked_type


def test_a_call_of_relax_in_relay_is_named() -> None:
    module = baton.IRModule({"f": relay.Function([], relay.const(1))})
    module["main"] = relay.Function([], module.get_global_var("f")())
    with pytest.raises(baton.error.DiagnosticError, match=r"Relay's is relay.Call\(f, \[\]\)"):
        relay.transform.InferType()(module)


def test_attributes_describe_themselves() -> None:
    x = relay.var("x", shape=(1, 3, 8, 8))
    listed = relay.nn.conv2d(x, relay.var("w"), kernel_size=(3, 3), channels=4).attrs.list_field_info()
    assert all(f.description for f in listed)
    assert {"strides", "padding", "groups"} <= {f.name for f in listed}


def test_attributes_of_functions_are_taken_away_again() -> None:
    function = relay.Function([], relay.const(np.float32(1))).with_attr({"a": 1, "b": 2})
    assert dict(function.without_attr("a").attrs) == {"b": 2}


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (relay.Tuple([relay.const(1), relay.const(2)]), "a tuple of 2"),
        (relay.Function([relay.var("y", "int32")], relay.const(1)), "a value of another kind, such as a function"),
    ],
)
def test_what_is_given_in_place_of_a_tensor_is_said_in_words(argument: relay.Expr, said: str) -> None:
    with pytest.raises(baton.error.DiagnosticError, match=f"nn.relu: data must be a tensor, got {said}\n"):
        relay.transform.InferType()(baton.IRModule.from_expr(relay.Call(relay.op.get("nn.relu"), [argument])))


@pytest.mark.parametrize(
    "build",
    [
        lambda x: relay.Function([x], 5),
        lambda x: relay.Let(x, 1.0, x),
        lambda x: relay.If(True, x, x),
        lambda x: relay.Call("add", [x, x]),
        lambda x: relay.Call(relay.op.get("add"), [x, 2]),
        lambda x: relay.Tuple([x, np.ones(3)]),
    ],
)
def test_what_is_no_expression_is_refused_where_it_is_given(build: Callable[[relay.Expr], relay.Expr]) -> None:
    """It was found out by whoever walked the program first, as a `KeyError`."""
    with pytest.raises(DiagnosticError, match=r", of class \w+, is not a Relay expression") as caught:
        build(relay.var("x", shape=(3,)))
    assert caught.value.code == "relay-node"
    assert "relay.const" in str(caught.value)
