"""FuseTransposeMatmul: a product with a transposed matrix reads the matrix in place.

    lv = R.permute_dims(w)               ->               gv = R.nn.dense(x, w)
    gv = R.matmul(x, lv)

`x @ w.T` is how linear layers are written whose weights are `(out, in)`; a transposed copy of the weights costs memory
and time. Weights of two axes become `nn.dense`, operands of three axes `nn.batch_matmul`; LegalizeOps makes one kernel
for each. (TVM makes the kernel, `NT_matmul`, at once.) A transposed weight with other uses stays.

`most_rows` leaves products of more rows, or of an unknown number, as they are: their kernels would transpose parts of
the matrix again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.rewrite_patterns import rewrite_call
from baton._src.relax.nodes import Function, ShapeExpr
from baton._src.relax.patterns.builders import DFPattern, is_op, wildcard
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class FuseTransposeMatmul(FunctionPass):
    """See the module."""

    function_class = Function
    most_rows: int | None = None

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        x, w = wildcard(), wildcard()
        transposed = is_op("relax.permute_dims")(w)

        def fuse(expr: Any, found: Mapping[DFPattern, Any]) -> Any:
            if self.most_rows is not None and not 0 < _rows(found[x], _rank(found[w])) <= self.most_rows:
                return None
            return _fused(found[x], found[w], found[transposed].attrs.axes, expr.attrs.out_dtype)

        return rewrite_call(is_op("relax.matmul")(x, transposed), fuse, function, module)


def _fused(x: Any, w: Any, axes: Any, out_dtype: Any) -> Any:
    """The product with `w` in its own layout; None if anything but the last two of two or three axes is exchanged."""
    left, right = _rank(x), _rank(w)
    order = list(range(right))[::-1] if axes is None else [a % right for a in axes] if right > 0 else []
    if right == 2 and left >= 2 and order == [1, 0]:
        return RelaxMaker(CATALOGUE.get("nn.dense"), CATALOGUE)(x, w, out_dtype=out_dtype)
    if right == 3 and left == 3 and order == [0, 2, 1]:
        make = RelaxMaker(CATALOGUE.get("nn.batch_matmul"), CATALOGUE)
        return make(x, w, out_dtype=out_dtype, transpose_b=True)
    return None


def _rank(expr: GraphExpr) -> int:
    info = expr.struct_info_
    return info.ndim if isinstance(info, TensorStructInfo) else -1


def _rows(x: Any, rank: int) -> int:
    """The rows that a matrix is multiplied by, 0 if not known: all but the last axis, or of batches the one before."""
    shape = x.struct_info_.shape
    dims = shape.values if isinstance(shape, ShapeExpr) else ()
    sizes = [d.value if isinstance(d, IntImm) else 0 for d in (dims[:-1] if rank == 2 else dims[-2:-1])]
    return prod(sizes) if sizes else 0
