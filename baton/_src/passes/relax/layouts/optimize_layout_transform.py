"""OptimizeLayoutTransform: combine consecutive layout transforms, and remove those that cancel out.

    lv = R.layout_transform(x, T.index_map(lambda i: (i // 4, i % 4)))
    y = R.layout_transform(lv, T.index_map(lambda i, j: (i * 4 + j,)))        ->       y is x

Two consecutive transforms become one if neither pads. This removes the transforms that AlterOpImpl inserts between two
kernels with the same layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GraphExpr, Range
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.passes.relax.rewrite_patterns import rewrite_call
from baton._src.relax.check.same_info import same_info
from baton._src.relax.nodes import Function, ShapeExpr
from baton._src.relax.patterns.builders import DFPattern, is_op, wildcard
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.tir.index_map import IndexMap
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class OptimizeLayoutTransform(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        x = wildcard()
        inner = is_op("relax.layout_transform")(x)

        def join(expr: GraphExpr, found: Mapping[DFPattern, Any]) -> Any:
            return _joined(found[x], found[inner], expr)

        return rewrite_call(is_op("relax.layout_transform")(inner), join, function, module)


def _joined(x: Any, first: Any, second: Any) -> Any:
    """`x`, or one transform of it; None where the maps are not in sight or one of them pads."""
    maps = first.attrs.index_map, second.attrs.index_map
    info = x.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    padding = first.attrs.pad_value is not None or second.attrs.pad_value is not None
    if padding or not all(isinstance(m, IndexMap) for m in maps):
        return None
    analyzer = Analyzer()
    for var, dim in zip(maps[0].initial_indices, info.shape.values):
        analyzer.bind(var, Range(IntImm(var.dtype, 0), dim))
    replaced = dict(zip(maps[1].initial_indices, maps[0].final_indices))
    final = [analyzer.simplify(substitute(e, replaced)) for e in maps[1].final_indices]
    whole = IndexMap(maps[0].initial_indices, tuple(final))
    stays = len(final) == len(whole.initial_indices) and all(
        analyzer.equal(e, v) is True for e, v in zip(final, whole.initial_indices)
    )
    if stays and same_info(info, second.struct_info_):
        return x
    separators = first.attrs.input_axis_separators
    attrs = second.attrs.with_attrs(index_map=whole, input_axis_separators=separators)
    return second.with_fields(args=(x,), attrs=attrs, struct_info_=None)
