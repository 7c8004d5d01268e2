"""Common parts of rewrites of matrix products: a pass made of rules, and properties of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relax.rewrite_patterns import Rewriter, rewrite_calls
from baton._src.relax.nodes import Function
from baton._src.relax.patterns.builders import DFPattern, is_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.operators import is_const
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

Rule = tuple[DFPattern, Rewriter]


@dataclass(frozen=True)
class ProductRules(FunctionPass):
    """Rewrites the calls of a function by the rules that it makes for it."""

    opt_level = 1
    function_class = Function

    def rules(self, function: Function) -> list[Rule]:
        """The patterns and what replaces them."""
        raise NotImplementedError

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return rewrite_calls(self.rules(function), function, module)


def matmul(a: Any, b: Any) -> DFPattern:
    """The pattern of a product."""
    return is_op("relax.matmul")(a, b)


def permuted(a: Any) -> DFPattern:
    """The pattern of a transpose."""
    return is_op("relax.permute_dims")(a)


def axes_of(permute: Any) -> list[int] | None:
    """The axes of a permutation, written out; None for a tensor of unknown rank."""
    rank = permute.struct_info.ndim
    if rank == -1:
        return None
    axes = permute.attrs.axes
    return list(reversed(range(rank))) if axes is None else [int(a) % rank for a in axes]


def broadcast(one: Sequence[PrimExpr], other: Sequence[PrimExpr], analyzer: Analyzer) -> list[PrimExpr] | None:
    """The dims that two lists of batch dims become together; None where that is not known."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    found = list(longer[: len(longer) - len(shorter)])
    for a, b in zip(longer[len(found) :], shorter):
        if analyzer.equal(a, b) is True or is_const(b, 1):
            found.append(a)
        elif is_const(a, 1):
            found.append(b)
        else:
            return None
    return found
