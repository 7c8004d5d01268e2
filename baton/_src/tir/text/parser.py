"""`parse_prim_func`: a function definition in TVMScript, as a Python syntax tree, becomes a PrimFunc.

The tree is read, never executed. Every node gets the place it was written; several mistakes are reported in one run.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from baton._src.ir.types import PrimType, Type
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.python_in_scripts import repeated_parameter
from baton._src.support.spans import Source
from baton._src.support.trampoline import Task, run
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, DeclBuffer, Stmt
from baton._src.tir.text.read_buffers import buffer_arguments, is_buffer_word, make_buffer
from baton._src.tir.text.read_expressions import value
from baton._src.tir.text.read_statements import body
from baton._src.tir.text.scope import BlockFrame, Scope, SpanOf, Word, default_span
from baton._src.tir.text.words import as_dtype
from baton._src.values.dtype import BOOL, HANDLE


def parse_prim_func(
    node: ast.FunctionDef,
    source: Source,
    environment: Mapping[str, Any],
    *,
    roots: Iterable[str] | None = None,
    span: SpanOf | None = None,
    is_trusted: bool = False,
) -> PrimFunc:
    """The PrimFunc that a definition decorated with `@T.prim_func` describes.

    `environment` gives the meaning of names from outside: numbers, tuples, variables, GlobalVars, and `cls` with
    `get_global_var`. `roots` are the names that stand for `T` (default: `T` and whatever is the same object in the
    environment). `span` places tree nodes in `source` where the tree was not parsed from its very text. Text that
    `is_trusted` may call what it finds in its environment, and Python's builtins. Without `private=True` the function
    gets its name as `global_symbol`. Raises `DiagnosticError` with every finding.
    """
    names = set(roots) if roots is not None else {"T"}
    if roots is None and "T" in environment:
        names |= {name for name, content in environment.items() if content is environment["T"]}
    scope = Scope(source, environment, frozenset(names), span or default_span(source), is_trusted)
    func = run(_function(scope, node))
    if scope.findings:
        raise DiagnosticError(scope.findings)
    assert func is not None
    return func


def parse_text(text: str, name: str = "<string>", environment: Mapping[str, Any] | None = None) -> PrimFunc:
    """The first function defined in a text (for tests and tools; modules are read by `script`)."""
    cleaned = textwrap.dedent(text)
    try:
        tree = ast.parse(cleaned)
    except SyntaxError as error:
        raise fail("tir-syntax", f"{name}:{error.lineno}: {error.msg}") from None
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if found is None:
        raise fail("tir-syntax", f"{name} defines no function")
    return parse_prim_func(found, Source(name, cleaned), environment or {})


def _function(scope: Scope, node: ast.FunctionDef) -> Task[PrimFunc | None]:
    root = BlockFrame("root")
    scope.blocks.append(root)
    yield _params(scope, node)
    inner = yield body(scope, node.body)
    returns = yield _return_type(scope, node)
    if scope.findings:
        return None
    attrs = dict(scope.attrs)
    if not _is_private(node):
        attrs = {"global_symbol": node.name, **attrs}
    func = PrimFunc(scope.params, _with_root(scope, root, inner), returns, scope.buffer_map, attrs)
    placed: PrimFunc = scope.at(node, func)
    return placed


def _with_root(scope: Scope, root: BlockFrame, inner: Stmt) -> Stmt:
    """The body in a root block where it has blocks or allocations and does not bring its own, within flat buffers."""
    held: Any = inner
    while isinstance(held, DeclBuffer):
        held = held.body
    if isinstance(held, BlockRealize) and held.block.name_hint == "root" and not held.block.iter_vars:
        return inner
    if not scope.has_blocks and not root.alloc_buffers:
        return inner
    block = Block((), (), (), "root", inner, alloc_buffers=root.alloc_buffers, match_buffers=root.match_buffers)
    return BlockRealize((), IntImm(BOOL, 1), block)


def _params(scope: Scope, node: ast.FunctionDef) -> Task[None]:
    """Scalars first, so that shapes of buffers in the signature may name any of them."""
    arguments_node = node.args
    if arguments_node.vararg or arguments_node.kwarg or arguments_node.kwonlyargs or arguments_node.defaults:
        with scope.recover(node):
            raise scope.error(node, "tir-params", "a PrimFunc takes plain parameters only")
    twice = repeated_parameter(arguments_node)
    if twice is not None:
        with scope.recover(twice):
            raise scope.error(twice, "tir-params", f"parameter {twice.arg} is given twice")
    found: dict[str, Var] = {}
    buffers: list[tuple[ast.arg, ast.expr]] = []
    for arg in (*arguments_node.posonlyargs, *arguments_node.args):
        with scope.recover(arg, (arg.arg,)):
            if arg.annotation is None:
                raise scope.error(arg, "tir-params", f"the parameter {arg.arg} needs an annotation", "e.g. T.handle")
            if is_buffer_word(scope, arg.annotation):
                found[arg.arg] = scope.at(arg, Var(arg.arg, HANDLE))
                buffers.append((arg, arg.annotation))
                continue
            kind = yield value(scope, arg.annotation)
            if isinstance(kind, Buffer):  # a Python variable for `T.Buffer(...)`
                found[arg.arg] = scope.at(arg, Var(arg.arg, HANDLE))
                pointer = kind.data.with_fields(name=arg.arg)
                scope.buffer_map[found[arg.arg]] = scope.define(arg.arg, kind.with_fields(data=pointer, name=arg.arg))
                continue
            found[arg.arg] = scope.define(arg.arg, scope.at(arg, _scalar_param(scope, arg, kind)))
    scope.params = list(found.values())
    for arg, annotation in buffers:
        with scope.recover(arg, (arg.arg,)):
            args, kwargs = yield buffer_arguments(scope, annotation)
            buffer: Buffer = make_buffer(scope, arg, arg.arg, args, kwargs)
            scope.buffer_map[found[arg.arg]] = scope.define(arg.arg, buffer)


def _scalar_param(scope: Scope, arg: ast.arg, kind: Any) -> Var:
    if isinstance(kind, Word):
        dtype = as_dtype(kind.name)
        if dtype is not None:
            return Var(arg.arg, dtype)
    if isinstance(kind, Var):
        return kind.with_fields(name=arg.arg)
    help_text = 'annotate with T.handle, T.int64, or T.Buffer((n,), "float32")'
    raise scope.error(arg, "tir-params", f"the annotation of {arg.arg} is not a type", help_text)


def _return_type(scope: Scope, node: ast.FunctionDef) -> Task[Type | None]:
    if node.returns is None or (isinstance(node.returns, ast.Constant) and node.returns.value is None):
        return None
    found: Type | None = None
    with scope.recover(node.returns):
        kind = yield value(scope, node.returns)
        dtype = as_dtype(kind.name) if isinstance(kind, Word) else None
        if dtype is None:
            raise scope.error(node.returns, "tir-params", "a PrimFunc returns a scalar type or nothing")
        found = PrimType(dtype)
    return found


def declared_result(node: ast.FunctionDef) -> Type | None:
    """The type of a signature's `-> T.int32`, for calls that are read before the function is."""
    said = node.returns
    dtype = as_dtype(said.attr) if isinstance(said, ast.Attribute) else None
    return None if dtype is None else PrimType(dtype)


def _is_private(node: ast.FunctionDef) -> bool:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            for keyword in decorator.keywords:
                if keyword.arg == "private" and isinstance(keyword.value, ast.Constant):
                    return bool(keyword.value.value)
    return False
