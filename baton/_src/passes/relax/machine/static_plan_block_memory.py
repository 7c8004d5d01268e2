"""StaticPlanBlockMemory: tensors whose lifetimes do not overlap share a storage.

    alloc = R.builtin.alloc_tensor(R.shape([8]), R.dtype("float32"), R.prim_value(0))
    ->
    storage = R.memory.alloc_storage(R.shape([32]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    alloc = R.memory.alloc_tensor(storage, R.prim_value(0), R.shape([8]), R.dtype("float32"))

Each sequence (body or branch) is planned by itself. A tensor frees its storage after its last use; the next tensor of
the same dtype takes the smallest free storage that is large enough, or else the largest one, which grows. Sizes with
variables count as their upper bound if the function has the attribute `tir_var_upper_bound: {name: most}`; otherwise
they share with equal sizes only. A tensor that is returned, captured, or passed to a function that may keep it has
memory of its own (LowerAllocTensor).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from baton._src.analysis.liveness import last_uses
from baton._src.ir.expr import GlobalVar, GraphExpr, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.stated_bounds import UPPER, stated_bounds
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    Call,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Var,
    VarBinding,
    as_dim,
)
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.answers import POS_INF, ConstIntBound
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class StaticPlanBlockMemory(FunctionPass):
    """See the module. Error `pass-bounds`: an upper bound that is no positive number."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Planner(module, _upper_bounds(function)).function(function)


@dataclass(eq=False)
class _Storage:
    """One storage: its size in bytes, a number or an expression, and its variable once it is allocated."""

    size: Any
    dtype: DataType
    device: Any
    var: Var | None = None


@dataclass
class _Pool:
    """The storages that are currently free."""

    free: list[_Storage] = field(default_factory=list)

    def take(self, size: Any, dtype: DataType, device: Any, analyzer: Analyzer) -> _Storage:
        """A free storage of suitable size, or a new one."""
        found = [s for s in self.free if s.dtype == dtype and s.device == device]
        chosen: _Storage | None = None
        if isinstance(size, int):
            numbers = [s for s in found if isinstance(s.size, int)]
            enough = [s for s in numbers if s.size >= size]
            chosen = min(enough, key=lambda s: s.size) if enough else max(numbers, key=lambda s: s.size, default=None)
            if chosen is not None:
                chosen.size = max(chosen.size, size)
        else:
            same = (s for s in found if not isinstance(s.size, int) and _same_size(s.size, size, analyzer))
            chosen = next(same, None)
        if chosen is None:
            return _Storage(size, dtype, device)
        self.free.remove(chosen)
        return chosen


class _Planner(BindingRewriter):
    def __init__(self, module: IRModule, bounds: Mapping[TirVar, int]) -> None:
        super().__init__(module)
        self.bounded = bool(bounds)
        self.alloc = special_op("builtin.alloc_tensor")
        self.analyzer = Analyzer()
        for var, most in bounds.items():
            self.analyzer.update(var, ConstIntBound(0, most))
        self.plans: list[dict[Var, _Storage]] = []

    def enter_sequence(self, seq: SeqExpr) -> None:
        self.plans.append(self._plan(seq))

    def leave_sequence(self, seq: SeqExpr) -> None:
        self.plans.pop()

    def _plan(self, seq: SeqExpr) -> dict[Var, _Storage]:
        """The storage of each tensor allocated in `seq`; tensors that need their own memory are not included."""
        bindings = [b for block in seq.blocks for b in block.bindings]
        ends = last_uses(seq)
        kept = self._escaping(bindings)
        pool, plan = _Pool(), {}
        ending: dict[int, list[_Storage]] = {}
        for number, binding in enumerate(bindings):
            call = _value(binding)
            if isinstance(call, Call) and call.op is self.alloc and ends[binding.var] < len(bindings):
                if binding.var not in kept and isinstance(call.args[0], ShapeExpr):
                    storage = pool.take(self._size(call), call.args[1].value, _device(call), self.analyzer)
                    plan[binding.var] = storage
                    ending.setdefault(ends[binding.var], []).append(storage)
            pool.free.extend(ending.pop(number, ()))
        return plan

    def _escaping(self, bindings: list[Binding]) -> set[Any]:
        """The variables given to anything that may hold on to them, through copies, tuples and views."""
        found: set[Any] = set()
        for binding in reversed(bindings):
            value = _value(binding)
            if not isinstance(value, Call):
                if binding.var in found or not isinstance(binding, VarBinding) or not _is_plain(value):
                    found.update(n for n in post_order(value) if isinstance(n, Var))
            elif not self._returns_at_once(value) or (_views(value) and binding.var in found):
                found.update(n for a in value.args for n in post_order(a) if isinstance(n, Var))
        return found

    def _returns_at_once(self, call: Call) -> bool:
        """Whether the callee keeps none of its arguments: kernels, and all operators except those on closures."""
        callee = call.op
        if isinstance(callee, GlobalVar):
            return isinstance(self.context.functions.get(callee), PrimFunc)
        return isinstance(callee, Op) and callee.name not in _KEEPERS

    def _size(self, call: Call) -> Any:
        """The bytes of the tensor: a number, or a simplified expression."""
        size: Any = as_dim(call.args[1].value.itemsize)
        for dim in call.args[0].values:
            size = size * self._most(dim)
        found = self.analyzer.simplify(size)
        return found.value if isinstance(found, IntImm) else found

    def _most(self, dim: PrimExpr) -> PrimExpr:
        """The largest value of a dim where the bounds of variables limit it (16 of `16 - n`), else the dim itself."""
        most = self.analyzer.const_int_bound(dim).max_value if self.bounded else POS_INF
        return dim if most == POS_INF else as_dim(max(most, 0))

    def visit_binding(self, binding: Binding) -> None:
        storage = self.plans[-1].get(binding.var)
        if storage is None:
            super().visit_binding(binding)
            return
        call = _value(binding)
        shape, dtype, device = call.args[0], call.args[1], _device_operand(call)
        if storage.var is None:
            operands = [ShapeExpr([storage.size]), device, StringImm("global"), dtype]
            storage.var = self.emit(Call(special_op("memory.alloc_storage"), operands), "storage")
        made = self.normalized(Call(special_op("memory.alloc_tensor"), [storage.var, PrimValue(0), shape, dtype]))
        self.keep(VarBinding(binding.var, made, getattr(binding, "span", None)))


_KEEPERS = frozenset(
    f"relax.{name}"
    for name in (
        *("call_dps_packed", "call_pure_packed", "call_inplace_packed", "call_builtin_with_ctx"),
        *("make_closure", "invoke_closure", "invoke_pure_closure"),
    )
)
"""Operators that pass their arguments to functions that are not analysed."""


def _upper_bounds(function: Function) -> dict[TirVar, int]:
    given = stated_bounds(function, UPPER)
    variables = (v for p in function.params for v in definable_tir_vars_in_struct_info(p.struct_info))
    return {v: given[v.name] for v in variables if v.name in given}


def _same_size(a: PrimExpr, b: PrimExpr, analyzer: Analyzer) -> bool:
    return a is b or analyzer.equal(a, b) is True


def _value(binding: Binding) -> Any:
    return binding.value if isinstance(binding, (VarBinding, MatchCast)) else None


def _device_operand(call: Call) -> Any:
    return call.args[2] if len(call.args) > 2 else PrimValue(0)


def _device(call: Call) -> Any:
    operand = _device_operand(call)
    return operand.value.value if isinstance(operand, PrimValue) and isinstance(operand.value, IntImm) else operand


def _is_plain(value: GraphExpr) -> bool:
    """Whether the value is a copy, tuple or projection: it keeps its parts alive only as long as it is alive itself."""
    return type(value).__name__ in ("Var", "DataflowVar", "Tuple", "TupleGetItem")


def _views(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.name in (
        "relax.reshape",
        "relax.memory.view",
        "relax.memory.ensure_zero_offset",
    )
