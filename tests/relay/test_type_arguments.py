"""What inference chooses for the type parameters of callees can be read at the calls: `Call.type_args`."""

from __future__ import annotations

import pytest

import baton
from baton import relay
from baton.relay.prelude import Prelude


def with_identity(main: relay.Function) -> baton.IRModule:
    """`main` next to `def @id[T](%v: T) -> T { %v }`, its types inferred."""
    t = relay.TypeVar("T")
    v = relay.var("v", t)
    module = baton.IRModule({"id": relay.Function([v], v, t, [t]), "main": main})
    return relay.transform.InferType()(module)


@pytest.mark.rule("RELAY-CALL-4")
def test_types_that_were_inferred() -> None:
    x = relay.var("x", shape=(2,))
    call = with_identity(relay.Function([x], relay.GlobalVar("id")(relay.add(x, x))))["main"].body
    assert [str(t) for t in call.type_args] == ["Tensor[(2), float32]"]
    assert [t.concrete_shape for t in call.args[0].type_args] == [(2,), (2,)], "an operator's are its arguments'"


@pytest.mark.rule("RELAY-CALL-4")
def test_types_of_constructors() -> None:
    module = Prelude(baton.IRModule()).mod
    _, cons, nil = module.get_type("List")
    module["main"] = relay.Function([], cons(relay.const(1), nil()))
    found = relay.transform.InferType()(module)["main"].body
    assert [[str(t) for t in call.type_args] for call in (found, found.args[1])] == [["int32"], ["int32"]]


def test_inferred_types_are_neither_printed_nor_imposed_on_copies() -> None:
    x = relay.var("x", shape=(2,))
    module = with_identity(relay.Function([x], relay.GlobalVar("id")(x)))
    assert "@id(%x)" in str(module)
    assert baton.ir.structural_equal(relay.fromtext(module.astext()), module)
    call = module["main"].body
    other = relay.Call(call.op, [relay.const(1)], call.attrs, call.type_args, call.span)
    assert str(with_identity(relay.Function([], other))["main"].ret_type) == "int32"


def test_written_types_stay_and_hold() -> None:
    call = relay.Call(relay.GlobalVar("id"), [relay.const(1)], None, [relay.scalar_type("int32")])
    assert [str(t) for t in call.type_args] == ["int32"]
    assert "@id<int32>(1" in str(with_identity(relay.Function([], call)))
    wrong = relay.Call(relay.GlobalVar("id"), [relay.const(1)], None, [relay.scalar_type("float32")])
    with pytest.raises(baton.error.DiagnosticError, match="the call of @id"):
        with_identity(relay.Function([], wrong))
