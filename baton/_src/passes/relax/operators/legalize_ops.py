"""LegalizeOps: operators become calls of generated kernels.

    lv = R.add(x, y)                 lv = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((n, 4), "float32"))
    gv = R.nn.gelu_tanh(lv)    ->    ... its decomposition, legalised in turn, where the operator has one

Equal kernels are shared. In pipelines a kernel carries the operator's fusion class as `op_pattern`, which is more
precise than what AnnotateTIROpPattern derives from its blocks.

What is left alone: operators whose operands' or result's rank, dims or dtype are unknown (the run-time path compiles
them on first use, by these same rules), operators without a kernel (`compute=NotApplicable`; the run-time path calls
their NumPy meaning), and special operators such as call_tir.

Rules of scripts (`customize_legalize_map`, the column `FLegalize`) come first. The calls they return and emit are
legalised in turn, also by the rules, except that a rule is not applied to the call it returned.

A kernel assumes that its operands fit each other, so an operator's assumptions about unknown sizes are checked first
(`CheckSizes`).
"""

from __future__ import annotations

import string
import warnings
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Literal

from baton._src.analysis.purity import is_impure_call
from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.filled_columns import LEGALIZE
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.passes.relax.operators.check_sizes import CheckSizes
from baton._src.passes.relax.operators.decomposing import DecomposingRewriter
from baton._src.passes.relax.operators.kernel_of_call import Kernel, cache_key, make_kernel, variables
from baton._src.passes.tir.lowering.safe_selects import safe_kernels
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.assumed_sizes import is_known
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.info import to_info
from baton._src.relax.nodes import Call, ShapeExpr, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

Customize = Callable[[BlockBuilder, Call], Any]
_DEEPEST = 50
"""Nesting depth of rules, each applied to what another one emitted, at which they are assumed not to terminate."""


@dataclass(frozen=True)
class LegalizeOps(Pass):
    """See the module. `customize_legalize_map` gives, by operator name (`relax.add`), a function `(builder, call) ->
    expression` that is asked first, before what scripts registered (column `FLegalize`); `enable_warning` warns of
    operators that stay, and says why; `skip` names operators to leave alone; `fusion_classes`: kernels carry the
    operators' classes; `sizes_checked`: `CheckSizes` ran before; `registered`: what scripts registered is applied
    "too", or "only" that, or "not"."""

    customize_legalize_map: Mapping[str, Customize] | None = None
    enable_warning: bool = False
    skip: tuple[str, ...] = ()
    fusion_classes: bool = False
    sizes_checked: bool = False
    registered: Literal["too", "only", "not"] = "too"

    def __post_init__(self) -> None:
        """Warns of rules for operators that there are not: nothing would ever ask them."""
        rules: Any = self.customize_legalize_map
        for name, rule in rules.items() if isinstance(rules, Mapping) else ():  # else it is told when the pass runs
            if not callable(rule):
                message = f"LegalizeOps: a rule is a function (builder, call), got {rule!r:.60} for {name}"
                raise fail("api", message)
            try:
                Op.get(name)
            except DiagnosticError as error:
                warnings.warn(f"LegalizeOps: a rule is never asked: {error}", stacklevel=4)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        if not ctx.setting("relax.transform.apply_legalize_ops"):
            return module
        if not self.sizes_checked:
            module = CheckSizes().run(module, ctx)
        return _Legalizer(module, self).rewritten()


class _Legalizer(DecomposingRewriter, ModuleRewriter):
    def __init__(self, module: IRModule, options: LegalizeOps) -> None:
        super().__init__(module)
        self.options = options
        self.custom: Mapping[str, Customize] = options.customize_legalize_map or {}
        self.made: dict[Any, tuple[GlobalVar, Kernel, list[TirVar]]] = {}
        self.depth = 0
        """The current nesting depth of scripts' rules, each applied to what another one emitted."""

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        answered: set[Op] = set()  # their rules are not asked about what they gave
        while isinstance(value, Call) and isinstance(value.op, Op) and value.op.name not in self.options.skip:
            rule = None if value.op in answered else self.rule(value)
            if rule is None:
                return self.by_definition(binding, value)
            answered.add(value.op)
            replacement = self.customized(value, rule)
            if replacement is value:
                return value
            value = replacement
        return value

    def rule(self, call: Call) -> Customize | None:
        """The script's rule for the call; only applied where the sizes it may rely on are known, as in TVM."""
        assert isinstance(call.op, Op)
        found = self.custom.get(call.op.name)
        if found is None and self.options.registered != "not":
            found = call.op.get_attr(LEGALIZE)
        return found if found is not None and has_known_sizes(call) else None

    def customized(self, call: Call, rule: Customize) -> Any:
        """The result of `rule` for the call; the bindings it emits come first, legalised in turn."""
        self.depth += 1
        if self.depth > _DEEPEST:
            help = "return the call unchanged, or calls of other operators, when nothing is left to do"
            raise fail(
                "endless-rule",
                f"the rule for {call.op.name} does not terminate: it emits the operator again",
                help=help,
            )
        functions = self.builder.context.functions
        known = len(functions)
        with self.emitting(self.builder):
            replacement = rule(self.builder, call)
        functions.update(safe_kernels(dict(islice(functions.items(), known, None))))
        found = call if replacement is call else self.as_pure(call, self.normalized(replacement))
        if struct_info_base_check(call.struct_info, found.struct_info, Analyzer()) is BaseCheckResult.FAIL_L0:
            message = f"the rule for {call.op.name} gives {found.struct_info!r} for {call.struct_info!r}"
            raise fail("pass-result", f"LegalizeOps: {message}", span=call.span)
        self.depth -= 1
        return found

    def as_pure(self, call: Call, replacement: Any) -> Any:
        """A function or kernel that replaces a pure operator counts as pure, too: blocks may hold nothing else."""
        if not isinstance(replacement, Call) or isinstance(replacement.op, Op):
            return replacement
        if is_impure_call(call) or not is_impure_call(replacement):
            return replacement
        args = (replacement.op, *replacement.args)
        return self.normalized(Call(special_op("call_pure_packed"), args, None, replacement.sinfo_args, call.span))

    def by_definition(self, binding: VarBinding, call: Call) -> Any:
        """The call by its operator's own kernel or decomposition."""
        definition = call.op.definition
        if self.options.registered == "only" or not isinstance(definition, OpDef):
            return call
        return self.legalize(binding, call, definition)

    def legalize(self, binding: VarBinding, call: Call, definition: OpDef[Any]) -> Any:
        """The legalised call, or the call itself if too little is known."""
        out = to_info(call.struct_info)
        args = [to_info(a.struct_info) for a in call.args]
        replacement = self.decomposed(binding.var, call, definition) if _ranks_known(args) else None
        if replacement is not None:
            return self.rewrite_value(binding, replacement)
        if not (_is_tensors(out) and is_known(out) and all(is_known(a) for a in args)):
            return self.left(call, "not all shapes and dtypes of its operands and result are known")
        if isinstance(definition.compute, NotApplicable):
            return self.left(call, f"it has no kernel: {definition.compute.why}")
        operands = [tensor for arg in call.args for tensor in self.tensors(arg)]
        return self.call_tir(call, operands, *self.kernel(definition, args, call.attrs, out, _names(operands)))

    def left(self, call: Call, why: str) -> Call:
        """The call unchanged; with a warning if enabled."""
        if self.options.enable_warning:
            assert isinstance(call.op, Op)
            warnings.warn(f"{call.op.name} is not legalized: {why}", stacklevel=2)
        return call

    def kernel(
        self, definition: OpDef[Any], args: list[Info], attrs: Any, out: Info, names: list[str]
    ) -> tuple[GlobalVar, Any]:
        """The kernel's name in the module, and the shape variables to pass, as the present call knows them.

        The first call names what the kernel reads.
        """
        key = cache_key(definition, args, attrs, out)
        found = None if key is None else self.made.get(key)
        if found is None:
            kernel = make_kernel(definition, args, attrs, out, names)
            name = definition.name.rsplit(".", 1)[-1]
            function = kernel.function
            if self.options.fusion_classes:
                of_kernel = definition.kernel_fusion
                pattern = definition.fusion if of_kernel is None else of_kernel(attrs)
                function = function.with_attr("op_pattern", int(pattern))
            var = self.builder.add_func(function, name)
            if key is not None:
                self.made[key] = (var, kernel, variables(args, out))
            return var, kernel.tir_vars
        var, kernel, theirs = found
        ours: dict[Any, Any] = dict(zip(theirs, variables(args, out)))
        return var, tuple(ours[v] for v in kernel.tir_vars)

    def call_tir(self, call: Call, operands: list[Any], var: GlobalVar, tir_vars: Any) -> Call:
        """The call of the kernel on the tensors that its operands consist of."""
        args: list[Any] = [var, Tuple(operands)]
        if tir_vars:
            args.append(ShapeExpr(tir_vars))
        found: Call = self.normalized(Call(special_op("call_tir"), args, None, (call.struct_info,), call.span))
        return found

    def tensors(self, arg: Any) -> list[Any]:
        """The tensors an operand consists of; shapes and scalars are part of the kernel."""
        info = to_info(arg.struct_info)
        if isinstance(info, TensorInfo):
            return [arg]
        if not isinstance(info, TupleInfo):
            return []
        value = self.resolved(arg)
        if isinstance(value, Tuple) and all(self.is_visible(part) for part in value.fields):
            return [t for part in value.fields for t in self.tensors(part)]
        count = len(arg.struct_info.fields) if isinstance(arg.struct_info, TupleStructInfo) else 0
        return [t for i in range(count) for t in self.tensors(self.emit(TupleGetItem(arg, i)))]


def _is_tensors(info: Info) -> bool:
    """Whether a kernel can return this: tensors, or a tuple of them."""
    if isinstance(info, TupleInfo):
        return bool(info.fields) and all(isinstance(f, TensorInfo) for f in info.fields)
    return isinstance(info, TensorInfo)


def _names(tensors: list[Any]) -> list[str]:
    """TVM's names for the parameters of kernels: those of the call's variables, A, B, .. for other operands."""
    letters = [*string.ascii_uppercase, *(f"tensor_input_{n}" for n in range(26, len(tensors)))]
    return [t.name_hint if isinstance(t, Var) else letter for t, letter in zip(tensors, letters)]


def has_known_sizes(call: Call) -> bool:
    """Whether a rule may be applied: the dims of operands and result are known, as numbers or expressions.

    Special operators need none, and neither do operators whose results depend on data: TVM recognises these by
    `dynamic` in the name.
    """
    assert isinstance(call.op, Op)
    if isinstance(call.op.definition, SpecialOp):
        return True
    infos = [arg.struct_info for arg in call.args]
    return all(map(_sizes_known, infos if "dynamic" in call.op.name else [*infos, call.struct_info]))


def _sizes_known(info: StructInfo) -> bool:
    match info:
        case TensorStructInfo(shape=shape):
            return isinstance(shape, ShapeExpr)
        case ShapeStructInfo(values=values):
            return values is not None
        case TupleStructInfo(fields=fields):
            return all(map(_sizes_known, fields))
        case _:
            return isinstance(info, PrimStructInfo)


def _ranks_known(args: list[Info]) -> bool:
    return all(a.ndim >= 0 and not a.dtype.is_void for a in args if isinstance(a, TensorInfo))
