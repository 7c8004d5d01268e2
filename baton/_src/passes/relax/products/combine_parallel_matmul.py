"""CombineParallelMatmul: products of one operand with several weights become one product with all of them.

    lv0 = R.matmul(x, w0)                   w = R.concat((w0, w1), axis=1)
    lv1 = R.matmul(x, w1)          ->       lv = R.matmul(x, w)
                                            s = R.split(lv, [n0], axis=1);  lv0 = s[0];  lv1 = s[1]

Within a dataflow block; the weights have one shape but for their columns, which are numbers, and are known where the
first product stands. What follows each product (a bias, an activation) stays behind its part. `check(x, weights, {})`
may refuse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX


@dataclass(frozen=True)
class CombineParallelMatmul(FunctionPass):
    """See the module."""

    function_class = Function
    check: Callable[[Any, list[Any], dict[Any, Any]], bool] | None = None

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Combiner(module, self.check).function(function)


@dataclass(eq=False)
class _Branches:
    """Products of one operand: their bindings, and what has been made of them."""

    bindings: list[VarBinding]
    parts: Any = None


class _Combiner(BindingRewriter):
    def __init__(self, module: IRModule, check: Any) -> None:
        super().__init__(module)
        self.check = check
        self.groups: dict[Any, _Branches] = {}

    def enter_block(self, block: BindingBlock) -> None:
        self.groups = {}
        if not isinstance(block, DataflowBlock):
            return
        found: dict[Any, list[VarBinding]] = {}
        bound_here: dict[Any, int] = {b.var: n for n, b in enumerate(block.bindings)}
        first: dict[Any, int] = {}
        for number, binding in enumerate(block.bindings):
            if not isinstance(binding, VarBinding) or (key := _key(binding)) is None:
                continue
            first.setdefault(key, number)
            weight = binding.value.args[1]
            if bound_here.get(weight, -1) < first[key]:
                found.setdefault(key, []).append(binding)
        for group in found.values():
            if len(group) > 1 and self._agrees(group):
                branches = _Branches(group)
                self.groups.update((b.var, branches) for b in group)

    def _agrees(self, group: list[VarBinding]) -> bool:
        if self.check is None:
            return True
        return bool(self.check(group[0].value.args[0], [b.value.args[1] for b in group], {}))

    def visit_binding(self, binding: Binding) -> None:
        branches = self.groups.get(binding.var)
        if branches is None:
            self.keep(binding)
            return
        if branches.parts is None:
            branches.parts = self._combined(branches.bindings)
        number = next(n for n, b in enumerate(branches.bindings) if b.var is binding.var)
        item = self.normalized(TupleGetItem(branches.parts, number))
        self.keep(VarBinding(binding.var, item, getattr(binding, "span", None)))

    def _combined(self, group: list[VarBinding]) -> Var:
        """The tuple of all results, made before the present binding."""
        calls = [b.value for b in group]
        weights = [self._use(c.args[1]) for c in calls]
        rank = weights[0].struct_info.ndim
        joined = self.emit(R.concat(Tuple(weights), axis=rank - 1), "w")
        product = self.emit(R.matmul(self._use(calls[0].args[0]), joined, out_dtype=calls[0].struct_info.dtype), "lv")
        widths = [w.struct_info.shape.values[-1].value for w in weights]
        places = list(itertools.accumulate(widths))[:-1]
        axis = product.struct_info.ndim - 1
        return self.emit(R.split(product, places, axis=axis), "s")


def _key(binding: VarBinding) -> Any:
    """What products that may be combined have in common; None for everything else."""
    value = binding.value
    if not isinstance(value, Call) or not isinstance(value.op, Op) or value.op.name != "relax.matmul":
        return None
    data, weight = value.args
    info, left = weight.struct_info_, data.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr) or info.ndim < 2:
        return None
    if not isinstance(left, TensorStructInfo) or left.ndim < 2 or not isinstance(info.shape.values[-1], IntImm):
        return None
    dims = tuple(d.value if isinstance(d, IntImm) else id(d) for d in info.shape.values[:-1])
    return data, dims, str(info.dtype), str(value.attrs.out_dtype)
