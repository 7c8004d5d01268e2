"""LazyTransformParams: functions that prepare weights load each weight when it is needed and store results when ready.

    @R.function                                       @R.function(pure=False)
    def main_transform_params(params: (w0, w1)):      def main_transform_params():
        a = params[0]                                     a = match_cast(R.call_packed("get_item", 0), ...)
        b = R.permute_dims(a)                ->           b = R.permute_dims(a)
        c = params[1]                                     _ = R.call_packed("set_item", 0, b)
        return (b, c)                                     c = ...;  _ = R.call_packed("set_item", 1, c)
                                                          return R.tuple()

Functions that LiftTransformParams makes (their names end in `transform_params`) are changed. `extra_get_item_params`
and `extra_set_item_params` precede the number in the calls. With `fset_item=None` results are returned as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dataflow_blocks import ToNonDataflow
from baton._src.passes.relax.interfaces.lazy_interfaces import Fetching, giving, normal
from baton._src.relax.nodes import (
    Binding,
    Call,
    ExternFunc,
    Function,
    PrimValue,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import ObjectStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class LazyTransformParams(Pass):
    """See the module."""

    fget_item: str = "get_item"
    fset_item: str | None = "set_item"
    extra_get_item_params: Sequence[Any] | None = None
    extra_set_item_params: Sequence[Any] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        changed = {
            var: self._lazy(function, module, ctx)
            for var, function in module.functions.items()
            if isinstance(function, Function) and var.name_hint.endswith("transform_params")
        }
        return module.with_functions({**module.functions, **changed}) if changed else module

    def _lazy(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        flat = ToNonDataflow().run_function(_opened(function, module), module, ctx)
        body = Fetching(self._request, flat, 0).body()
        if self.fset_item is not None:
            body = giving(self._deliver, (), body)
        return normal(module, Function([], body, None, False, flat.attrs))

    def _request(self, number: int, name: str) -> Call:
        operands = [*(self.extra_get_item_params or ()), PrimValue(number)]
        return Call(ExternFunc(self.fget_item), operands, None, (ObjectStructInfo(),))

    def _deliver(self, number: int, value: GraphExpr) -> Call:
        operands = [*(self.extra_set_item_params or ()), PrimValue(number), value]
        return Call(ExternFunc(str(self.fset_item)), operands, None, (TupleStructInfo(()),))


def _opened(function: Function, module: IRModule) -> Function:
    """The function with a parameter for each item of its tuple of weights."""
    if len(function.params) != 1 or not isinstance(function.params[0].struct_info, TupleStructInfo):
        return function
    whole = function.params[0]
    names = {
        b.value.index: b.var.name_hint
        for block in function.body.blocks
        for b in block.bindings
        if isinstance(b, VarBinding) and isinstance(b.value, TupleGetItem) and b.value.tuple_value is whole
    }
    items = [Var(names.get(n, f"param_{n}"), info) for n, info in enumerate(whole.struct_info.fields)]
    return _Opener(module, whole, items).function(function).with_fields(params=tuple(items))


class _Opener(BindingRewriter):
    """Replaces a tuple, and its items, by separate variables."""

    def __init__(self, module: IRModule, whole: Var, items: Sequence[Var]) -> None:
        super().__init__(module)
        self.separate = Tuple(items).with_fields(struct_info_=whole.struct_info)
        self.replace(whole, self.separate)

    def visit_binding(self, binding: Binding) -> None:
        value = binding.value if isinstance(binding, VarBinding) else None
        if isinstance(value, TupleGetItem) and value.tuple_value is self.separate:
            self.replace(binding.var, self.separate.fields[value.index])
        else:
            super().visit_binding(binding)
