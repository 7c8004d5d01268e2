"""Sequences in nodes join with lists, as scripts written for TVM have it."""

# ruff: noqa: RUF005 (joining is what is tested)
from __future__ import annotations

import copy
from typing import Any

import pytest

from baton import relax, relay, te, tir
from baton._src.ir.array import Array


def relay_call() -> Any:
    x = relay.var("x", shape=(1, 3, 8, 8))
    return relay.nn.conv2d(x, relay.var("w", shape=(4, 3, 3, 3)), strides=(2, 1))


def relax_call() -> Any:
    x, y = (relax.Var(n, relax.TensorStructInfo((2, 3), "float32")) for n in "xy")
    return relax.op.add(x, y)


@pytest.mark.parametrize("make", [relay_call, relax_call])
def test_arguments_join_with_lists(make: Any) -> None:
    """`[new] + call.args[1:]` was a TypeError."""
    call = make()
    first, second = call.args
    assert [second] + call.args[1:] == [second, second]
    assert call.args + [first] == [first, second, first]
    assert call.args[:1] + [first] == [first, first]
    assert call.args + (first,) == (first, second, first)
    assert (first,) + call.args == (first, first, second)


def test_it_stays_when_nodes_are_rebuilt() -> None:
    call = relax_call()
    other = relax.Var("z", relax.TensorStructInfo((2, 3), "float32"))
    changed = call.with_fields(args=(other, call.args[1]))
    assert [other] + changed.args[1:] == [other, call.args[1]]


def test_attributes_and_sizes() -> None:
    attrs = relay_call().attrs
    assert [1] + attrs.strides[:] == [1, 2, 1]
    assert attrs.padding + [5] == [0, 0, 0, 0, 5]
    shape = relay.var("x", shape=(2, 3)).type_annotation.shape
    assert shape[:1] + [7] == [shape[0], 7]
    tensor = te.placeholder((4, 5), name="t")
    assert te.compute([tensor.shape[1]] + tensor.shape[:1], lambda i, j: tensor[j, i]).shape == (5, 4)
    buffer = tir.decl_buffer((4, 5))
    assert len([tir.IntImm("int32", 1)] + buffer.shape[1:]) == 2


def test_it_is_a_tuple() -> None:
    found = Array([1, 2])
    assert found == (1, 2)
    assert hash(found) == hash((1, 2))
    assert repr(found) == "(1, 2)"
    assert type(copy.copy(found)) is Array
    with pytest.raises(TypeError):
        _ = found + 1
