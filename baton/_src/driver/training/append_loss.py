"""AppendLoss: a network and a loss as one function.

backbone(x, w) -> out          loss(out, targets) -> loss
backbone_loss(x, w, targets) -> loss                      or (loss, further results of the network...)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.driver.training.optimizer import wrong
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute, with_fresh_binders
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.nodes import Function, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class AppendLoss(Pass):
    """Add `new_func_name` (default: `<func_name>_loss`), which hands the first `num_backbone_outputs` results of
    `func_name` to `loss_function`. Its parameters are those of the network, then those of the loss that are left.
    """

    func_name: str
    loss_function: Function
    num_backbone_outputs: int = 1
    new_func_name: str | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        backbone = module[self.func_name]
        if not isinstance(backbone, Function):
            raise wrong(f"{self.func_name} is no Relax function")
        name = self.new_func_name or f"{self.func_name}_loss"
        network = with_fresh_binders(backbone)
        loss = _in_dims_of(network, with_fresh_binders(self.loss_function), self.num_backbone_outputs)
        targets = loss.params[self.num_backbone_outputs :]
        count = self.num_backbone_outputs
        builder = BlockBuilder(module)
        with builder.function(name, [*network.params, *targets], attrs=_without_symbol(network)):
            with builder.dataflow():
                shown = _leaves(network.body.body)[count:]
                results = self._results(_inlined(builder, network, {}, shown))
                taken = dict(zip(loss.params[:count], results))
                for param, result in taken.items():
                    _fits(param, result)
                value = _inlined(builder, loss, taken, _leaves(loss.body.body))
                rest = [r if isinstance(r, Var) else builder.emit_output(r) for r in results[count:]]
            builder.emit_func_output(Tuple([value, *rest]) if rest else value)
        return builder.get()

    def _results(self, result: Any) -> list[Any]:
        """The results of the network one by one."""
        info = result.struct_info
        if not isinstance(info, TupleStructInfo):
            found = [result]
        elif isinstance(result, Tuple):
            found = list(result.fields)
        else:
            found = [TupleGetItem(result, n) for n in range(len(info.fields))]
        if len(found) < self.num_backbone_outputs or len(self.loss_function.params) < self.num_backbone_outputs:
            raise wrong(f"{self.func_name} gives {len(found)} results, the loss takes {self.num_backbone_outputs}")
        return found


def _in_dims_of(network: Function, loss: Function, count: int) -> Function:
    """The loss with its shape variables replaced by the dims that the network's results have in their place."""
    info = network.ret_struct_info
    results = info.fields if isinstance(info, TupleStructInfo) else (info,)
    found = map_parameters([(p.struct_info, r) for p, r in zip(loss.params[:count], results) if r is not None])
    made = substitute(loss, dict(found)) if found else loss
    assert isinstance(made, Function)
    return made


def _without_symbol(function: Function) -> dict[str, Any]:
    return {name: said for name, said in function.attrs.items() if name != "global_symbol"}


def _leaves(result: Any) -> list[Any]:
    """What a function returns, one by one as far as it is written so."""
    return list(result.fields) if isinstance(result, Tuple) else [result]


def _inlined(builder: BlockBuilder, function: Function, known: dict[Any, Any], shown: Sequence[Any]) -> Any:
    """The bindings of a function of dataflow blocks once more, in the block that is open; what it returns.

    The block gives out those of its variables that are `shown`.
    """
    renamed = dict(known)
    for block in function.body.blocks:
        for binding in block.bindings:
            if not isinstance(binding, VarBinding):
                raise wrong("a function with match_cast cannot be joined with a loss", "cast before calling it")
            value = substitute(binding.value, renamed, notes=False)
            emit = builder.emit_output if binding.var in shown else builder.emit
            renamed[binding.var] = emit(value, binding.var.name_hint)
    return substitute(function.body.body, renamed, notes=False)


def _fits(param: Var, result: Any) -> None:
    info = result.struct_info_
    if info is not None and struct_info_base_check(param.struct_info, info, Analyzer()) < BaseCheckResult.FAIL_L2:
        raise wrong(f"the loss takes {param.name_hint} as {param.struct_info!r}, the network gives {info!r}")
