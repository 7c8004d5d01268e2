"""`@I.ir_module`: a class of functions becomes a module. All signatures come first, so order does not matter."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.global_info import VDevice
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.types import FuncType
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.recursion import detect_recursion
from baton._src.relax.check.signatures import function_info, prim_func_info
from baton._src.relax.nodes import Function
from baton._src.relax.well_formed import well_formed
from baton._src.script import markers
from baton._src.script.attribute_values import attribute_value
from baton._src.script.environment import Environment
from baton._src.script.evaluate import Evaluator, ModuleRef, Poisoned
from baton._src.script.functions import FunctionReader
from baton._src.script.infos import Scalars
from baton._src.script.macros import Macro, tir_roots
from baton._src.script.options import MACROS, Options, options_of
from baton._src.script.read_source import ScriptSource
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, Severity, fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import declared_result, parse_prim_func

_LATE = ("RELAX-WF-1b", "RELAX-SCOPE-3")
"""The codes of diagnostics for uses after the end of a block or branch."""


class ModuleReader:
    """Reads one class (or a single function) of a script."""

    def __init__(self, source: ScriptSource, environment: Environment) -> None:
        self.source = source
        self.environment = environment
        self.builder = BlockBuilder()
        self.evaluator = Evaluator(source, environment, Scalars())
        self.problems: list[Diagnostic] = []
        self.functions: dict[str, GlobalVar] = {}
        self.assigned: dict[str, Function | PrimFunc] = {}
        """Functions made elsewhere that the class names: `kernel = made`."""
        self.global_infos: dict[str, tuple[Any, ...]] = {}
        self.attrs: dict[str, Any] = {}

    # ----------------------------------------------------------------------------------------------- entrances

    def module(self, node: ast.ClassDef, check: bool = True) -> IRModule:
        """The module of a class; `DiagnosticError` with all errors."""
        defined: list[tuple[ast.FunctionDef, Options]] = []
        for statement in node.body:
            self._collect(statement, defined)
        reference = ModuleRef(node.name, self.functions)
        with self.environment.scope() as names:
            names["cls"] = names[node.name] = reference
            for name, made in self.assigned.items():
                var = self.functions[name] = GlobalVar(self.builder.get_unique_name(name))
                set_note(var, "struct_info_", function_info(made))
                self.builder.context.functions[var] = made
            for function, _ in defined:
                if function.name in self.functions:
                    self._problem("script-name", f"the module has two functions named {function.name}", function)
                var = self.functions[function.name] = GlobalVar(self.builder.get_unique_name(function.name))
                result = declared_result(function)
                if result is not None:
                    set_note(var, "checked_type_", FuncType((), result))
            for function, options in defined:
                self._declare(self.functions[function.name], function, options)
            for function, options in defined:
                self._define(function, options)
        self._raise_problems()
        module = self._ordered([*self.assigned, *(f.name for f, _ in defined)])
        if check:
            self._check_recursion(module, {f.name: f for f, o in defined if o.check_well_formed})
            self._check(module, {f.name for f, o in defined if not o.check_well_formed})
        return module

    def relax_function(self, node: ast.FunctionDef, options: Options) -> Function:
        """A Relax function by itself."""
        function = self._read(node, options)
        self._raise_problems()
        assert function is not None
        if options.check_well_formed:
            if self.builder.context.functions:
                raise self.evaluator.error(
                    "script-context", f"R.emit_te makes kernels, and function {node.name} has no module to hold them",
                    node, help="write the function inside an @I.ir_module class",
                )  # fmt: skip
            self._judge(well_formed(function))
        return function

    def macro(self, node: ast.FunctionDef, options: Options) -> Macro:
        """A macro."""
        return Macro(node, self.source, self.environment, options.hygienic)

    # -------------------------------------------------------------------------------------------------- classes

    def _collect(self, statement: ast.stmt, defined: list[tuple[ast.FunctionDef, Options]]) -> None:
        match statement:
            case ast.FunctionDef():
                options = self._options(statement)
                if options is not None:
                    if options.decorator.name in MACROS:
                        self.environment.define(statement.name, self.macro(statement, options))
                    else:
                        defined.append((statement, options))
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self._guarded(lambda: self._module_call(call), call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._guarded(lambda: self._assign(name, self.evaluator.value(value)), statement)
            case _:
                self._problem(
                    "script-syntax", "a module holds functions, I.module_attrs and I.module_global_infos", statement
                )

    def _assign(self, name: str, value: Any) -> None:
        if isinstance(value, (Function, PrimFunc)):
            self.assigned[name] = value
        else:
            self.environment.define(name, value)

    def _module_call(self, call: ast.Call) -> None:
        function = self.evaluator.value(call.func)
        if function is markers.MODULE_SET_ATTR:
            self._set_attr(call)
            return
        if function is not markers.MODULE_ATTRS and function is not markers.MODULE_GLOBAL_INFOS:
            raise self.evaluator.error("script-syntax", "this call is not supported in a module", call)
        said = attribute_value(self.evaluator, call.args[0]) if len(call.args) == 1 else None
        if not isinstance(said, dict):
            raise self.evaluator.error("script-value", f"{function!r} takes one dict", call)
        if function is markers.MODULE_ATTRS:
            self.attrs.update(said)
        elif all(isinstance(v, (tuple, list)) for v in said.values()):
            self.global_infos.update({str(k): tuple(v) for k, v in said.items()})
        else:
            raise self.evaluator.error("script-value", f"{function!r} takes a dict of lists", call)

    def _set_attr(self, call: ast.Call) -> None:
        """`I.module_set_attr(key, value, allow_overwrite=False)`."""
        given = [attribute_value(self.evaluator, a) for a in call.args]
        named = {str(k.arg): attribute_value(self.evaluator, k.value) for k in call.keywords}
        given += [named.pop(n) for n in ("attr_key", "attr_value", "allow_overwrite")[len(given) :] if n in named]
        if len(given) not in (2, 3) or named or not isinstance(given[0], str):
            raise self.evaluator.error("script-value", "I.module_set_attr takes a key and a value", call)
        if given[0] in self.attrs and not (len(given) == 3 and given[2]):
            raise self.evaluator.error(
                "script-value",
                f"the module has an attribute {given[0]!r} already",
                call,
                help="allow_overwrite=True replaces it",
            )
        self.attrs[given[0]] = given[1]

    def _options(self, node: ast.FunctionDef) -> Options | None:
        found: list[Options] = []

        def look() -> None:
            for decorator in node.decorator_list:
                options = options_of(self.evaluator.value(decorator))
                if options is None:
                    raise self.evaluator.error("script-decorator", "this decorator is not supported here", decorator)
                found.append(options)
            if len(found) != 1:
                raise self.evaluator.error(
                    "script-decorator", f"function {node.name} needs one decorator, @R.function or @T.prim_func", node
                )

        return found[0] if self._guarded(look, node) else None

    def _declare(self, var: GlobalVar, node: ast.FunctionDef, options: Options) -> None:
        """Read a Relax function's signature, or a whole PrimFunc."""
        if options.decorator.name == "T.prim_func":
            self._guarded(lambda: self._prim_func(var, node), node)
        else:
            reader = self._reader()
            self._guarded(lambda: set_note(var, "struct_info_", reader.signature(node, options)), node)

    def _prim_func(self, var: GlobalVar, node: ast.FunctionDef) -> None:
        function = read_prim_func(node, self.source, self.environment)
        self.builder.context.functions[var] = function
        set_note(var, "struct_info_", prim_func_info(function))

    def _define(self, node: ast.FunctionDef, options: Options) -> None:
        var = self.functions.get(node.name)
        if options.decorator.name == "T.prim_func" or var is None or var.struct_info_ is None:
            return
        function = self._read(node, options)
        if function is not None:
            self.builder.context.functions[var] = function
            set_note(var, "struct_info_", function.struct_info_)  # with the result, where it was not declared

    def _read(self, node: ast.FunctionDef, options: Options) -> Function | None:
        reader = self._reader()
        self.builder.normalizer.names.forget()
        found: list[Function] = []

        def read() -> None:
            function = reader.function(node, options, local=False)
            if not reader.problems:
                found.append(reader.finish(function, node))

        self._guarded(read, node)
        self.problems += reader.problems
        return found[0] if found else None

    def _reader(self) -> FunctionReader:
        self.environment.failed.clear()
        self.environment.ended.clear()
        return FunctionReader(self.source, self.environment, self.builder, self._vdevice)

    def _vdevice(self, said: Any) -> Any:
        """One of the module's virtual devices: by index, or by name (`_named_device`)."""
        if said is None or isinstance(said, VDevice):
            return said
        devices = [d for d in self.global_infos.get("vdevice", ()) if isinstance(d, VDevice)]
        if isinstance(said, int) and 0 <= said < len(devices):
            return devices[said]
        if isinstance(said, str) and (named := _named_device(said, devices)) is not None:
            return named
        known = ", ".join(d.reference() for d in devices) or "none"
        raise fail("script-annotation", f"the module has no virtual device {said!r}", help=f"it has: {known}")

    def _ordered(self, names: list[str]) -> IRModule:
        """The module's functions in source order, followed by the kernels that `R.emit_te` created."""
        read = self.builder.context.functions
        written = {self.functions[n]: read[self.functions[n]] for n in names}
        made = {var: function for var, function in read.items() if var not in written}
        return IRModule(written | made, None, self.attrs, self.global_infos)

    def _check(self, module: IRModule, unchecked: set[str]) -> None:
        crumbs = {f"in function {name}" for name in unchecked}
        self._judge([p for p in well_formed(module) if not crumbs.intersection(p.breadcrumbs)])

    def _check_recursion(self, module: IRModule, nodes: dict[str, ast.FunctionDef]) -> None:
        """Check criterion 8: a recursive function must declare its result, which is unknown until its body is read."""
        for var in (v for group in detect_recursion(module) for v in group):
            node = nodes.get(var.name_hint)
            if node is not None and node.returns is None and isinstance(module.functions[var], Function):
                self.problems += self.evaluator.error(
                    "RELAX-WF-8", f"function {node.name} is recursive and has no return annotation", node,
                    help="annotate its result: def f(...) -> R.Tensor(...)",
                ).diagnostics  # fmt: skip
        self._raise_problems()

    # ------------------------------------------------------------------------------------------------- problems

    def _judge(self, found: list[Diagnostic]) -> None:
        """Raise the checker's errors, keep its warnings."""
        errors = [d for d in found if d.severity is Severity.ERROR]
        if errors:
            raise DiagnosticError(self._at_uses(errors))
        self.builder.warnings.extend(found)

    def _at_uses(self, problems: list[Diagnostic]) -> list[Diagnostic]:
        """Move the checker's diagnostics about out-of-scope variables from their definition to their use."""
        late = self.environment.late_uses
        return [replace(p, span=late[p.span]) if p.code in _LATE and p.span in late else p for p in problems]

    def _guarded(self, action: Any, node: ast.AST) -> bool:
        try:
            action()
        except Poisoned:
            return False
        except DiagnosticError as error:
            span = self.source.span(node)
            self.problems += [d.at(span) for d in error.diagnostics]
            return False
        return True

    def _problem(self, code: str, message: str, node: ast.AST) -> None:
        self.problems += self.evaluator.error(code, message, node).diagnostics

    def _raise_problems(self) -> None:
        if self.problems:
            raise DiagnosticError(self.problems)


def read_prim_func(node: ast.FunctionDef, source: ScriptSource, environment: Environment) -> PrimFunc:
    """A TIR function; public under its own name unless `private` or named otherwise."""
    names = environment.visible()
    trusted = environment.is_trusted
    return parse_prim_func(node, source.source, names, roots=tir_roots(names), span=source.span, is_trusted=trusted)


def _named_device(said: str, devices: Sequence[VDevice]) -> VDevice | None:
    """The device named by a target, a number and an optional memory scope: `"llvm:0:global"`.

    As in TVM, the number also counts the devices of a kind of target (`"llvm:1"`), or all of them (`"vdevice:1"`).
    """
    target, _, rest = said.partition(":")
    number, _, scope = rest.partition(":")
    fitting = [d for d in devices if d.memory_scope == (scope or d.memory_scope)]
    exact = [d for d in fitting if d.target.short_text() == target and number in ("", str(d.vdevice_id))]
    alike = [d for d in fitting if target in ("vdevice", d.target.kind.name)]
    counted = alike[int(number) :] if number.isdigit() else alike
    return next(iter([*exact, *counted]), None)
