"""The heads of blocks: T.axis.*, T.reads, T.writes, T.where, T.block_attr, ..."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task
from baton._src.tir import operators
from baton._src.tir.analysis.regions import inferred_regions
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, IterVar, Var, literal
from baton._src.tir.stmt import Block, Stmt
from baton._src.tir.text.operations import as_scalar
from baton._src.tir.text.read_expressions import arguments, condition, extent_between, region
from baton._src.tir.text.scope import BlockFrame, Scope
from baton._src.values.dtype import INT32, DataType

_KINDS = {"S": "spatial", "R": "reduce", "O": "opaque", "C": "scan"}
_AXES = ("spatial", "reduce", "scan", "opaque", "S", "R")


def call_name(scope: Scope, node: ast.AST) -> str:
    """`axis.remap` of the call `T.axis.remap(...)`, also by a name of the script's own; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    parts: list[str] = []
    callee: ast.expr = node.func
    while isinstance(callee, ast.Attribute):
        parts.append(callee.attr)
        callee = callee.value
    if isinstance(callee, ast.Name) and callee.id in scope.roots and parts:
        return ".".join(reversed(parts))
    if not isinstance(callee, ast.Name) or parts:
        return ""
    return "range" if callee.id == "range" else scope.word_called(callee.id)


def plain(content: Any) -> Any:
    """An attribute's value: literals of Python's kinds as Python values."""
    if isinstance(content, IntImm) and (content.dtype.is_bool or content.dtype == INT32):
        return bool(content.value) if content.dtype.is_bool else content.value
    if isinstance(content, dict):
        return {plain(k): plain(v) for k, v in content.items()}
    if isinstance(content, list):
        return [plain(v) for v in content]
    if not isinstance(content, (Node, Target, str, int, float, type(None))):
        _check_written(content)
    return content


def _check_written(content: Any) -> None:
    """An attribute is data that can be written down again: no word of the script itself, and no module."""
    try:
        ast.parse(repr(content), mode="eval")
    except (SyntaxError, ValueError):
        raise fail(
            "tir-attribute", f"an object of class {type(content).__name__} is not a value of an attribute"
        ) from None


# ---------------------------------------------------------------------------------------------------- axes


def axes(scope: Scope, names: list[str], node: ast.Call, kind: str) -> Task[None]:
    """`vi = T.axis.spatial(n, i)`, `vi, vk = T.axis.remap("SR", [i, k])`."""
    block = _head(scope, node)
    if kind == "axis.remap":
        yield _remap(scope, block, names, node)
        return
    axis = kind.removeprefix("axis.")
    if axis not in _AXES:
        raise scope.error(node, "tir-block", f"T has no {kind!r}", "axes are spatial, reduce, scan, opaque, remap")
    args, kwargs = yield arguments(scope, node)
    given = dict(zip(("dom", "binding", "dtype"), args)) | kwargs
    if len(names) != 1 or len(args) > 3 or not {"dom", "binding"} <= given.keys() <= {"dom", "binding", "dtype"}:
        raise scope.error(node, "tir-block", f"write v = T.{kind}(extent, value)")
    value = given["binding"]
    dtype = None if given.get("dtype") is None else DataType(given["dtype"])
    wide = dtype or (None if isinstance(value, int) else as_scalar(scope, node, value).dtype)
    dom = _domain(scope, node, given["dom"], wide)
    binding = operators.convert(value, dom.extent.dtype)
    _bind_axis(scope, block, names[0], dom, _KINDS.get(axis, axis), binding, dtype)


def _domain(scope: Scope, node: ast.AST, given: Any, like: DataType | None) -> Range:
    if isinstance(given, Range):
        return given
    if isinstance(given, (tuple, list)) and len(given) == 2:
        begin, end = operators.match_types(*given)
        return Range(begin, extent_between(begin, end))
    # A Python number as an extent takes the dtype of the axis, or else of what that is bound to.
    wide = like if like is not None and isinstance(given, int) and like.is_int else None
    extent = operators.convert(given, wide) if isinstance(given, int) else as_scalar(scope, node, given)
    return Range(literal(0, extent.dtype), extent)


def _remap(scope: Scope, block: BlockFrame, names: list[str], node: ast.Call) -> Task[None]:
    args, kwargs = yield arguments(scope, node)
    given = dict(zip(("kinds", "bindings", "dtype"), args)) | kwargs
    kinds, values, dtype = (given.get(name) for name in ("kinds", "bindings", "dtype"))
    if len(args) > 3 or not isinstance(kinds, str) or not isinstance(values, (list, tuple)):
        raise scope.error(node, "tir-block", 'write v_i, v_k = T.axis.remap("SR", [i, k])')
    together = names[0] if len(names) == 1 and len(kinds) > 1 else None
    names = names if together is None else numbered(together, len(kinds))
    if not len(kinds) == len(values) == len(names):
        message = f"remap has {len(kinds)} kinds, {len(values)} loops and {len(names)} names"
        raise scope.error(node, "tir-block", message)
    for name, kind, loop_var in zip(names, kinds, values):
        loop = scope.loops.get(loop_var) if isinstance(loop_var, Var) else None
        if loop is None:
            raise scope.error(
                node, "tir-block", "T.axis.remap takes loop variables", "use T.axis.spatial(extent, value)"
            )
        if kind not in _KINDS:
            raise scope.error(node, "tir-block", f"{kind!r} is not a kind of axis", "S is spatial, R is reduce")
        dom = Range(loop.min, loop.extent)
        _bind_axis(scope, block, name, dom, _KINDS[kind], loop_var, None if dtype is None else DataType(dtype))
    if together is not None:
        scope.define(together, tuple(axis.var for axis in block.iter_vars[-len(kinds) :]))


def numbered(name: str, count: int) -> list[str]:
    """The names of several variables that a script calls by one."""
    return [f"{name}_{n}" for n in range(count)]


def _bind_axis(
    scope: Scope, block: BlockFrame, name: str, dom: Range, kind: str, binding: PrimExpr, dtype: DataType | None
) -> None:
    if dtype is not None:
        dom = Range(operators.cast(dtype, dom.min), operators.cast(dtype, dom.extent))
        binding = operators.cast(dtype, binding)
    var = scope.define(name, Var(name, dom.extent.dtype))
    block.iter_vars.append(IterVar(dom, var, kind))
    block.iter_values.append(binding)


def _head(scope: Scope, node: ast.AST) -> BlockFrame:
    """The block whose head is being read: what its axes are bound to is outside, so no loop may be in between."""
    block = open_block(scope, node)
    if len(scope.loops) != block.depth:
        message = f"this belongs to the head of block {block.name!r}, not into a loop inside it"
        raise scope.error(node, "tir-block", message, 'open a block in the loop: with T.block("name"):')
    return block


def open_block(scope: Scope, node: ast.AST) -> BlockFrame:
    """The innermost block around what is read."""
    if scope.block is None:
        raise scope.error(node, "tir-block", "this belongs in a block", 'open one: with T.block("name"):')
    return scope.block


def block_word(scope: Scope, node: ast.Call, name: str) -> Task[bool]:
    """Handle a statement of a block's head (or of a function's); False if `name` is none."""
    if name == "func_attr":
        args, _ = yield arguments(scope, node)
        if len(args) != 1 or not isinstance(args[0], dict):
            raise scope.error(node, "tir-syntax", 'T.func_attr takes one dict, e.g. {"tir.noalias": True}')
        scope.attrs.update(plain(args[0]))
        return True
    if name in ("reads", "writes"):
        block = _head(scope, node)
        parts = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], ast.List) else node.args
        found: list[Any] = []
        for part in parts:
            found.append((yield region(scope, part)))
        inside = [r.buffer.name for r in found if r.buffer in block.alloc_buffers]
        if inside:
            message = f"{inside[0]} is memory of the block itself: what it {name} is outside"
            raise scope.error(node, "tir-block", message)
        setattr(block, name, [*(getattr(block, name) or []), *found])
        return True
    if name == "where":
        block = _head(scope, node)
        if len(node.args) != 1 or block.predicate is not None:
            raise scope.error(node, "tir-block", "T.where takes one condition, once in a block", "T.where(a and b)")
        block.predicate = yield condition(scope, node.args[0])
        return True
    if name == "block_attr":
        args, _ = yield arguments(scope, node)
        if len(args) != 1 or not isinstance(args[0], dict):
            raise scope.error(node, "tir-syntax", 'T.block_attr takes one dict, e.g. {"key": 1}')
        open_block(scope, node).annotations.update(plain(args[0]))
        return True
    return False


# ------------------------------------------------------------------------------------------------- buffers


def close_block(frame: BlockFrame, inner: Stmt, around: Iterable[Buffer]) -> Block:
    """The block of a finished frame; regions that were not written are inferred. `around`: buffers known outside.

    Error `tir-block`: it uses a pointer, and does not say what is read and written by it.
    """
    reads, writes = frame.reads, frame.writes
    if (reads is None or writes is None) and frame.name != "root":
        views = [view.buffer for view in frame.match_buffers]
        found_reads, found_writes = inferred_regions(
            inner, frame.init, frame.match_buffers, {b.data: b for b in (*around, *views)}
        )
        own = set(frame.alloc_buffers)
        reads = [r for r in found_reads if r.buffer not in own] if reads is None else reads
        writes = [r for r in found_writes if r.buffer not in own] if writes is None else writes
    return Block(
        frame.iter_vars,
        reads or (),
        writes or (),
        frame.name,
        inner,
        frame.init,
        frame.alloc_buffers,
        frame.match_buffers,
        frame.annotations,
    )
