"""`from_source`: reads the text of a script as a module or function, without executing it.

A script holds one class or function with our decorators; before it, import lines (they name `I`, `R`, `T` and are not
executed), plain assignments, macros, and the metadata section that printing writes.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from typing import Any

from baton._src.relax.check.report import StructInfoWarning
from baton._src.relax.text.metadata import load_metadata
from baton._src.script.environment import Environment
from baton._src.script.evaluate import Evaluator
from baton._src.script.infos import Scalars
from baton._src.script.modules import ModuleReader, read_prim_func
from baton._src.script.options import MACROS, Options, options_of
from baton._src.script.read_source import ScriptSource, parse_text, source_of
from baton._src.support.diagnostics import DiagnosticError, fail

_ROOT_OF = {"ir": "I", "relax": "R", "tir": "T"}


def from_source(text: str, roots: Mapping[str, Any], *, name: str = "<string>", check_well_formed: bool = True) -> Any:
    """The IRModule, Relax function or PrimFunc that the text defines.

    `roots` defines `I`, `R` and `T` (see `namespaces`). One `DiagnosticError` reports all errors, with spans.
    """
    source = parse_text(text, name)
    environment = Environment(roots)
    found: list[tuple[ast.ClassDef | ast.FunctionDef, Options]] = []
    for statement in source.tree.body:
        _top_level(statement, source, environment, found)
    if len(found) != 1:
        raise fail(
            "script-syntax",
            f"the script defines {len(found)} modules or functions instead of one",
            help="put several functions into a class with @I.ir_module",
        )
    node, options = found[0]
    return read_definition(node, options, source, environment, check_well_formed)


def read_definition(
    node: ast.ClassDef | ast.FunctionDef,
    options: Options,
    source: ScriptSource,
    environment: Environment,
    check_well_formed: bool = True,
) -> Any:
    """The module, function or macro that a decorated definition defines."""
    reader = ModuleReader(source, environment)
    kind = options.decorator.name
    if isinstance(node, ast.ClassDef):
        if kind != "I.ir_module":
            raise _misplaced(node, options, source)
        module = reader.module(node, check_well_formed and options.check_well_formed)
        _warn(reader)
        return module
    if kind == "R.function":
        wanted = Options(
            options.decorator, options.pure, options.private, check_well_formed and options.check_well_formed
        )
        function = reader.relax_function(node, wanted)
        _warn(reader)
        return function
    if kind == "T.prim_func":
        return read_prim_func(node, source, environment)
    if kind in MACROS:
        return reader.macro(node, options)
    raise _misplaced(node, options, source)


def read_object(subject: Any, options: Options, captured: Mapping[str, Any], line: int | None = None) -> Any:
    """The module, function or macro of a decorated Python class or function; `captured` are the Python variables
    visible to it, `line` is a line of its definition.
    """
    source = source_of(subject, line)
    node = source.tree.body[0]
    if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        raise fail("script-source", f"the source text of {subject!r} is not a class or function")
    return read_definition(node, options, source, Environment({}, captured))


def _misplaced(node: ast.ClassDef | ast.FunctionDef, options: Options, source: ScriptSource) -> DiagnosticError:
    what = "a class" if isinstance(node, ast.ClassDef) else "a function"
    return fail(
        "script-decorator", f"{options.decorator.name} cannot decorate {what}", span=source.span(node.decorator_list[0])
    )


def _warn(reader: ModuleReader) -> None:
    """Emit each warning once: bindings are checked when they are read, and again with the whole function."""
    for text in dict.fromkeys(found.render() for found in reader.builder.warnings):
        warnings.warn(text, StructInfoWarning, stacklevel=4)


def _top_level(
    statement: ast.stmt,
    source: ScriptSource,
    environment: Environment,
    found: list[tuple[ast.ClassDef | ast.FunctionDef, Options]],
) -> None:
    evaluator = Evaluator(source, environment, Scalars())
    match statement:
        case ast.ImportFrom() | ast.Import():
            _import(statement, environment, evaluator)
        case ast.ClassDef() | ast.FunctionDef():
            options = [options_of(evaluator.value(d)) for d in statement.decorator_list]
            if len(options) != 1 or options[0] is None:
                raise evaluator.error(
                    "script-decorator",
                    f"{statement.name} needs one of @I.ir_module, @R.function, @T.prim_func",
                    statement,
                )
            if options[0].decorator.name in MACROS and isinstance(statement, ast.FunctionDef):
                environment.define(statement.name, ModuleReader(source, environment).macro(statement, options[0]))
            else:
                found.append((statement, options[0]))
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            environment.define(name, _assigned(value, evaluator))
        case ast.Expr(value=ast.Constant()):
            pass
        case _:
            raise evaluator.error(
                "script-syntax", "this statement is not allowed at the top level of a script", statement
            )


def _assigned(value: ast.expr, evaluator: Evaluator) -> Any:
    """The value of a module-level assignment. `load_json(...)` is printed metadata: it is read, not executed."""
    match value:
        case ast.Call(func=ast.Attribute(attr="load_json"), args=[ast.Constant(value=str() as text)]):
            return load_metadata(text)
        case _:
            return evaluator.value(value)


def _import(statement: ast.ImportFrom | ast.Import, environment: Environment, evaluator: Evaluator) -> None:
    """`from tvm.script import relax as R`: gives our namespaces their names; nothing is imported."""
    for alias in statement.names:
        root = _ROOT_OF.get(alias.name.rpartition(".")[2])
        module = statement.module if isinstance(statement, ast.ImportFrom) else alias.name
        known = root is not None and "script" in (module or "").split(".") and root in environment.roots
        if known and root is not None:
            environment.define(alias.asname or alias.name, environment.roots[root])
        elif (module or "").split(".")[0] not in ("tvm", "baton", "__future__"):
            raise evaluator.error("script-syntax", "a script may import only the namespaces of tvm.script", statement)
