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
from baton._src.tir.builders.scalar_functions import ret
from baton._src.tir.expr import Call, IntImm, IterVar, StringImm, Var
from baton._src.tir.intrinsics import definition
from baton._src.tir.stmt import (
    AssertStmt,
    BlockRealize,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Stmt,
    While,
)
from baton._src.tir.text.operations import as_condition, as_scalar
from baton._src.tir.text.read_assignments import (
    Rest,
    names_with_star,
    read_annotated,
    read_assign,
    read_augmented,
    starred,
    target_names,
)
from baton._src.tir.text.read_blocks import (
    block_word,
    call_name,
    close_block,
    numbered,
    plain,
)
from baton._src.tir.text.read_expressions import arguments, condition, decided, extent_between, scalar, value
from baton._src.tir.text.read_scoped_words import SCOPED, scoped_word
from baton._src.tir.text.scope import BlockFrame, Expansion, Scope
from baton._src.tir.text.slips import instead
from baton._src.tir.text.statement_sequence import StatementSequence
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


def body(scope: Scope, nodes: list[ast.stmt]) -> Task[Stmt]:
    """A list of statements, in the present scope of names."""
    sequence = StatementSequence()
    yield _read_into(scope, nodes, sequence)
    return sequence.close()


def _read_into(scope: Scope, nodes: list[ast.stmt], out: StatementSequence) -> Task[None]:
    for node in nodes:
        with scope.recover(node, _targets(node)):
            yield _statement(scope, node, out)


def _scoped_body(scope: Scope, nodes: list[ast.stmt]) -> Task[Stmt]:
    with scope.inner():
        found: Stmt = yield body(scope, nodes)
        return found


def _targets(node: ast.AST) -> tuple[str, ...]:
    return tuple(
        n.id
        for t in getattr(node, "targets", [getattr(node, "target", None)])
        if t
        for n in ast.walk(t)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


def _statement(scope: Scope, node: ast.stmt, out: StatementSequence) -> Task[None]:
    yield _read(scope, node, out)
    if scope.take_built():
        help = "call it by itself, as a statement"
        raise scope.error(node, "tir-syntax", "a function that builds statements is called within another one", help)


def _read(scope: Scope, node: ast.stmt, out: StatementSequence) -> Task[None]:
    match node:
        case ast.Assign():
            yield read_assign(scope, node, out)
        case ast.AnnAssign():
            yield read_annotated(scope, node, out)
        case ast.AugAssign():
            yield read_augmented(scope, node, out)
        case ast.Expr():
            yield _expression(scope, node, out)
        case ast.For(orelse=[other, *_]) | ast.While(orelse=[other, *_]):
            raise scope.error(other, "tir-syntax", "a loop has no else", "write these statements behind the loop")
        case ast.For():
            out.add(scope.at(node, (yield _for(scope, node))))
        case ast.With():
            yield _with(scope, node, out)
        case ast.If():
            yield _if(scope, node, out)
        case ast.While():
            _require_change(scope, node)
            with scope.inner(is_loop=True):
                test = yield condition(scope, node.test)
                out.add(scope.at(node, While(test, (yield body(scope, node.body)))))
        case ast.Assert():
            holds = yield condition(scope, node.test)
            message: Any = "assertion failed" if node.msg is None else (yield value(scope, node.msg))
            shown = message if isinstance(message, PrimExpr) else StringImm(str(message))
            out.open(lambda inner: scope.at(node, AssertStmt(holds, shown, inner)))
        case ast.Return():
            if node.value is not None:
                found = yield scalar(scope, node.value)
                out.add(scope.at(node, Evaluate(ret(found))))
        case ast.Pass():
            pass
        case _:
            raise scope.error(node, "tir-syntax", f"{type(node).__name__} cannot be used in a PrimFunc", instead(node))


# --------------------------------------------------------------------------------------------- expressions


def _expression(scope: Scope, node: ast.Expr, out: StatementSequence) -> Task[None]:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return  # a docstring
    chosen = yield decided(scope, node.value)
    if chosen is not node.value:
        yield _expression(scope, ast.copy_location(ast.Expr(chosen), node), out)
        return
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
    for made in scope.take_built():
        out.add(scope.at(node, made))
    if isinstance(found, Expansion):
        with scope.expanding(found, node):
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
    if isinstance(node.value, ast.Constant) and isinstance(found, int):
        out.add(scope.at(node, Evaluate(operators.const(found))))  # what TVM keeps, too
        return
    raise scope.error(node, "tir-syntax", "this statement has no effect", "write T.evaluate(...) to keep it")


# ----------------------------------------------------------------------------------------- loops, branches


def _require_change(scope: Scope, node: ast.While) -> None:
    """Refuse a loop whose condition reads a name that its body assigns: that is another variable of the name, which
    ends with each turn, so the loop would never.
    """
    kinds = (ast.Assign, ast.AnnAssign, ast.AugAssign)
    inside = (inner for part in node.body for inner in ast.walk(part) if isinstance(inner, kinds))
    assigned = {name for inner in inside for name in _targets(inner)}
    for part in ast.walk(node.test):
        if isinstance(part, ast.Name) and part.id in assigned:
            message = f"the condition's {part.id} never changes: an assignment in the loop makes another variable"
            help = f'keep it in a buffer: {part.id} = T.alloc_buffer((1,), "int32")'
            raise scope.error(part, "tir-loop", message, help)


def _for(scope: Scope, node: ast.For) -> Task[Stmt]:
    iterated = yield decided(scope, node.iter)
    word = call_name(scope, iterated)
    if word not in _LOOPS:
        known = "range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll, T.thread_binding"
        raise scope.error(node.iter, "tir-loop", "this cannot be looped over", f"loops are {known}")
    assert isinstance(iterated, ast.Call)
    args, kwargs = yield arguments(scope, iterated)
    if word == "thread_binding" and args and isinstance(args[-1], str):
        kwargs["thread"] = args.pop()
    if word != "grid":
        args += [kwargs.pop(name) for name in ("start", "stop")[len(args) :] if name in kwargs]
    if word == "grid":
        bounds: list[tuple[Any, Any]] = [(0, extent) for extent in args]
    else:
        begin, end = (0, args[0]) if len(args) == 1 else (args[0], args[1]) if len(args) == 2 else (None, None)
        bounds = [(begin, end)]
    if word == "thread_binding" and "thread" not in kwargs:
        raise scope.error(node.iter, "tir-loop", "T.thread_binding needs an axis of threads", 'thread="threadIdx.x"')
    if not isinstance(kwargs.get("annotations") or {}, dict):
        raise scope.error(node.iter, "tir-loop", "annotations of a loop are a dict", 'annotations={"key": 1}')
    unknown = sorted(set(kwargs) - {"thread", "annotations"})
    if not bounds or bounds[0][1] is None or unknown:
        got = f"the option {unknown[0]!r}" if unknown else f"{len(args)} arguments"
        raise scope.error(node.iter, "tir-loop", f"loops take an extent, or begin and end, not {got}", _STEPS)
    names, rest = _loop_names(scope, node, len(bounds))
    with scope.inner(is_loop=True):
        loops = [_loop(scope, node, name, *box, _LOOPS[word], kwargs) for name, box in zip(names, bounds)]
        if rest is not None:
            scope.define(rest.name, tuple(loop.loop_var for loop in loops[rest.places]))
        inner = yield body(scope, node.body)
    for loop in reversed(loops):
        scope.loops.pop(loop.loop_var, None)
        inner = scope.at(node, loop.with_fields(body=inner))
    found: Stmt = inner
    return found


def _loop_names(scope: Scope, node: ast.For, count: int) -> tuple[list[str], Rest | None]:
    """The names of `count` loop variables, and one that stands for several: `for ij in T.grid(4, 4)`, `i, *jk`."""
    if starred(node.target) is not None:
        return names_with_star(scope, node.target, count)
    names = target_names(scope, node.target)
    if isinstance(node.target, ast.Name) and count > 1:
        return numbered(names[0], count), Rest(names[0], slice(count))
    if count != len(names):
        raise scope.error(node, "tir-loop", f"{len(names)} loop variables but {count} extents")
    return names, None


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


def _if(scope: Scope, node: ast.If, out: StatementSequence) -> Task[None]:
    """A branch, with its `elif`s; a condition of Python's own is decided now, and its branch read in place."""
    cases: list[tuple[ast.If, PrimExpr, Stmt]] = []
    otherwise: Stmt | None = None
    current: ast.If | None = node
    with scope.branches() as begin:
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
            decides = as_condition(scope, current.test, test)
            cases.append((current, decides, (yield _scoped_body(scope, current.body))))
            begin()
            rest = current.orelse
            current = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
            if rest and current is None:
                otherwise = yield _scoped_body(scope, rest)
    for place, decides, then in reversed(cases):
        otherwise = scope.at(place, IfThenElse(decides, then, otherwise))
    if otherwise is not None:
        out.add(otherwise)


# ------------------------------------------------------------------------------------------- with: scopes


def _with(scope: Scope, node: ast.With, out: StatementSequence) -> Task[None]:
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
            raise scope.error(node, "tir-block", "T.init belongs in a block")
        if scope.block.init is not None:
            raise scope.error(node, "tir-block", "the block has a T.init already", "write one with both statements")
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
    args, kwargs = yield arguments(scope, call)
    given = dict(zip(("name", "no_realize"), args)) | kwargs
    name = given.pop("name", "")
    if len(args) > 2 or not isinstance(name, str):
        raise scope.error(call, "tir-block", "a block's name must be a string", 'write e.g. with T.block("name"):')
    if given.pop("no_realize", False) or given:
        message = f"a block takes a name, not {next(iter(given), 'no_realize')}"
        raise scope.error(call, "tir-block", message, "a block by itself is built under an IRBuilder")
    is_root = name == "root" and len(scope.blocks) == 1 and not scope.loops
    scope.has_blocks = scope.has_blocks or not is_root
    frame = BlockFrame(name, len(scope.loops))
    scope.blocks.append(frame)
    try:
        inner = yield _scoped_body(scope, node.body)
    finally:
        scope.blocks.pop()
    predicate = IntImm(BOOL, 1) if frame.predicate is None else frame.predicate
    block = close_block(frame, inner, scope.buffers_of_blocks())
    return BlockRealize(tuple(frame.iter_values), predicate, block)
