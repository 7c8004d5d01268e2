"""linalg.det: determinants of square matrices, (..., n, n) -> (...), by elimination with partial pivoting.

Neither Relay nor Relax of TVM has it; ONNX's Det does. Eliminated in float32 at least.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import NoAttrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.samples import Arr, Sample
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray


def infer(call: OpCall[NoAttrs]) -> Info:
    """The dims ahead of the matrices."""
    x = call.tensor(0)
    check_floats(call, 0)
    if x.ndim in (0, 1):
        call.fail(f"takes square matrices, got {show_shape(x.shape, x.ndim)}")
    if x.shape is None:
        return TensorInfo(None, x.dtype, max(x.ndim - 2, -1), x.vdevice)
    if DimMath(call.prover).equal(x.shape[-1], x.shape[-2]) is False:
        call.fail(f"takes square matrices, got {show_shape(x.shape)}")
    return TensorInfo(x.shape[:-2], x.dtype, vdevice=x.vdevice)


@dataclass(frozen=True, slots=True)
class _Elimination:
    """The kernel that makes one matrix triangular after the other, each in a copy."""

    n: k.Scalar
    data: Buffer
    found: Buffer
    """The product of the diagonals so far, with the sign of the exchanges."""
    work: Buffer
    pivot: Buffer
    spare: Buffer

    def matrix(self, *at: k.Scalar) -> Stmt:
        kept = self.work.dtype

        def copy(i: k.Scalar, j: k.Scalar) -> Stmt:
            return store(self.work, [*at, i, j], k.cast(kept, load(self.data, *at, i, j)))

        def column(c: k.Scalar) -> Stmt:
            return self.column(at, c)

        start = store(self.found, at, k.const(1, kept))
        return both(loops((self.n, self.n), copy, "y"), start, loop(self.n, column, "c"))

    def cell(self, at: k.Indices, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        return load(self.work, *at, i, j)

    def column(self, at: k.Indices, c: k.Scalar) -> Stmt:
        """Find the pivot, exchange rows, take multiples of its row from those below."""
        best = loop(self.n - c, lambda i: self.look(at, c, c + i), "p")
        swap = let("p", load(self.pivot, k.index(0)), lambda p: self.exchange(at, c, p))
        product = store(self.found, at, load(self.found, *at) * self.cell(at, c, c))
        return both(store(self.pivot, [k.index(0)], c), best, swap, product, self.eliminate(at, c))

    def look(self, at: k.Indices, c: k.Scalar, r: k.Scalar) -> Stmt:
        better = k.fabs(self.cell(at, r, c)) > k.fabs(self.cell(at, load(self.pivot, k.index(0)), c))
        return when(better, store(self.pivot, [k.index(0)], r))

    def exchange(self, at: k.Indices, c: k.Scalar, p: k.Scalar) -> Stmt:
        def entry(j: k.Scalar) -> Stmt:
            return both(
                store(self.spare, [k.index(0)], self.cell(at, c, j)),
                both(
                    store(self.work, [*at, c, j], self.cell(at, p, j)),
                    store(self.work, [*at, p, j], load(self.spare, k.index(0))),
                ),
            )

        turned = store(self.found, at, k.const(0, self.work.dtype) - load(self.found, *at))
        return when(k.tir.NE(p, c), both(loop(self.n, entry, "j"), turned))

    def eliminate(self, at: k.Indices, c: k.Scalar) -> Stmt:
        def row(r: k.Scalar) -> Stmt:
            def less(factor: k.Scalar) -> Stmt:
                def entry(j: k.Scalar) -> Stmt:
                    left = self.cell(at, r, c + j) - factor * self.cell(at, c, c + j)
                    return store(self.work, [*at, r, c + j], left)

                return loop(self.n - c, entry, "j")

            return let("factor", self.cell(at, r, c) / self.cell(at, c, c), less)

        below = loop(self.n - c - k.index(1), lambda i: row(c + k.index(1) + i), "r")
        return when(k.tir.NE(self.cell(at, c, c), k.const(0, self.work.dtype)), below)


def compute(inputs: Sequence[k.Tensor], a: NoAttrs, out: k.Result) -> k.Tensor:
    """Gauss's elimination with pivots of columns: the product of the diagonal."""
    (x,) = inputs
    rows = tuple(x.shape[:-2])
    kept = k.wide(k.const(0, x.dtype)).dtype

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return loops(rows, _Elimination(k.index(x.shape[-1]), *ins, *outs).matrix, "b")

    shapes = [rows, tuple(x.shape), (k.index(1),), (k.index(1),)]
    made = externs(shapes, [x], body, "determinant", [kept, kept, "int64", kept])
    return k.compute(out.shape, lambda *i: k.cast(out.dtype, made[0](*i)), "determinant")


def reference(inputs: Sequence[AnyArray], a: NoAttrs) -> AnyArray:
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
    summary="The determinants of square matrices.",
)
