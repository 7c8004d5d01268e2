"""Read assignments in a Relax function: they create bindings, shape variables, or names of Python values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Protocol

from baton._src.ir.expr import GraphExpr
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import DataflowVar, Function, MatchCast, TupleGetItem, Var, VarBinding
from baton._src.relax.struct_info import StructInfo, TupleStructInfo
from baton._src.script import markers
from baton._src.script.environment import Environment
from baton._src.script.evaluate import Evaluator
from baton._src.script.infos import Scalars
from baton._src.script.options import Options
from baton._src.script.read_source import ScriptSource
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.spans import Span
from baton._src.tir.expr import Var as TirVar


class Functions(Protocol):
    """The part of `functions.FunctionReader` that statements use: a function may contain functions."""

    source: ScriptSource
    environment: Environment
    builder: BlockBuilder
    problems: list[Diagnostic]

    def function(
        self, node: ast.FunctionDef, options: Options, *, local: bool, recursive: Var | None = None
    ) -> Function: ...
    def finish(self, function: Function, node: ast.FunctionDef) -> Function: ...
    def for_macro(self, source: ScriptSource, environment: Environment) -> Functions: ...
    def guarded(self, action: Callable[[], None], node: ast.AST, defines: list[str]) -> bool: ...


class Assignments:
    """The state of reading one function's statements; interprets the left-hand sides of assignments."""

    def __init__(self, reader: Functions, scalars: Scalars) -> None:
        self.reader = reader
        self.source = reader.source
        self.environment = reader.environment
        self.builder = reader.builder
        self.normalizer = reader.builder.normalizer
        self.evaluator = Evaluator(reader.source, reader.environment, scalars)
        self.outputs: dict[str, int] | None = None
        """Inside a dataflow block: the names of its outputs, with the number of remaining assignments to each."""

    def _leaf(self, expr: Any) -> Any:
        return self.normalizer.atom(expr)

    def _error(self, code: str, message: str, node: ast.AST, help: str | None = None) -> DiagnosticError:
        return self.evaluator.error(code, message, node, help)

    def _marker_call(self, node: ast.AST, *wanted: markers.Marker) -> ast.Call | None:
        """The call, if `node` is a call of one of the markers or a statement consisting of one."""
        call = node.value if isinstance(node, ast.Expr) else node
        if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        root: ast.expr = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.environment.failed:
            return None
        function = self.environment.get(root.id)
        if isinstance(call.func, ast.Attribute):
            if isinstance(function, (Var, GraphExpr)):
                return None
            function = getattr(function, call.func.attr, None) if root is call.func.value else None
        return call if any(function is m for m in wanted) else None

    def _assign(self, target: ast.expr, value: ast.expr, annotation: ast.expr | None, node: ast.stmt) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
            if len(set(names)) != len(names):
                raise self._error("script-syntax", "a name occurs twice on the left", target)
            self._unpack(target, self._value(value), value)
            return
        if not isinstance(target, ast.Name):
            raise self._error("script-syntax", "only names can be assigned to", target)
        cast = self._marker_call(value, markers.MATCH_CAST)
        if cast is not None:
            self._match_cast(cast, target, annotation, node)
            return
        value, said = self._emitted(value)
        annotation = annotation or said
        found = self._value(value)
        if isinstance(found, TirVar) and annotation is None and not self._is_known(found):
            self._declare(target, found, value)
            return
        if not _is_program_value(found) and annotation is None:
            self.environment.define(target.id, found)
            return
        info = None if annotation is None else self.evaluator.info(annotation)
        self._define(target, self.evaluator.as_relax(found, value), info)

    def _value(self, node: ast.expr) -> Any:
        """An expression, looking through R.emit and R.emit_te."""
        node, _ = self._emitted(node)
        call = self._marker_call(node, markers.EMIT_TE)
        if call is None:
            return self.evaluator.value(node)
        if not call.args:
            raise self._error("script-value", "R.emit_te takes a function and its arguments", call)
        function, *args = [self.evaluator.value(a) for a in call.args]
        kwargs = {k.arg: self.evaluator.value(k.value) for k in call.keywords if k.arg is not None}
        if not callable(function):
            raise self._error("script-value", "R.emit_te takes a function and its arguments", call.args[0])
        return self.builder.call_te(function, *args, **kwargs)

    def _emitted(self, node: ast.expr) -> tuple[ast.expr, ast.expr | None]:
        """The value and the annotation of `R.emit(value, annotation)`; any other expression as it is."""
        call = self._marker_call(node, markers.EMIT)
        if call is None:
            return node, None
        value, *said = self._arguments(call, markers.EMIT, "value", optional=("annotate_struct_info",))
        return value, said[0] if said else None

    def _arguments(
        self, call: ast.Call, word: markers.Marker, *needed: str, optional: tuple[str, ...] = ()
    ) -> list[ast.expr]:
        """The arguments of a marker, given by place or by name, in order. Error `script-value`: others are given."""
        names = (*needed, *optional)
        given = dict(zip(names, call.args)) | {str(k.arg): k.value for k in call.keywords}
        is_each_once = len(given) == len(call.args) + len(call.keywords)
        if not is_each_once or not set(needed) <= given.keys() <= set(names):
            raise self._error("script-value", f"{word!r} takes {' and '.join(needed)}", call, help=word.__doc__)
        return [given[name] for name in names if name in given]

    def _is_known(self, var: TirVar) -> bool:
        return any(v is var for scope in self.environment.scopes for v in scope.values())

    def _declare(self, target: ast.Name, fresh: TirVar, value: ast.expr) -> None:
        """`n = T.int64()`: the signature's n if there is one, else a new shape variable."""
        if fresh.name not in ("", "v", target.id):
            raise self._error(
                "script-name", f"shape variable {fresh.name!r} is assigned to another name, {target.id!r}", value
            )
        known = self.environment.get(target.id)
        if isinstance(known, TirVar) and known.dtype == fresh.dtype and self.environment.is_local(target.id):
            return
        self.environment.define(target.id, type(fresh)(target.id, fresh.dtype, self.source.span(target)))

    def _define(self, target: ast.Name, expr: Any, info: StructInfo | None) -> Var:
        """Bind a name to a new variable holding `expr`."""
        value = self.normalizer.expression(expr)
        var = self._variable(target.id, info, self.source.span(target))
        self.normalizer.add_binding(VarBinding(var, value, self.source.span(target)))
        self.environment.define(target.id, var)
        return var

    def _variable(self, name: str, info: StructInfo | None, span: Span | None) -> Var:
        """A DataflowVar, unless this is the last assignment of a name that is an output of the dataflow block."""
        if not self.normalizer.frame.dataflow:
            return Var(name, info, span)
        if self.outputs is not None and name in self.outputs:
            self.outputs[name] -= 1
            if self.outputs[name] == 0:
                return Var(name, info, span)
        return DataflowVar(name, info, span)

    def _unpack(self, target: ast.Tuple | ast.List, found: Any, value: ast.expr) -> None:
        """`(a, b), *c = found`, as in Python; tuples of the program are unpacked item by item."""
        items = self._items(found, target, value)
        starred = [i for i, name in enumerate(target.elts) if isinstance(name, ast.Starred)]
        if len(items) != len(target.elts) if not starred else len(items) < len(target.elts) - 1:
            atleast = "at least " if starred else ""
            names = len(target.elts) - len(starred)
            raise self._error(
                "script-value", f"a tuple of {len(items)} fields is unpacked into {atleast}{names} names", target
            )
        if starred:
            first, behind = starred[0], len(target.elts) - starred[0] - 1
            rest = items[first : len(items) - behind]
            items = [*items[:first], rest, *items[len(items) - behind :]]
        for name, item in zip(target.elts, items):
            self._assign_one(name, item, value)

    def _items(self, found: Any, target: ast.expr, value: ast.expr) -> list[Any]:
        """The items of the unpacked value."""
        if isinstance(found, (tuple, list)):
            return list(found)
        whole = self._leaf(self.evaluator.as_relax(found, value))
        info = whole.struct_info
        if not isinstance(info, TupleStructInfo):
            raise self._error("script-value", f"a value that is not a tuple cannot be unpacked: {info!r}", value)
        return [TupleGetItem(whole, index, self.source.span(value)) for index in range(len(info.fields))]

    def _assign_one(self, name: ast.expr, item: Any, value: ast.expr) -> None:
        """One part of `m, n = T.int64(), T.int64()` or `a, b = x, y`, treated as an assignment of its own."""
        if isinstance(name, (ast.Tuple, ast.List)):
            self._unpack(name, item, value)
        elif isinstance(name, ast.Starred) and isinstance(name.value, ast.Name):
            parts = [self._leaf(v) if isinstance(v, GraphExpr) else v for v in item]
            self.environment.define(name.value.id, parts)
        elif not isinstance(name, ast.Name):
            raise self._error("script-syntax", "only names can be assigned to", name)
        elif isinstance(item, TirVar) and not self._is_known(item):
            self._declare(name, item, value)
        elif not _is_program_value(item):
            self.environment.define(name.id, item)
        else:
            self._define(name, self.evaluator.as_relax(item, value), None)

    def _match_cast(self, call: ast.Call, target: ast.Name | None, annotation: ast.expr | None, node: ast.stmt) -> None:
        value, said = self._arguments(call, markers.MATCH_CAST, "value", "struct_info")
        found = self.normalizer.atom(self.evaluator.expr(value))
        info = self.evaluator.info(said)
        var = None
        if target is not None:
            declared = None if annotation is None else self.evaluator.info(annotation)
            var = self._variable(target.id, declared, self.source.span(target))
        self.normalizer.add_binding(MatchCast(var, found, info, self.source.span(call)))
        if target is not None:
            self.environment.define(target.id, var)


def _is_program_value(value: Any) -> bool:
    """Whether an assigned value becomes a binding; strings, annotations, functions and scalars remain Python values."""
    if isinstance(value, (GraphExpr, bool, int, float)) or hasattr(value, "__array__"):
        return True
    return (isinstance(value, (tuple, list)) and any(_is_program_value(v) for v in value)) or value == ()
