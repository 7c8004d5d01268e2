"""CanonicalizeBindings: detours disappear.

    y = x                      z = R.add(x, x)
    z = R.add(y, y)      ->
    t = (a, b)                 R.exp(a)
    R.exp(t[0])
    w = R.match_cast(v, S)     w is v, where v is known to be exactly S already

Copies, literals bound to variables, projections of known tuples, tuples of all projections of a tuple, and match_casts
that cannot fail and define nothing are replaced by what they stand for. An output of a dataflow block that merely
copies a variable of the block takes its place. A variable annotated with less than is known of its value keeps its
binding, and so does a match_cast that may fail or defines a shape variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from baton._src.analysis.exposure import Exposure
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.same_info import same_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Function,
    MatchCast,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TupleStructInfo
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

_LEAVES = (Var, Constant, ShapeExpr, PrimValue, StringImm, DataTypeImm)


@dataclass(frozen=True)
class CanonicalizeBindings(FunctionPass):
    """See the module."""

    opt_level = 1
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Canonicalizer(module, function).function(function)


class _Canonicalizer(BindingRewriter):
    def __init__(self, module: IRModule, function: Function) -> None:
        super().__init__(module)
        self.root = function
        self.promoted: dict[Var, Var] = {}
        """Variables of the block at work, and the outputs that take their place."""

    def enter_block(self, block: BindingBlock) -> None:
        if not isinstance(block, DataflowBlock):
            return
        own = {b.var for b in block.bindings if isinstance(b, VarBinding)}
        for binding in block.bindings:
            source = binding.value if isinstance(binding, VarBinding) else None
            output = not isinstance(binding.var, DataflowVar)
            if output and isinstance(source, DataflowVar) and source in own and source not in self.promoted:
                if same_info(source.struct_info_, binding.var.struct_info_):
                    self.promoted[source] = binding.var

    def visit_binding(self, binding: Binding) -> None:
        if isinstance(binding, MatchCast):
            self._visit_cast(binding)
            return
        assert isinstance(binding, VarBinding)
        var, value = binding.var, self._simplified(binding.value)
        if value is var:
            return  # the output has taken its source's place
        promoted = self.promoted.get(var)
        if isinstance(value, _LEAVES) and same_info(var.struct_info_, value.struct_info_):
            if promoted is None and self._may_stand_for(var, value):
                self.replace(var, value)
                return
        if promoted is not None:
            self.replace(var, promoted)
            var = promoted
        self.keep(binding if value is binding.value and var is binding.var else VarBinding(var, value, binding.span))

    def _visit_cast(self, binding: MatchCast) -> None:
        value = binding.value
        if binding.var is None:
            self.keep(binding)
            return
        exact = isinstance(value, _LEAVES) and same_info(value.struct_info_, binding.struct_info)
        if exact and same_info(value.struct_info_, binding.var.struct_info_):
            if self._may_stand_for(binding.var, value):
                self.replace(binding.var, value)
            else:
                self.keep(VarBinding(binding.var, value, binding.span))
        else:
            self.keep(binding)

    def _may_stand_for(self, var: Var, value: Any) -> bool:
        """Whether uses of `var` may use `value`: what is visible outside a block is not replaced by what is not."""
        if isinstance(value, Constant) and var in self.written:
            return False  # each evaluation of a constant is a tensor of its own
        return isinstance(var, DataflowVar) or not isinstance(value, DataflowVar)

    @cached_property
    def written(self) -> Exposure | tuple[()]:
        """The variables whose tensors a call with effects may write."""
        exposure = Exposure(self.root)
        return exposure if exposure.has_effects else ()

    def _simplified(self, value: Any) -> Any:
        if isinstance(value, TupleGetItem):
            whole = self.resolved(value.tuple_value)
            if isinstance(whole, Tuple) and value.index < len(whole.fields):
                field = whole.fields[value.index]
                return field if self._names_the_same(field) else value
        elif isinstance(value, Tuple) and value.fields:
            return self._whole_tuple(value)
        return value

    def _names_the_same(self, field: Any) -> bool:
        """Whether a field of a tuple in sight means here what it meant there (constants are made anew each time)."""
        return not self.written if isinstance(field, Constant) else self.is_visible(field)

    def _whole_tuple(self, value: Tuple) -> Any:
        """The tuple that `value` takes apart and puts together again, or `value`."""
        parts = [self.resolved(f) for f in value.fields]
        if not all(isinstance(p, TupleGetItem) and p.index == n for n, p in enumerate(parts)):
            return value
        whole = parts[0].tuple_value
        if not self.is_visible(whole):
            return value
        info = whole.struct_info_
        complete = isinstance(info, TupleStructInfo) and len(info.fields) == len(parts)
        return whole if complete and all(p.tuple_value is whole for p in parts) else value
