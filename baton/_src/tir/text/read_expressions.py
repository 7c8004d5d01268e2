"""Expressions of the script as TIR: each node of Python's syntax, with its operands read before it (see `operations`).

A value is an expression, a Python number, string, tuple, list or dict, a buffer, or a `Word` (`T.float32`); where the
text is trusted, any Python object (see `python_parts`). Nesting may be deep: reading runs as tasks.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from baton._src.ir.expr import GlobalVar, PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.types import FuncType, PrimType
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.python_in_scripts import Reading
from baton._src.support.trampoline import Task
from baton._src.tir import expr as tir
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import BufferLoad, Call, IntImm, Var, literal
from baton._src.tir.stmt import full_region
from baton._src.tir.text import python_parts
from baton._src.tir.text.operations import as_condition, as_scalar, binary, both, comparison, is_scalar, unary
from baton._src.tir.text.python_parts import attribute, described
from baton._src.tir.text.scope import Scope, Word
from baton._src.tir.text.slips import instead
from baton._src.tir.text.words import call_word
from baton._src.values.dtype import VOID


def value(scope: Scope, node: ast.expr) -> Task[Any]:
    """The value of an expression of the script."""
    try:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                if node.id in scope.roots:
                    return Word("")
                named = scope.lookup(node)
                return named.item() if isinstance(named, np.generic) else named
            case ast.BinOp():
                left, right = (yield value(scope, node.left)), (yield value(scope, node.right))
                return scope.at(node, binary(scope, node, left, right, as_python(scope)))
            case ast.UnaryOp():
                operand = yield value(scope, node.operand)
                return scope.at(node, unary(scope, node, operand))
            case ast.Compare():
                return scope.at(node, (yield _comparison(scope, node)))
            case ast.BoolOp():
                return scope.at(node, (yield _logical(scope, node)))
            case ast.Subscript():
                return scope.at(node, (yield _subscript(scope, node)))
            case ast.Attribute():
                owner = yield value(scope, node.value)
                return attribute(scope, node, owner)
            case ast.Call():
                return scope.at(node, (yield _call(scope, node)))
            case ast.Tuple() | ast.List():
                items = yield as_python(scope).items(node.elts)
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case ast.Dict():
                return (yield _dict(scope, node))
            case ast.JoinedStr():
                return (yield as_python(scope).formatted(node))
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                return (yield python_parts.comprehension(scope, node, value))
            case ast.Lambda():
                return python_parts.function(scope, node, value)
            case ast.Slice():
                return (yield as_python(scope).slice(node))
            case ast.IfExp():
                return (yield _choice(scope, node))
            case _:
                kind = type(node).__name__
                raise scope.error(node, "tir-syntax", f"{kind} cannot be used in a PrimFunc", instead(node))
    except DiagnosticError as error:
        raise scope.placed(error, node) from None


def as_python(scope: Scope) -> Reading:
    """What is read as Python reads it."""
    return Reading(
        read=lambda node: value(scope, node),
        error=lambda node, message: scope.error(node, "tir-syntax", message),
        is_program=lambda found: isinstance(found, Node),
        is_trusted=scope.is_trusted,
    )


def arguments(scope: Scope, node: ast.Call) -> Task[tuple[list[Any], dict[str, Any]]]:
    """The values of a call's arguments, by position and by name."""
    python = as_python(scope)
    args = yield python.items(node.args)
    return args, (yield python.keywords(node))


def scalar(scope: Scope, node: ast.expr) -> Task[PrimExpr]:
    """The value of an expression as a scalar."""
    found = yield value(scope, node)
    return as_scalar(scope, node, found)


def condition(scope: Scope, node: ast.expr) -> Task[PrimExpr]:
    """The value of an expression as a condition."""
    found = yield value(scope, node)
    return as_condition(scope, node, found)


def _dict(scope: Scope, node: ast.Dict) -> Task[dict[Any, Any]]:
    found: dict[Any, Any] = {}
    for key, item in zip(node.keys, node.values):
        if key is None:
            raise scope.error(item, "tir-syntax", "** cannot be used here")
        name = yield value(scope, key)
        found[name] = yield value(scope, item)
    return found


def _choice(scope: Scope, node: ast.IfExp) -> Task[Any]:
    """`yes if test else no`; of a test of Python's own only the branch that it decides is read."""
    test = yield value(scope, node.test)
    if not isinstance(test, PrimExpr):
        return (yield value(scope, node.body if test else node.orelse))
    yes, no = (yield value(scope, node.body)), (yield value(scope, node.orelse))
    return scope.at(node, if_then_else(test, yes, no))


def decided(scope: Scope, node: ast.expr) -> Task[ast.expr]:
    """The branch of `yes if test else no` that a test of Python's own decides; any other expression as it is."""
    while isinstance(node, ast.IfExp):
        test = yield value(scope, node.test)
        if isinstance(test, PrimExpr):
            break
        node = node.body if test else node.orelse
    return node


# ----------------------------------------------------------------------------------------------- operators


def _comparison(scope: Scope, node: ast.Compare) -> Task[Any]:
    """`a < b < c`: each comparison with the next."""
    left = yield value(scope, node.left)
    total: Any = None
    for op, operand in zip(node.ops, node.comparators):
        right = yield value(scope, operand)
        holds = comparison(scope, node, op, left, right)
        total, left = (holds if total is None else both(total, holds)), right
    return total


def _logical(scope: Scope, node: ast.BoolOp) -> Task[Any]:
    """`a and b`, `a or b`."""
    made = tir.And if isinstance(node.op, ast.And) else tir.Or
    total = yield value(scope, node.values[0])
    for part in node.values[1:]:
        if not is_scalar(total):  # Python's: what follows may not even have a value
            total = total if bool(total) is (made is tir.Or) else (yield value(scope, part))
            continue
        total = made(as_scalar(scope, node, total), (yield scalar(scope, part)))
    return total


# -------------------------------------------------------------------------------------- names and accesses


def _subscript(scope: Scope, node: ast.Subscript) -> Task[Any]:
    owner = yield value(scope, node.value)
    if isinstance(owner, Buffer):
        indices = yield index_list(scope, node, owner.shape)
        if len(indices) != owner.ndim:
            raise scope.error(node, "tir-indices", f"{owner.name} has {owner.ndim} dims, got {len(indices)} indices")
        return BufferLoad(owner, tuple(indices))
    at = yield value(scope, node.slice)
    if isinstance(owner, Word) and owner.name == "Ptr":
        return call_word(scope, node, owner.name, list(at) if isinstance(at, tuple) else [at], {})
    if isinstance(owner, (tuple, list, dict, str)) or scope.is_trusted:
        with suppress(LookupError, TypeError):
            return owner[at]
    raise scope.error(node, "tir-syntax", f"{described(owner)} cannot be indexed like this")


def index_list(scope: Scope, node: ast.Subscript, shape: Sequence[PrimExpr]) -> Task[list[PrimExpr]]:
    """The indices of an access; slices are vectors, and a Python tuple stands for its items."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    found: list[PrimExpr] = []
    for part in parts:
        if isinstance(part, ast.Slice) and len(found) < len(shape):
            found.append((yield _lanes(scope, part, shape[len(found)])))
            continue
        for index in (yield _scalars(scope, part, len(parts) == 1)):
            if not index.dtype.is_int:
                raise scope.error(part, "tir-index", f"an index must be an integer, got {index.dtype}")
            found.append(index)
    return found


def _scalars(scope: Scope, node: ast.expr, alone: bool) -> Task[list[PrimExpr]]:
    """The scalar that one place of a subscript holds; those of a Python tuple, unpacked or `alone`."""
    found = yield value(scope, node.value if isinstance(node, ast.Starred) else node)
    if not isinstance(found, (tuple, list)):
        return [as_scalar(scope, node, found)]
    if not alone and not isinstance(node, ast.Starred):
        said = ast.unparse(node)
        message = f"{said} stands for {len(found)} values where one index is needed"
        raise scope.error(node, "tir-index", message, f"take one, {said}[0], or unpack them, *{said}")
    return [as_scalar(scope, node, item) for item in found]


def _lanes(scope: Scope, node: ast.Slice, dim: PrimExpr) -> Task[PrimExpr]:
    """`begin:end:step` as the vector of these indices."""
    box = yield _box(scope, node, dim)
    step = literal(1, box.min.dtype) if node.step is None else (yield scalar(scope, node.step))
    _, step = operators.match_types(box.min, step)
    count = Analyzer().simplify(operators.ceildiv(box.extent, step))
    if not isinstance(count, IntImm):
        raise scope.error(node, "tir-index", "a slice has a constant number of elements here")
    return box.min if count.value == 1 else tir.Ramp(box.min, step, count.value)


def region(scope: Scope, node: ast.expr) -> Task[BufferRegion]:
    """A box of a buffer: `A`, `A[i, 0:8]`."""
    if not isinstance(node, ast.Subscript):
        whole: Any = yield value(scope, node)
        if isinstance(whole, Buffer):
            return full_region(whole)
        raise scope.error(node, "tir-region", f"a region of a buffer is needed here, not {described(whole)}")
    buffer = yield value(scope, node.value)
    if not isinstance(buffer, Buffer):
        raise scope.error(node.value, "tir-region", f"{described(buffer)} is not a buffer")
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    boxes: list[Range] = []
    for part in parts:
        if isinstance(part, ast.Slice) and len(boxes) < buffer.ndim:
            boxes.append((yield _box(scope, part, buffer.shape[len(boxes)])))
        else:
            boxes += [Range(at, literal(1, at.dtype)) for at in (yield _scalars(scope, part, len(parts) == 1))]
    if len(boxes) != buffer.ndim:
        raise scope.error(node, "tir-indices", f"{buffer.name} has {buffer.ndim} dims, got {len(boxes)} ranges")
    return BufferRegion(buffer, tuple(boxes))


def _box(scope: Scope, node: ast.Slice, dim: PrimExpr) -> Task[Range]:
    begin = literal(0, dim.dtype) if node.lower is None else (yield scalar(scope, node.lower))
    end = dim if node.upper is None else (yield scalar(scope, node.upper))
    begin, end = operators.match_types(begin, end)
    return Range(begin, extent_between(begin, end))


def extent_between(begin: PrimExpr, end: PrimExpr) -> PrimExpr:
    """end - begin: (x + 4) - x is 4."""
    if operators.is_const(begin, 0):
        return end
    if isinstance(end, tir.Add) and end.a is begin:
        return end.b
    found: PrimExpr = Analyzer().simplify(operators.subtract(end, begin))
    return found


# --------------------------------------------------------------------------------------------------- calls


def _call(scope: Scope, node: ast.Call) -> Task[Any]:
    callee = yield value(scope, node.func)
    if isinstance(callee, Word) and callee.name == "Let":
        return (yield _let(scope, node))
    args, kwargs = yield arguments(scope, node)
    if isinstance(callee, Word):
        return call_word(scope, node, callee.name, args, kwargs)
    if isinstance(callee, GlobalVar):
        operands = [as_scalar(scope, node, a.data if isinstance(a, Buffer) else a) for a in args]
        said = callee.checked_type_.ret_type if isinstance(callee.checked_type_, FuncType) else None
        return Call(kwargs.get("dtype", said.dtype if isinstance(said, PrimType) else VOID), callee, operands)
    if getattr(callee, "is_script_macro", False):
        return callee.expansion(args, kwargs, scope.span(node))
    return python_parts.call(scope, node, callee, args, kwargs)


def _let(scope: Scope, node: ast.Call) -> Task[Any]:
    """`T.Let(body, where={x: value})`: the names of the dict are defined here."""
    where = next((k.value for k in node.keywords if k.arg == "where"), None)
    if len(node.args) != 1 or not isinstance(where, ast.Dict):
        raise scope.error(node, "tir-syntax", "write T.Let(body, where={x: value})")
    bound: list[tuple[Var, PrimExpr]] = []
    with scope.inner():
        for key, item in zip(where.keys, where.values):
            if not isinstance(key, ast.Name):
                raise scope.error(node, "tir-syntax", "T.Let binds names")
            found = yield scalar(scope, item)
            bound.append((scope.define(key.id, Var(key.id, found.dtype)), found))
        body = yield scalar(scope, node.args[0])
    for var, found in reversed(bound):
        body = tir.Let(var, found, body)
    return body
