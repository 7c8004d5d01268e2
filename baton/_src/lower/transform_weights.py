"""TransformWeights: transform the weights of convolutions for which Winograd's algorithm is cheaper.

    R.call_tir(cls.conv2d_relu, (x, W), ...)      ->      R.call_tir(cls.conv2d_relu_winograd, (x, U), ...)

W is a constant (O, I, 3, 3, i, o); U = G W G^T in the order the scheduled kernel reads it
(`kernel_schedules/convolution/winograd`). Runs on fused kernels, like PackWeights; the new kernel is scheduled already.
`PassContext(config={"baton.winograd": False})` leaves every convolution direct, and so does a target that is not
compiled by LLVM. Weights grow by 36 / 9 (or 16 / 9); results differ from direct ones by rounding, about 2e-6 of the
largest value.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.global_names import free_name
from baton._src.ir.mentioned import mentioned
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, record_of, using
from baton._src.lower.kernel_schedules.convolution.winograd.choice import candidate, chosen
from baton._src.lower.kernel_schedules.convolution.winograd.plan import Winograd
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.filled_arrays import Filling, filling
from baton._src.passes.tir.lowering.check_sizes import asked_before
from baton._src.relax.nodes import Call, Constant, Function, Tuple, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.filled_tensor import unfinished


@dataclass(frozen=True)
class TransformWeights(Pass):
    """See the module."""

    opt_level = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        target = Target.current(allow_none=True)
        if target is None or target.kind.name != "llvm" or not ctx.setting("baton.winograd"):
            return module
        changed: dict[GlobalVar, Function] = {}
        with filling() as tensors:
            rewriter = _Rewriter(module, target, tensors)
            for var, function in module.functions.items():
                if isinstance(function, Function):
                    changed[var] = rewriter.function(function)
        fresh = {n.var: n.func for n in rewriter.kernels.values() if n is not None and n.used}
        if not fresh:
            return module
        functions = {**module.functions, **changed, **fresh}
        callers = [f for f in functions.values() if isinstance(f, Function)]
        used = {n for f in callers for n in mentioned(f)}
        left = {v for v, n in rewriter.kernels.items() if n is not None and n.used and v not in used}
        gone = {v for v in left if "global_symbol" not in functions[v].attrs}
        return module.with_functions({v: f for v, f in functions.items() if v not in gone})


@dataclass
class _Changed:
    """The replacement of a kernel: the scheduled one, its plan, and the position of the weight among the operands."""

    var: GlobalVar
    func: PrimFunc
    plan: Winograd
    place: int
    used: bool = False


class _Rewriter(BindingRewriter):
    def __init__(self, module: IRModule, target: Target, tensors: Filling) -> None:
        super().__init__(module)
        self.target = target
        self.tensors = tensors
        self.call_tir = special_op("call_tir")
        self.kernels: dict[GlobalVar, _Changed | None] = {}
        self.constants: dict[tuple[int, GlobalVar], Constant] = {}
        self.names = {v.name_hint for v in module.functions}

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> GraphExpr:
        if not isinstance(value, Call) or value.op is not self.call_tir:
            return value
        kernel, operands = value.args[0], value.args[1]
        if not isinstance(kernel, GlobalVar) or not isinstance(operands, Tuple):
            return value
        if kernel not in self.kernels:
            self.kernels[kernel] = self._changed(kernel, operands.fields)
        changed = self.kernels[kernel]
        if changed is None or changed.place >= len(operands.fields):
            return value
        weight = operands.fields[changed.place]
        if not isinstance(weight, Constant):
            return value
        if not changed.used:
            changed.used = True
            self.context.functions[changed.var] = changed.func
        key = (id(weight), changed.var)
        if key not in self.constants:
            plan, dtype = changed.plan, unfinished(weight.data).dtype
            whole = self.tensors.fill(plan.weight_shape(), dtype, plan.write_weights, weight.data)
            self.constants[key] = Constant(whole)
        fields = list(operands.fields)
        fields[changed.place] = self.constants[key]
        args = [changed.var, Tuple(fields), *value.args[2:]]
        found: GraphExpr = self.normalized(Call(value.op, args, value.attrs, value.sinfo_args, value.span))
        return found

    def _changed(self, kernel: GlobalVar, operands: Sequence[GraphExpr]) -> _Changed | None:
        function = self.context.functions.get(kernel)
        if not isinstance(function, PrimFunc):
            return None
        found = candidate(function)
        if isinstance(found, Declined):
            return None
        is_constant = found.place < len(operands) and isinstance(operands[found.place], Constant)
        with using(Choices(record_of(kernel.name_hint, found.kernel.func) if is_constant else {})):
            plan = chosen(found, self.target)
        if isinstance(plan, Declined):
            return None
        scheduled = asked_before(found.scheduled(plan, self.target), function)
        if scheduled is None:
            return None
        name = free_name(f"{kernel.name_hint}_winograd", self.names)
        self.names.add(name)
        return _Changed(GlobalVar(name), scheduled, plan, found.place)
