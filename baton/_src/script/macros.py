"""`@R.macro`, `@T.macro`: statements that are read again at every call, with parameters bound to arguments.

A hygienic macro (the default) sees the names at its definition, any other macro those at the call.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton._src.script.environment import Environment, ScriptNamespace
from baton._src.script.options import Decorator
from baton._src.script.read_source import ScriptSource
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.spans import Span
from baton._src.tir.text.scope import Expansion


@dataclass(frozen=True)
class Macro:
    """A macro: its tree, and the names at its definition."""

    node: ast.FunctionDef
    source: ScriptSource
    defined_in: Environment
    hygienic: bool = True
    first: tuple[Any, ...] = ()
    """Arguments prepended to those of a call: the object, for a macro that is a method."""
    is_script_macro: bool = True

    @property
    def __name__(self) -> str:
        return self.node.name

    def __get__(self, owner: Any, kind: type | None = None) -> Macro:
        return self if owner is None else replace(self, first=(owner,))

    def environment(self, caller: Environment) -> Environment:
        """The names its statements see."""
        return self.defined_in if self.hygienic else caller

    def expansion(self, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> Expansion:
        """A call of it in a PrimFunc."""
        names = bind_arguments(self, args, kwargs, span)
        around = self.defined_in.visible()
        roots = frozenset(tir_roots(around))
        return Expansion(
            self.node.name, self.node.body, names, around if self.hygienic else None, roots, self.source.span
        )


def tir_roots(names: Mapping[str, Any]) -> list[str]:
    """The names under which a script knows `T`."""
    return [name for name, found in names.items() if _is_tir_root(found)]


def _is_tir_root(found: Any) -> bool:
    if not isinstance(found, (ScriptNamespace, types.ModuleType)):
        return False
    word = getattr(found, "prim_func", None)
    return isinstance(word, Decorator) and word.name == "T.prim_func"


def bind_arguments(macro: Macro, args: list[Any], kwargs: dict[str, Any], span: Span | None) -> dict[str, Any]:
    """The value of each parameter of the macro in one call."""
    node = macro.node.args
    given = [*macro.first, *args]
    positional = [a.arg for a in (*node.posonlyargs, *node.args)]
    names = [*positional, *(a.arg for a in node.kwonlyargs)]
    found = dict(zip(positional, given))
    if node.vararg is not None:
        found[node.vararg.arg] = tuple(given[len(positional) :])
    elif len(given) > len(positional):
        raise wrong_use(macro, f"takes {len(positional)} arguments, got {len(given)}", span)
    others: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in found or (name not in names and node.kwarg is None):
            raise wrong_use(macro, f"cannot take {name!r}", span)
        (found if name in names else others)[name] = value
    if node.kwarg is not None:
        found[node.kwarg.arg] = others
    defaults = dict(zip(reversed(positional), reversed(node.defaults)))
    defaults.update({a.arg: d for a, d in zip(node.kwonlyargs, node.kw_defaults) if d is not None})
    for name in names:
        if name not in found:
            default = defaults.get(name)
            if not isinstance(default, ast.Constant):
                raise wrong_use(macro, f"misses argument {name!r}", span)
            found[name] = default.value
    return found


def wrong_use(macro: Macro, message: str, span: Span | None) -> DiagnosticError:
    """The error of a call of a macro."""
    return DiagnosticError(Diagnostic("script-macro", f"macro {macro.node.name} {message}", span=span))
