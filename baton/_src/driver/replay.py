"""Reads a reproducer (`transform.reproducer`) and runs its passes again: what `baton replay` does.

Nothing in the file is executed: a pass is found by its name among baton's own, and its options are literals.
"""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from baton._src.driver.compile.read_text import read_file
from baton._src.driver.passes_by_name import passes_named
from baton._src.driver.wiring import is_relay, wire
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.passes import relax as relax_passes
from baton._src.passes import relay as relay_passes
from baton._src.passes import tir as tir_passes
from baton._src.relay.text.parser import parse
from baton._src.script.entrance import from_source
from baton._src.script.namespaces import script_roots
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, InternalError, fail
from baton._src.tir.script_names import SCRIPT_NAMES
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass, Sequential
from baton._src.transform.reproducer import DIRECTORY, error_line

_KEYS = ("pass", "error", "context", "target", "pipeline")


@dataclass(frozen=True, slots=True)
class Reproducer:
    """What the file holds: the pass that failed and its error, how passes were run, those to run, and the module."""

    failed: str
    error: str
    context: str
    target: Target | None
    pipeline: tuple[str, ...]
    module: IRModule


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcome: the module after the passes, or the pass that failed again and its error."""

    recorded: Reproducer
    module: IRModule | None = None
    failed: str = ""
    error: Exception | None = None

    @property
    def is_same(self) -> bool:
        """Whether the recorded pass failed with the recorded error."""
        return self.error is not None and (self.failed, error_line(self.error)) == (
            self.recorded.failed,
            self.recorded.error,
        )


def replay(path: Path) -> Replay:
    """Run the passes of a reproducer on its module.

    `DiagnosticError`: the file is no reproducer (`reproducer-format`), the module does not read back, or a pass was
    defined by a program or has options that a text cannot hold (`reproducer-pass`).
    """
    wire()
    found = read_reproducer(path)
    module = found.module
    packages = _packages(module)
    with tempfile.TemporaryDirectory() as unused, found.target or nullcontext():
        context = _context(found.context)
        context.config[DIRECTORY] = unused  # the reproducer that a pass failing again leaves
        with context:
            for number, text in enumerate(found.pipeline):
                step = _pass(text, packages)
                if number and not context.pass_enabled(step.info):
                    continue
                try:
                    module = step(module)
                except InternalError as error:
                    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
                    return Replay(found, failed=step.name, error=cause)
    return Replay(found, module)


def read_reproducer(path: Path) -> Reproducer:
    """The reproducer in a file. Raises `DiagnosticError` like `replay`."""
    header, _, program = read_file(path).partition("\n\n")
    found: dict[str, list[str]] = {key: [] for key in _KEYS}
    for line in header.splitlines():
        key, colon, value = line.removeprefix("// ").partition(": ")
        if not line.startswith("// ") or not colon or key not in found:
            raise _no_reproducer(path, f"{line[:60]!r} is not one of the lines `// pass: ...` that it begins with")
        found[key].append(value)
    if not all(found[key] for key in ("pass", "error", "context", "pipeline")):
        missing = ", ".join(key for key in ("pass", "error", "context", "pipeline") if not found[key])
        raise _no_reproducer(path, f"its header has no {missing}")
    target = _target(found["target"][0], path) if found["target"] else None
    module = _read_module(program, str(path))
    return Reproducer(found["pass"][0], found["error"][0], found["context"][0], target, (*found["pipeline"],), module)


def _target(text: str, path: Path) -> Target:
    try:
        return Target(json.loads(text))
    except ValueError as error:
        raise _no_reproducer(path, f"the target {text[:60]!r} is not JSON") from error


def _no_reproducer(path: Path, why: str) -> DiagnosticError:
    help = "give the file that an internal error names after `reproducer:`"
    return fail("reproducer-format", f"{path} is not a reproducer: {why}", help=help)


def _read_module(program: str, name: str) -> IRModule:
    """A module that a pass may have left ill-formed, so it is not checked beyond its syntax."""
    if program.startswith("#[version"):
        return parse(program, CATALOGUE, source_name=name)
    roots = script_roots(RELAX_TEXT, SCRIPT_NAMES)
    found = from_source(program, roots, name=name, check_well_formed=False)
    return found if isinstance(found, IRModule) else IRModule({"main": found})


def _packages(module: IRModule) -> tuple[ModuleType, ...]:
    """Where passes are looked for: some names exist in both Relay and Relax."""
    return (relay_passes, tir_passes) if is_relay(module) else (relax_passes, tir_passes, relay_passes)


def _context(text: str) -> PassContext:
    _, args, options = _call(text, ())
    return PassContext(*args, **options)


def _pass(text: str, packages: tuple[ModuleType, ...]) -> Pass:
    """The pass that a constructor call makes."""
    name, args, options = _call(text, packages)
    if name == Sequential.__name__:
        return Sequential(*args, **options)
    try:
        made = next((make(*args, **options) for make in _candidates(name, packages)), None)
    except TypeError as error:
        raise _unreadable(text, str(error)) from error
    if not isinstance(made, Pass):
        raise _unreadable(text, f"baton has no pass {name}")
    return made


def _candidates(name: str, packages: tuple[ModuleType, ...]) -> Iterator[Any]:
    for package in packages:
        yield from passes_named(package, name)


def _call(text: str, packages: tuple[ModuleType, ...]) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, arguments and options of a call as a text: literals, or lists of passes."""
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _unreadable(text, "it is not a constructor call") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _unreadable(text, "it is not a constructor call")
    options = {k.arg: _value(k.value, text, packages) for k in call.keywords if k.arg is not None}
    return call.func.id, [_value(a, text, packages) for a in call.args], options


def _value(node: ast.expr, text: str, packages: tuple[ModuleType, ...]) -> Any:
    if isinstance(node, ast.Call):
        return _pass(ast.unparse(node), packages)
    if isinstance(node, ast.List):
        return [_value(item, text, packages) for item in node.elts]
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise _unreadable(text, f"the option {ast.unparse(node)} is not a literal") from error


def _unreadable(text: str, why: str) -> DiagnosticError:
    help = "passes that a program defines, and options such as functions or patterns, are replayed by that program"
    return fail("reproducer-pass", f"cannot make the pass {text}: {why}", help=help)
