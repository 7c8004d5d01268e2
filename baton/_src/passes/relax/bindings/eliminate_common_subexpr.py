"""EliminateCommonSubexpr: of several equal pure bindings only the first computes.

    lv = R.add(x, y)                 lv = R.add(x, y)
    lv1 = R.add(x, y)        ->      lv1 = lv
    gv = R.multiply(lv, lv1)         gv = R.multiply(lv, lv)

Equal means: the same operator or function, equal attributes, the same operands in order. A binding serves the rest of
its scope and the scopes inside. Calls with effects and allocations are left alone, and so are bindings whose StructInfo
differs. With `call_only`, tuples, projections and casts are left alone, too. The copy that remains (`lv1`) is unused,
except for outputs of dataflow blocks; MergeEqualBindings, the same pass for pipelines, removes it where it is unused.

Operators give fresh tensors, so where one may be written or seen to be a tensor of its own (`analysis.exposure`), it
stays; and after a call with effects or in place nothing computed before it can be relied on.
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.exposure import Exposure
from baton._src.analysis.purity import allocates, is_impure_call, may_write
from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.same_info import same_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class EliminateCommonSubexpr(FunctionPass):
    """See the module."""

    opt_level = 1
    function_class = Function
    call_only: bool = False

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Merger(self.call_only, keep_copies=True, exposure=Exposure(function)).function(function)


@dataclass(frozen=True)
class MergeEqualBindings(FunctionPass):
    """See the module. It has its own name because Relay's EliminateCommonSubexpr is of level 3: a listing of the passes
    of a level 2 build, which runs this one, must not show that name.
    """

    opt_level = 1
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Merger(call_only=False, keep_copies=False, exposure=Exposure(function)).function(function)


class _Merger(BindingRewriter):
    def __init__(self, call_only: bool, keep_copies: bool, exposure: Exposure) -> None:
        super().__init__()
        self.call_only = call_only
        self.keep_copies = keep_copies
        self.exposure = exposure
        self.scopes: list[dict[Any, list[tuple[Binding, Var]]]] = []
        """What is bound by key, outer scopes first: one for each sequence, and one for the block at work in it."""
        self.hidden: list[list[dict[Any, list[tuple[Binding, Var]]]]] = []
        """The scopes around each function at work."""

    def enter_function(self, function: Function) -> None:
        """An inner function runs later, when a call with effects may have changed what the outer one computed from."""
        self.hidden.append(self.scopes)
        if self.exposure.has_effects:
            self.scopes = []

    def leave_function(self, function: Function) -> Function:
        self.scopes = self.hidden.pop()
        return function

    def enter_sequence(self, seq: SeqExpr) -> None:
        self.scopes.append({})

    def leave_sequence(self, seq: SeqExpr) -> None:
        self.scopes.pop()

    def enter_block(self, block: BindingBlock) -> None:
        self.scopes.append({})

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        for key, found in self.scopes.pop().items():
            lasting = [entry for entry in found if not isinstance(entry[1], DataflowVar)]
            self.scopes[-1].setdefault(key, []).extend(lasting)
        return super().leave_block(block, bindings)

    def visit_binding(self, binding: Binding) -> None:
        if not self._may_merge(binding):
            if isinstance(binding.value, Call) and may_write(binding.value):
                for scope in self.scopes:
                    scope.clear()
            self.keep(binding)
            return
        key = _key(binding)
        var = binding.var
        for kept, earlier in (entry for scope in self.scopes for entry in scope.get(key, ())):
            if not self.exposure.may_share(kept, binding):
                continue
            if _same_value(kept, binding) and same_info(earlier.struct_info_, var.struct_info_):
                output = isinstance(earlier, DataflowVar) and not isinstance(var, DataflowVar)
                if output or self.keep_copies:
                    self.keep(VarBinding(var, earlier, binding.span))
                if not output:  # an output of the block is seen where its source is not
                    self.replace(var, earlier)
                return
        self.scopes[-1].setdefault(key, []).append((binding, var))
        self.keep(binding)

    def _may_merge(self, binding: Binding) -> bool:
        if isinstance(binding, MatchCast):
            return not self.call_only and binding.var is not None
        value = binding.value
        if isinstance(value, Call):
            return not is_impure_call(value) and not allocates(value)
        return not self.call_only and isinstance(value, (Tuple, TupleGetItem)) and not _is_unit(value)


def _is_unit(value: GraphExpr) -> bool:
    return isinstance(value, Tuple) and not value.fields


def _same_value(one: Any, other: Any) -> bool:
    """Whether two right sides with the same key mean the same (free variables are equal only to themselves)."""
    a, b = one.value, other.value
    if isinstance(one, MatchCast) and not same_info(one.struct_info, other.struct_info):
        return False  # equal casts of equal values, of the same shape variables, check and define the same
    if a is b:
        return True
    said = zip(getattr(a, "sinfo_args", ()), getattr(b, "sinfo_args", ()))
    return structural_equal(a, b) and all(same_info(x, y) for x, y in said)


def _key(binding: Any) -> Any:
    """Equal for equal right sides, cheap to make: operands by identity, literals by content."""
    value = binding.value
    if isinstance(binding, MatchCast):
        return ("cast", _operand_key(value))
    if isinstance(value, Call):
        callee = value.op.name if isinstance(value.op, Op) else _leaf_key(value.op)
        return (callee, len(value.sinfo_args), *(_operand_key(a) for a in value.args))
    if isinstance(value, TupleGetItem):
        return ("item", value.index, _operand_key(value.tuple_value))
    return _operand_key(value)


def _operand_key(operand: GraphExpr) -> Any:
    """Tuples of any depth as one flat sequence, since hashing recurses."""
    found: list[Any] = []
    todo = [operand]
    while todo:
        item = todo.pop()
        if isinstance(item, Tuple):
            found.append(("tuple", len(item.fields)))
            todo.extend(reversed(item.fields))
        else:
            found.append(_leaf_key(item))
    return tuple(found)


def _leaf_key(operand: GraphExpr) -> Any:
    match operand:
        case ShapeExpr(values=values):
            return ("shape", *(_dim_key(v) for v in values))
        case PrimValue(value=value):
            return ("prim", _dim_key(value))
        case StringImm(value=value) | DataTypeImm(value=value):
            return ("text", str(value))
        case ExternFunc(global_symbol=name):
            return ("extern", name)
        case Constant(data=data):
            return ("const", str(data.dtype), data.shape, data.data.tobytes() if data.ndim == 0 else id(data))
        case _:
            return id(operand)


def _dim_key(dim: Any) -> Any:
    """Variables by identity, numbers by value; of computed dims `_same_value` decides."""
    if isinstance(dim, (IntImm, FloatImm)):
        return dim.value
    return id(dim) if isinstance(dim, TirVar) else "computed"
