"""Statements of the script as TIR.

Statements that hold for the rest of their scope (`x: T.int32 = ...`, `T.attr(...)`, `assert`, `p = T.allocate(...)`)
take what follows as their body. A wrong statement is reported and reading goes on, so one run finds several mistakes.
"""

from __future__ import annotations

import ast
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.trampoline import Task
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Call, IntImm, IterVar, StringImm, Var
from baton._src.tir.intrinsics import definition
from baton._src.tir.scalar_functions import ret
from baton._src.tir.stmt import (
    AssertStmt,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from baton._src.tir.text.read_blocks import (
    axes,
    block_word,
    buffer_word,
    call_name,
    close_block,
    plain,
)
from baton._src.tir.text.read_expressions import arguments, as_scalar, extent_between, index_list, scalar, value
from baton._src.tir.text.read_scoped_words import SCOPED, Wrap, scoped_word
from baton._src.tir.text.scope import BlockFrame, Expansion, Scope, Word
from baton._src.tir.text.slips import instead
from baton._src.tir.text.threads import env_thread
from baton._src.tir.text.words import as_dtype
from baton._src.values.dtype import BOOL

_NOTHING = Evaluate(IntImm("int32", 0))
_STEPS = "loops count by 1: for a step write `for i in range(n)` and use begin + i * step"
_LOOPS = {
    "range": ForKind.SERIAL,
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
    "thread_binding": ForKind.THREAD_BINDING,
    "grid": ForKind.SERIAL,
}


class _Sequence:
    """The statements of one scope; a flat statement opens a level that ends with the scope."""

    def __init__(self) -> None:
        self.levels: list[tuple[list[Stmt], Wrap | None]] = [([], None)]

    def add(self, statement: Stmt) -> None:
        self.levels[-1][0].append(statement)

    def open(self, wrap: Wrap) -> None:
        """What follows becomes the body of a statement."""
        self.levels.append(([], wrap))

    def close(self) -> Stmt:
        """The scope as one statement."""
        while len(self.levels) > 1:
            parts, wrap = self.levels.pop()
            assert wrap is not None
            self.levels[-1][0].append(wrap(_join(parts)))
        return _join(self.levels[0][0])


def _join(parts: list[Stmt]) -> Stmt:
    return _NOTHING if not parts else parts[0] if len(parts) == 1 else SeqStmt(tuple(parts))


def body(scope: Scope, nodes: list[ast.stmt]) -> Task[Stmt]:
    """A list of statements, in the present scope of names."""
    sequence = _Sequence()
    yield _read_into(scope, nodes, sequence)
    return sequence.close()


def _read_into(scope: Scope, nodes: list[ast.stmt], out: _Sequence) -> Task[None]:
    for node in nodes:
        with scope.recover(node, _targets(node)):
            yield _statement(scope, node, out)


def _scoped_body(scope: Scope, nodes: list[ast.stmt]) -> Task[Stmt]:
    with scope.inner():
        found: Stmt = yield body(scope, nodes)
        return found


def _targets(node: ast.stmt) -> tuple[str, ...]:
    return tuple(
        n.id
        for t in getattr(node, "targets", [getattr(node, "target", None)])
        if t
        for n in ast.walk(t)
        if isinstance(n, ast.Name)
    )


def _statement(scope: Scope, node: ast.stmt, out: _Sequence) -> Task[None]:
    match node:
        case ast.Assign():
            yield _assign(scope, node, out)
        case ast.AnnAssign():
            yield _annotated(scope, node, out)
        case ast.AugAssign():
            yield _augmented(scope, node, out)
        case ast.Expr():
            yield _expression(scope, node, out)
        case ast.For():
            out.add(scope.at(node, (yield _for(scope, node))))
        case ast.With():
            yield _with(scope, node, out)
        case ast.If():
            yield _if(scope, node, out)
        case ast.While():
            condition = yield scalar(scope, node.test)
            out.add(scope.at(node, While(condition, (yield _scoped_body(scope, node.body)))))
        case ast.Assert():
            condition = yield scalar(scope, node.test)
            message: Any = "assertion failed" if node.msg is None else (yield value(scope, node.msg))
            shown = message if isinstance(message, PrimExpr) else StringImm(str(message))
            out.open(lambda inner: scope.at(node, AssertStmt(condition, shown, inner)))
        case ast.Return():
            if node.value is not None:
                found = yield scalar(scope, node.value)
                out.add(scope.at(node, Evaluate(ret(found))))
        case ast.Pass():
            pass
        case _:
            raise scope.error(node, "tir-syntax", f"{type(node).__name__} cannot be used in a PrimFunc", instead(node))


# --------------------------------------------------------------------------------------------- assignments


def _assign(scope: Scope, node: ast.Assign, out: _Sequence) -> Task[None]:
    if len(node.targets) != 1:
        raise scope.error(node, "tir-syntax", "one target at a time")
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        yield _store(scope, node, target, node.value, out)
        return
    names = _names(scope, target)
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


def _assign_each(scope: Scope, node: ast.Assign, names: list[str], given: list[ast.expr], out: _Sequence) -> Task[None]:
    """`a, b = A[0], A[1]`, `m, n = T.int64(), T.int64()`: all values are read before a name stands for its own."""
    read: list[tuple[str, Any]] = []
    for name, part in zip(names, given):
        word = call_name(scope, part)
        if isinstance(part, ast.Call) and word and (yield _declare(scope, name, part, word, out)):
            continue
        read.append((name, (yield value(scope, part))))
    for name, found in read:
        _bind(scope, node, name, found, out)


def _bind(scope: Scope, node: ast.Assign, name: str, found: Any, out: _Sequence) -> None:
    """What is computed is computed here: a later store does not change it."""
    if isinstance(found, PrimExpr) and not isinstance(found, (Var, IntImm)):
        _let(scope, node, name, Var(name, found.dtype), found, out)
    else:
        scope.define(name, found)


def _names(scope: Scope, target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    found = [p.id for p in parts if isinstance(p, ast.Name)]
    if not found or len(found) != len(parts):  # `() = f()` is Python
        raise scope.error(target, "tir-syntax", "a name is needed on the left")
    return found


def _declare(scope: Scope, name: str, node: ast.Call, word: str, out: _Sequence) -> Task[bool]:
    """`n = T.int64()`, `A = T.match_buffer(...)`, `p = T.allocate(...)`; False for other calls."""
    buffer = yield buffer_word(scope, name, node, word)
    if buffer is not None:
        scope.define(name, buffer)
        return True
    if word in ("allocate", "decl_buffer", "launch_thread"):
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


def _let(scope: Scope, node: ast.stmt, name: str, var: Var, found: PrimExpr, out: _Sequence) -> None:
    scope.define(name, scope.at(node, var))
    out.open(lambda inner: scope.at(node, LetStmt(var, found, inner)))


def _annotated(scope: Scope, node: ast.AnnAssign, out: _Sequence) -> Task[None]:
    (name,) = _names(scope, node.target)
    kind = yield value(scope, node.annotation)
    var = _typed_var(scope, node.annotation, kind, name)
    if node.value is None:
        scope.define(name, var)
        return
    given = yield value(scope, node.value)
    found = operators.convert(given, var.dtype)
    if found.dtype != var.dtype:
        raise scope.error(node.value, "tir-dtype", f"{name} is {var.dtype} but its value is {found.dtype}")
    _let(scope, node, name, var, found, out)


def _typed_var(scope: Scope, node: ast.AST, kind: Any, name: str) -> Var:
    """A variable of an annotation `T.int64` or `T.handle("float32")`."""
    if isinstance(kind, Word):
        dtype = as_dtype(kind.name)
        if dtype is not None:
            return Var(name, dtype)
    if isinstance(kind, Var):
        return kind.with_fields(name=name)
    raise scope.error(node, "tir-annotation", f"{kind!r} is no type of a scalar", "write e.g. T.int64 or T.handle")


def _store(scope: Scope, node: ast.stmt, target: ast.Subscript, given: ast.expr, out: _Sequence) -> Task[None]:
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


def _augmented(scope: Scope, node: ast.AugAssign, out: _Sequence) -> Task[None]:
    target = node.target
    if isinstance(target, ast.Subscript):
        element = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        combined = ast.copy_location(ast.BinOp(element, node.op, node.value), node)
        yield _store(scope, node, target, combined, out)
        return
    combined = ast.copy_location(ast.BinOp(target, node.op, node.value), node)
    yield _assign(scope, ast.copy_location(ast.Assign([target], combined), node), out)


# --------------------------------------------------------------------------------------------- expressions


def _expression(scope: Scope, node: ast.Expr, out: _Sequence) -> Task[None]:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return  # a docstring
    word = call_name(scope, node.value)
    if word and isinstance(node.value, ast.Call):
        if (yield block_word(scope, node.value, word)):
            return
        if word == "evaluate":
            if len(node.value.args) != 1:
                raise scope.error(node, "tir-call", "T.evaluate takes one expression")
            out.add(scope.at(node, Evaluate((yield scalar(scope, node.value.args[0])))))
            return
        if word in SCOPED:
            _, wrap = yield scoped_word(scope, node.value, word, None)
            out.open(wrap)
            return
    found = yield value(scope, node.value)
    if isinstance(found, Expansion):
        with scope.expanding(found):
            yield _read_into(scope, found.body, out)
        return
    if found is None:
        return  # what Python was called for
    if isinstance(found, Stmt):
        out.add(scope.at(node, found))  # `A.vstore(...)`
        return
    if isinstance(found, Call) and (definition(found.op) is not None or word == ""):
        out.add(scope.at(node, Evaluate(found)))
        return
    raise scope.error(node, "tir-syntax", "this statement has no effect", "write T.evaluate(...) to keep it")


# ----------------------------------------------------------------------------------------- loops, branches


def _for(scope: Scope, node: ast.For) -> Task[Stmt]:
    word = call_name(scope, node.iter)
    if word not in _LOOPS:
        known = "range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll, T.thread_binding"
        raise scope.error(node.iter, "tir-loop", "this cannot be looped over", f"loops are {known}")
    assert isinstance(node.iter, ast.Call)
    args, kwargs = yield arguments(scope, node.iter)
    names = _names(scope, node.target)
    if word == "thread_binding" and isinstance(args[-1], str):
        kwargs["thread"] = args.pop()
    if word == "grid":
        bounds: list[tuple[Any, Any]] = [(0, extent) for extent in args]
    else:
        begin, end = (0, args[0]) if len(args) == 1 else (args[0], args[1]) if len(args) == 2 else (None, None)
        bounds = [(begin, end)]
    unknown = sorted(set(kwargs) - {"thread", "annotations"})
    if not bounds or bounds[0][1] is None or unknown:
        got = f"the option {unknown[0]!r}" if unknown else f"{len(args)} arguments"
        raise scope.error(node.iter, "tir-loop", f"loops take an extent, or begin and end, not {got}", _STEPS)
    if len(bounds) != len(names):
        raise scope.error(node, "tir-loop", f"{len(names)} loop variables but {len(bounds)} extents")
    with scope.inner():
        loops = [_loop(scope, node, name, *box, _LOOPS[word], kwargs) for name, box in zip(names, bounds)]
        inner = yield body(scope, node.body)
    for loop in reversed(loops):
        scope.loops.pop(loop.loop_var, None)
        inner = scope.at(node, loop.with_fields(body=inner))
    found: Stmt = inner
    return found


def _loop(scope: Scope, node: ast.For, name: str, begin: Any, end: Any, kind: ForKind, kwargs: dict[str, Any]) -> For:
    last = as_scalar(scope, node, end)
    first = operators.convert(begin, last.dtype) if isinstance(begin, int) else as_scalar(scope, node, begin)
    first, last = operators.match_types(first, last)
    if not last.dtype.is_int:
        raise scope.error(node.iter, "tir-loop", f"the extent of a loop must be an integer, got {last.dtype}")
    var = scope.define(name, Var(name, last.dtype, scope.span(node.target)))
    thread = kwargs.get("thread")
    binding = IterVar(None, Var(thread, last.dtype), IterVar.ThreadIndex, thread) if thread is not None else None
    loop = For(var, first, extent_between(first, last), kind, _NOTHING, binding, plain(kwargs.get("annotations") or {}))
    scope.loops[var] = loop
    return loop


def _if(scope: Scope, node: ast.If, out: _Sequence) -> Task[None]:
    """A branch, with its `elif`s; a condition of Python's own is decided now, and its branch read in place."""
    cases: list[tuple[ast.If, PrimExpr, Stmt]] = []
    otherwise: Stmt | None = None
    current: ast.If | None = node
    while current is not None:
        test = yield value(scope, current.test)
        if isinstance(test, bool):
            chosen = current.body if test else current.orelse
            if cases:
                otherwise = (yield _scoped_body(scope, chosen)) if chosen else None
            else:
                with scope.inner():
                    yield _read_into(scope, chosen, out)
            break
        condition = as_scalar(scope, current.test, test)
        if not condition.dtype.is_bool:
            raise scope.error(current.test, "tir-dtype", f"a condition must be bool, got {condition.dtype}")
        cases.append((current, condition, (yield _scoped_body(scope, current.body))))
        rest = current.orelse
        current = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
        if rest and current is None:
            otherwise = yield _scoped_body(scope, rest)
    for place, condition, then in reversed(cases):
        otherwise = scope.at(place, IfThenElse(condition, then, otherwise))
    if otherwise is not None:
        out.add(otherwise)


# ------------------------------------------------------------------------------------------- with: scopes


def _with(scope: Scope, node: ast.With, out: _Sequence) -> Task[None]:
    item, *others = node.items
    if others:
        inner_with = ast.copy_location(ast.With(others, node.body), node)
        yield _with(scope, ast.copy_location(ast.With([item], [inner_with]), node), out)
        return
    call = item.context_expr
    word = call_name(scope, call)
    if isinstance(call, ast.Call) and word in ("block", "sblock"):
        out.add(scope.at(node, (yield _read_block(scope, node, call))))
    elif word == "init":
        if scope.block is None:
            raise scope.error(node, "tir-block", "T.init belongs into a block")
        scope.block.init = yield _scoped_body(scope, node.body)
    elif word == "seq":
        inner = yield _scoped_body(scope, node.body)
        out.add(inner)
    elif isinstance(call, ast.Call) and word in SCOPED:
        name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else None
        with scope.inner():
            _, wrap = yield scoped_word(scope, call, word, name)
            out.add(wrap((yield body(scope, node.body))))
    else:
        raise scope.error(node, "tir-syntax", "this cannot be used with `with`", 'write e.g. with T.block("name"):')


def _read_block(scope: Scope, node: ast.With, call: ast.Call) -> Task[Stmt]:
    args, _ = yield arguments(scope, call)
    name = args[0] if args else ""
    if len(args) > 1 or not isinstance(name, str):
        raise scope.error(call, "tir-block", "a block takes its name, a text", 'write e.g. with T.block("name"):')
    is_root = name == "root" and len(scope.blocks) == 1 and not scope.loops
    scope.has_blocks = scope.has_blocks or not is_root
    frame = BlockFrame(name, len(scope.loops))
    scope.blocks.append(frame)
    try:
        inner = yield _scoped_body(scope, node.body)
    finally:
        scope.blocks.pop()
    predicate = IntImm(BOOL, 1) if frame.predicate is None else frame.predicate
    return BlockRealize(tuple(frame.iter_values), predicate, close_block(frame, inner))
