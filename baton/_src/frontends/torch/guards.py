"""The conditions that an exported program imposes on the sizes of its inputs: bounds, and guards from tracing.

A program that tested `x.shape[0] > 8` contains the answer, and is wrong for other inputs; one that takes 1 / x.shape[0]
where PyTorch wants a number known beforehand contains that number. Sizes 0 and 1 are accepted where the example had
more, as in PyTorch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.sizes import SIZES
from baton._src.frontends.torch.sym_bools import VIOLATIONS, SymBool
from baton._src.frontends.torch.sym_floats import SymFloat
from baton._src.frontends.torch.symbols import Symbols
from baton._src.ir.tensor_info import Dim
from baton._src.support.dataclass import dataclass
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min


@dataclass(frozen=True)
class Guard:
    """The placeholder of an input, one of its axes, the required size of this axis (or, of floats, what must hold), and
    the condition in PyTorch's notation.
    """

    node: Any
    axis: int
    size: Dim | SymBool
    told: str


_ENDLESS = 1 << 60
_NUMBERED = re.compile(r"(.+)_(\d+)")
_ARITHMETIC: dict[type, str] = {
    ast.Add: "_operator.add", ast.Sub: "_operator.sub", ast.Mult: "_operator.mul", ast.FloorDiv: "_operator.floordiv",
    ast.Mod: "_operator.mod", ast.Div: "_operator.truediv",
}  # fmt: skip
_FUNCTIONS = {"float": "torch.sym_float", "torch.sym_float": "torch.sym_float", "math.sqrt": "math.sqrt"}
"""Those that are rounded in one way only. Powers are not: what PyTorch found is not what each machine finds."""
_COMPARED: dict[type, str] = {
    ast.Eq: "equal", ast.NotEq: "not_equal", ast.GtE: "greater_equal", ast.Gt: "greater", ast.LtE: "less_equal",
    ast.Lt: "less",
}  # fmt: skip


def bounds_of(exported: Any) -> dict[Any, tuple[int, int | None]]:
    """The least and the greatest value of every size (a symbol, a multiple of one) that has such."""
    found = {}
    for size, values in exported.range_constraints.items():
        least = int(values.lower) if values.lower.is_number and abs(values.lower) < _ENDLESS else 0
        most = int(values.upper) if values.upper.is_number and values.upper < _ENDLESS else None
        if least > 2 or most is not None:  # 2 says that the example had neither 0 nor 1
            found[size] = (least if least > 2 else 0, most)
    return found


def sources_of(exported: Any, placeholders: Mapping[str, Any]) -> dict[str, Any]:
    """What PyTorch calls the inputs where it notes what it asked of them, such as `L['x'][0]`: their placeholders."""
    tree = torch_library().utils._pytree
    signature = exported.module_call_graph[0].signature
    names = signature.forward_arg_names
    if names is None:
        return {}
    positional, keywords = tree.tree_unflatten(list(exported.graph_signature.user_inputs), exported.call_spec.in_spec)
    found = {}
    for name, given in zip(names, (*positional, *keywords.values())):
        several = _NUMBERED.fullmatch(name)
        for path, leaf in tree.tree_flatten_with_path(given)[0]:
            inner = tree.keystr(path)
            found[f"L[{name!r}]{inner}"] = placeholders.get(leaf)
            if several:  # one of *args
                found[f"L[{several[1]!r}][{several[2]}]{inner}"] = placeholders.get(leaf)
    return {source: node for source, node in found.items() if node is not None}


def guards(program: Any, symbols: Symbols) -> Iterator[Guard]:
    """All conditions of a program that can only be checked at run time."""
    places: dict[Any, tuple[Any, int]] = {}
    for node in program.inputs:
        for axis, size in enumerate(node.meta["val"].shape):
            if not isinstance(size, int):
                places.setdefault(size.node.expr, (node, axis))
    for expression, (least, most) in program.bounds.items():
        if expression in places:
            size = symbols.expression(expression)
            within = tir_max(size, least) if least else size
            told = f"{least} <= {expression}" + ("" if most is None else f" <= {most}")
            yield Guard(*places[expression], within if most is None else tir_min(within, most), told)
    for text in program.guards:
        found = _GuardReader(program.sources, symbols).read(ast.parse(text, mode="eval").body)
        if found is not None:
            yield found


class _GuardReader:
    """Reads one comparison of sizes, as Python."""

    def __init__(self, sources: Mapping[str, Any], symbols: Symbols) -> None:
        self.sources, self.symbols = sources, symbols
        self.sizes: list[tuple[Any, int, Dim]] = []
        """The compared sizes, and where they occur."""

    def read(self, guard: ast.expr) -> Guard | None:
        match guard:
            case ast.Compare(left=left, ops=[kind], comparators=[right]) if not _is_bound(left, kind, right):
                a, b = self._number(left), self._number(right)
            case _:
                return None
        if a is None or b is None or not self.sizes:
            return None
        node, axis, size = self.sizes[0]
        if any(isinstance(n, (SymFloat, float)) for n in (a, b)):
            return Guard(node, axis, SymBool(_COMPARED[type(kind)], a, b), ast.unparse(guard))
        return Guard(node, axis, size + VIOLATIONS[_COMPARED[type(kind)]](a, b), ast.unparse(guard))

    def _number(self, part: ast.expr) -> Any:
        """The value of an expression; None if it is not arithmetic on sizes."""
        match part:
            case ast.Constant(value=int(number) | float(number)):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                negative = self._number(operand)
                return None if negative is None else SIZES["_operator.neg"](negative)
            case ast.Call(func=function, args=[operand]) if (name := ast.unparse(function)) in _FUNCTIONS:
                given = self._number(operand)
                return None if given is None else SIZES[_FUNCTIONS[name]](given)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                a, b = self._number(left), self._number(right)
                return None if a is None or b is None else SIZES[_ARITHMETIC[type(op)]](a, b)
            case ast.Subscript(value=ast.Call(func=ast.Attribute(value=tensor, attr="size")), slice=ast.Constant(axis)):
                return self._size(self.sources.get(ast.unparse(tensor)), axis)
            case _:
                return None

    def _size(self, node: Any, axis: Any) -> Dim | None:
        if node is None or not isinstance(axis, int) or axis >= len(node.meta["val"].shape):
            return None
        size = self.symbols.dim(node.meta["val"].shape[axis])
        self.sizes.append((node, axis, size))
        return size


def _is_bound(left: ast.expr, kind: ast.cmpop, right: ast.expr) -> bool:
    """Whether a comparison is among the bounds of its symbol, or asks only whether a size is 0 or 1."""
    if type(kind) not in _COMPARED or not isinstance(right, ast.Constant):
        return type(kind) not in _COMPARED
    if isinstance(left, ast.Subscript):
        return not isinstance(kind, (ast.Eq, ast.NotEq)) or right.value in (0, 1)
    few = {ast.NotEq: (0, 1), ast.GtE: (1, 2), ast.Gt: (0, 1)}
    return right.value in few.get(type(kind), ())
