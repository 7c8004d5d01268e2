"""`@R.macro`: statements read anew wherever the macro is called, parameters bound to arguments.

A hygienic macro (the default) sees the names of the place it was defined in, another one those of the call.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from baton._src.script.environment import Environment
from baton._src.script.read_source import ScriptSource
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.spans import Span


@dataclass(frozen=True)
class Macro:
    """A macro: its tree, and the names of its place of definition."""

    node: ast.FunctionDef
    source: ScriptSource
    defined_in: Environment
    hygienic: bool = True
    is_script_macro: bool = True

    @property
    def __name__(self) -> str:
        return self.node.name

    def environment(self, caller: Environment) -> Environment:
        """The names its statements see."""
        return self.defined_in if self.hygienic else caller


def bind_arguments(macro: Macro, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> dict[str, Any]:
    """What each parameter of the macro stands for in one call."""
    node = macro.node.args
    names = [a.arg for a in (*node.posonlyargs, *node.args)]
    found = dict(zip(names, args))
    if node.vararg is not None:
        found[node.vararg.arg] = tuple(args[len(names) :])
    elif len(args) > len(names):
        raise _wrong(macro, f"takes {len(names)} arguments, got {len(args)}", span)
    for name, value in kwargs.items():
        if name not in names or name in found:
            raise _wrong(macro, f"cannot take {name!r}", span)
        found[name] = value
    defaults = dict(zip(reversed(names), reversed(node.defaults)))
    for name in names:
        if name not in found:
            default = defaults.get(name)
            if not isinstance(default, ast.Constant):
                raise _wrong(macro, f"misses argument {name!r}", span)
            found[name] = default.value
    return found


def _wrong(macro: Macro, message: str, span: Span | None) -> DiagnosticError:
    return DiagnosticError(Diagnostic("script-macro", f"macro {macro.node.name} {message}", span=span))
