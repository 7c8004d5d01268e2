"""ToANormalForm: every value that is not atomic gets a let, in evaluation order, in the scope where it belongs.

add(log(%x), %y)     becomes     let %v1 = log(%x); let %v2 = add(%v1, %y); %v2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
from baton._src.passes.relay.annotate_closures import annotated
from baton._src.passes.relay.let_placement import LetPlacement
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.nodes import Constant, Let, Var
from baton._src.relay.scopes import Scopes
from baton._src.transform.context import PassContext

_ATOMS = (Var, Constant, GlobalVar, Op, Constructor, Let)


@dataclass(frozen=True)
class ToANormalForm(RelayFunctionPass):
    """See the module's docstring. Constants and names stay in place."""

    opt_level: ClassVar[int] = 1

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        function = annotated(function)  # a let would generalise closures without annotations
        return LetPlacement(Scopes(function), _needs_let).function(function)


def to_a_normal_form_expr(expr: Any) -> Any:
    """The same for one expression."""
    return LetPlacement(Scopes(expr), _needs_let).expression(expr)


def _needs_let(node: Any) -> bool:
    return not isinstance(node, _ATOMS)


__all__ = ["ToANormalForm", "to_a_normal_form_expr"]
