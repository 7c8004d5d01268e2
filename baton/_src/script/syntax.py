"""Purely syntactic queries on statements: the names they assign, the result common to all branches."""

from __future__ import annotations

import ast

from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass

KINDS: dict[type[ast.stmt], str] = {
    ast.For: "a for loop",
    ast.While: "a while loop",
    ast.AugAssign: "an augmented assignment",
    ast.Try: "try",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.ClassDef: "a class",
    ast.Assert: "assert",
    ast.Raise: "raise",
    ast.Delete: "del",
}
"""Names, for error messages, of Python statements that a script function does not support."""


def targets(node: ast.stmt) -> list[str]:
    """The names a statement assigns."""
    match node:
        case ast.Assign():
            found = [n for t in node.targets for n in ast.walk(t)]
            return [n.id for n in found if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.FunctionDef():
            return [node.name]
        case ast.If():
            return [name for name in last_targets(node) if name is not None]
        case ast.With():
            return [n for s in node.body for n in targets(s)]
        case _:
            return []


_LOOP = "a loop is a function that calls itself; calls in tail position take no memory"
INSTEAD: dict[type[ast.stmt], str] = {
    ast.While: _LOOP,
    ast.For: _LOOP,
    ast.AugAssign: "write it out: x = R.add(x, y)",
    ast.Assert: "R.assert_op checks a condition when the program runs",
    ast.Import: "import before the function",
    ast.ImportFrom: "import before the function",
}
"""What to write instead of a statement that Relax does not have."""


@dataclass(frozen=True, slots=True)
class Announced:
    """`name: info` by itself, before the if that binds the name."""

    name: str
    info: StructInfo
    node: ast.AnnAssign


def last_targets(node: ast.If) -> set[str | None]:
    """The names that the last statements of all branches assign; None stands for a branch that ends otherwise.

    Of a dataflow block that is the last statement before R.output, if it lists the name.
    """
    found: set[str | None] = set()
    work: list[ast.stmt] = [node]
    while work:
        last = work.pop()
        if isinstance(last, ast.If) and last.orelse:
            work += [last.body[-1], last.orelse[-1]]
        else:
            found.add(_last_simple(last))
    return found


def common_result(node: ast.If) -> str | None:
    """The name that the last statements of all branches assign, if it is one and the same."""
    found = last_targets(node)
    return found.pop() if len(found) == 1 else None


def _last_simple(node: ast.stmt) -> str | None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case ast.Assign(targets=[ast.Tuple(elts=[*_, ast.Name(id=name)])]):
            return name
        case ast.FunctionDef(name=name):
            return name
        case ast.With(body=[*_, last, ast.Expr(value=ast.Call(func=ast.Attribute(attr="output"), args=outputs))]):
            bound = _last_simple(last)
            return bound if any(isinstance(o, ast.Name) and o.id == bound for o in outputs) else None
        case _:
            return None


def mentions(node: ast.FunctionDef, name: str) -> bool:
    """Whether the body of a function reads or binds a name."""
    return any(isinstance(n, ast.Name) and n.id == name for s in node.body for n in ast.walk(s))
