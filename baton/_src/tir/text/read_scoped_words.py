"""Statements that define something for the rest of their scope: `T.allocate`, `T.attr`, `T.LetStmt`, ...

The statements after them, or inside their `with`, become the body of their statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.trampoline import Task
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import FloatImm, IntImm, StringImm, Var, literal
from baton._src.tir.stmt import Allocate, AllocateConst, AssertStmt, AttrStmt, DeclBuffer, For, LetStmt, SeqStmt, Stmt
from baton._src.tir.text.operations import as_condition, as_scalar
from baton._src.tir.text.read_blocks import plain
from baton._src.tir.text.read_buffers import make_buffer
from baton._src.tir.text.read_expressions import arguments
from baton._src.tir.text.scope import Scope
from baton._src.tir.text.threads import launched
from baton._src.tir.thread_axes import launch
from baton._src.values.dtype import HANDLE, DataType

Wrap = Callable[[Stmt], Stmt]
"""From the body of a statement to the statement."""
SCOPED = ("LetStmt", "let", "attr", "Assert", "allocate", "allocate_const", "decl_buffer", "launch_thread")


def scoped_word(scope: Scope, node: ast.Call, word: str, name: str | None) -> Task[tuple[Any, Wrap]]:
    """What `T.attr(...)`, `T.LetStmt(...)`, ... define, and how they wrap a body."""
    if word == "attr":
        attribute: tuple[Any, Wrap] = yield _attribute(scope, node)
        return attribute
    args, kwargs = yield arguments(scope, node)
    if word == "Assert":
        given = dict(zip(("condition", "message"), args)) | kwargs
        if set(given) != {"condition", "message"} or len(args) > 2:
            raise scope.error(node, "tir-syntax", "T.Assert takes a condition and a message")
        condition, message = as_condition(scope, node, given["condition"]), given["message"]
        shown = message if isinstance(message, PrimExpr) else StringImm(str(message))
        return None, lambda inner: scope.at(node, AssertStmt(condition, shown, inner))
    if word in ("LetStmt", "let"):
        named = dict(zip(("var", "value") if word == "let" else ("value", "type_annotation"), args)) | kwargs
        if "value" not in named:
            raise scope.error(node, "tir-syntax", f"T.{word} takes a value")
        given, found = named.get("var"), as_scalar(scope, node, named["value"])
        var = given if isinstance(given, Var) else Var(name or "v", kwargs.get("dtype", found.dtype))
        if name is not None:
            scope.define(name, var)
        return var, lambda inner: scope.at(node, LetStmt(var, found, inner))
    if word == "decl_buffer":
        buffer = make_buffer(scope, node, name or "buffer", args, kwargs)
        if name is not None:
            scope.define(name, buffer)
        is_placed = kwargs.get("data", args[2] if len(args) > 2 else None) is not None
        return buffer, lambda inner: scope.at(node, _declared(buffer, inner, is_placed))
    if word == "launch_thread":
        axis = launched(scope, node, name or "v", args, kwargs)
        if name is not None:
            scope.define(name, axis.var)
        return axis.var, lambda inner: scope.at(node, launch(axis, inner))
    if word == "allocate_const":
        return _allocate_const(scope, node, name, args, kwargs)
    return _allocate(scope, node, name, args, kwargs)


def _attribute(scope: Scope, node: ast.Call) -> Task[tuple[Any, Wrap]]:
    """`T.attr(owner, key, value)`; the owner of a pragma may be the variable of the loop behind it."""
    first = node.args[0] if node.args else None
    ahead = first.id if isinstance(first, ast.Name) and not scope.knows(first.id) else None
    written = node.args if ahead is None else [ast.copy_location(ast.Constant(None), node), *node.args[1:]]
    args, kwargs = yield arguments(scope, ast.copy_location(ast.Call(node.func, written, node.keywords), node))
    given = dict(zip(("node", "attr_key", "value"), args)) | kwargs
    if set(given) != {"node", "attr_key", "value"} or len(args) > 3 or not isinstance(given["attr_key"], str):
        raise scope.error(node, "tir-syntax", "T.attr takes what it is about, a key (a string) and a value")
    key, held = given["attr_key"], operators.convert(given["value"])
    owner = given["node"]
    if ahead is None:
        return None, lambda inner: scope.at(node, AttrStmt(plain(owner), key, held, inner))
    assert isinstance(first, ast.Name)
    if not key.startswith("pragma_"):
        scope.lookup(first)  # says that nothing has this name
    return None, lambda inner: scope.at(node, AttrStmt(_loop_ahead(scope, first, inner), key, held, inner))


def _loop_ahead(scope: Scope, name: ast.Name, inner: Stmt) -> Var:
    """The variable of the loop that a pragma stands in front of, which has this name."""
    loop = inner
    while isinstance(loop, AttrStmt | SeqStmt):
        loop = loop.body if isinstance(loop, AttrStmt) else loop.seq[0]
    if not isinstance(loop, For) or loop.loop_var.name != name.id:
        scope.lookup(name)  # says that nothing has this name
    assert isinstance(loop, For)
    return loop.loop_var


def _declared(buffer: Buffer, inner: Stmt, is_placed: bool) -> Stmt:
    """A buffer in given memory, or in memory of its own."""
    found = DeclBuffer(buffer, body=inner)
    if is_placed:
        return found
    return Allocate(buffer.data, dtype=buffer.dtype, extents=buffer.shape, condition=None, body=found)


def _allocate(
    scope: Scope, node: ast.Call, name: str | None, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, Wrap]:
    """`T.allocate([extents], dtype, scope, condition=, annotations=)`"""
    given = dict(zip(("extents", "dtype", "scope", "condition", "annotations"), args)) | kwargs
    if not {"extents", "dtype"} <= given.keys() or not isinstance(given["extents"], (list, tuple)):
        message = "T.allocate takes a list of extents and a dtype"
        raise scope.error(node, "tir-syntax", message, 'for example T.allocate([8], "float32")')
    dtype = DataType(given["dtype"])
    pointer = Var(name or "buffer", HANDLE, pointee=dtype, scope=given.get("scope", "global"))
    if name is not None:
        scope.define(name, pointer)
    extents = tuple(literal(as_scalar(scope, node, e)) for e in given["extents"])
    condition, annotations = given.get("condition"), given.get("annotations")

    def wrap(inner: Stmt) -> Stmt:
        made: Stmt = Allocate(
            pointer,
            dtype=dtype,
            extents=extents,
            condition=None if condition is None else operators.convert(condition),
            body=inner,
            annotations=None if annotations is None else plain(annotations),
        )
        found: Stmt = scope.at(node, made)
        return found

    return pointer, wrap


def _allocate_const(
    scope: Scope, node: ast.Call, name: str | None, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, Wrap]:
    """`T.allocate_const([numbers], dtype, [extents], annotations=)`"""
    given = dict(zip(("data", "dtype", "extents", "annotations"), args)) | kwargs
    missing = [word for word in ("data", "dtype", "extents") if word not in given]
    if missing:
        raise scope.error(node, "tir-syntax", f"T.allocate_const needs {', '.join(missing)}")
    dtype = DataType(given["dtype"])
    pointer = Var(name or "buffer", HANDLE, pointee=dtype, scope="global")
    if name is not None:
        scope.define(name, pointer)
    numbers = _numbers(given["data"])
    annotations = None if given.get("annotations") is None else plain(given["annotations"])

    def wrap(inner: Stmt) -> Stmt:
        found: Stmt = scope.at(node, AllocateConst(pointer, dtype, given["extents"], numbers, inner, annotations))
        return found

    return pointer, wrap


def _numbers(content: Any) -> Any:
    if isinstance(content, (list, tuple)):
        return [_numbers(item) for item in content]
    return content.value if isinstance(content, (IntImm, FloatImm)) else content
