"""`LookingRewriter`: a rewriter for passes that look at what operands were computed from.

    y = R.permute_dims(x)
    R.call_packed("increase", x)
    z = R.matmul(w, y)              here y is no longer R.permute_dims(x)

`lasting` has the values of variables that still hold: a call with effects or in place ends those of tensors that it may
write, and those that read such tensors (`analysis.exposure`). `resolved` looks no further. In functions without
effects, which most are, all values last.
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import Exposure, gives_fresh_results
from baton._src.analysis.purity import may_write
from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import Binding, Call, Constant, Function, Tuple, Var


class LookingRewriter(BindingRewriter):
    """See the module. Subclasses that override `enter_function` or `keep` call these."""

    exposure: Exposure

    def __init__(self, module: IRModule | None = None) -> None:
        super().__init__(module)
        self.lasting: dict[Var, Any] = {}
        """The values that variables are known to have where the rewriter is at work."""
        self._open: list[Var] = []
        """Those whose values a later call may end."""

    def function(self, function: Function) -> Function:
        """Rewrite a whole function."""
        self.exposure = Exposure(function)
        return super().function(function)

    def enter_function(self, function: Function) -> None:
        self._end_open()  # an inner function runs later than it is defined

    def keep(self, binding: Binding) -> None:
        super().keep(binding)
        value = self.values.get(binding.var)
        if isinstance(value, Call) and may_write(value):
            self._end_open()
            return
        self.lasting[binding.var] = value
        if self.exposure.has_effects and not self._lasts(binding, value):
            self._open.append(binding.var)

    def resolved(self, expr: GraphExpr) -> Any:
        """The value behind a variable, as far as it holds here; `expr` itself if there is none."""
        while isinstance(expr, Var) and expr in self.lasting:
            expr = self.lasting[expr]
        return expr

    def may_be_written(self, expr: GraphExpr) -> bool:
        """Whether some call may write the tensor that a variable holds, or tell it from an equal one by writing."""
        return self.exposure.has_effects and expr in self.exposure

    def _lasts(self, binding: Binding, value: Any) -> bool:
        """Whether a variable keeps its value: nobody may write the tensor, nor what it is computed from."""
        if isinstance(value, (Call, Constant, Tuple)) and binding.var in self.exposure:
            return False
        return not isinstance(value, Call) or all(self._is_private(v) for v in used_vars(binding))

    def _is_private(self, var: Any) -> bool:
        """Whether nothing but operators of this function ever sees the tensor."""
        value = self.values.get(var)
        return isinstance(value, Call) and gives_fresh_results(value) and var not in self.exposure

    def _end_open(self) -> None:
        for var in self._open:
            self.lasting.pop(var, None)
        self._open.clear()
