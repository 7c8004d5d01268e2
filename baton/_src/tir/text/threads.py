"""Axes of threads in scripts: `tx = T.launch_thread("threadIdx.x", 8)`, `tx = T.env_thread("threadIdx.x")`."""

from __future__ import annotations

import ast
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir.expr import IterVar, Var, literal
from baton._src.tir.text.scope import Scope


def env_thread(scope: Scope, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> IterVar:
    """An axis of threads that is launched later."""
    given = dict(zip(("thread_tag", "dtype"), args)) | kwargs
    tag = given.get("thread_tag")
    if not isinstance(tag, str):
        raise scope.error(node, "tir-thread", "T.env_thread takes the name of an axis of threads", '"threadIdx.x"')
    return IterVar(None, Var(name, given.get("dtype", "int32")), IterVar.ThreadIndex, tag)


def launched(scope: Scope, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> IterVar:
    """The axis of `T.launch_thread(thread, extent)`: a new one for a name, else the one that `T.env_thread` gave."""
    given = dict(zip(("thread", "extent"), args)) | kwargs
    thread, extent = given.get("thread"), given.get("extent")
    if not isinstance(thread, (str, IterVar)) or not isinstance(extent, (int, PrimExpr)):
        message = "T.launch_thread takes an axis of threads and how many there are"
        raise scope.error(node, "tir-thread", message, 'T.launch_thread("threadIdx.x", 8)')
    count = literal(extent)
    axis = IterVar(None, Var(name, count.dtype), IterVar.ThreadIndex, thread) if isinstance(thread, str) else thread
    count = literal(extent, axis.var.dtype)
    found: IterVar = axis.with_fields(dom=Range(literal(0, count.dtype), count))
    return found
