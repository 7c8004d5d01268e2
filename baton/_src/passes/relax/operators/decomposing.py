"""`DecomposingRewriter`: the expansion of operators into simpler ones, shared by LegalizeOps and `decompose_ops`.

    t = R.nn.dropout(x)     ->     lv = R.ones_like(x); t = (x, lv)

Operators return fresh tensors (seed 001, Semantics), but a decomposition may return an operand: dropout its data,
batch_norm the mean and variance. If a call with effects may write either tensor, or the caller receives it, the operand
is copied; otherwise the difference cannot be observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.exposure import Exposure
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ops.builders import RELAX
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.info import to_info
from baton._src.relax.nodes import Call, Function, Tuple, Var

_OPS: Any = RELAX


class DecomposingRewriter(BindingRewriter):
    """A rewriter that can expand operators; the expansion is visited in turn."""

    keeps_results_apart = True
    """Whether a result the caller receives is copied in functions without effects, too (TVM's own passes do not)."""

    def __init__(self, module: IRModule | None = None) -> None:
        super().__init__(module)
        self.visits_emitted = True
        self._root: Function | None = None
        self._exposure: Exposure | None = None

    def function(self, function: Function) -> Function:
        self._root, self._exposure = function, None
        return super().function(function)

    def decomposed(self, var: Var, call: Call, definition: OpDef[Any]) -> Any:
        """The expansion of `call`, bound to `var`, in normal form; None if it has no decomposition."""
        if isinstance(definition.decompose, NotApplicable):
            return None
        maker = RelaxMaker(definition, CATALOGUE)
        found = definition.decompose(maker, call.args, call.attrs, to_info(call.struct_info))
        return None if found is None else self.with_own_parts(var, self.normalized(found), call.args)

    def with_own_parts(self, var: Var, result: Any, operands: Sequence[Any]) -> Any:
        """`result`, in normal form, with copies of the parts that are operands, where that can be observed."""
        parts = result.fields if isinstance(result, Tuple) else (result,)
        shared = [isinstance(p, Var) and p in operands and self._can_be_told_apart(var, p) for p in parts]
        own = [self._copied(p) if copied else p for p, copied in zip(parts, shared)]
        if not any(shared):
            return result
        return self.normalized(Tuple(own) if isinstance(result, Tuple) else own[0])

    def _copied(self, operand: Var) -> Call:
        copy: Call = _OPS.astype(operand, operand.struct_info.dtype)
        return copy

    def _can_be_told_apart(self, result: Var, operand: Var) -> bool:
        if self._exposure is None:
            assert self._root is not None
            self._exposure = Exposure(self._root)
        exposed = self._exposure
        if exposed.has_effects:
            return result in exposed or operand in exposed
        return self.keeps_results_apart and result in exposed
