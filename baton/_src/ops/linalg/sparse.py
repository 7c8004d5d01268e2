"""Products and sums with sparse matrices (`sparse_matrices`): nn.sparse_dense, nn.sparse_add.

    sparse_dense      x (m, k), S (n, k) -> x Sᵀ (m, n); sparse_lhs: S xᵀ (n, m)
    sparse_add        x + S, both (m, n); CSR

The builders take a triple, or an object with `data`, `indices` and `indptr` (SciPy's matrices).
Source: facts relay-language §6 levels 1 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, as_dim
from baton._src.ops.linalg.sparse_matrices import SPARSE_INPUTS, Sparse, bsr_sample, check_sparse, csr_sample, triple
from baton._src.ops.linalg.sparse_product import SparseProduct
from baton._src.ops.loop_nests import both, let, load, loop, store
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

_NO_SLOPE = NotApplicable("Relay does not offer it")
_ONE = k.index(1)
_SIDE_BY_SIDE = 8
"""From this many rows of the dense operand on, they are lanes of vectors."""


@attrs
class SparseDenseAttrs(Attrs):
    """Which operand is sparse."""

    sparse_lhs: bool = attr(False, "the sparse matrix is the left operand")


def infer_dense(call: OpCall[SparseDenseAttrs]) -> Info:
    """Rows by rows."""
    x, data = call.tensor(0), call.tensor(1)
    dtype, rows = same_dtype(call, (x, data)), check_sparse(call, 1)
    check_ranks(call, 2)
    if x.shape is None or rows is None or data.ndim == -1 or (data.ndim == 3 and data.shape is None):
        return TensorInfo(None, dtype, 2)
    if data.ndim == 3 and data.shape is not None:
        math = DimMath(call.prover)
        rows, columns, wide = math.multiply(rows, data.shape[1]), x.shape[1], data.shape[2]
        if math.divides(wide, columns) is False:
            call.fail(f"{columns} columns of the dense operand are no multiple of blocks of {wide}")
    return TensorInfo((rows, x.shape[0]) if call.attrs.sparse_lhs else (x.shape[0], rows), dtype)


def compute_dense(inputs: Sequence[k.Tensor], a: SparseDenseAttrs, out: k.Result) -> k.Tensor:
    """S xᵀ or x Sᵀ."""
    x, *sparse = inputs
    return product(x, sparse, out.shape, out.dtype, a.sparse_lhs)


def product(
    x: k.Tensor, sparse: Sequence[k.Tensor], shape: Sequence[Dim], dtype: DataType, sparse_lhs: bool
) -> k.Tensor:
    """S xᵀ (`SparseProduct`), for which rows of x lie side by side in a transposed copy unless they are few; of
    `shape`, or transposed, unless S is the left operand.
    """
    kept, order = k.sum_dtype(dtype), slice(None) if sparse_lhs else slice(None, None, -1)
    rows = as_dim(x.shape[0])
    few = isinstance(rows, int) and rows < _SIDE_BY_SIDE
    columns = [x] if few else [k.compute((x.shape[1], x.shape[0]), lambda i, j: x(j, i), "columns")]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        dense, values, places, begins = ins
        return SparseProduct(dense, values, places, begins, outs[0], few).loops()

    made = extern(k.dims(shape[order]), (*columns, *sparse), body, "sparse_dense", kept)
    if sparse_lhs and kept == dtype:
        return made
    return k.compute(shape, lambda *i: k.cast(dtype, made(*i[order])), "rounded")


def as_dense(data: AnyArray, indices: AnyArray, starts: AnyArray, columns: int) -> AnyArray:
    """The matrix itself."""
    high, wide = data.shape[1:] if data.ndim == 3 else (1, 1)
    found = np.zeros((len(starts) - 1, high, columns // wide, wide), data.dtype)
    blocks = data.reshape(len(data), high, wide)
    for row, (low, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist())):
        for e in range(low, end):
            if not (0 <= e < len(blocks) and 0 <= indices[e] < found.shape[2]):
                raise IndexError(f"element {e} of {len(blocks)} is no element of {found.shape[2]} columns")
            found[row, :, indices[e]] += blocks[e]
    return found.reshape(-1, columns) if found.size else np.zeros((len(found) * high, columns), data.dtype)


def reference_dense(inputs: Sequence[AnyArray], a: SparseDenseAttrs) -> AnyArray:
    """A product with the matrix itself."""
    x, data, indices, starts = inputs
    found = computed_wide(lambda dense, values: dense @ as_dense(values, indices, starts, x.shape[1]).T, x, data)
    return np.ascontiguousarray(found.T) if a.sparse_lhs else found


def infer_add(call: OpCall[NoAttrs]) -> Info:
    """The dense operand's type."""
    x, rows = call.tensor(0), check_sparse(call, 1, (1,))
    same_dtype(call, (x, call.tensor(1)))
    check_ranks(call, 2)
    if x.shape is not None and rows is not None and DimMath(call.prover).equal(x.shape[0], rows) is False:
        call.fail(f"the dense operand has {x.shape[0]} rows, the sparse one {rows}")
    return x


def compute_add(inputs: Sequence[k.Tensor], a: NoAttrs, out: k.Result) -> k.Tensor:
    """A copy; then the elements that are there are added to theirs."""
    x = inputs[0]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        dense, values, columns, begins = ins

        def row(m: k.Scalar) -> Stmt:
            copy = loop(x.shape[1], lambda n: store(outs[0], (m, n), load(dense, m, n)), "n")

            def add(e: k.Scalar) -> Stmt:
                at = (m, k.cast("int64", load(columns, e)))
                return store(outs[0], at, load(outs[0], *at) + load(values, e))

            def stretch(low: k.Scalar) -> Stmt:
                return loop(k.cast("int64", load(begins, m + _ONE)) - low, lambda e: add(low + e), "e")

            return both(copy, let("low", k.cast("int64", load(begins, m)), stretch))

        return loop(x.shape[0], row, "m")

    return extern(k.dims(out.shape), inputs, body, "sparse_add", out.dtype)


def reference_add(inputs: Sequence[AnyArray], a: NoAttrs) -> AnyArray:
    """The sum with the matrix itself."""
    x, data, indices, starts = inputs
    found: AnyArray = x + as_dense(data, indices, starts, x.shape[1])
    return found


def relay_dense(make: OwnMaker, dense_mat: GraphExpr, sparse_mat: Sparse, sparse_lhs: bool = False) -> GraphExpr:
    """The matrix is one argument."""
    return make(dense_mat, *triple(make, sparse_mat), sparse_lhs=sparse_lhs)


def relay_add(make: OwnMaker, dense_mat: GraphExpr, sparse_mat: Sparse) -> GraphExpr:
    """The matrix is one argument."""
    return make(dense_mat, *triple(make, sparse_mat))


SPARSE_DENSE = OpDef(
    "nn.sparse_dense",
    SparseDenseAttrs,
    inputs=(Input("dense_mat", "(m, k)"), *SPARSE_INPUTS),
    infer=infer_dense,
    compute=compute_dense,
    reference=reference_dense,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_dense,
    samples=lambda: (
        Sample((Arr(("n", 4)), *csr_sample()), SparseDenseAttrs(), rtol=1e-4, atol=1e-5),
        Sample((Arr((3, 4)), *csr_sample()), SparseDenseAttrs(True), rtol=1e-4, atol=1e-5),
        Sample((Arr(("n", 6)), *bsr_sample()), SparseDenseAttrs(), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 4), "float16"), *csr_sample("float16")), SparseDenseAttrs(), rtol=1e-2, atol=1e-2),
    ),
    summary="x Sᵀ, the product of a dense and a sparse matrix.",
)
SPARSE_ADD = OpDef(
    "nn.sparse_add",
    NoAttrs,
    inputs=(Input("dense_mat", "(m, n)"), *SPARSE_INPUTS),
    infer=infer_add,
    compute=compute_add,
    reference=reference_add,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_add,
    samples=lambda: (
        Sample((Arr((4, 4)), *csr_sample())),
        Sample((Arr((4, "n"), "float32"), *csr_sample()), dims={"n": 6}),
    ),
    summary="The sum of a dense and a sparse matrix.",
)

SPARSE: tuple[Definition, ...] = (SPARSE_DENSE, SPARSE_ADD)
