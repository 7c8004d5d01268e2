"""nn.sparse_transpose: the transpose of a square CSR matrix, as a triple.

The elements of each column are counted and added up, which says where each column begins; then every element is put in
its place, row by row, so that their order stays. Source: facts relay-language §6 level 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import NoAttrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.sparse_matrices import SPARSE_INPUTS, Sparse, check_sparse, csr_sample, triple
from baton._src.ops.loop_nests import both, let, load, loop, store
from baton._src.ops.samples import Sample
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Evaluate, Stmt
from baton._src.values.tensor import AnyArray

_ONE = k.index(1)


def infer(call: OpCall[NoAttrs]) -> Info:
    """Tensors of the operands' shapes and dtypes."""
    check_sparse(call, 0, (1,))
    return TupleInfo(tuple(call.tensor(n) for n in range(3)))


def compute(inputs: Sequence[k.Tensor], a: NoAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """Count the elements of each column, add up, put every element in its place; row by row, so that order stays."""
    data, indices, starts = inputs
    rows = k.index(starts.shape[0]) - _ONE

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        values, columns, begins = ins
        moved, places, ends, cursor = outs

        def count(e: k.Scalar) -> Stmt:
            at = [_number(load(columns, e)) + _ONE]
            return store(ends, at, load(ends, *at) + k.const(1, starts.dtype))

        def sums(n: k.Scalar) -> Stmt:
            total = store(ends, [n + _ONE], load(ends, n + _ONE) + load(ends, n))
            return both(store(cursor, [n], _number(load(ends, n))), total)

        def put(m: k.Scalar, e: k.Scalar) -> Stmt:
            def to(column: k.Scalar) -> Stmt:
                place = load(cursor, column)
                return both(
                    store(moved, [place], load(values, e)),
                    store(places, [place], k.cast(indices.dtype, m)),
                    store(cursor, [column], place + _ONE),
                )

            return let("column", _number(load(columns, e)), to)

        def row(m: k.Scalar) -> Stmt:
            def stretch(low: k.Scalar) -> Stmt:
                return loop(_number(load(begins, m + _ONE)) - low, lambda e: put(m, low + e), "e")

            return let("low", _number(load(begins, m)), stretch)

        blank = loop(starts.shape[0], lambda n: store(ends, [n], k.const(0, starts.dtype)), "z")
        counted = loop(data.shape[0], count, "c"), loop(rows, sums, "s")
        return both(_in_order(begins, rows, k.index(data.shape[0])), blank, *counted, loop(rows, row, "m"))

    shapes = [k.dims(t.shape) for t in (data, indices, starts)] + [k.dims(starts.shape)]
    made = externs(shapes, inputs, body, "sparse_transpose", [data.dtype, indices.dtype, starts.dtype, "int64"])
    return made[:3]


def _number(value: k.Scalar) -> k.Scalar:
    return k.cast("int64", value)


def _in_order(begins: Buffer, rows: k.Scalar, count: k.Scalar) -> Stmt:
    """Check that the rows begin one after the other, from 0 on, and end with the last of `count` elements."""

    def ascend(m: k.Scalar) -> Stmt:
        end = _number(load(begins, m + _ONE))
        return Evaluate(k.within(_number(load(begins, m)), end + _ONE, "a row begins at {0}, the next before {1}"))

    def is_end(n: k.Scalar, wanted: k.Scalar) -> Stmt:
        end = _number(load(begins, n))
        return Evaluate(k.within(end - wanted, _ONE, "rows begin or end at {0}, not where the elements do", end))

    return both(is_end(k.index(0), k.index(0)), is_end(rows, count), loop(rows, ascend, "a"))


def reference(inputs: Sequence[AnyArray], a: NoAttrs) -> tuple[AnyArray, ...]:
    """A stable sort by column."""
    data, indices, starts = inputs[0], inputs[1].astype(np.int64), inputs[2].astype(np.int64)
    size, lengths = len(starts) - 1, np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(data) or (lengths < 0).any():
        raise ValueError(f"rows that begin at {starts} do not hold {len(data)} elements in order")
    if (indices < 0).any() or (indices >= size).any():
        raise IndexError(f"the columns {indices} are not all from 0 to {size - 1}")
    rows, ranked = np.repeat(np.arange(size), lengths), np.argsort(indices, kind="stable")
    counts = np.bincount(indices, minlength=size)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return data[ranked], rows[ranked].astype(inputs[1].dtype), ends.astype(inputs[2].dtype)


def relay_builder(make: OwnMaker, x: Sparse) -> GraphExpr:
    """The matrix is one argument."""
    return make(*triple(make, x))


SPARSE_TRANSPOSE = OpDef(
    "nn.sparse_transpose",
    NoAttrs,
    inputs=SPARSE_INPUTS,
    outputs=3,
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_builder,
    samples=lambda: (Sample(csr_sample()),),
    summary="The transpose of a square sparse matrix.",
)
