"""Symbolic sizes of an exported program, as shape variables and expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.tensor_info import Dim
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var
from baton._src.tir.operators import floordiv, floormod
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min

_PAIRS = {
    "FloorDiv": floordiv,
    "CleanDiv": floordiv,
    "Mod": floormod,
    "PythonMod": floormod,
    "Max": tir_max,
    "Min": tir_min,
}


def unseen(numbers: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The nodes of numbers that no tensor's size determines: arguments of the program, or sizes of removed inputs."""
    sizes = [d.node.expr for t in tensors for d in t.meta["val"].shape if not isinstance(d, int)]
    seen = {e for e in sizes if e.is_Symbol}
    found = []
    for node in numbers:
        expression = node.meta["val"].node.expr
        if not expression.free_symbols <= seen:
            found.append(node)
            seen.add(expression)
    return tuple(found)


class Symbols:
    """The variables for a program's symbols, created on first use; `known` are numbers instead."""

    def __init__(self, known: Mapping[Any, int]) -> None:
        self.known = known
        self.variables: dict[str, Dim] = {}

    def dim(self, size: Any) -> Dim:
        """A size that PyTorch gives: an int or a SymInt."""
        if isinstance(size, int):
            return size
        return self.expression(size.node.expr)

    def measured(self, shapes: Sequence[Sequence[Any]]) -> dict[int, dict[int, Dim]]:
        """Sizes of inputs that determine a symbol only through an expression such as 8 * k: by input and axis, a
        variable each.

        The symbol is the quotient; that there is no remainder must be checked.
        """
        sizes = [
            (k, axis, d.node.expr) for k, s in enumerate(shapes) for axis, d in enumerate(s) if not isinstance(d, int)
        ]
        known = {str(e) for _, _, e in sizes if e.is_Symbol} | set(self.variables)
        found: dict[int, dict[int, Dim]] = {}
        for place, axis, expression in sizes:
            open_symbols = [s for s in expression.free_symbols if str(s) not in known]
            if len(expression.free_symbols) != 1 or not open_symbols:
                continue
            (symbol,) = open_symbols
            factor = expression.coeff(symbol)
            rest = expression - factor * symbol
            if factor.is_Integer and rest.is_Integer and factor > 0:
                size = Var(f"size_{symbol}", "int64")
                self.variables[str(symbol)] = floordiv(size - int(rest), int(factor))
                known.add(str(symbol))
                found.setdefault(place, {})[axis] = size
        return found

    def count(self, number: Any) -> tuple[Dim, Dim]:
        """A variable for the magnitude of an `unseen` number, and the number in terms of it.

        PyTorch records the sign that it assumes among its guards: another sign is another program.
        """
        found: Dim
        if number.node.expr in self.known:
            found = self.known[number.node.expr]
            return abs(found), found
        size = Var(str(number.node.expr), "int64")
        found = size if number >= 0 else 0 - size
        if number.node.expr.is_Symbol:
            self.variables[str(number.node.expr)] = found
        return size, found

    def expression(self, expression: Any) -> Dim:
        """A size as PyTorch writes it inside of SymInts."""
        expression = expression.subs(self.known) if self.known else expression
        if expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            name = str(expression)
            return self.variables.setdefault(name, Var(name, "int64"))
        parts = [self.expression(a) for a in expression.args]
        kind = type(expression).__name__
        if kind == "Add":
            return sum(parts[1:], start=parts[0])
        if kind == "Mul":
            total: Dim = parts[-1]
            for part in reversed(parts[:-1]):
                total = total * part
            return total
        if kind == "Pow" and isinstance(parts[1], int) and parts[1] > 0:
            power: Dim = parts[0]
            for _ in range(parts[1] - 1):
                power = power * parts[0]
            return power
        if kind in _PAIRS:
            folded: Dim = parts[0]
            for part in parts[1:]:
                folded = _PAIRS[kind](folded, part)
            return folded
        raise fail("torch-symbol", f"the size {expression} cannot be computed", help="export with that size fixed")
