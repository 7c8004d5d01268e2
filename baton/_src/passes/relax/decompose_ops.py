"""DecomposeOpsForInference and ...ForTraining: composite operators in terms of simpler ones.

    bn = R.nn.batch_norm(x, gamma, beta, mean, var)      lv = R.multiply(x, scale); lv1 = R.add(lv, shift)
    gv = bn[0]                                     ->    bn = (lv1, mean, var); gv = bn[0]

Every operator that has a decomposition (`OpDef.decompose`) is expanded, and what it expands to, too. For inference an
operator whose result depends on training (dropout, batch_norm) does what it does then; for training, `training` is set
where an operator has that attribute. The parts that depend on weights alone are FoldConstant's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.builders import Maker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.info import to_info
from baton._src.relax.nodes import Call, Function, VarBinding
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DecomposeOps(Pass):
    """What both have in common. `func_name`: only in this function."""

    func_name: str | None = None
    training = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        chosen = [module.get_global_var(self.func_name)] if self.func_name else list(module.functions)
        changed = {}
        for var in chosen:
            function = module.functions[var]
            if isinstance(function, Function):
                found = _Decomposer(module, self.training).function(function)
                if found is not function:
                    changed[var] = found
        return module.with_functions({**module.functions, **changed}) if changed else module


@dataclass(frozen=True)
class DecomposeOpsForInference(DecomposeOps):
    """See the module."""


@dataclass(frozen=True)
class DecomposeOpsForTraining(DecomposeOps):
    """See the module."""

    training = True


class _Decomposer(BindingRewriter):
    def __init__(self, module: IRModule, training: bool) -> None:
        super().__init__(module)
        self.training = training
        self.visits_emitted = True

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        definition = value.op.definition if isinstance(value, Call) and isinstance(value.op, Op) else None
        if not isinstance(definition, OpDef) or isinstance(definition.decompose, NotApplicable):
            return value
        infos = [to_info(a.struct_info) for a in value.args]
        if any(isinstance(i, TensorInfo) and (i.ndim < 0 or i.dtype.is_void) for i in infos):
            return value
        attrs = value.attrs
        if self.training and attrs is not None and attrs.get("training") is False:
            attrs = attrs.with_attrs(training=True)
        maker = Maker("relax", definition, CATALOGUE)
        replacement = definition.decompose(maker, value.args, attrs, to_info(value.struct_info))
        return value if replacement is None else self.rewrite_value(binding, self.normalized(replacement))
