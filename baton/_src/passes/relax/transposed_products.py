"""Transposes around the products of an adjoint, which Gradient removes.

    lv = R.permute_dims(w)                                grad_x = R.matmul(g, w)
    grad_x = R.matmul(g, R.permute_dims(lv))        ->
    lv2 = R.matmul(R.permute_dims(x), g)                  grad_w = R.matmul(R.permute_dims(g), x)
    grad_w = R.permute_dims(lv2)

A transpose (of the last two axes) of a transpose is the original; one of a product is the product of the transposes in
the other order, unless the product has other uses or an operand is a vector.
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.bindings import count_uses
from baton._src.ir.expr import GraphExpr
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.relax.nodes import Binding, Call, DataflowVar, Function, Var, VarBinding, is_call
from baton._src.relax.struct_info import TensorStructInfo


def without_transposes(function: Function) -> Function:
    """The function without the transposes that make no difference."""
    return remove_all_unused(_Rewriter(count_uses(function)).function(function))


class _Rewriter(BindingRewriter):
    def __init__(self, uses: dict[Var, int]) -> None:
        super().__init__()
        self.uses = uses
        self.make = RelaxMaker(CATALOGUE.get("matmul"), CATALOGUE)

    def visit_binding(self, binding: Binding) -> None:
        value: Any = binding.value if isinstance(binding, VarBinding) else None
        found = self._without_transpose(value) if _is_transpose(value) else value
        if found is value:
            self.keep(binding)
        elif isinstance(found, Var) and isinstance(binding.var, DataflowVar):
            self.replace(binding.var, found)
        else:
            self.keep(VarBinding(binding.var, found, binding.span))

    def _without_transpose(self, value: Call) -> Any:
        """Another form of a transposed value; `value` if there is none."""
        source = value.args[0]
        inner = self.resolved(source)
        if _is_transpose(inner) and self.is_visible(inner.args[0]):
            return inner.args[0]
        if not is_call(inner, "relax.matmul") or self.uses.get(source, 0) > 1:
            return value
        a, b = inner.args
        if min(_rank(a), _rank(b)) < 2 or not (self.is_visible(a) and self.is_visible(b)):
            return value
        return self.normalized(self.make(self._transposed(b), self._transposed(a), out_dtype=inner.attrs.out_dtype))

    def _transposed(self, expr: GraphExpr) -> Any:
        inner = self.resolved(expr)
        if _is_transpose(inner) and self.is_visible(inner.args[0]):
            return inner.args[0]
        return self.make.swap_last(expr, _rank(expr))


def _rank(expr: GraphExpr) -> int:
    info = expr.struct_info
    return info.ndim if isinstance(info, TensorStructInfo) else -1


def _is_transpose(value: GraphExpr) -> bool:
    """Whether it exchanges the last two axes and no others."""
    if not is_call(value, "relax.permute_dims"):
        return False
    rank, axes = _rank(value.args[0]), value.attrs.axes
    if rank < 2 or axes is None:
        return rank == 2
    return [a % rank for a in axes] == [*range(rank - 2), rank - 1, rank - 2]
