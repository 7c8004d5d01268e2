"""Evaluate expressions of a script to Relax expressions, scalars, annotations or Python values.

Nesting may be deep (let-chains written as one expression), so evaluation runs as tasks, not on the Python stack.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from baton._src.ir.expr import GlobalVar, GraphExpr, Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.relax.call_builders import call_packed
from baton._src.relax.literals import as_expr, const
from baton._src.relax.nodes import Call, Constant, Expr, ExternFunc, Function, ShapeExpr, TupleGetItem, Var
from baton._src.relax.special_builders import to_vdevice
from baton._src.relax.struct_info import StructInfo
from baton._src.relax.tensor_fields import AlongAxes
from baton._src.script import python_parts
from baton._src.script.environment import MISSING, Environment
from baton._src.script.infos import InfoKind, Pending, Scalars, resolve
from baton._src.script.markers import Marker
from baton._src.script.read_source import ScriptSource
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, InternalError, fail
from baton._src.support.python_in_scripts import Reading
from baton._src.support.python_operators import ARITHMETIC, POWERS_AND_BITS, SIGNS
from baton._src.support.spans import Span
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import Not
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.index_map import IndexMap
from baton._src.tir.operators import convert
from baton._src.values.tensor import NDArray

_BINARY = {**ARITHMETIC, **POWERS_AND_BITS}


class Poisoned(Exception):
    """Raised if an expression uses a name whose definition was already reported, so that no second error is
    reported.
    """


class ModuleRef:
    """`cls` or the module class's name: `cls.f` is a function of the module."""

    def __init__(self, name: str, functions: dict[str, GlobalVar]) -> None:
        self.name = name
        self.functions = functions

    def get_global_var(self, name: str) -> GlobalVar:
        """The function `name`; the reader of PrimFuncs asks for it."""
        found = self.functions.get(name)
        if found is None:
            known = ", ".join(sorted(self.functions)) or "none"
            raise fail("script-name", f"the module has no function {name!r}", help=f"it has: {known}")
        return found

    def __getattr__(self, name: str) -> GlobalVar:
        """`cls.f` in an expression that is Python's own, as in a comprehension."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get_global_var(name)


class Evaluator:
    """Evaluates expressions. `scalars` resolves names in annotations; `inline` expands a macro call."""

    def __init__(self, source: ScriptSource, environment: Environment, scalars: Scalars) -> None:
        self.source = source
        self.environment = environment
        self.scalars = scalars
        self.inline: Callable[[Any, list[Any], dict[str, Any], Span | None], Any] | None = None
        self._python = Reading(
            read=self._value,
            error=lambda node, message: self.error("script-value", message, node),
            is_program=lambda value: isinstance(value, Node),
            is_trusted=environment.is_trusted,
        )

    # ----------------------------------------------------------------------------------------------- entrances

    def value(self, node: ast.expr) -> Any:
        """The value of `node`."""
        return run(self._value(node))

    def expr(self, node: ast.expr) -> Any:
        """`node` as a Relax expression: numbers become constants, Python sequences tuples, scalars prim values."""
        return self.as_relax(self.value(node), node)

    def info(self, node: ast.expr) -> StructInfo:
        """`node` as an annotation."""
        said = self.value(node)
        found: StructInfo = self.at(node, lambda: resolve(said, self.scalars))
        return found

    def as_relax(self, value: Any, node: ast.AST) -> Any:
        """A value as a Relax expression, or a diagnostic at `node`."""
        if isinstance(value, GraphExpr):
            if isinstance(value, Op):
                raise self.error("RELAX-WF-9", f"operator {value.name} is used as a value", node)
            return value
        if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
            return self._spanned(self.at(node, lambda: const(value)), node)
        if isinstance(value, NDArray):
            return self._spanned(Constant(value), node)
        if isinstance(value, (tuple, list)):
            return self._spanned(as_expr(tuple(self.as_relax(v, node) for v in value)), node)
        if isinstance(value, (PrimExpr, str)):
            return self._spanned(as_expr(value), node)
        help = "R.shape_of(x) is the whole shape" if isinstance(value, AlongAxes) and value.name == "shape" else None
        raise self.error("script-value", f"{_described(value)} is not a Relax expression", node, help)

    def error(self, code: str, message: str, node: ast.AST, help: str | None = None) -> DiagnosticError:
        """A diagnostic at `node`."""
        return DiagnosticError(Diagnostic(code, message, span=self.source.span(node), help=help))

    def at(self, node: ast.AST, action: Callable[[], Any]) -> Any:
        """Run `action`; its errors are reported at `node`."""
        try:
            return action()
        except DiagnosticError as error:
            span = self.source.span(node)
            raise DiagnosticError([d.at(span) for d in error.diagnostics]) from None
        except (InternalError, Poisoned):
            raise
        except RecursionError:
            raise self.error("script-value", "the value is nested too deeply", node) from None
        except Exception as error:
            kind = "" if isinstance(error, (TypeError, ValueError)) else f"{type(error).__name__}: "
            raise self.error("script-value", f"{kind}{error}", node) from None

    def _spanned(self, expr: Any, node: ast.AST) -> Any:
        """`expr` with its span, if it has none yet."""
        return expr.with_fields(span=self.source.span(node)) if expr.span is None else expr

    # --------------------------------------------------------------------------------------------------- rules

    def _value(self, node: ast.expr) -> Task[Any]:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                owner = yield self._value(node.value)
                return self._attribute(owner, node)
            case ast.Call():
                return (yield self._call(node))
            case ast.Tuple() | ast.List():
                items = yield self._python.items(node.elts)
                return tuple(items) if isinstance(node, ast.Tuple) else items
            case ast.Dict():
                return (yield self._dict(node))
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if (
                self.environment.is_trusted
            ):
                return self.at(node, lambda: self._by_python(node))
            case ast.Lambda():
                return (yield self._index_map(node))
            case ast.BinOp():
                left = yield self._value(node.left)
                right = yield self._value(node.right)
                return self._binary(node, left, right)
            case ast.UnaryOp():
                operand = yield self._value(node.operand)
                return self._unary(node, operand)
            case ast.Compare():
                return (yield python_parts.comparison(self, node, self._value))
            case ast.BoolOp():
                return (yield python_parts.logical(self, node, self._value))
            case ast.IfExp():
                return (yield python_parts.conditional(self, node, self._value))
            case ast.JoinedStr():
                return (yield self._python.formatted(node))
            case ast.Slice():
                return (yield self._python.slice(node))
            case ast.Subscript():
                owner = yield self._value(node.value)
                index = yield self._value(node.slice)
                return self._item(node, owner, index)
            case _:
                what = {ast.NamedExpr: "`:=`", ast.Await: "`await`", ast.Yield: "`yield`"}.get(type(node))
                what = what or type(node).__name__
                raise self.error(
                    "script-syntax", f"{what} expressions are not supported in a script function", node,
                    help="compute it in Python before the function, and use its name",
                )  # fmt: skip

    def _name(self, node: ast.Name) -> Any:
        name = node.id
        if name in self.environment.failed and not self.environment.is_local(name):
            raise Poisoned(name)
        found = self.environment.get(name)
        if found is MISSING:
            raise self.error("script-name", f"name {name!r} is not defined", node, self._help(name))
        if isinstance(found, Var) and self.environment.has_ended(name):
            self.environment.late_uses.setdefault(found.span, self.source.span(node))
        return found

    def _help(self, name: str) -> str:
        """A hint for an undefined name."""
        if name == "metadata":
            return "the text was printed without its constants: print it with script(show_meta=True)"
        for module, value in self.environment.visible().items():
            if isinstance(value, ModuleRef) and name in value.functions:
                return f"functions of the module are named through it: {module}.{name}"
        near = self.environment.near(name)
        return near or f"assign it before; a shape variable is declared by {name} = T.int64()"

    def _attribute(self, owner: Any, node: ast.Attribute) -> Any:
        if isinstance(owner, ModuleRef):
            return self.at(node, lambda: owner.get_global_var(node.attr))
        return self.at(node, lambda: self.environment.attribute(owner, node.attr))

    def _dict(self, node: ast.Dict) -> Task[dict[Any, Any]]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                raise self.error("script-syntax", "** is not supported here", node)
            name = yield self._value(key)
            content = yield self._value(value)
            if not isinstance(name, (str, int)):
                raise self.error("script-value", f"{name!r} cannot be a key", key)
            found[name] = content
        return found

    def _by_python(self, node: ast.expr) -> Any:
        """The value, computed by Python, of an expression in running Python code that binds its own names (a
        comprehension).
        """
        code = compile(ast.Expression(node), self.source.source.name, "eval")
        return FunctionType(code, self.environment.visible())()

    def _index_map(self, node: ast.Lambda) -> Task[IndexMap]:
        """In a text, a lambda can only be an index map; functions that take other functions need Python."""
        given = node.args
        if given.posonlyargs or given.vararg or given.kwonlyargs or given.kwarg or given.defaults or not given.args:
            raise self.error("script-syntax", "a lambda must name its indices one by one", node)
        variables = tuple(TirVar(a.arg, "int64") for a in given.args)
        with self.environment.scope() as inner:
            inner.update(zip((a.arg for a in given.args), variables))
            found = yield self._value(node.body)
        indices = found if isinstance(found, (tuple, list)) else (found,)
        made: IndexMap = self.at(node, lambda: IndexMap(variables, tuple(convert(i) for i in indices)))
        return made

    def _binary(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        action = _BINARY.get(type(node.op))
        if action is None:
            raise self.error("script-syntax", "operator @ is not supported here", node, help="write R.matmul(a, b)")
        if not isinstance(left, (GraphExpr, PrimExpr)) and not isinstance(right, (GraphExpr, PrimExpr)):
            self._python.check_size(node, left, right)
        return self.placed(self.at(node, lambda: action(left, right)), node)

    def _unary(self, node: ast.UnaryOp, operand: Any) -> Any:
        if isinstance(node.op, ast.Not):
            if isinstance(operand, PrimExpr):
                return Not(operand)
            if isinstance(operand, GraphExpr):
                raise self.error("script-syntax", "`not` is not defined for tensors", node, help="use R.logical_not")
            return not operand
        action = SIGNS[type(node.op)]
        return self.placed(self.at(node, lambda: action(operand)), node)

    def _item(self, node: ast.Subscript, owner: Any, index: Any) -> Any:
        # A tuple written here is Relax's; one of the Python code around (constants of the metadata) is indexed now.
        items = isinstance(node.value, (ast.Tuple, ast.List)) and any(isinstance(v, GraphExpr) for v in owner)
        if items and isinstance(index, slice):
            return self.at(node, lambda: owner[index])
        if isinstance(owner, ShapeExpr):
            return self.at(node, lambda: owner.values[index])
        if isinstance(owner, GraphExpr) or items:
            if isinstance(index, bool) or not isinstance(index, int):
                raise self.error(
                    "script-value", f"an item is selected by a constant integer, got {index!r}", node.slice,
                    help="tensors are sliced with R.strided_slice or R.take",
                )  # fmt: skip
            whole = self.as_relax(owner, node.value) if items else owner
            return TupleGetItem(whole, index, self.source.span(node))
        found = self.at(node, lambda: owner[index])
        return Constant(found) if isinstance(found, NDArray) else found  # of the metadata section

    # --------------------------------------------------------------------------------------------------- calls

    def _call(self, node: ast.Call) -> Task[Any]:
        function = yield self._value(node.func)
        args = yield self._python.items(node.args)
        kwargs = yield self._python.keywords(node)
        return self._apply(node, function, args, kwargs)

    def _apply(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, Marker):
            raise self.error("script-context", f"{function!r} is not allowed here", node, help=function.__doc__)
        if isinstance(function, InfoKind):
            return self.at(node, lambda: function(*args, **kwargs))
        if isinstance(function, (Expr, GlobalVar)):
            return self._relax_call(node, function, args, kwargs)
        if isinstance(function, ModuleRef):
            raise self.error("script-value", f"{function.name} is the module, not a function of it", node.func)
        if getattr(function, "is_script_macro", False) and self.inline is not None:
            return self.inline(function, args, kwargs, self.source.span(node))
        if not callable(function):
            raise self.error("script-value", f"{_described(function)} cannot be called", node.func)
        found = [self._finished(a, node) for a in args]
        named = {k: self._finished(v, node) for k, v in kwargs.items()}
        if function is to_vdevice:
            return self.placed(self.at(node, lambda: self._to_vdevice(*found, **named)), node)
        return self.placed(self.at(node, lambda: function(*found, **named)), node)

    def _to_vdevice(self, data: Any, dst_vdevice: Any) -> Call:
        """A named device is one of the module's, as in annotations."""
        return to_vdevice(data, self.scalars.vdevice(dst_vdevice))

    def _relax_call(self, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = [self.as_relax(a, node.args[i] if i < len(node.args) else node) for i, a in enumerate(args)]
        named = {k: self._finished(v, node) for k, v in kwargs.items()}
        if isinstance(function, (ExternFunc, Var, GlobalVar, Call, Function, TupleGetItem)):
            return self.placed(self.at(node, lambda: call_packed(function, *found, **named)), node)
        raise self.error("script-value", f"{_described(function)} cannot be called", node.func)

    def _finished(self, value: Any, node: ast.AST) -> Any:
        """Annotations among arguments as StructInfo."""
        if isinstance(value, (Pending, InfoKind)):
            return self.at(node, lambda: resolve(value, self.scalars))
        if isinstance(value, (list, tuple)):
            return type(value)(self._finished(v, node) for v in value)
        return value

    def placed(self, value: Any, node: ast.AST) -> Any:
        """Give a new expression its source span."""
        if isinstance(value, Expr) and value.span is None and not isinstance(value, Var):
            return value.with_fields(span=self.source.span(node))
        return value


def _described(value: Any) -> str:
    if isinstance(value, (StructInfo, Pending, InfoKind)):
        return "an annotation"
    if value is None or isinstance(value, AlongAxes):
        return repr(value)
    return f"{type(value).__name__} {value!r}" if not callable(value) else f"{getattr(value, '__name__', value)!r}"
