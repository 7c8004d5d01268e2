"""ToBasicBlockNormalForm: values used from several scopes become lets in the smallest scope around their uses.

    %1 = log(%x); if (%c) { %1 } else { %1 + 1f }
becomes
    let %v = log(%x); if (%c) { %v } else { %v + 1f }

A value used within a single scope stays a graph node there. Source: seed 003, ToBasicBlockNormalForm.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.let_placement import LetPlacement
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.nodes import Constant, Function, Var
from baton._src.relay.scopes import Scopes
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class ToBasicBlockNormalForm(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1
    keeps_effects: ClassVar[bool] = True

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        scopes = Scopes(function)
        lifted = {n for n in scopes.lifted if not isinstance(n, (Constant, Var))}
        if not lifted:
            return function
        return LetPlacement(scopes, lambda node: node in lifted).function(function)


def lifted_expressions(function: Function) -> set[Any]:
    """The expressions that ToBasicBlockNormalForm binds."""
    return {n for n in Scopes(function).lifted if not isinstance(n, (Constant, Var))}
