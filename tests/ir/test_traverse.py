"""Walking and rewriting: order, sharing, identity of what does not change, and depth without the Python stack."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from baton._src.ir.traverse import bound_variables, children, post_order, rewrite, substitute, with_fresh_binders
from baton._src.ir.visitor import Visitor
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.tir import expr as tir
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, For, ForKind
from tests.ir.graphs import ADD, let_chain, relax_function, relay_dag

DEEP = 50_000


def test_children_are_listed_in_field_order_through_tuples_and_dicts() -> None:
    """A call's callee and arguments; a PrimFunc's buffer map with keys and values."""
    x, y = relay.Var("x"), relay.Var("y")
    assert children(relay.Call(ADD, (x, y, x))) == [ADD, x, y, x]
    buffer = decl_buffer((4,), name="A")
    handle = tir.Var("a", "handle")
    body = BufferStore(buffer, tir.literal(1.0), (tir.literal(0),))
    found = children(PrimFunc([handle], body, None, {handle: buffer}))
    assert [id(n) for n in found] == [id(n) for n in (handle, handle, buffer, body)]


def test_post_order_visits_shared_nodes_once_and_children_first() -> None:
    """Linear in nodes where paths are 2**40."""
    function = relay_dag(40, relay.Var("x"))
    order = post_order(function)
    assert len(order) == 40 + 3
    place = {n: i for i, n in enumerate(order)}
    assert all(place[c] < place[n] for n in order for c in children(n))


def test_depth_needs_no_python_stack() -> None:
    """Rewriting a DAG and a let chain far deeper than the recursion limit."""
    x, y = relay.Var("x"), relay.Var("y")
    for function in (relay_dag(DEEP, x), let_chain(DEEP, x)):
        assert rewrite(function, lambda node: None) is function
        renamed = substitute(function, {x: y})
        assert renamed.params == (y,)
        assert x not in set(post_order(renamed))


def test_rewrite_keeps_what_does_not_change() -> None:
    """Only the path from the changed leaf to the root is new."""
    x, y, z = (relay.Var(n) for n in "xyz")
    left, right = relay.Call(ADD, (x, x)), relay.Call(ADD, (y, y))
    root = relay.Call(ADD, (left, right))
    found = rewrite(root, lambda n: z if n is y else None)
    assert found is not root
    assert found.args[0] is left
    assert found.args[1].args == (z, z)


def test_substitute_reaches_shapes_in_annotations() -> None:
    """Replacing a shape variable gives the Relax variables new annotations, the same variable at definition and use."""
    function = relax_function()
    n = function.params[0].struct_info.shape.values[0]
    found = substitute(function, {n: tir.IntImm("int64", 3)})
    (param,) = found.params
    assert param.struct_info.shape.values[0].value == 3
    binding = found.body.blocks[0].bindings[0]
    assert binding.value.args[0] is param
    assert isinstance(binding.var.struct_info, TensorStructInfo)
    assert binding.var.struct_info.shape.values[1].value == 3
    assert found.body.body is binding.var


def test_binders_are_replaced_by_variables_only() -> None:
    """`x -> 3` leaves `fn (x)` in place; `x -> y` renames it."""
    x, y = relay.Var("x"), relay.Var("y")
    function = relay.Function([x], relay.Call(ADD, (x, x)))
    constant = relay.Tuple([])
    assert substitute(function, {x: constant}).params == (x,)
    assert substitute(function, {x: y}).params == (y,)


def test_fresh_binders_make_an_independent_copy() -> None:
    """Loop variables of a copy are new; free variables are not."""
    buffer, free = decl_buffer((4,), name="A"), tir.Var("k")
    i = tir.Var("i")
    loop = For(i, 0, 4, ForKind.SERIAL, BufferStore(buffer, tir.Cast("float32", free), (i,)))
    copy = with_fresh_binders(loop)
    assert copy.loop_var is not i
    assert copy.loop_var.name == "i"
    assert copy.body.indices[0] is copy.loop_var
    assert copy.body.value.value is free
    assert [id(v) for v in bound_variables(copy)] != [id(v) for v in bound_variables(loop)]


def test_visitor_methods_may_recurse_because_the_memo_is_full() -> None:
    """A depth computed by a method that visits its arguments, on a graph deeper than the recursion limit."""

    class Depth(Visitor):
        def visit_Call(self, call: Any) -> int:
            return 1 + max(self.visit(a) for a in call.args)

        def visit_relay_Var(self, var: Any) -> int:
            return 0

    assert Depth().visit(relay_dag(DEEP, relay.Var("x")).body) == DEEP


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30))
def test_post_order_on_random_dags(edges: list[tuple[int, int]]) -> None:
    """Each node once, children before parents, whatever the sharing."""
    nodes: list[Any] = [relay.Var("x")]
    for a, b in edges:
        nodes.append(relay.Call(ADD, (nodes[a % len(nodes)], nodes[b % len(nodes)])))
    order = post_order(nodes[-1])
    assert len(set(order)) == len(order)
    place = {n: i for i, n in enumerate(order)}
    assert all(place[c] < place[n] for n in order for c in children(n))
