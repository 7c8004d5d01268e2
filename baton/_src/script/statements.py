"""Read the statements of a Relax function: assignments, branches, dataflow blocks, return."""

from __future__ import annotations

import ast
from typing import Any

from baton._src.relax.frames import Frame
from baton._src.relax.leaves import is_leaf
from baton._src.relax.nodes import (
    Binding,
    If,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.script import markers
from baton._src.script.assignments import Assignments, Functions
from baton._src.script.attribute_values import attribute_value
from baton._src.script.evaluate import Evaluator, Poisoned
from baton._src.script.infos import Scalars
from baton._src.script.macros import Macro, bind_arguments, wrong_use
from baton._src.script.options import Options, options_of
from baton._src.script.syntax import INSTEAD, KINDS, Announced, common_result, last_targets, mentions, targets
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.spans import Span


class Statements(Assignments):
    """Reads the statements of one function into the builder's current frame."""

    def __init__(self, reader: Functions, scalars: Scalars, local: bool) -> None:
        super().__init__(reader, scalars)
        self.evaluator.inline = self._inline
        self.local = local
        self.attrs: dict[str, Any] = {}
        self.public_name: str | None = None
        self.announced: Announced | None = None
        """The separate annotation of the variable that the next `if` binds."""

    # -------------------------------------------------------------------------------------------------- bodies

    def function_body(self, node: ast.FunctionDef) -> Any:
        """Read all statements; returns the leaf that the function returns."""
        result: Any = Tuple([])
        returned = False
        for statement in node.body:
            if returned:
                self._problem("script-return", "a statement after return is never reached", statement)
                break
            if isinstance(statement, ast.Return):
                returned = True
                result = self._guarded_leaf(statement.value, statement, result)
            elif (call := self._marker_call(statement, markers.FUNC_RET)) is not None:
                returned = True
                result = self._guarded_leaf(call, statement, result)
            else:
                self._statement(statement)
        if self.announced is not None:
            self.reader.problems += self._unbound(self.announced).diagnostics
        if not returned and not self.reader.problems:
            self._problem("script-return", f"function {node.name} does not return anything", node.body[-1])
        return result

    def _guarded_leaf(self, said: ast.expr | None, node: ast.stmt, otherwise: Any) -> Any:
        """The leaf that a function returns, by `R.func_ret_value` or not; `otherwise` if it cannot be read."""
        found: list[Any] = [otherwise]

        def read() -> None:
            call = None if said is None else self._marker_call(said, markers.FUNC_RET)
            value = said if call is None else self._arguments(call, markers.FUNC_RET, "value")[0]
            found.append(Tuple([]) if value is None else self._leaf(self.evaluator.expr(value)))

        self.reader.guarded(read, node, [])
        return found[-1]

    def _problem(self, code: str, message: str, node: ast.AST, help: str | None = None) -> None:
        self.reader.problems += self.evaluator.error(code, message, node, help).diagnostics

    # ---------------------------------------------------------------------------------------------- statements

    def _statement(self, node: ast.stmt) -> None:
        self.reader.guarded(lambda: self._run(node), node, targets(node))

    def _run(self, node: ast.stmt) -> None:
        if self.announced is not None and not isinstance(node, ast.If):
            announced, self.announced = self.announced, None
            raise self._unbound(announced)
        match node:
            case ast.Assign(targets=[target]):
                self._assign(target, node.value, None, node)
            case ast.Assign():
                raise self._error(
                    "script-syntax", "one value is assigned to several names", node,
                    help="write one assignment for each name",
                )  # fmt: skip
            case ast.AnnAssign(value=ast.expr() as value):
                self._assign(node.target, value, node.annotation, node)
            case ast.AnnAssign(target=ast.Name()):
                self._announce(node)
            case ast.Expr():
                self._expression(node)
            case ast.If():
                self._conditional(node)
            case ast.With():
                self._with(node)
            case ast.FunctionDef():
                self._local_function(node)
            case ast.Return():
                raise self._error(
                    "script-return", "return can only be the last statement of a function", node,
                    help="let both branches assign the result to one name, and return that",
                )  # fmt: skip
            case ast.Pass():
                pass
            case _:
                what = KINDS.get(type(node), type(node).__name__)
                raise self._error(
                    "script-syntax", f"{what} is not supported in a Relax function", node, INSTEAD.get(type(node))
                )

    # ----------------------------------------------------------------------------------- expressions as statements

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        if self._special_statement(node):
            return
        found = self._value(node.value)
        if found is None:
            return
        if isinstance(found, Binding):
            self.builder.emit_normalized(found)
            return
        expr = self.normalizer.expression(self.evaluator.as_relax(found, node.value))
        info = expr.struct_info
        if not (isinstance(info, TupleStructInfo) and not info.fields):
            raise self._error(
                "script-value", f"the value of this statement is dropped: {info!r}", node,
                help="assign it to a name; `_ = ...` drops it on purpose",
            )  # fmt: skip
        var = self._variable("_", None, self.source.span(node))
        self.normalizer.add_binding(VarBinding(var, expr, self.source.span(node)))

    def _special_statement(self, node: ast.Expr) -> bool:
        cast = self._marker_call(node, markers.MATCH_CAST)
        if cast is not None:
            self._match_cast(cast, None, None, node)
            return True
        attr = self._marker_call(node, markers.FUNC_ATTR)
        if attr is not None:
            said = attribute_value(self.evaluator, self._arguments(attr, markers.FUNC_ATTR, "attrs")[0])
            if not isinstance(said, dict):
                raise self._error("script-value", "R.func_attr takes a dict of attributes", attr)
            twice = next((name for name in said if name in self.attrs), None)
            if twice is not None:
                raise self._error("script-value", f"the function has the attribute {twice!r} already", attr)
            self.attrs.update(said)
            return True
        name = self._marker_call(node, markers.FUNC_NAME)
        if name is not None:
            self.public_name = str(self.evaluator.value(self._arguments(name, markers.FUNC_NAME, "name")[0]))
            return True
        if self._marker_call(node, markers.OUTPUT) is not None:
            raise self._error("script-dataflow", "R.output can only be the last statement of a dataflow block", node)
        binding = self._marker_call(node, markers.EMIT_VAR_BINDING)
        if binding is not None:
            (made,) = self._arguments(binding, markers.EMIT_VAR_BINDING, "value")
            found = self.evaluator.value(made)
            if not isinstance(found, VarBinding):
                raise self._error("script-value", "R.emit_var_binding takes a binding of a variable", made)
            self.builder.emit_normalized(found)
            return True
        return False

    # ------------------------------------------------------------------------------------------------ branches

    def _conditional(self, node: ast.If) -> None:
        if not node.orelse:
            raise self._error("script-syntax", "an if needs an else branch", node, help="both branches give a value")
        cond = self._leaf(self.evaluator.expr(node.test))
        result = common_result(node)
        announced, self.announced = self.announced, None
        if announced is not None and announced.name != result:
            raise self._unbound(announced)
        # Branches that bind nothing together are unit. A name from before the if would keep its value, unnoticed.
        assigned = last_targets(node) - {result, None, "_"}
        lost = sorted(name for name in assigned if name is not None and self.environment.is_local(name))
        if lost:
            raise self._error(
                "script-syntax", f"not all branches end by assigning {lost[0]}, which ends with its branch", node,
                help="the value of an if is what every branch assigns last, to one name",
            )  # fmt: skip
        then = self._branch(node.body, result)
        other = self._branch(node.orelse, result)
        span = self.source.span(node.test)
        value = self.normalizer.expression(If(cond, then, other, span))
        name = result or "_"
        var = self._variable(name, announced.info if announced is not None else None, span)
        self.normalizer.add_binding(VarBinding(var, value, span))
        if result is not None:
            self.environment.define(result, var)

    def _announce(self, node: ast.AnnAssign) -> None:
        """`y: annotation` before an if: the annotation of the variable that both branches assign."""
        assert isinstance(node.target, ast.Name)
        self.announced = Announced(node.target.id, self.evaluator.info(node.annotation), node)

    def _unbound(self, announced: Announced) -> DiagnosticError:
        return self._error(
            "script-syntax", f"{announced.name} is annotated but gets no value", announced.node,
            help="an annotation without a value must come right before the if that binds the name",
        )  # fmt: skip

    def _branch(self, body: list[ast.stmt], result: str | None) -> SeqExpr:
        """One branch as a SeqExpr; its value is what its last statement assigns to `result`, or unit."""
        frame = Frame()
        self.normalizer.frames.append(frame)
        try:
            with self.normalizer.shapes.scope(), self.environment.scope():
                for statement in body[:-1] if result is not None else body:
                    self._statement(statement)
                leaf: Any = Tuple([]) if result is None else self._branch_result(body[-1], result)
        finally:
            self.normalizer.frames.pop()
        return SeqExpr(frame.finish(), leaf)

    def _branch_result(self, node: ast.stmt, result: str) -> Any:
        """The last statement of a branch. `y = leaf` makes no binding; the leaf is the branch's value."""
        match node:
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ):
                if self._marker_call(value, markers.MATCH_CAST) is None:
                    expr = self.evaluator.as_relax(self._value(value), value)
                    if is_leaf(expr):
                        return self._leaf(expr)
            case _:
                pass
        self._run(node)
        return self.environment.get(result)

    # ----------------------------------------------------------------------------------------- dataflow blocks

    def _with(self, node: ast.With) -> None:
        item = node.items[0]
        if len(node.items) != 1 or self._marker_call(item.context_expr, markers.DATAFLOW) is None:
            raise self._error("script-syntax", "only `with R.dataflow():` is supported here", node)
        frame = self.normalizer.frame
        if frame.dataflow:
            raise self._error("script-dataflow", "a dataflow block cannot be nested in another one", node)
        outputs, body = self._dataflow_outputs(node)
        self.outputs = {name: sum(targets(s).count(name) for s in body) for name in outputs}
        frame.dataflow = True
        try:
            with self.environment.scope() as inner:
                for statement in body:
                    self._statement(statement)
        finally:
            frame.dataflow = False
            self.outputs = None
        for name, span_of in outputs.items():
            found = inner.get(name)
            if found is not None:
                self.environment.define(name, found)
            elif name not in self.environment.failed:
                self._problem("script-dataflow", f"{name} is output but not assigned in the dataflow block", span_of)
        self._keep_scalars(inner)

    def _keep_scalars(self, inner: dict[str, Any]) -> None:
        """Keep shape variables and Python values that are declared in a dataflow block: their scope is the function."""
        for name, value in inner.items():
            if not isinstance(value, Var) and not self.environment.is_local(name):
                self.environment.define(name, value)

    def _dataflow_outputs(self, node: ast.With) -> tuple[dict[str, ast.AST], list[ast.stmt]]:
        """The names of R.output, the last statement, and the statements before it."""
        calls = [(i, c) for i, s in enumerate(node.body) if (c := self._marker_call(s, markers.OUTPUT)) is not None]
        if not calls:
            return {}, node.body
        if len(calls) > 1:
            raise self._error("script-dataflow", "a dataflow block has one R.output", node.body[calls[1][0]])
        position, call = calls[0]
        if position != len(node.body) - 1:
            raise self._error("script-dataflow", "R.output is the last statement of a dataflow block", call)
        names: dict[str, ast.AST] = {}
        for arg in call.args:
            if not isinstance(arg, ast.Name):
                raise self._error("script-dataflow", "R.output lists names of the block", arg)
            names[arg.id] = arg
        return names, node.body[:-1]

    # --------------------------------------------------------------------------------------------- local functions

    def _local_function(self, node: ast.FunctionDef) -> None:
        options = self._options(node)
        span = self.source.span(node)
        # Inside a dataflow block a function is bound like any value; its name can be used in its own body.
        var = self._variable(node.name, None, span)
        recursive = mentions(node, node.name)
        if recursive and node.returns is None:
            raise self._error(
                "RELAX-WF-8", f"local function {node.name} is recursive and has no return annotation", node,
                help="annotate its result: def f(...) -> R.Tensor(...)",
            )  # fmt: skip
        outer_outputs, self.outputs = self.outputs, None
        known_problems = len(self.reader.problems)
        with self.environment.scope() as names:
            names[node.name] = var
            function = self.reader.function(node, options, local=True, recursive=var if recursive else None)
        self.outputs = outer_outputs
        if len(self.reader.problems) > known_problems:
            raise Poisoned(node.name)  # what its body amounts to is not known
        value = self.reader.finish(function, node)
        self.normalizer.add_binding(VarBinding(var, value, value.span))
        self.environment.define(node.name, var)

    def _options(self, node: ast.FunctionDef) -> Options:
        found = [options_of(self.evaluator.value(d)) for d in node.decorator_list]
        mine = [o for o in found if o is not None and o.decorator.name == "R.function"]
        if len(mine) != 1 or len(found) != 1:
            raise self._error("script-decorator", f"inner function {node.name} needs the decorator @R.function", node)
        return mine[0]

    # ------------------------------------------------------------------------------------------------- macros

    def _inline(self, macro: Macro, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Any:
        """Expand a macro: its statements are read here, with its parameters standing for the arguments."""
        names = bind_arguments(macro, args, kwargs, span)
        environment = macro.environment(self.environment)
        inner = Statements.__new__(Statements)
        inner.__dict__.update(self.__dict__)
        inner.source, inner.environment = macro.source, environment
        inner.reader = self.reader.for_macro(macro.source, environment)
        inner.evaluator = Evaluator(macro.source, environment, self.evaluator.scalars)
        inner.evaluator.inline = inner._inline
        try:
            with environment.scope() as scope:
                scope.update(names)
                return inner._macro_body(macro.node.body)
        except RecursionError:
            raise wrong_use(macro, "calls itself without end", span) from None

    def _macro_body(self, body: list[ast.stmt]) -> Any:
        """Read the statements of a macro; what it returns."""
        for statement in body:
            if isinstance(statement, ast.Return):
                return None if statement.value is None else self.evaluator.value(statement.value)
            self._run(statement)
        return None
