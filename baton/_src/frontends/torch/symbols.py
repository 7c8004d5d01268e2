"""Sizes that an exported program leaves open: its symbolic expressions as ours."""

from __future__ import annotations

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


class Symbols:
    """The variables that stand for a program's symbols, made when first seen."""

    def __init__(self) -> None:
        self.variables: dict[str, Var] = {}

    def dim(self, size: Any) -> Dim:
        """A size that PyTorch gives: an int or a SymInt."""
        if isinstance(size, int):
            return size
        return self._expression(size.node.expr)

    def _expression(self, expression: Any) -> Dim:
        if expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            name = str(expression)
            return self.variables.setdefault(name, Var(name, "int64"))
        parts = [self._expression(a) for a in expression.args]
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
            folded: Any = parts[0]
            for part in parts[1:]:
                folded = _PAIRS[kind](folded, part)
            return folded  # type: ignore[no-any-return]
        raise fail("torch-symbol", f"the size {expression} cannot be computed", help="export with that size fixed")
