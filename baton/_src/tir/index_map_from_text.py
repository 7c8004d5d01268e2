"""Maps of indices read from their text, and written anew over variables of another dtype. Nothing of a text is run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.python_operators import OF_INTEGERS
from baton._src.tir.expr import Var
from baton._src.tir.index_map import IndexMap, index_map_text
from baton._src.tir.operators import convert


def index_map_of(mapping: Any, ndim: int, dtype: str, scalar: Callable[[PrimExpr], str]) -> IndexMap:
    """The map that a function says, over variables of `dtype`; a map of other variables is written anew (`scalar`)."""
    if not isinstance(mapping, IndexMap):
        return IndexMap.from_func_with_separators(mapping, ndim, index_dtype=dtype)[0]
    if all(v.dtype == dtype for v in mapping.initial_indices):
        return mapping
    try:
        made = index_map_from_text(index_map_text(mapping, scalar), dtype)
        return made.with_fields(inverse_index_map=mapping.inverse_index_map)
    except DiagnosticError:
        return mapping  # more than +, -, *, //, %: it is applied with conversions


def index_map_from_text(text: str, dtype: str = "int64") -> IndexMap:
    """The inverse of `index_map_text`: `T.index_map(lambda i, j: (j, i // 4))`. The text is not executed."""
    try:
        tree: Any = ast.parse(text.strip().removeprefix("T.index_map(").removesuffix(")"), mode="eval").body
        variables = {a.arg: Var(a.arg, dtype) for a in tree.args.args}
        parts = tree.body.elts if isinstance(tree.body, ast.Tuple) else [tree.body]
        return IndexMap(tuple(variables.values()), tuple(convert(_index(p, variables)) for p in parts))
    except (SyntaxError, AttributeError, KeyError, ValueError, RecursionError):
        raise fail("index-map", f"{text!r} is not a map of indices") from None


def _index(node: Any, variables: dict[str, Var]) -> Any:
    """The value of +, -, *, //, % over variables and whole numbers."""
    match node:
        case ast.Name(id=name):
            return variables[name]
        case ast.Constant(value=int() as number):
            return number
        case ast.BinOp(left=left, op=kind, right=right):
            return OF_INTEGERS[type(kind)](_index(left, variables), _index(right, variables))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return 0 - _index(operand, variables)
        case ast.Call(args=[ast.Constant(value=int() as number)]):
            return number  # T.int64(4)
        case _:
            raise ValueError(ast.dump(node))
