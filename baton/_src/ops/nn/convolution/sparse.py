"""nn.sparse_conv2d: a convolution with a sparse kernel, of 1 x 1 (NHWC or NCHW) or 3 x 3 with a border of one (NHWC).

It is the product of a matrix, whose rows are the windows, with the kernel as a sparse matrix (outputs, inputs) as
nn.sparse_dense takes it. The inputs of a 3 x 3 kernel lie as (row, column, channel), flat. Extents stay. Source: facts
relay-language §6 level 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath
from baton._src.ops.linalg.sparse import SPARSE_DENSE, SparseDenseAttrs, product, reference_dense
from baton._src.ops.linalg.sparse_matrices import Sparse, bsr_sample, triple
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import per_axis
from baton._src.tir.expr import AnyDim
from baton._src.values.tensor import AnyArray


@attrs
class SparseConvAttrs(Attrs):
    """Layout and kernel."""

    layout: str = attr("NHWC", "NHWC or NCHW")
    kernel_size: tuple[int, ...] = attr((1, 1), "1 x 1, or 3 x 3 for NHWC")

    def __post_init__(self) -> None:
        set_attr(self, "kernel_size", per_axis(self.kernel_size, 2, "kernel_size"))


def infer(call: OpCall[SparseConvAttrs]) -> Info:
    """The image with outputs in the place of inputs."""
    x, data, a = call.tensor(0), call.tensor(1), call.attrs
    if (a.layout, a.kernel_size) not in (("NHWC", (1, 1)), ("NCHW", (1, 1)), ("NHWC", (3, 3))):
        call.fail(f"layout {a.layout} with kernel {a.kernel_size}: takes 1 x 1, or 3 x 3 for NHWC", code="op-attribute")
    check_ranks(call, 4)
    dtype = same_dtype(call, (x, data))
    axis = a.layout.index("C")
    columns = AnyDim() if x.shape is None else DimMath(call.prover).multiply(x.shape[axis], math.prod(a.kernel_size))
    rows = TensorInfo((1, columns), x.dtype)
    rest = OpCall(SPARSE_DENSE, (rows, *call.args[1:]), SparseDenseAttrs(), call.prover, (), call.span)
    found = SPARSE_DENSE.infer(rest)
    assert isinstance(found, TensorInfo)
    if x.shape is None or found.shape is None:
        return TensorInfo(None, dtype, 4)
    return TensorInfo(tuple(found.shape[1] if i == axis else d for i, d in enumerate(x.shape)), dtype)


def compute(inputs: Sequence[k.Tensor], a: SparseConvAttrs, out: k.Result) -> k.Tensor:
    """Windows as rows, the product, the result in its layout."""
    x, *sparse = inputs
    at = a.layout.index
    n, height, width, channels = (k.index(x.shape[at(letter)]) for letter in "NHWC")
    rows, columns = a.kernel_size

    def window(row: k.Scalar, entry: k.Scalar) -> k.Scalar:
        i, j = row // k.divisor(width) % k.divisor(height), row % k.divisor(width)
        spots = {"N": row // k.divisor(height * width), "H": i, "W": j, "C": entry}
        if rows == 1:
            return x(*(spots[letter] for letter in a.layout))
        tap, channel = entry // k.divisor(channels), entry % k.divisor(channels)
        y, z = i + tap // k.index(columns) - k.index(1), j + tap % k.index(columns) - k.index(1)
        inside = k.all_of([y >= k.index(0), y < height, z >= k.index(0), z < width])
        return k.if_then_else(inside, x(spots["N"], y, z, channel), k.const(0, x.dtype))

    matrix = k.compute((n * height * width, channels * k.index(rows * columns)), window, "windows")
    outputs = k.index(out.shape[at("C")])
    flat = product(matrix, sparse, (n * height * width, outputs), out.dtype, sparse_lhs=False)

    def body(*i: k.Scalar) -> k.Scalar:
        place = dict(zip(a.layout, i))
        return flat((place["N"] * height + place["H"]) * width + place["W"], place["C"])

    return k.compute(out.shape, body, "sparse_conv2d")


def reference(inputs: Sequence[AnyArray], a: SparseConvAttrs) -> AnyArray:
    """The same product of windows."""
    x, *sparse = inputs
    image = x.transpose([a.layout.index(letter) for letter in "NHWC"])
    n, height, width, _ = image.shape
    border = a.kernel_size[0] // 2
    padded = np.pad(image, ((0, 0), (border, border), (border, border), (0, 0)))
    taps = [padded[:, i : i + height, j : j + width] for i, j in np.ndindex(*a.kernel_size)]
    windows = np.concatenate(taps, axis=-1)
    rows = windows.reshape(n * height * width, windows.shape[-1])
    flat = reference_dense((rows, *sparse), SparseDenseAttrs())
    found = flat.reshape(n, height, width, flat.shape[-1])
    return np.ascontiguousarray(found.transpose(["NHWC".index(letter) for letter in a.layout]))


def relay_builder(
    make: OwnMaker,
    dense_mat: GraphExpr,
    sparse_mat: Sparse,
    layout: str = "NHWC",
    kernel_size: int | Sequence[int] = (1, 1),
) -> GraphExpr:
    """The kernel is one argument."""
    return make(dense_mat, *triple(make, sparse_mat), layout=layout, kernel_size=kernel_size)


SPARSE_CONV2D = OpDef(
    "nn.sparse_conv2d",
    SparseConvAttrs,
    inputs=(Input("dense_mat", "the images"), *SPARSE_DENSE.inputs[1:]),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr(("n", 2, 3, 6)), *bsr_sample()), SparseConvAttrs(), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 6, 3, 2)), *bsr_sample()), SparseConvAttrs("NCHW"), rtol=1e-4, atol=1e-5),
        Sample(
            (
                Arr((1, 3, "k", 2)),
                Arr((4,)),
                Arr((4,), "int32", values=(0, 8, 17, 5)),
                Arr((4,), "int32", values=(0, 2, 3, 4)),
            ),
            SparseConvAttrs(kernel_size=3),
            rtol=1e-4,
            atol=1e-5,
        ),
    ),
    summary="2D convolution with a sparse kernel.",
)
