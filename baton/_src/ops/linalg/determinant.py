"""linalg.det: determinants of square matrices, (..., n, n) -> (...), by elimination with partial pivoting.

Neither Relay nor Relax of TVM has it; ONNX's Det does. Eliminated in float32 at least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import NoAttrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.stmt import Stmt


def infer(call: OpCall[NoAttrs]) -> Info:
    """The dims ahead of the matrices."""
    x = call.tensor(0)
    if not x.dtype.is_void and not x.dtype.is_float:
        call.fail(f"takes floating-point matrices, got {x.dtype}", code="op-dtype", help="astype first")
    if x.ndim in (0, 1):
        call.fail(f"takes square matrices, got {show_shape(x.shape, x.ndim)}")
    if x.shape is None:
        return TensorInfo(None, x.dtype, max(x.ndim - 2, -1), x.vdevice)
    if DimMath(call.prover).equal(x.shape[-1], x.shape[-2]) is False:
        call.fail(f"takes square matrices, got {show_shape(x.shape)}")
    return TensorInfo(x.shape[:-2], x.dtype, vdevice=x.vdevice)


def compute(inputs: Any, a: NoAttrs, out: Any) -> Any:
    """Matrix after matrix, in a copy: find the pivot, exchange rows, take multiples of its row from those below."""
    (x,) = inputs
    n, rows = k.index(x.shape[-1]), tuple(x.shape[:-2])
    kept = k.wide(k.const(0, x.dtype)).dtype
    zero, one = k.const(0, kept), k.const(1, kept)

    def body(ins: Any, outs: Any) -> Stmt:
        (data,) = ins
        found, work, pivot, spare = outs

        def matrix(*at: Any) -> Stmt:
            def cell(i: Any, j: Any) -> Any:
                return load(work, *at, i, j)

            def look(c: Any, r: Any) -> Stmt:
                better = k.fabs(cell(r, c)) > k.fabs(cell(load(pivot, k.index(0)), c))
                return when(better, store(pivot, [k.index(0)], r))

            def exchange(c: Any, p: Any) -> Stmt:
                def entry(j: Any) -> Stmt:
                    swap = both(store(work, [*at, c, j], cell(p, j)), store(work, [*at, p, j], load(spare, k.index(0))))
                    return both(store(spare, [k.index(0)], cell(c, j)), swap)

                turned = store(found, at, zero - load(found, *at))
                return when(k.tir.NE(p, c), both(loop(n, entry, "j"), turned))

            def eliminate(c: Any) -> Stmt:
                def row(r: Any) -> Stmt:
                    def less(factor: Any) -> Stmt:
                        return loop(
                            n - c, lambda j: store(work, [*at, r, c + j], cell(r, c + j) - factor * cell(c, c + j)), "j"
                        )

                    return let("factor", cell(r, c) / cell(c, c), less)

                return when(
                    k.tir.NE(cell(c, c), zero), loop(n - c - k.index(1), lambda i: row(c + k.index(1) + i), "r")
                )

            def column(c: Any) -> Stmt:
                best = loop(n - c, lambda i: look(c, c + i), "p")
                swap = let("p", load(pivot, k.index(0)), lambda p: exchange(c, p))
                product = store(found, at, load(found, *at) * cell(c, c))
                return both(store(pivot, [k.index(0)], c), best, swap, product, eliminate(c))

            copy = loops((n, n), lambda i, j: store(work, [*at, i, j], k.cast(kept, load(data, *at, i, j))), "y")
            return both(copy, store(found, at, one), loop(n, column, "c"))

        return loops(rows, matrix, "b")

    made = extern(
        [rows, tuple(x.shape), (k.index(1),), (k.index(1),)], [x], body, "determinant", [kept, kept, "int64", kept]
    )
    return k.compute(out.shape, lambda *i: k.cast(out.dtype, made[0](*i)), "determinant")


def reference(inputs: Any, a: NoAttrs) -> Any:
    """`numpy.linalg.det`."""
    x = inputs[0]
    return np.asarray(np.linalg.det(x.astype(np.float64))).astype(x.dtype)


DETERMINANT = OpDef(
    "linalg.det",
    NoAttrs,
    inputs=(Input("data", "square matrices"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("it needs an inverse, which neither language has"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4, 4)),), rtol=1e-4, atol=1e-4),
        Sample((Arr((3, 3), values=((0, 1, 2), (3, 0, 1), (0, 2, 4))),), rtol=1e-5, atol=1e-5),
        Sample(
            (Arr((2, 1, 1), "float64"),),
        ),
    ),
    summary="Determinants of square matrices.",
)
