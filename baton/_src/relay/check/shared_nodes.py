"""Nodes that two programs share, and that have another type in each: the one inferred later gets copies of them.

    twice = relay.Function([x], x + x)          # x has no annotation
    one = InferType()(IRModule.from_expr(relay.Function([a], twice(a))))
    other = InferType()(IRModule.from_expr(relay.Function([b], twice(b))))      # the types in `one` stay

Types are notes in the nodes themselves. A node that a pass copied with the note of its original is such a node, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.ir.types import Constructor, TensorType, TupleType
from baton._src.relay.expressions import walk, with_parts
from baton._src.relay.nodes import Tuple, Var
from baton._src.tir.expr import AnyDim, IntImm

_NAMES = (Op, GlobalVar, Constructor)
"""They belong to all programs, and are told apart by identity."""


def of_other_types(types: Mapping[Any, Any]) -> set[Any]:
    """The nodes that have a type already, but not the one in `types`."""
    known: dict[tuple[Any, Any], bool] = {}
    found: set[Any] = set()
    for node, type_ in types.items():
        before = node.checked_type_
        if before is None or before is type_ or isinstance(node, _NAMES):
            continue
        pair = (before, type_)
        if pair not in known:
            known[pair] = _same(before, type_)
        if not known[pair]:
            found.add(node)
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two types are equal but for the names of type parameters."""
    if isinstance(one, TupleType) and isinstance(other, TupleType) and len(one.fields) == len(other.fields):
        return all(map(_same, one.fields, other.fields))
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        if isinstance(one.shape, tuple) and isinstance(other.shape, tuple) and one.dtype == other.dtype:
            if len(one.shape) == len(other.shape) and all(map(_same_dim, one.shape, other.shape)):
                return True
    return structural_equal(one, other, map_free_vars=True)


def _same_dim(one: Any, other: Any) -> bool:
    if isinstance(one, IntImm) and isinstance(other, IntImm):
        return one.value == other.value
    return one is other or (isinstance(one, AnyDim) and isinstance(other, AnyDim))


def with_copies(roots: Sequence[Any], nodes: Iterable[Any]) -> list[Any]:
    """The expressions `roots` with copies, not typed yet, of these nodes and of what they are parts of."""
    copied = set(nodes)
    before = {node for root in roots for node in walk(root)}
    fresh = {node: untyped(node.copy()) for node in copied if isinstance(node, Var)}
    whole: Any = substitute(Tuple(roots), fresh, notes=False)
    done: dict[Any, Any] = {}
    for node in walk(whole):
        made = with_parts(node, done)
        if made is node and node in copied:
            made = node.copy()
        if made is not node:
            done[node] = made
        if made not in before:
            untyped(made)
    return list(done.get(whole, whole).fields)


def untyped(node: GraphExpr) -> Any:
    """A new node without what the one it was copied from said of its type."""
    for name in ("checked_type_", "struct_info_"):
        set_note(node, name, None)
    return node
