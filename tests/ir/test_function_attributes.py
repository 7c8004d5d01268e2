"""Attributes of functions are added and taken away alike in all three languages, by TVM's parameters."""

from __future__ import annotations

from typing import Any

import pytest

from baton import relax, relay, tir


def _functions() -> list[Any]:
    x, y = relay.var("x", shape=(2,)), relax.Var("y", relax.TensorStructInfo((2,), "float32"))
    return [relay.Function([x], x), relax.Function([y], relax.SeqExpr([], y)), tir.PrimFunc([], tir.Evaluate(0))]


@pytest.mark.parametrize("function", _functions(), ids=["relay", "relax", "tir"])
def test_attributes_are_added_and_taken_away(function: Any) -> None:
    whole = function.with_attr("a", 1).with_attr({"b": 2}).with_attrs({"c": 3, "d": 4})
    again = function.with_attr(attr_key_or_dict="a", attr_value=1).without_attr(attr_key="a")
    assert [whole.attrs[name] for name in "abcd"] == [1, 2, 3, 4]
    assert dict(again.attrs) == dict(function.attrs) == {}
