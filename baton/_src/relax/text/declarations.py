"""The beginning of an outermost function's body: its shape variables, and the module's short name `cls`."""

from __future__ import annotations

from baton._src.ir.expr import GlobalVar
from baton._src.relax.text.names import Names
from baton._src.tir.expr import SizeVar
from baton._src.tir.expr import Var as TirVar


class Declarations:
    """The names of one function, and `head`: the lines its body begins with, found while it is printed.

    Shape variables of inner functions, whose types may be named outside of them, are declared there too.
    """

    def __init__(self, defines: bool = False) -> None:
        self.names = Names()
        self.defines = defines
        """Whether the variables that a part of a program does not define itself are to be defined before it."""
        self.definitions: list[str] = []
        self.module_name: str | None = None
        self.head: list[str] | None = None
        """None outside of functions."""
        self._declared: set[TirVar] = set()

    def forget_names(self) -> None:
        """Names start anew (in the next function)."""
        self.names = Names()
        self._declared = set()

    def scalar_name(self, var: TirVar) -> str:
        """The name of a shape variable, which the head declares."""
        name = self.names.of(var, var.name)
        lines = self.definitions if self.head is None and self.defines else self.head
        if lines is not None and var not in self._declared:
            self._declared.add(var)
            lines.append(f"{name} = T.{var.dtype}({'is_size_var=True' if isinstance(var, SizeVar) else ''})")
        return name

    def global_name(self, var: GlobalVar) -> str:
        """A function of the module as other functions refer to it; one printed by itself has no module to refer to."""
        if self.module_name is None or self.head is None:
            return var.name_hint
        alias = f"cls = {self.module_name}"
        if alias not in self.head:
            self.head.append(alias)
        return f"cls.{var.name_hint}"
