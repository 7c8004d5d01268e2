"""The functions of a module under construction: assigns their names, and reuses functions equal to an existing one.

functions = FunctionsBeingBuilt(context)
relu = functions.add(kernel, "relu")            # @relu, defined in context.functions
functions.add(equal_kernel, "relu")             # @relu again
functions.add(another_kernel, "relu")           # @relu1
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.node import set_note
from baton._src.relax.check.context import Context
from baton._src.relax.check.signatures import function_info
from baton._src.relax.known_functions import KnownFunctions
from baton._src.relax.nodes import Function


class FunctionsBeingBuilt:
    """See the module. The functions themselves are in `context.functions`, where deduction looks up callees."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._names = {v.name_hint for v in context.functions}
        self._counts: dict[str, int] = {}
        self._known: KnownFunctions | None = None

    def add(self, function: Any, name: str) -> GlobalVar:
        """Add a function under a unique name like `name`; a private one equal to a known one is not added."""
        if isinstance(function, Function) and "global_symbol" in function.attrs:
            return self._define(GlobalVar(self.unique_name(name)), function)
        return self._by_structure().var_of(function, lambda: self._define(GlobalVar(self.unique_name(name)), function))

    def define_anew(self, var: GlobalVar, function: Any) -> None:
        """Define or redefine `var`."""
        self.forget()
        self._names.add(var.name_hint)
        self._define(var, function)

    def forget(self) -> None:
        """Drop the index by structure, since functions were changed."""
        self._known = None

    def unique_name(self, prefix: str) -> str:
        """A name that no function has: `f`, `f1`, ..."""
        name, count = prefix, self._counts.get(prefix, 0)
        while name in self._names:
            count += 1
            name = f"{prefix}{count}"
        self._counts[prefix] = count
        self._names.add(name)
        return name

    def _define(self, var: GlobalVar, function: Any) -> GlobalVar:
        self.context.functions[var] = function
        set_note(var, "struct_info_", function_info(function))
        return var

    def _by_structure(self) -> KnownFunctions:
        """The functions by structure, collected on first use."""
        if self._known is None:
            self._known = KnownFunctions()
            for var, function in self.context.functions.items():
                self._known.add(function, var)
        return self._known
