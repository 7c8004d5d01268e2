"""Assignments of the script as TIR: stores, bindings of variables, declarations of buffers, axes and allocations."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.trampoline import Task
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, Call, IntImm, Var
from baton._src.tir.stmt import BufferStore, LetStmt, Stmt
from baton._src.tir.text.operations import as_scalar
from baton._src.tir.text.read_blocks import axes, call_name, numbered
from baton._src.tir.text.read_buffers import buffer_word
from baton._src.tir.text.read_expressions import arguments, index_list, value
from baton._src.tir.text.read_scoped_words import scoped_word
from baton._src.tir.text.scope import Scope, Word
from baton._src.tir.text.statement_sequence import StatementSequence
from baton._src.tir.text.threads import env_thread
from baton._src.tir.text.words import as_dtype


def read_assign(scope: Scope, node: ast.Assign, out: StatementSequence) -> Task[None]:
    """`x = ...`, `A[i] = ...`, `vi, vj = T.axis.remap(...)`."""
    if len(node.targets) != 1:
        raise scope.error(node, "tir-syntax", "assign one target at a time")
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        yield _store(scope, node, target, node.value, out)
        return
    if starred(target) is not None:
        found = yield value(scope, node.value)
        if not isinstance(found, (tuple, list)):
            raise scope.error(node, "tir-syntax", "names with a star need several values")
        names, rest = names_with_star(scope, target, len(found))
        parts = [*found[: rest.places.start], tuple(found[rest.places]), *found[rest.places.stop :]]
        for name, part in zip([*names[: rest.places.start], rest.name, *names[rest.places.stop :]], parts):
            _bind(scope, node, name, part, out)
        return
    names = target_names(scope, target)
    word = call_name(scope, node.value)
    if word.startswith("axis."):
        assert isinstance(node.value, ast.Call)
        yield axes(scope, names, node.value, word)
        return
    if len(names) > 1 and isinstance(node.value, (ast.Tuple, ast.List)) and len(node.value.elts) == len(names):
        yield _assign_each(scope, node, names, node.value.elts, out)
        return
    if word and len(names) == 1:
        assert isinstance(node.value, ast.Call)
        if (yield _declare(scope, names[0], node.value, word, out)):
            return
    found = yield value(scope, node.value)
    if len(names) == 1:
        _bind(scope, node, names[0], found, out)
        return
    if not isinstance(found, (tuple, list)) or len(found) != len(names):
        raise scope.error(node, "tir-syntax", f"{len(names)} names need as many values")
    for name, part in zip(names, found):
        _bind(scope, node, name, part, out)


def _assign_each(
    scope: Scope, node: ast.Assign, names: list[str], given: list[ast.expr], out: StatementSequence
) -> Task[None]:
    """`a, b = A[0], A[1]`, `m, n = T.int64(), T.int64()`: all values are read before any name is bound."""
    read: list[tuple[str, Any]] = []
    for name, part in zip(names, given):
        word = call_name(scope, part)
        if isinstance(part, ast.Call) and word and (yield _declare(scope, name, part, word, out)):
            continue
        read.append((name, (yield value(scope, part))))
    for name, found in read:
        _bind(scope, node, name, found, out)


def _bind(scope: Scope, node: ast.Assign, name: str, found: Any, out: StatementSequence) -> None:
    """What is computed is computed here: a later store does not change it."""
    scope.assign(node, name, _computed(scope, node, name, found, out))


def _computed(scope: Scope, node: ast.Assign, name: str, found: Any, out: StatementSequence) -> Any:
    """A value as a name of it is to stand for it; of those in a tuple or list, what reads memory is computed."""
    if isinstance(found, PrimExpr) and not isinstance(found, (Var, IntImm)):
        return _let(scope, node, Var(name, found.dtype), found, out)
    if type(found) in (tuple, list):
        parts = [
            _computed(scope, node, f"{name}_{n}", part, out) if _reads(part) else part for n, part in enumerate(found)
        ]
        return type(found)(parts) if any(a is not b for a, b in zip(parts, found)) else found
    return found


def _reads(found: Any) -> bool:
    """Whether a value, or one in it, may be another one later."""
    if isinstance(found, (tuple, list)):
        return any(_reads(part) for part in found)
    return isinstance(found, PrimExpr) and any(isinstance(n, (BufferLoad, Call)) for n in post_order(found))


def target_names(scope: Scope, target: ast.expr) -> list[str]:
    """The names that are assigned to."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    found = [p.id for p in parts if isinstance(p, ast.Name)]
    if not found or len(found) != len(parts):  # `() = f()` is Python
        raise scope.error(target, "tir-syntax", "a name is needed on the left")
    return found


class Rest(NamedTuple):
    """A name that stands for several values."""

    name: str
    places: slice


def starred(target: ast.expr) -> int | None:
    """Where among the targets a name with a star is, `first, *rest`; None if there is none."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    return next((n for n, part in enumerate(parts) if isinstance(part, ast.Starred)), None)


def names_with_star(scope: Scope, target: ast.expr, count: int) -> tuple[list[str], Rest]:
    """Names for `count` values, and which of them the one with a star stands for."""
    assert isinstance(target, (ast.Tuple, ast.List))
    place = starred(target)
    assert place is not None
    taken = count - len(target.elts) + 1
    if taken < 0:
        raise scope.error(target, "tir-syntax", f"{count} values are fewer than the names")
    star = target.elts[place]
    assert isinstance(star, ast.Starred)
    before, after = (
        target_names(scope, ast.copy_location(ast.Tuple(elts, ast.Store()), target)) if elts else []
        for elts in (target.elts[:place], target.elts[place + 1 :])
    )
    (name,) = target_names(scope, star.value)
    return [*before, *numbered(name, taken), *after], Rest(name, slice(place, place + taken))


def _declare(scope: Scope, name: str, node: ast.Call, word: str, out: StatementSequence) -> Task[bool]:
    """`n = T.int64()`, `A = T.match_buffer(...)`, `p = T.allocate(...)`; False for other calls."""
    buffer = yield buffer_word(scope, name, node, word)
    if buffer is not None:
        scope.define(name, buffer)
        return True
    if word in ("allocate", "allocate_const", "decl_buffer", "launch_thread"):
        _, wrap = yield scoped_word(scope, node, word, name)
        out.open(wrap)
        return True
    if word == "env_thread":
        scope.define(name, env_thread(scope, node, name, *(yield arguments(scope, node))))
        return True
    is_dtype = as_dtype(word) is not None
    if word in ("var", "size_var") or (is_dtype and not node.args):
        declared = yield value(scope, node)
        scope.define(name, scope.at(node, declared.with_fields(name=name)))
        return True
    if word in ("meta_var", "buffer_view"):
        if len(node.args) != 1:
            raise scope.error(node, "tir-syntax", f"T.{word} takes one value")
        scope.define(name, (yield value(scope, node.args[0])))
        return True
    return False


def _let(scope: Scope, node: ast.stmt, var: Var, found: PrimExpr, out: StatementSequence) -> Any:
    out.open(lambda inner: scope.at(node, LetStmt(var, found, inner)))
    return scope.at(node, var)


def read_annotated(scope: Scope, node: ast.AnnAssign, out: StatementSequence) -> Task[None]:
    """`x: T.int32 = ...`: a variable of the kernel."""
    (name,) = target_names(scope, node.target)
    kind = yield value(scope, node.annotation)
    var = _typed_var(scope, node.annotation, kind, name)
    if node.value is None:
        scope.define(name, var)
        return
    given = yield value(scope, node.value)
    found = operators.convert(given, var.dtype)
    if found.dtype != var.dtype:
        raise scope.error(node.value, "tir-dtype", f"{name} is {var.dtype} but its value is {found.dtype}")
    scope.define(name, _let(scope, node, var, found, out))


def _typed_var(scope: Scope, node: ast.AST, kind: Any, name: str) -> Var:
    """A variable of an annotation `T.int64` or `T.handle("float32")`."""
    if isinstance(kind, Word):
        dtype = as_dtype(kind.name)
        if dtype is not None:
            return Var(name, dtype)
    if isinstance(kind, Var):
        return kind.with_fields(name=name)
    raise scope.error(node, "tir-annotation", f"{kind!r} is not a type of a scalar", "write e.g. T.int64 or T.handle")


def _store(scope: Scope, node: ast.stmt, target: ast.Subscript, given: ast.expr, out: StatementSequence) -> Task[None]:
    buffer = yield value(scope, target.value)
    if not isinstance(buffer, Buffer):
        raise scope.error(target, "tir-store", "only elements of buffers can be assigned")
    is_scalar = isinstance(target.slice, ast.Tuple) and not target.slice.elts
    indices = [] if is_scalar else (yield index_list(scope, target, buffer.shape))
    if len(indices) != buffer.ndim:
        raise scope.error(target, "tir-indices", f"{buffer.name} has {buffer.ndim} dims, got {len(indices)} indices")
    found = yield value(scope, given)
    out.add(_checked_store(scope, node, given, buffer, indices, found))


def _checked_store(
    scope: Scope, node: ast.stmt, given: ast.AST, buffer: Buffer, indices: list[Any], found: Any
) -> Stmt:
    lanes = indices[-1].dtype.lanes if indices else 1
    dtype = buffer.dtype.with_lanes(buffer.dtype.lanes * lanes)
    if not isinstance(found, PrimExpr):
        found = operators.convert(
            found if isinstance(found, (bool, int, float)) else as_scalar(scope, given, found), dtype
        )
    if found.dtype.lanes == 1 and dtype.lanes > 1:
        found = operators.cast(found.dtype.with_lanes(dtype.lanes), found)
    if found.dtype != dtype:
        message = f"{buffer.name} holds {dtype}, the value is {found.dtype}"
        raise scope.error(given, "tir-dtype", message, f'convert it: T.Cast("{dtype}", ...)')
    made: Stmt = scope.at(node, BufferStore(buffer, found, tuple(indices)))
    return made


def read_augmented(scope: Scope, node: ast.AugAssign, out: StatementSequence) -> Task[None]:
    """`A[i] += ...`."""
    target = node.target
    if isinstance(target, ast.Subscript):
        element = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        combined = ast.copy_location(ast.BinOp(element, node.op, node.value), node)
        yield _store(scope, node, target, combined, out)
        return
    combined = ast.copy_location(ast.BinOp(target, node.op, node.value), node)
    yield read_assign(scope, ast.copy_location(ast.Assign([target], combined), node), out)
