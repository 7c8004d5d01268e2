"""DecomposeOps and DecomposeOpsForInference, ...ForTraining: composite operators in terms of simpler ones.

    bn = R.nn.batch_norm(x, g, b, mean, var)     ->     bn = ((x - mean') / sqrt(var' + eps) * g' + b', mean, var)

DecomposeOps is what the pipeline runs: every operator with a decomposition (`OpDef.decompose`) is expanded, and what it
expands to, too, in forms whose parts that depend on weights alone FoldConstant can take (batch_norm: scale and shift).

The other two are TVM's, operator for operator: for inference batch_norm is computed from the statistics given, and the
sizes that tensor_to_shape reads become shape variables; for training batch_norm is computed from the batch, whose
statistics move those given by `momentum`, and layer_norm from means and variances, which have gradients.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import OpDef
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops.builders import RELAX
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.operators.decomposing import DecomposingRewriter
from baton._src.relax.info import to_info
from baton._src.relax.nodes import (
    Call,
    ExternFunc,
    Function,
    MatchCast,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
    definition_of,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass, Pass

_OPS: Any = RELAX


@dataclass(frozen=True)
class DecomposeOps(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Expander(module).function(function)


class _Expander(DecomposingRewriter):
    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        definition = definition_of(value)
        if not isinstance(definition, OpDef):
            return value
        infos = [to_info(a.struct_info) for a in value.args]
        if any(isinstance(i, TensorInfo) and (i.ndim < 0 or i.dtype.is_void) for i in infos):
            return value
        replacement = self.decomposed(binding.var, value, definition)
        return value if replacement is None else self.rewrite_value(binding, replacement)


# ------------------------------------------------------------------------------------------------------ as TVM does


@dataclass(frozen=True)
class DecomposeOpsForInference(Pass):
    """See the module. `func_name`: only in this function."""

    func_name: str | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _decomposed(module, self.func_name, _ForInference)


@dataclass(frozen=True)
class DecomposeOpsForTraining(Pass):
    """See the module. `func_name`: only in this function."""

    func_name: str | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _decomposed(module, self.func_name, _ForTraining)


def _decomposed(module: IRModule, func_name: str | None, rewriter: type[BindingRewriter]) -> IRModule:
    chosen = [module.get_global_var(func_name)] if func_name else list(module.functions)
    changed = {}
    for var in chosen:
        function = module.functions[var]
        if isinstance(function, Function):
            found = rewriter(module).function(function)
            if found is not function:
                changed[var] = found
    return module.with_functions({**module.functions, **changed}) if changed else module


class _ForInference(DecomposingRewriter):
    keeps_results_apart = False

    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        match _operator(value):
            case "nn.batch_norm" if not value.attrs.training:
                normal = self.normalized(_with_statistics(value, value.args[3], value.args[4]))
                return self.with_own_parts(binding.var, normal, value.args)
            case "tensor_to_shape":
                return self.sizes_read(value)
            case _:
                return value

    def sizes_read(self, call: Call) -> Any:
        """The sizes as shape variables, defined by a cast of the shape that the VM reads."""
        info = call.struct_info
        if not isinstance(info, ShapeStructInfo) or info.ndim < 0:
            return call
        reader = [ExternFunc("vm.builtin.tensor_to_shape"), call.args[0]]
        read = self.emit(Call(special_op("call_pure_packed"), reader, None, (info,)))
        sizes = [TirVar("x", "int64") for _ in range(info.ndim)]
        known = ShapeStructInfo(sizes)
        self.keep(MatchCast(type(read)("y", known), read, known))
        return self.normalized(ShapeExpr(sizes))


class _ForTraining(_ForInference):
    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        match _operator(value):
            case "nn.batch_norm":
                return self.normalized(self._of_the_batch(value))
            case "nn.layer_norm":
                return self.normalized(_layer_norm(value))
            case _:
                return super().rewrite_value(binding, value)

    def _of_the_batch(self, call: Call) -> Any:
        data, a = call.args[0], call.attrs
        info = _tensor(data)
        others = [i for i in range(info.ndim) if i != a.axis % info.ndim]
        mean = self.emit(_OPS.mean(data, others, False))
        variance = self.emit(_OPS.variance(data, others, False))
        out = self.emit(_with_statistics(call, mean, variance))
        kept, new = (_scalar(v, info) for v in (1 - a.momentum, a.momentum))
        first = self.emit(TupleGetItem(out, 0))
        moved = [
            self.emit(_OPS.add(_OPS.multiply(kept, old), _OPS.multiply(new, found)))
            for old, found in zip(call.args[3:], (mean, variance))
        ]
        return Tuple([first, *moved])


def _operator(value: Any) -> str:
    """The neutral name of the operator called, of `tensor_to_shape` too, where the rank of its operand is known."""
    op = value.op if isinstance(value, Call) and isinstance(value.op, Op) else None
    name = "" if op is None else op.name.removeprefix("relax.")
    if name in ("nn.batch_norm", "nn.layer_norm"):
        info = value.args[0].struct_info_
        return name if isinstance(info, TensorStructInfo) and info.ndim >= 0 and not info.dtype.is_void else ""
    return name


def _tensor(expr: GraphExpr) -> TensorStructInfo:
    info = expr.struct_info
    assert isinstance(info, TensorStructInfo)
    return info


def _scalar(value: float, info: TensorStructInfo) -> Any:
    return RelaxMaker(CATALOGUE.get("add"), CATALOGUE).const(value, info.dtype)


def _with_statistics(call: Call, mean: Any, variance: Any) -> Tuple:
    """batch_norm's three results, `mean` and `variance` being vectors over its axis."""
    data, gamma, beta = call.args[:3]
    info, a = _tensor(data), call.attrs
    others = [i for i in range(info.ndim) if i != a.axis % info.ndim]

    def spread(vector: Any) -> Any:
        return _OPS.expand_dims(vector, others)

    centred = _OPS.subtract(data, spread(mean))
    out = _OPS.divide(centred, _OPS.sqrt(_OPS.add(spread(variance), _scalar(a.epsilon, info))))
    out = _OPS.multiply(out, spread(gamma)) if a.scale else out
    out = _OPS.add(out, spread(beta)) if a.center else out
    return Tuple([out, mean, variance])


def _layer_norm(call: Call) -> Any:
    data, a = call.args[0], call.attrs
    info = _tensor(data)
    gamma, beta = (_beside(weight, [axis % info.ndim for axis in a.axes], info.ndim) for weight in call.args[1:])
    deviation = _OPS.sqrt(_OPS.add(_OPS.variance(data, a.axes, True), _scalar(a.epsilon, info)))
    out = _OPS.divide(_OPS.subtract(data, _OPS.mean(data, a.axes, True)), deviation)
    out = _OPS.multiply(out, gamma) if a.scale else out
    return _OPS.add(out, beta) if a.center else out


def _beside(weight: Any, axes: list[int], ndim: int) -> Any:
    """A weight with `axes` of the data, in this order, as it broadcasts to them: itself if they are the last ones."""
    order = sorted(range(len(axes)), key=axes.__getitem__)
    turned = weight if order == list(range(len(axes))) else _OPS.permute_dims(weight, order)
    between = [axis - min(axes) for axis in range(min(axes), ndim) if axis not in axes]
    return _OPS.expand_dims(turned, between) if between else turned
