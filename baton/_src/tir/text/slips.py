"""What to write instead of Python that a PrimFunc does not have."""

from __future__ import annotations

import ast

_INSTEAD: dict[type[ast.AST], str] = {
    ast.Break: "loops run to their end: put the rest under a condition, or use while",
    ast.Continue: "loops run to their end: put the rest under a condition",
    ast.FunctionDef: "write it outside of the PrimFunc, as a @T.macro",
    ast.Import: "import in front of the PrimFunc",
    ast.ImportFrom: "import in front of the PrimFunc",
    ast.Try: "check with assert or T.Assert",
    ast.Raise: "check with assert or T.Assert",
    ast.Delete: "a buffer lives to the end of its scope",
    ast.NamedExpr: "assign on a line of its own",
}

_MODULES = frozenset({"np", "numpy", "math", "torch"})


def instead(node: ast.AST) -> str | None:
    """Advice for a statement or expression that cannot be used."""
    return _INSTEAD.get(type(node))


def instead_of_name(name: str) -> str | None:
    """Advice for a name that nothing defines."""
    if name in _MODULES:
        return "functions of scalars are T's: T.exp, T.sqrt, T.max, ..."
    if name == "print":
        return "kernels do not print: store what you want to see in a buffer"
    if name == "sum":
        return "sum in a loop, into a buffer"
    return None
