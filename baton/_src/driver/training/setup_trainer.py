"""SetupTrainer: from a network to what a `Trainer` runs.

The module has a function `backbone(inputs..., params..., states...) -> (outputs..., new states...)` and says how many
of each there are: `I.module_attrs({"param_num": 2, "state_num": 0})`. It gets beside it

    backbone_loss(inputs..., params..., states..., targets...) -> loss, or (loss, new states...)
    backbone_loss_adjoint(the same)                            -> (what backbone_loss gives, gradients of the params)
    optimizer(params, gradients, optim_states)                 -> (params, optim_states)

and the attributes `input_num` and `optim_state`, the optimizer's first state. `backbone` itself predicts: its
batch_norms use the states, those of `backbone_loss` the batch. API as `tvm.relax.training.SetupTrainer` v0.19.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.driver.training.append_loss import AppendLoss
from baton._src.driver.training.loss import Loss
from baton._src.driver.training.optimizer import Optimizer, wrong
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.passes.relax.gradient import Gradient
from baton._src.passes.relax.operators.decompose_ops import DecomposeOpsForInference, DecomposeOpsForTraining
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import Function
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class SetupTrainer(Pass):
    """See the module. `loss_args`: the StructInfo of what the loss is called with: of the network's results (without
    states), then of the targets."""

    loss: Loss
    optimizer: Optimizer
    loss_args: Any
    legalize: bool = True

    BACKBONE_FUNC: ClassVar[str] = "backbone"
    BACKBONE_LOSS_FUNC: ClassVar[str] = "backbone_loss"
    ADJOINT_FUNC: ClassVar[str] = "backbone_loss_adjoint"
    OPTIMIZER_FUNC: ClassVar[str] = "optimizer"
    PARAM_NUM_ATTR_KEY: ClassVar[str] = "param_num"
    STATE_NUM_ATTR_KEY: ClassVar[str] = "state_num"

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        params, states, outputs = self._counts(module)
        loss = self.loss(*self._loss_arguments(outputs[: self.loss.num_backbone_outputs]))
        module = AppendLoss(self.BACKBONE_FUNC, loss, self.loss.num_backbone_outputs, self.BACKBONE_LOSS_FUNC)(module)
        module = DecomposeOpsForInference(self.BACKBONE_FUNC).run(module, ctx)
        module = DecomposeOpsForTraining(self.BACKBONE_LOSS_FUNC).run(module, ctx)
        inputs = len(module[self.BACKBONE_FUNC].params) - params - states
        wanted = list(module[self.BACKBONE_LOSS_FUNC].params[inputs : inputs + params])
        module = Gradient(self.BACKBONE_LOSS_FUNC, wanted).run(module, ctx)
        module = self._with_optimizer(module, wanted).with_attr("input_num", inputs)
        return LegalizeOps()(module) if self.legalize else module

    def _counts(self, module: IRModule) -> tuple[int, int, list[StructInfo]]:
        """The numbers of parameters and states, and what the network gives without the states."""
        if self.BACKBONE_FUNC not in module or not isinstance(module[self.BACKBONE_FUNC], Function):
            raise wrong(f"the module has no Relax function {self.BACKBONE_FUNC!r}, the network to train")
        backbone = module[self.BACKBONE_FUNC]
        counts = []
        for key in (self.PARAM_NUM_ATTR_KEY, self.STATE_NUM_ATTR_KEY):
            if key not in module.attrs:
                raise wrong(f"the module has no attribute {key}", f'set it: I.module_attrs({{"{key}": ...}})')
            counts.append(int(module.attrs[key]))
        result = backbone.ret_struct_info
        given = list(result.fields) if isinstance(result, TupleStructInfo) else [result]
        expected = self.loss.num_backbone_outputs + counts[1]
        if len(given) != expected:
            raise wrong(
                f"{self.BACKBONE_FUNC} gives {len(given)} results, not {expected}",
                f"it gives {self.loss.num_backbone_outputs} to the loss and {counts[1]} new states",
            )
        if sum(counts) > len(backbone.params):
            raise wrong(f"{self.BACKBONE_FUNC} has {len(backbone.params)} parameters, fewer than {sum(counts)}")
        return counts[0], counts[1], given

    def transform_module(self, module: IRModule, ctx: PassContext) -> IRModule:
        """What calling the pass does, as scripts call TVM's."""
        return self.run(module, ctx)

    def _loss_arguments(self, outputs: list[StructInfo]) -> list[StructInfo]:
        """The network's results, and the targets in terms of its dims where the script has variables of its own."""
        given, count = list(self.loss_args), len(outputs)
        said = f"the loss_args are {', '.join(str(info) for info in given) or 'none'}"
        if len(given) <= count:
            raise wrong(said, f"first say what {self.BACKBONE_FUNC} gives to the loss ({count}), then the targets")
        dims: dict[Any, Any] = {}
        for found, asked in zip(outputs, given):
            if not _fits(found, asked, dims):
                raise wrong(f"{said}, and {self.BACKBONE_FUNC} gives {found}", "loss_args begin with what it gives")
        return [*outputs, *(substitute(info, dims) for info in given[count:])]

    def _with_optimizer(self, module: IRModule, wanted: list[Any]) -> IRModule:
        update = self.optimizer.init(wanted).get_function().with_attr("global_symbol", self.OPTIMIZER_FUNC)
        name = GlobalVar(self.OPTIMIZER_FUNC)
        set_note(name, "struct_info_", function_info(update))
        found = module.with_functions({**module.functions, name: update})
        return found.with_attr("optim_state", self.optimizer.state)


def _fits(found: StructInfo, asked: StructInfo, dims: dict[Any, Any]) -> bool:
    """Whether a result is what was said; the shape variables that were said get the result's dims in `dims`."""
    if not (isinstance(found, TensorStructInfo) and isinstance(asked, TensorStructInfo)):
        return structural_equal(found, asked, map_free_vars=True)
    if found.dtype != asked.dtype or found.ndim != asked.ndim:
        return False
    sizes, said = getattr(found.shape, "values", None), getattr(asked.shape, "values", None)
    if sizes is None or said is None:
        return True
    for size, word in zip(sizes, said):
        wanted = dims.setdefault(word, size) if isinstance(word, Var) else word
        if not structural_equal(size, wanted):
            return False
    return True
