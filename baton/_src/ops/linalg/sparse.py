"""Products and sums with sparse matrices: nn.sparse_dense, nn.sparse_add, nn.sparse_transpose.

A sparse matrix is three tensors: in CSR the elements that are there, row by row, their columns, and where each row
begins (one more than there are rows); in BSR the elements are blocks (count, rows, columns) and the other two speak of
blocks. The builders take a triple, or an object with `data`, `indices` and `indptr` (SciPy's matrices).

    sparse_dense      x (m, k), S (n, k) -> x Sᵀ (m, n); sparse_lhs: S xᵀ (n, m)
    sparse_add        x + S, both (m, n); CSR
    sparse_transpose  Sᵀ of a square CSR matrix, as a triple

Source: facts relay-language §6 levels 1 and 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, let, load, loop, loops, store
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.stmt import Evaluate, Stmt

_NO_SLOPE = NotApplicable("Relay does not offer it")
_ONE = k.index(1)


@attrs
class SparseDenseAttrs(Attrs):
    """Which operand is sparse."""

    sparse_lhs: bool = attr(False, "the sparse matrix is the left operand")


def _check_sparse(call: OpCall[Any], first: int, ranks: tuple[int, ...] = (1, 3)) -> Dim | None:
    """The number of rows (of blocks) of the matrix whose three tensors begin at operand `first`; None if unknown."""
    data, indices, starts = (call.tensor(first + n) for n in range(3))
    if data.ndim != -1 and data.ndim not in ranks:
        kinds = "(count) for CSR" + (" or (count, rows, columns) for BSR" if 3 in ranks else "")
        call.fail(f"the elements must have shape {kinds}, got {show_shape(data.shape, data.ndim)}")
    if data.shape is not None and 0 in data.shape[1:]:
        call.fail(f"the blocks must have rows and columns, got {show_shape(data.shape)}")
    for t in (indices, starts):
        if t.ndim not in (-1, 1):
            call.fail(f"indices and indptr must have rank 1, got {show_shape(t.shape, t.ndim)}")
        if not t.dtype.is_void and not t.dtype.is_int:
            call.fail(f"indices and indptr must be integers, got {t.dtype}", code="op-dtype")
    math = DimMath(call.prover)
    if data.shape is not None and indices.shape is not None and math.equal(data.shape[0], indices.shape[0]) is False:
        call.fail(f"there are {data.shape[0]} elements, but {indices.shape[0]} indices")
    if starts.shape is None:
        return None
    if math.at_most(1, starts.shape[0]) is False:
        call.fail("indptr must say where the first row begins: it has one element more than there are rows, got none")
    return math.subtract(starts.shape[0], 1)


def infer_dense(call: OpCall[SparseDenseAttrs]) -> Info:
    """Rows by rows."""
    x, data = call.tensor(0), call.tensor(1)
    dtype, rows = same_dtype(call, (x, data)), _check_sparse(call, 1)
    if x.ndim not in (-1, 2):
        call.fail(f"the dense operand must have rank 2, got {show_shape(x.shape, x.ndim)}")
    if x.shape is None or rows is None or data.ndim == -1 or (data.ndim == 3 and data.shape is None):
        return TensorInfo(None, dtype, 2)
    if data.ndim == 3 and data.shape is not None:
        rows, columns, wide = DimMath(call.prover).multiply(rows, data.shape[1]), x.shape[1], data.shape[2]
        if isinstance(columns, int) and isinstance(wide, int) and columns % wide:
            call.fail(f"{columns} columns of the dense operand are no multiple of blocks of {wide}")
    return TensorInfo((rows, x.shape[0]) if call.attrs.sparse_lhs else (x.shape[0], rows), dtype)


def compute_dense(inputs: Any, a: SparseDenseAttrs, out: Any) -> Any:
    """Row by row of the sparse matrix, over the elements that are there."""
    x, data, _, starts = inputs
    kept = k.sum_dtype(out.dtype)
    high, wide = (k.index(d) for d in data.shape[1:]) if data.ndim == 3 else (_ONE, _ONE)
    blocks = k.index(starts.shape[0]) - _ONE

    def body(ins: Any, outs: Any) -> Stmt:
        dense, values, columns, begins = ins

        def row(m: Any, block: Any, i: Any) -> Stmt:
            n = block * high + i
            at = (n, m) if a.sparse_lhs else (m, n)

            def stretch(low: Any) -> Stmt:
                def part(e: Any) -> Stmt:
                    def add(j: Any) -> Stmt:
                        value = load(values, e, i, j) if data.ndim == 3 else load(values, e)
                        column = k.cast("int64", load(columns, e)) * wide + j
                        product = k.cast(kept, value) * k.cast(kept, load(dense, m, column))
                        return store(outs[0], at, load(outs[0], *at) + product)

                    return loop(wide, add, "j")

                count = k.cast("int64", load(begins, block + _ONE)) - low
                return loop(count, lambda e: part(low + e), "e")

            return both(store(outs[0], at, k.const(0, kept)), let("low", k.cast("int64", load(begins, block)), stretch))

        return loops((x.shape[0], blocks, high), row, "n")

    made = extern(k.dims(out.shape), inputs, body, "sparse_dense", kept)
    return made if kept == out.dtype else k.compute(out.shape, lambda *i: k.cast(out.dtype, made(*i)), "rounded")


def as_dense(data: Any, indices: Any, starts: Any, columns: int) -> Any:
    """The matrix itself."""
    high, wide = data.shape[1:] if data.ndim == 3 else (1, 1)
    found = np.zeros((len(starts) - 1, high, columns // wide, wide), data.dtype)
    blocks = data.reshape(-1, high, wide)
    for row, (low, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist())):
        for e in range(low, end):
            if not (0 <= e < len(blocks) and 0 <= indices[e] < found.shape[2]):
                raise IndexError(f"element {e} of {len(blocks)} is no element of {found.shape[2]} columns")
            found[row, :, indices[e]] += blocks[e]
    return found.reshape(-1, columns) if found.size else np.zeros((len(found) * high, columns), data.dtype)


def reference_dense(inputs: Any, a: SparseDenseAttrs) -> Any:
    """A product with the matrix itself."""
    x, data, indices, starts = inputs
    product = computed_wide(lambda dense, values: dense @ as_dense(values, indices, starts, x.shape[1]).T, x, data)
    return np.ascontiguousarray(product.T) if a.sparse_lhs else product


def infer_add(call: OpCall[NoAttrs]) -> Info:
    """The dense operand's type."""
    x, rows = call.tensor(0), _check_sparse(call, 1, (1,))
    same_dtype(call, (x, call.tensor(1)))
    if x.ndim not in (-1, 2):
        call.fail(f"the dense operand must have rank 2, got {show_shape(x.shape, x.ndim)}")
    if x.shape is not None and rows is not None and DimMath(call.prover).equal(x.shape[0], rows) is False:
        call.fail(f"the dense operand has {x.shape[0]} rows, the sparse one {rows}")
    return x


def compute_add(inputs: Any, a: NoAttrs, out: Any) -> Any:
    """A copy; then the elements that are there are added to theirs."""
    x = inputs[0]

    def body(ins: Any, outs: Any) -> Stmt:
        dense, values, columns, begins = ins

        def row(m: Any) -> Stmt:
            copy = loop(x.shape[1], lambda n: store(outs[0], (m, n), load(dense, m, n)), "n")

            def add(e: Any) -> Stmt:
                at = (m, k.cast("int64", load(columns, e)))
                return store(outs[0], at, load(outs[0], *at) + load(values, e))

            def stretch(low: Any) -> Stmt:
                return loop(k.cast("int64", load(begins, m + _ONE)) - low, lambda e: add(low + e), "e")

            return both(copy, let("low", k.cast("int64", load(begins, m)), stretch))

        return loop(x.shape[0], row, "m")

    return extern(k.dims(out.shape), inputs, body, "sparse_add", out.dtype)


def reference_add(inputs: Any, a: NoAttrs) -> Any:
    """The sum with the matrix itself."""
    x, data, indices, starts = inputs
    return x + as_dense(data, indices, starts, x.shape[1])


def infer_transpose(call: OpCall[NoAttrs]) -> Info:
    """Tensors of the operands' shapes and dtypes."""
    _check_sparse(call, 0, (1,))
    return TupleInfo(tuple(call.tensor(n) for n in range(3)))


def compute_transpose(inputs: Any, a: NoAttrs, out: Any) -> Any:
    """Count the elements of each column, add up, put every element in its place; row by row, so that order stays."""
    data, indices, starts = inputs
    rows = k.index(starts.shape[0]) - _ONE

    def body(ins: Any, outs: Any) -> Stmt:
        values, columns, begins = ins
        moved, places, ends, cursor = outs

        def number(value: Any) -> Any:
            return k.cast("int64", value)

        def count(e: Any) -> Stmt:
            at = [number(load(columns, e)) + _ONE]
            return store(ends, at, load(ends, *at) + k.const(1, starts.dtype))

        def sums(n: Any) -> Stmt:
            total = store(ends, [n + _ONE], load(ends, n + _ONE) + load(ends, n))
            return both(store(cursor, [n], number(load(ends, n))), total)

        def put(m: Any, e: Any) -> Stmt:
            def to(column: Any) -> Stmt:
                place = load(cursor, column)
                return both(
                    store(moved, [place], load(values, e)),
                    store(places, [place], k.cast(indices.dtype, m)),
                    store(cursor, [column], place + _ONE),
                )

            return let("column", number(load(columns, e)), to)

        def row(m: Any) -> Stmt:
            def stretch(low: Any) -> Stmt:
                return loop(number(load(begins, m + _ONE)) - low, lambda e: put(m, low + e), "e")

            return let("low", number(load(begins, m)), stretch)

        def ascend(m: Any) -> Stmt:
            end = number(load(begins, m + _ONE))
            return Evaluate(k.within(number(load(begins, m)), end + _ONE, "a row begins at {0}, the next before {1}"))

        def is_end(n: Any, wanted: Any) -> Stmt:
            end = number(load(begins, n))
            return Evaluate(k.within(end - wanted, _ONE, "rows begin or end at {0}, not where the elements do", end))

        checks = is_end(k.index(0), k.index(0)), is_end(rows, k.index(data.shape[0])), loop(rows, ascend, "a")
        blank = loop(starts.shape[0], lambda n: store(ends, [n], k.const(0, starts.dtype)), "z")
        counted = loop(data.shape[0], count, "c"), loop(rows, sums, "s")
        return both(*checks, blank, *counted, loop(rows, row, "m"))

    shapes = [k.dims(t.shape) for t in (data, indices, starts)] + [k.dims(starts.shape)]
    made = extern(shapes, inputs, body, "sparse_transpose", [data.dtype, indices.dtype, starts.dtype, "int64"])
    return made[:3]


def reference_transpose(inputs: Any, a: NoAttrs) -> Any:
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


def triple(make: Any, matrix: Any) -> list[Any]:
    """The three tensors of a sparse matrix."""
    parts = [matrix.data, matrix.indices, matrix.indptr] if hasattr(matrix, "indptr") else [matrix[n] for n in range(3)]
    return [make.const(p) if isinstance(p, np.ndarray) else p for p in parts]


def relay_dense(make: Any, dense_mat: Any, sparse_mat: Any, sparse_lhs: bool = False) -> Any:
    """The matrix is one argument."""
    return make(dense_mat, *triple(make, sparse_mat), sparse_lhs=sparse_lhs)


def relay_add(make: Any, dense_mat: Any, sparse_mat: Any) -> Any:
    """The matrix is one argument."""
    return make(dense_mat, *triple(make, sparse_mat))


def relay_transpose(make: Any, x: Any) -> Any:
    """The matrix is one argument."""
    return make(*triple(make, x))


def _csr(dtype: str = "float32") -> tuple[Arr, ...]:
    """A 4 x 4 matrix with an empty row."""
    parts = ((0.5, 2.0, -1.0, 3.0, 4.0), (0, 3, 1, 0, 2), (0, 2, 3, 3, 5))
    return Arr((5,), dtype, values=parts[0]), Arr((5,), "int32", values=parts[1]), Arr((5,), "int32", values=parts[2])


def bsr_sample() -> tuple[Arr, ...]:
    """A 4 x 6 matrix of blocks of 2 x 3."""
    return Arr((3, 2, 3)), Arr((3,), "int32", values=(1, 0, 1)), Arr((3,), "int32", values=(0, 1, 3))


_SPARSE = (Input("data", "elements"), Input("indices", "their columns"), Input("indptr", "where rows begin"))
SPARSE_DENSE = OpDef(
    "nn.sparse_dense",
    SparseDenseAttrs,
    inputs=(Input("dense_mat", "(m, k)"), *_SPARSE),
    infer=infer_dense,
    compute=compute_dense,
    reference=reference_dense,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_dense,
    samples=lambda: (
        Sample((Arr(("n", 4)), *_csr()), SparseDenseAttrs(), rtol=1e-4, atol=1e-5),
        Sample((Arr((3, 4)), *_csr()), SparseDenseAttrs(True), rtol=1e-4, atol=1e-5),
        Sample((Arr(("n", 6)), *bsr_sample()), SparseDenseAttrs(), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 4), "float16"), *_csr("float16")), SparseDenseAttrs(), rtol=1e-2, atol=1e-2),
    ),
    summary="x Sᵀ, the product of a dense and a sparse matrix.",
)
SPARSE_ADD = OpDef(
    "nn.sparse_add",
    NoAttrs,
    inputs=(Input("dense_mat", "(m, n)"), *_SPARSE),
    infer=infer_add,
    compute=compute_add,
    reference=reference_add,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_add,
    samples=lambda: (Sample((Arr((4, 4)), *_csr())), Sample((Arr((4, "n"), "float32"), *_csr()), dims={"n": 6})),
    summary="The sum of a dense and a sparse matrix.",
)
SPARSE_TRANSPOSE = OpDef(
    "nn.sparse_transpose",
    NoAttrs,
    inputs=_SPARSE,
    outputs=3,
    infer=infer_transpose,
    compute=compute_transpose,
    reference=reference_transpose,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_transpose,
    samples=lambda: (Sample(_csr()),),
    summary="The transpose of a square sparse matrix.",
)

SPARSE: tuple[OpDef[Any], ...] = (SPARSE_DENSE, SPARSE_ADD, SPARSE_TRANSPOSE)
