"""CombineParallelMatmul: products of one operand with several weights become one product with all of them.

    lv0 = R.matmul(x, w0)                   w = R.concat((w0, w1), axis=1)
    lv1 = R.matmul(x, w1)          ->       lv = R.matmul(x, w)
                                            s = R.split(lv, [n0], axis=1);  lv0 = s[0];  lv1 = s[1]

Within a dataflow block; the weights' shapes agree except for their columns, and all are bound before the first product.
Numbers of columns are constants, except possibly for the last one. A bias (of one rank) and an activation that follow
each of the products are joined, too; if only some products have them, they stay after their parts. `check(x, weights,
biases, {variable: value})` may refuse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.analysis.bindings import get_var2val
from baton._src.ir.module import IRModule
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.dead_code_elimination import remove_all_unused
from baton._src.passes.relax.products.parallel_branches import Branch, branches_of, common_ends
from baton._src.relax.nodes import Binding, BindingBlock, DataflowBlock, Function, Tuple, TupleGetItem, Var, VarBinding
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

R: Any = RELAX
Check = Callable[[Any, list[Any], list[Any], dict[Any, Any]], bool]


@dataclass(frozen=True)
class CombineParallelMatmul(FunctionPass):
    """See the module."""

    function_class = Function
    check: Check | None = None

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        found = _Combiner(module, self.check, get_var2val(function)).function(function)
        return function if found is function else remove_all_unused(found)


@dataclass(eq=False)
class _Group:
    """Branches that become one product: the left operand, the end of each branch, and the combined result."""

    left: Any
    branches: list[Branch]
    ends: list[VarBinding]
    parts: Any = None


class _Combiner(BindingRewriter):
    def __init__(self, module: IRModule, check: Check | None, values: dict[Any, Any]) -> None:
        super().__init__(module)
        self.check = check
        self.all_values = values
        self.groups: dict[Any, _Group] = {}

    def enter_block(self, block: BindingBlock) -> None:
        self.groups = {}
        if not isinstance(block, DataflowBlock):
            return
        places = {b.var: n for n, b in enumerate(block.bindings)}
        for left, branches in branches_of(block).items():
            ends = dict(zip(branches, common_ends(branches)))
            for alike in _alike(branches, ends):
                chosen = _known_at_first_end(_one_open_width(alike), ends, places)
                if len(chosen) > 1 and self._agrees(left, chosen, ends):
                    group = _Group(left, chosen, [ends[b] for b in chosen])
                    self.groups.update((end.var, group) for end in group.ends)

    def _agrees(self, left: Var, branches: list[Branch], ends: dict[Branch, VarBinding]) -> bool:
        if self.check is None:
            return True
        biases = [b.bias for b in branches if ends[b] is not b.product and b.bias is not None]
        return bool(self.check(left, [b.weight for b in branches], biases, self.all_values))

    def visit_binding(self, binding: Binding) -> None:
        group = self.groups.get(binding.var)
        if group is None:
            self.keep(binding)
            return
        if group.parts is None:
            group.parts = self._combined(group)
        number = next(n for n, end in enumerate(group.ends) if end.var is binding.var)
        item = self.normalized(TupleGetItem(group.parts, number))
        self.keep(VarBinding(binding.var, item, getattr(binding, "span", None)))

    def _combined(self, group: _Group) -> Var:
        """The tuple of all results, made before the present binding."""
        first, end = group.branches[0], group.ends[0]
        weights = [b.weight for b in group.branches]
        dtype = first.product.var.struct_info.dtype
        whole = self.emit(R.matmul(self._use(group.left), self._joined(weights, "w"), out_dtype=dtype))
        if first.bias is not None and end is not first.product:
            whole = self.emit(R.add(whole, self._joined([b.bias for b in group.branches], "bias")))
        if end is first.activated:
            activation: Any = end.value
            whole = self.emit(activation.with_fields(args=(whole, *activation.args[1:]), struct_info_=None))
        widths = [w.struct_info.shape.values[-1] for w in weights[:-1]]
        places = list(itertools.accumulate(w.value for w in widths))
        return self.emit(R.split(whole, places, axis=whole.struct_info.ndim - 1), "s")

    def _joined(self, parts: Sequence[Any], name: str) -> Var:
        """Tensors joined along their columns."""
        rank = parts[0].struct_info.ndim
        return self.emit(R.concat(Tuple([self._use(p) for p in parts]), axis=rank - 1), name)


def _alike(branches: Sequence[Branch], ends: dict[Branch, VarBinding]) -> list[list[Branch]]:
    """The branches whose weights, biases and results differ in their columns only."""
    found: dict[Any, list[Branch]] = {}
    for branch in branches:
        bias = None if branch.bias is None or ends[branch] is branch.product else branch.bias
        kinds = [_but_columns(branch.weight), bias and _but_columns(bias), str(branch.product.var.struct_info.dtype)]
        found.setdefault(tuple(kinds), []).append(branch)
    return list(found.values())


def _but_columns(tensor: Any) -> Any:
    info = tensor.struct_info
    return str(info.dtype), *(d.value if isinstance(d, IntImm) else id(d) for d in info.shape.values[:-1])


def _one_open_width(branches: Sequence[Branch]) -> list[Branch]:
    """The branches of known width, followed by the first one of unknown width."""
    known = [b for b in branches if isinstance(b.weight.struct_info.shape.values[-1], IntImm)]
    return [*known, *[b for b in branches if b not in known][:1]]


def _known_at_first_end(branches: list[Branch], ends: dict[Branch, VarBinding], places: dict[Any, int]) -> list[Branch]:
    """The branches whose operands are bound before the end of the first one, where all results are computed."""
    if not branches:
        return []
    first = min(places[ends[b].var] for b in branches)
    joined = {b: [b.weight] if ends[b] is b.product else [b.weight, b.bias] for b in branches}
    return [b for b, operands in joined.items() if all(places.get(o, -1) < first for o in operands)]
