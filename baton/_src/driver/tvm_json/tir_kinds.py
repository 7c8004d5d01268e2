"""Kernels: TIR's statements, blocks and buffers, and those scalars that dims are not made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_json.attributes import plain
from baton._src.driver.tvm_json.document import Fields, Kind
from baton._src.ir.expr import GlobalVar, Op, PrimExpr, Range
from baton._src.ir.types import TupleType
from baton._src.tir import expr as tir
from baton._src.tir import stmt
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc

E, S = PrimExpr, stmt.Stmt


def _kind(refs: str, make: Callable[[Fields], Any]) -> Kind:
    return Kind((*refs.split(), "span"), make)


def _pair(make: Any) -> Kind:
    return _kind("a b", lambda f: make(f.part("a", E), f.part("b", E)))


def _lanes(fields: Fields) -> int:
    """The number of lanes, in place or by reference (TVM from 0.16 on)."""
    found = fields.document.made(fields.int("lanes"))
    return found.value if isinstance(found, tir.IntImm) else fields.int("lanes")


def _call(fields: Fields) -> Any:
    op = fields.ref("op")
    if not isinstance(op, (Op, GlobalVar)):
        raise fields.fail(f"a {type(op).__name__} is called")
    return tir.Call(fields.dtype("dtype"), op, fields.items("args"), fields.span)


def _buffer(fields: Fields) -> Any:
    return Buffer(
        fields.part("data", tir.Var),
        fields.dtype("dtype"),
        fields.items("shape", E),
        fields.items("strides", E),
        fields.ref("elem_offset", E),
        fields.text("name"),
        fields.int("data_alignment"),
        fields.int("offset_factor"),
        "auto_broadcast" if fields.int("buffer_type") == 2 else "",
        plain(fields.items("axis_separators")),
        fields.span,
    )


def _unmasked(fields: Fields) -> tuple[Any, tuple[Any, ...]]:
    """What is loaded from or stored to, and where."""
    if fields.ref("predicate") is not None:
        raise fields.fail("masks of vectors are not read")
    return fields.part("buffer", Buffer), fields.items("indices", E)


def _store(fields: Fields) -> Any:
    buffer, indices = _unmasked(fields)
    return stmt.BufferStore(buffer, fields.part("value", E), indices, span=fields.span)


def _for(fields: Fields) -> Any:
    return stmt.For(
        fields.part("loop_var", tir.Var),
        fields.part("min", E),
        fields.part("extent", E),
        stmt.ForKind(fields.int("kind")),
        fields.part("body", S),
        fields.ref("thread_binding", tir.IterVar),
        plain(fields.ref("annotations", dict)) or {},
        fields.span,
    )


def _block(fields: Fields) -> Any:
    return stmt.Block(
        fields.items("iter_vars", tir.IterVar),
        fields.items("reads", BufferRegion),
        fields.items("writes", BufferRegion),
        fields.text("name_hint"),
        fields.part("body", S),
        fields.ref("init", S),
        fields.items("alloc_buffers", Buffer),
        fields.items("match_buffers", stmt.MatchBufferRegion),
        plain(fields.ref("annotations", dict)) or {},
        fields.span,
    )


def _realize(fields: Fields) -> Any:
    block = fields.part("block", stmt.Block)
    return stmt.BlockRealize(fields.items("iter_values", E), fields.part("predicate", E), block, span=fields.span)


def _allocate(fields: Fields) -> Any:
    return stmt.Allocate(
        fields.part("buffer_var", tir.Var),
        fields.dtype("dtype"),
        fields.items("extents", E),
        fields.ref("condition", E),
        fields.part("body", S),
        plain(fields.ref("annotations", dict)) or None,
        fields.span,
    )


def _prim_func(fields: Fields) -> Any:
    result = fields.ref("ret_type")
    nothing = isinstance(result, TupleType) and not result.fields
    attrs = plain(fields.ref("attrs")) or {}
    return PrimFunc(
        fields.items("params", tir.Var),
        fields.part("body", S),
        None if nothing else result,
        fields.ref("buffer_map", dict) or {},
        attrs,
        fields.span,
    )


def _branches(fields: Fields) -> Any:
    branches = fields.part("then_case", S), fields.ref("else_case", S)
    return stmt.IfThenElse(fields.part("condition", E), *branches, span=fields.span)


_PAIRS = (tir.Div, tir.Mod, tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or)

TIR: dict[str, Kind] = {
    "Range": _kind("min extent", lambda f: Range(f.part("min", E), f.part("extent", E))),
    **{f"tir.{make.__name__}": _pair(make) for make in _PAIRS},
    "tir.Not": _kind("a", lambda f: tir.Not(f.part("a", E))),
    "tir.Cast": _kind("value", lambda f: tir.Cast(f.dtype("dtype"), f.part("value", E))),
    "tir.Select": _kind(
        "condition true_value false_value",
        lambda f: tir.Select(f.part("condition", E), f.part("true_value", E), f.part("false_value", E)),
    ),
    "tir.Ramp": _kind("base stride lanes", lambda f: tir.Ramp(f.part("base", E), f.part("stride", E), _lanes(f))),
    "tir.Broadcast": _kind("value lanes", lambda f: tir.Broadcast(f.part("value", E), _lanes(f))),
    "tir.Let": _kind(
        "var value body", lambda f: tir.Let(f.part("var", tir.Var), f.part("value", E), f.part("body", E))
    ),
    "tir.Call": _kind("op args", _call),
    "tir.BufferLoad": _kind("buffer indices predicate", lambda f: tir.BufferLoad(*_unmasked(f), span=f.span)),
    "tir.IterVar": _kind(
        "dom var thread_tag",
        lambda f: tir.IterVar(f.ref("dom", Range), f.part("var", tir.Var), f.int("iter_type"), f.text("thread_tag")),
    ),
    "tir.Buffer": _kind("data shape strides axis_separators elem_offset name", _buffer),
    "tir.BufferRegion": _kind(
        "buffer region", lambda f: BufferRegion(f.part("buffer", Buffer), f.items("region", Range))
    ),
    "tir.MatchBufferRegion": _kind(
        "buffer source",
        lambda f: stmt.MatchBufferRegion(f.part("buffer", Buffer), f.part("source", BufferRegion)),
    ),
    "tir.IndexMap": _kind(
        "initial_indices final_indices inverse_index_map",
        lambda f: IndexMap(f.items("initial_indices"), f.items("final_indices"), f.ref("inverse_index_map", IndexMap)),
    ),
    "tir.BufferStore": _kind("buffer value indices predicate", _store),
    "tir.For": _kind("loop_var min extent body thread_binding annotations", _for),
    "tir.While": _kind("condition body", lambda f: stmt.While(f.part("condition", E), f.part("body", S))),
    "tir.Block": _kind("iter_vars reads writes name_hint body init alloc_buffers match_buffers annotations", _block),
    "tir.BlockRealize": _kind("iter_values predicate block", _realize),
    "tir.SeqStmt": _kind("seq", lambda f: stmt.SeqStmt(f.items("seq", S))),
    "tir.IfThenElse": _kind("condition then_case else_case", _branches),
    "tir.LetStmt": _kind(
        "var value body",
        lambda f: stmt.LetStmt(f.part("var", tir.Var), f.part("value", E), f.part("body", S)),
    ),
    "tir.AttrStmt": _kind(
        "node attr_key value body",
        lambda f: stmt.AttrStmt(f.ref("node"), f.text("attr_key"), f.part("value", E), f.part("body", S)),
    ),
    "tir.AssertStmt": _kind(
        "condition message body",
        lambda f: stmt.AssertStmt(f.part("condition", E), tir.StringImm(f.text("message")), f.part("body", S)),
    ),
    "tir.Allocate": _kind("buffer_var extents condition body annotations", _allocate),
    "tir.DeclBuffer": _kind("buffer body", lambda f: stmt.DeclBuffer(f.part("buffer", Buffer), f.part("body", S))),
    "tir.Evaluate": _kind("value", lambda f: stmt.Evaluate(f.part("value", E))),
    "tir.PrimFunc": _kind("params body ret_type buffer_map attrs", _prim_func),
}
"""Left out: what only schedules of te have before they are lowered (`ProducerStore`, `Prefetch`, ...)."""
