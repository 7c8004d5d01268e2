"""`@R.function`: a function of the script becomes a Relax function, built through a BlockBuilder.

Names shadow as in Python, but each assignment makes a new variable; names of a branch or dataflow block end with it.
After a wrong statement is reported, reading continues; uses of the names it should have defined are not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import set_note
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.signatures import signature_info
from baton._src.relax.frames import Frame
from baton._src.relax.nodes import Function, SeqExpr, Var
from baton._src.relax.struct_info import FuncStructInfo, ShapeStructInfo, StructInfo, TupleStructInfo
from baton._src.script.environment import Environment
from baton._src.script.evaluate import Evaluator, Poisoned
from baton._src.script.infos import INFO_KINDS, Scalars
from baton._src.script.options import Options
from baton._src.script.read_source import ScriptSource
from baton._src.script.statements import Statements
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, fail
from baton._src.support.python_in_scripts import repeated_parameter
from baton._src.tir.expr import SizeVar
from baton._src.tir.expr import Var as TirVar
from baton._src.values.dtype import INT64, DataType

Named = Callable[[str], Any]


class SignatureScalars(Scalars):
    """Strings in annotations: `"n * 2"` is read as an expression whose names are shape variables of the signature.

    A new name becomes a variable, int64 unless the body declares another one (`n = T.int32()`).
    """

    def __init__(
        self, source: ScriptSource, environment: Environment, declared: Mapping[str, TirVar], vdevice: Named
    ) -> None:
        self.source = source
        self.environment = environment
        self.declared = declared
        self.own: dict[str, TirVar] = {}
        self.open = False
        """Whether new names may be introduced: in a signature, not in the body."""
        self.of_result = False
        """Whether the return annotation is being read: it may use variables of the parameters and of an enclosing
        function.
        """
        self._vdevice = vdevice

    def dim(self, text: str) -> PrimExpr | int:
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise fail("script-annotation", f"{text!r} is not an expression of shape variables") from None
        parts = list(ast.walk(tree))
        owners = {id(n.value) for n in parts if isinstance(n, ast.Attribute)}  # `T`, as in "T.max(n, 4)"
        inner = Environment(self.environment.roots, self.environment.captured)
        for name in [n.id for n in parts if isinstance(n, ast.Name) and id(n) not in owners]:
            inner.define(name, self._variable(name))
        value = Evaluator(self.source, inner, self).value(_without_places(tree.body))
        if not isinstance(value, (PrimExpr, int)) or isinstance(value, bool):
            raise fail("script-annotation", f"{text!r} is not a scalar")
        return value

    def _variable(self, name: str) -> TirVar:
        if name in self.own:
            return self.own[name]
        known = self.environment.get(name) if self.of_result or not self.open else None
        if isinstance(known, TirVar):
            return known
        if not self.open:
            raise fail(
                "script-annotation",
                f"shape variable {name!r} is not defined",
                help=f"only signatures introduce names by strings:  write {name} = T.int64() before, and use it bare",
            )
        like = self.declared.get(name)
        var = self.own[name] = TirVar(name, INT64) if like is None else type(like)(name, like.dtype)
        return var

    def vdevice(self, said: Any) -> Any:
        return self._vdevice(said)


def _without_places(node: ast.expr) -> ast.expr:
    """Remove the positions of a tree parsed from a string: they are not positions in the file."""
    for part in ast.walk(node):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(part, name):
                setattr(part, name, None)
    return node


class FunctionReader:
    """Reads the functions of one text into one builder, collecting errors."""

    def __init__(
        self, source: ScriptSource, environment: Environment, builder: BlockBuilder, vdevice: Named | None = None
    ) -> None:
        self.source = source
        self.environment = environment
        self.builder = builder
        self.problems: list[Diagnostic] = []
        self.vdevice = vdevice or (lambda said: said)

    # ---------------------------------------------------------------------------------------------- signatures

    def signature(self, node: ast.FunctionDef, options: Options) -> FuncStructInfo:
        """The signature of a function, known before its body is read."""
        with self.environment.scope() as names:
            params, ret = self._annotated(node, self._scalars(node), names)
        return signature_info(params, ret, options.pure)

    def _scalars(self, node: ast.FunctionDef) -> SignatureScalars:
        return SignatureScalars(self.source, self.environment, declared_scalars(node), self.vdevice)

    def _annotated(
        self, node: ast.FunctionDef, scalars: SignatureScalars, names: dict[str, Any]
    ) -> tuple[tuple[Var, ...], StructInfo | None]:
        """The parameters and the return annotation; annotations may use earlier parameters that are shapes."""
        evaluator = Evaluator(self.source, self.environment, scalars)
        args = node.args
        odd = [*args.posonlyargs, *args.kwonlyargs, *args.defaults, *args.kw_defaults, args.vararg, args.kwarg]
        wrong = next((a for a in odd if a is not None), None)
        if wrong is not None:
            raise evaluator.error("script-signature", "a Relax function takes plain parameters only", wrong)
        twice = repeated_parameter(args)
        if twice is not None:
            raise evaluator.error("script-signature", f"parameter {twice.arg} is given twice", twice)
        scalars.open = True
        params: list[Var] = []
        for arg in args.args:
            if arg.annotation is None:
                raise evaluator.error(
                    "script-signature", f"parameter {arg.arg} has no annotation", arg, help="R.Object fits anything"
                )
            info = evaluator.info(arg.annotation)
            params.append(Var(arg.arg, info, self.source.span(arg)))
            if isinstance(info, ShapeStructInfo):
                names[arg.arg] = params[-1]
        scalars.of_result = True
        ret = None if node.returns is None else evaluator.info(node.returns)
        scalars.open = False
        return tuple(params), ret

    # ----------------------------------------------------------------------------------------------- functions

    def function(
        self, node: ast.FunctionDef, options: Options, *, local: bool, recursive: Var | None = None
    ) -> Function:
        """Read one function; errors in its body are collected, those in its signature are raised.

        `recursive` is the variable by which a local function calls itself: it is given the signature before the body
        is read, with the same shape variables as the parameters, so that a printed program reads back to an equal one.
        """
        with self.environment.scope() as names:
            scalars = self._scalars(node)
            params, ret = self._annotated(node, scalars, names)
            if recursive is not None:
                set_note(recursive, "struct_info_", signature_info(params, ret, options.pure))
            names.update(scalars.own)
            names.update((param.name_hint, param) for param in params)
            return self._body(node, params, ret, options, scalars, local)

    def _body(
        self,
        node: ast.FunctionDef,
        params: tuple[Var, ...],
        ret: StructInfo | None,
        options: Options,
        scalars: SignatureScalars,
        local: bool,
    ) -> Function:
        normalizer = self.builder.normalizer
        frame = Frame()
        normalizer.frames.append(frame)
        try:
            with normalizer.shapes.scope(params):
                statements = Statements(self, scalars, local)
                body = statements.function_body(node)
        finally:
            normalizer.frames.pop()
        attrs = dict(statements.attrs)
        if not local and not options.private:
            attrs.setdefault("global_symbol", statements.public_name or node.name)
        seq = SeqExpr(frame.finish(), body, self.source.span(node.body[-1]))
        return Function(params, seq, ret, options.pure, attrs, self._name_span(node))

    def _name_span(self, node: ast.FunctionDef) -> Any:
        """The span of `def name`, so that a diagnostic does not underline the whole function."""
        whole = self.source.span(node)
        if whole is None:
            return None
        return type(whole)(whole.source, whole.line, whole.column, whole.line, whole.column + 4 + len(node.name))

    def finish(self, function: Function, node: ast.FunctionDef) -> Function:
        """The function in normal form with its StructInfo."""
        try:
            if self._promises_some_tuple(node):
                found = self.builder.normalizer.function(function.with_fields(ret_struct_info=None))
                if isinstance(found.ret_struct_info, TupleStructInfo):
                    return found
            return self.builder.normalizer.function(function)
        except DiagnosticError as error:
            raise DiagnosticError([d.at(self.source.span(node)) for d in error.diagnostics]) from None

    def _promises_some_tuple(self, node: ast.FunctionDef) -> bool:
        """Whether the result is annotated as `R.Tuple`, without fields: TVM's programs return any tuple then."""
        if node.returns is None:
            return False
        said = Evaluator(self.source, self.environment, self._scalars(node)).value(node.returns)
        return said is INFO_KINDS["Tuple"]

    def for_macro(self, source: ScriptSource, environment: Environment) -> FunctionReader:
        """A reader with the same state for the text and names of a macro."""
        inner = FunctionReader(source, environment, self.builder, self.vdevice)
        inner.problems = self.problems
        return inner

    def guarded(self, action: Callable[[], None], node: ast.AST, defines: list[str]) -> bool:
        """Run `action`; an error is collected (at `node` if it has no span) and the names `defines` are poisoned."""
        try:
            action()
        except Poisoned:
            self._poison(defines)
            return False
        except DiagnosticError as error:
            span = self.source.span(node)
            self.problems += [d.at(span) for d in error.diagnostics]
            self._poison(defines)
            return False
        return True

    def _poison(self, names: list[str]) -> None:
        self.environment.failed.update(names)
        for scope in self.environment.scopes:
            for name in names:
                scope.pop(name, None)


def declared_scalars(node: ast.FunctionDef) -> dict[str, TirVar]:
    """The shape variables a body declares at its top level, `n = T.int32()` or several at once: variables like them."""
    found: dict[str, TirVar] = {}
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                pairs = [(target, value)]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = [(t, v) for t, v in zip(targets, values) if isinstance(t, ast.Name)]
            case _:
                pairs = []
        for name, content in pairs:
            like = _declared(content)
            if like is not None:
                found.setdefault(name.id, like)
    return found


def _declared(value: ast.expr) -> TirVar | None:
    """A variable like the one that `T.int64()` or `T.int64(is_size_var=True)` declares."""
    match value:
        case ast.Call(func=ast.Attribute(attr=kind), args=[], keywords=keywords):
            try:
                dtype = DataType(kind)
            except DiagnosticError:
                return None
            sizes = [k.value.value for k in keywords if isinstance(k.value, ast.Constant) and k.arg == "is_size_var"]
            return (SizeVar if any(sizes) else TirVar)("v", dtype) if dtype.is_int else None
        case _:
            return None
