"""ToANormalForm: every value that is not atomic gets a let, in evaluation order, in the scope where it belongs.

add(log(%x), %y)     becomes     let %v1 = log(%x); let %v2 = add(%v1, %y); %v2
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor
from baton._src.passes.relay.forms.annotate_closures import annotated
from baton._src.passes.relay.let_placement import LetPlacement
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import parts
from baton._src.relay.nodes import Constant, Function, If, Let, Match, Var
from baton._src.relay.scopes import Scopes
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext

_ATOMS = (Var, Constant, GlobalVar, Op, Constructor, Let)


@dataclass(frozen=True)
class ToANormalForm(RelayFunctionPass):
    """See the module's docstring. Constants and names stay in place; without `inside_kernels`, functions marked
    `Primitive`, too."""

    opt_level: ClassVar[int] = 1
    keeps_effects: ClassVar[bool] = True
    inside_kernels: bool = True

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        if is_a_normal_form(function, self.inside_kernels):
            return function
        function = annotated(function)  # a let would generalise closures without annotations
        return LetPlacement(Scopes(function), _needs_let, self.inside_kernels).function(function)


def to_a_normal_form_expr(e: Any) -> Any:
    """The same for one expression."""
    return LetPlacement(Scopes(e), _needs_let).expression(e)


def is_a_normal_form(function: Function, inside_kernels: bool = True) -> bool:
    """Whether the pass would change nothing."""

    def below(node: Any) -> tuple[Any, ...]:
        kernel = isinstance(node, Function) and node.attrs.get("Primitive") and node is not function
        return () if kernel and not inside_kernels else parts(node)

    bound: set[Any] = set()
    for node in post_order(function, below=below):
        if isinstance(node, Let):
            if isinstance(node.value, Let) or node.value in bound or _needs_let(node.body):
                return False
            if not isinstance(node.value, _ATOMS):
                bound.add(node.value)
            continue
        scopes = _scopes_below(node)
        if any(_needs_let(p) or (isinstance(p, Let) and p not in scopes) for p in below(node)):
            return False
    return True


def _scopes_below(node: Any) -> tuple[Any, ...]:
    match node:
        case If():
            return (node.true_branch, node.false_branch)
        case Match():
            return tuple(c.rhs for c in node.clauses)
        case Function():
            return (node.body,)
        case _:
            return ()


def _needs_let(node: Any) -> bool:
    return not isinstance(node, _ATOMS)


__all__ = ["ToANormalForm", "is_a_normal_form", "to_a_normal_form_expr"]
