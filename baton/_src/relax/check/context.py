"""The context of deduction: its inputs besides the expression, and the sink of its diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.op_def import DimProver
from baton._src.relax.check.report import Report
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import StructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar


@dataclass
class Context:
    """The inputs of deduction: the functions of the module, the prover of dims; and the sink of its warnings."""

    functions: dict[GlobalVar, Any] = field(default_factory=dict)
    prover: DimProver = field(default_factory=Analyzer)
    report: Report = field(default_factory=Report)
    lookup: Callable[[Var], Any] = field(default=lambda _var: None)
    """The value bound to a variable, or None where it is not known."""
    shape_scope: set[TirVar] = field(default_factory=set)
    """The shape variables in scope at the expression."""
    signatures: dict[GlobalVar, tuple[Any, StructInfo]] = field(default_factory=dict)
    """Cache of the signatures of the module's functions, with the function each was computed from."""

    def global_info(self, var: GlobalVar) -> StructInfo:
        """The StructInfo of a function of the module; of an unknown one, that of the variable itself."""
        function = self.functions.get(var)
        if function is None:
            if var.struct_info_ is None:
                raise fail("RELAX-SCOPE-1", f"the module has no function {var.name_hint!r}", span=var.span)
            found: StructInfo = var.struct_info_
            return found
        known = self.signatures.get(var)
        if known is None or known[0] is not function:
            known = self.signatures[var] = (function, function_info(function))
        return known[1]
