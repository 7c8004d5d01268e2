"""ToMixedPrecision: heavy operators get float16 operands and accumulate in `out_dtype`.

    gv = R.nn.softmax(R.matmul(x, w))     ->      lv = R.astype(x, "float16");  lv1 = R.astype(w, "float16")
                                                  lv2 = R.matmul(lv, lv1, out_dtype="float32")
                                                  lv3 = R.astype(lv2, "float16")
                                                  gv = R.nn.softmax(R.astype(lv3, "float32"))

Within dataflow blocks, operator by operator as `mixed_precision_policy` says. A variable of the block has one dtype:
what an ALWAYS operator gives is kept in float16, and so is what only ALWAYS operators read (`narrow_uses`); parameters
of that kind are cast where the block begins. Every other use casts for itself, which keeps casts next to their readers
for fusion. Outputs of blocks keep their dtype.
`fp16_input_names`: parameters that come in as float16 (their annotation changes); not those of functions that others
call, which hand on what they have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.analysis.call_graph import call_graph
from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.operators.mixed_precision_policy import Policy, policy_of
from baton._src.passes.relax.operators.narrow_casts import (
    NARROW,
    WIDE,
    cast_to,
    cast_to_info,
    differs,
    is_float,
    narrowed,
    with_dtype,
)
from baton._src.passes.relax.operators.narrow_uses import narrow_uses
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.dtype import DataType

R: Any = RELAX
_LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class ToMixedPrecision(FunctionPass):
    """See the module. Errors: `api` for an `out_dtype` that is neither float32 nor float16, `pass-parameter` for a name
    that no function has as a parameter.
    """

    function_class = Function
    out_dtype: str = "float32"
    fp16_input_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if DataType(self.out_dtype) not in (WIDE, NARROW):
            raise fail("api", f"ToMixedPrecision: out_dtype {self.out_dtype}", help='give "float32" or "float16"')

    def rewriter(self, module: IRModule, ctx: PassContext) -> Callable[[Any], Any]:
        names = set(self.fp16_input_names or ())
        known = {p.name_hint for f in module.functions.values() if isinstance(f, Function) for p in f.params}
        if unknown := sorted(names - known):
            help = f"parameters: {', '.join(sorted(known))}"
            raise fail("pass-parameter", f"ToMixedPrecision: no function has a parameter {unknown[0]!r}", help=help)
        called = {module.functions[v] for callees in call_graph(module).values() for v in callees} if names else ()
        return lambda function: self._narrowed(function, module, set() if function in called else names)

    def _narrowed(self, function: Function, module: IRModule, names: set[str]) -> Function:
        narrow = _narrow_params(function, names)
        found = _Narrower(module, DataType(self.out_dtype), function, narrow).function(function)
        if not narrow:
            return found
        params = [narrow.get(p, p) for p in function.params]
        body = _with_wide_params(found.body, narrow)
        made = found.with_fields(params=tuple(params), body=body, struct_info_=None)
        normal: Function = BlockBuilder(module).normalize(made)
        return normal


def _narrow_params(function: Function, names: set[str]) -> dict[Var, Var]:
    """For the parameters of these names, what they come in as."""
    chosen = [p for p in function.params if p.name_hint in names and is_float(p.struct_info_, WIDE)]
    return {p: Var(p.name_hint, with_dtype(p.struct_info, NARROW), p.span) for p in chosen}


def _with_wide_params(body: Any, narrow: dict[Var, Var]) -> Any:
    """The body with those parameters cast that it still reads as they were."""
    read = {n for n in post_order(body) if isinstance(n, Var)}
    casts = [VarBinding(wide, R.astype(here, WIDE)) for wide, here in narrow.items() if wide in read]
    if not casts or not isinstance(body, SeqExpr):
        return body
    return body.with_fields(blocks=(BindingBlock(casts), *body.blocks))


class _Narrower(BindingRewriter):
    def __init__(self, module: IRModule, out_dtype: DataType, function: Function, params: dict[Var, Var]) -> None:
        super().__init__(module)
        self.out_dtype = out_dtype
        self.uses = narrow_uses(function)
        self.current: dict[Any, Any] = dict(params)
        """For variables whose dtype changed: the variable that now has their value."""
        self.outer: list[dict[Any, Any]] = []
        self.params: list[Sequence[Var]] = []

    def enter_function(self, function: Function) -> None:
        self.params.append(function.params)
        self.outer.append(self.current)
        self.current = {v: here for v, here in self.current.items() if not isinstance(here, DataflowVar)}

    def leave_function(self, function: Function) -> Function:
        self.params.pop()
        self.current = self.outer.pop()
        return function

    def enter_block(self, block: BindingBlock) -> None:
        self.outer.append(dict(self.current))
        if isinstance(block, DataflowBlock):
            read = {n for b in block.bindings for n in post_order(b.value) if isinstance(n, Var)}
            for param in self.params[-1]:
                if param in read:
                    self._narrow_if_wanted(param)

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        self.current = self.outer.pop()  # what the block does not give out is gone with it
        return super().leave_block(block, bindings)

    def visit_binding(self, binding: Binding) -> None:
        if not self.in_dataflow:
            self.keep(binding)
            return
        self._rewrite(binding)
        if binding.var is not None:
            self._narrow_if_wanted(binding.var)

    # ------------------------------------------------------------------------------------------- bindings by kind

    def _rewrite(self, binding: Binding) -> None:
        match binding:
            case VarBinding(value=Call() as call) if (policy := policy_of(call)) is not None:
                self._bind(binding, self._called(call, policy, isinstance(binding.var, DataflowVar)))
            case VarBinding(value=Tuple() | TupleGetItem() as value):
                self._bind(binding, self._map(value, lambda var: self.current.get(var, var)))
            case VarBinding(value=value):
                self._bind(binding, self._map(value, self._as_before))
            case MatchCast(value=value):
                made = self._map(value, self._as_before)
                self.keep(binding if made is value else binding.with_fields(value=self.emit(made)))
            case _:
                raise TypeError(type(binding).__name__)

    def _called(self, call: Call, policy: Policy, may_change: bool) -> Any:
        """The call of an operator, its operands as its policy wants them."""
        if call.op.name == "relax.wrap_param" and may_change:
            return call.args[0]
        args = [self._map(a, lambda var: self.current.get(var, var)) for a in call.args]
        if policy is Policy.NEVER:
            args = [cast_to_info(new, old.struct_info) for new, old in zip(args, call.args)]
            return call if all(a is b for a, b in zip(args, call.args)) else _call_with(call, args)
        dtype = NARROW if policy is Policy.ALWAYS or _all_narrow(args) else WIDE
        made = self.normalized(_call_with(call, [cast_to(a, dtype) for a in args], self._sums(call, policy)))
        return cast_to(made, NARROW) if policy is Policy.ALWAYS and may_change else made

    def _sums(self, call: Call, policy: Policy) -> Any:
        """The attributes, with the dtype in which an ALWAYS operator of floats accumulates."""
        names = () if call.attrs is None else call.attrs.names
        if policy is Policy.ALWAYS and "out_dtype" in names and is_float(call.struct_info_, WIDE):
            return call.attrs.with_attrs(out_dtype=self.out_dtype)
        return call.attrs

    def _bind(self, binding: Binding, value: Any) -> None:
        """Bind the value, in its dtype, or in the dtype it had if it is visible elsewhere."""
        assert isinstance(binding, VarBinding)
        var = binding.var
        value = self.normalized(value)
        if not isinstance(var, DataflowVar) and differs(value.struct_info, var.struct_info):
            is_tuple_call = isinstance(value, Call) and isinstance(value.struct_info, TupleStructInfo)
            value = self.normalized(cast_to_info(self.emit(value) if is_tuple_call else value, var.struct_info))
        if value is binding.value:
            self.keep(binding)
            return
        if differs(value.struct_info, var.struct_info):
            self.current[var] = var = type(var)(var.name_hint, value.struct_info, var.span)
        self.keep(VarBinding(var, value, binding.span))

    def _narrow_if_wanted(self, var: Var) -> None:
        """A copy in float16 of what only ALWAYS operators read."""
        here = self.current.get(var, var)
        made = narrowed(here, self.uses.wanted(var))
        if made is not here:
            self.current[var] = self.emit(made)

    # ------------------------------------------------------------------------------------------------- operands

    def _map(self, expr: GraphExpr, change: Callable[[Var], Any]) -> Any:
        """`expr` with its variables changed; calls, tuples and projections are looked into."""
        match expr:
            case Var():
                return change(expr)
            case Tuple(fields=fields):
                made = [self._map(f, change) for f in fields]
                return expr if all(a is b for a, b in zip(made, fields)) else Tuple(made, expr.span)
            case TupleGetItem(tuple_value=whole, index=index):
                new = self._map(whole, change)
                return expr if new is whole else TupleGetItem(new, index, expr.span)
            case Call(args=args):
                parts = [self._map(a, change) for a in args]
                return expr if all(a is b for a, b in zip(parts, args)) else _call_with(expr, parts)
            case _:
                return expr

    def _as_before(self, var: Var) -> Any:
        here = self.current.get(var, var)
        return here if here is var else cast_to_info(here, var.struct_info)


def _call_with(call: Call, args: Sequence[Any], attrs: Any = None) -> Call:
    return Call(call.op, args, call.attrs if attrs is None else attrs, call.sinfo_args, call.span)


def _all_narrow(args: Sequence[Any]) -> bool:
    """Whether all tensors among the operands are float16, or constants that fit into it."""
    return all(_is_narrow(a) for a in args if isinstance(a.struct_info_, (TensorStructInfo, TupleStructInfo)))


def _is_narrow(arg: Any) -> bool:
    if isinstance(arg, Tuple):
        return _all_narrow(arg.fields)
    if isinstance(arg, Constant) and is_float(arg.struct_info_, WIDE):
        return bool(np.all(np.abs(np.asarray(arg.data.data)) <= _LARGEST))
    return is_float(arg.struct_info_, NARROW)
