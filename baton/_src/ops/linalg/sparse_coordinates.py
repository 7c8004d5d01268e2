"""Sparse tensors as lists of coordinates: sparse_reshape and sparse_fill_empty_rows.

    sparse_reshape           indices (count, rank), shapes (rank), (new rank) -> indices (count, new rank), new shape
    sparse_fill_empty_rows   indices (count, rank), values (count), shape (rank), default
                             -> indices, values, whether a row was empty

One element of a new shape may be -1, which becomes what is left. sparse_fill_empty_rows gives every row (index of the
first axis) without elements one, the default at 0, 0, ...; elements come row by row, in a row in the order given. How
many there will be depends on the elements, so NumPy answers when it runs. Source: facts relay-language §6 level 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath
from baton._src.ops.operand_checks import check_integers, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import BOOL
from baton._src.values.tensor import AnyArray

_NO_SLOPE = NotApplicable("Relay does not offer it")
_LONG = "int64"


def _check_rank(call: OpCall[Attrs], shape: TensorInfo) -> None:
    """Indices have a column for each element of the shape."""
    indices = call.tensor(0)
    if indices.shape is None or shape.shape is None:
        return
    columns, rank = indices.shape[1], shape.shape[0]
    if DimMath(call.prover).equal(columns, rank) is False:
        call.fail(f"indices have {columns} columns, the shape has {rank} elements")


def infer_reshape(call: OpCall[NoAttrs]) -> Info:
    """The same number of indices, of the new rank."""
    check_ranks(call, 2, 1, 1)
    check_integers(call, 0, 1, 2)
    indices, old, new = (call.tensor(n) for n in range(3))
    _check_rank(call, old)
    if new.shape == (0,):
        call.fail("new_shape must have elements: a sparse tensor has axes")
    if indices.shape is None or new.shape is None:
        return TupleInfo((TensorInfo(None, indices.dtype, 2), new))
    return TupleInfo((TensorInfo((indices.shape[0], new.shape[0]), indices.dtype), new))


def compute_reshape(inputs: Sequence[k.Tensor], attributes: NoAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """The new shape, which has as many elements; then every index as the number of its element, and back."""
    indices, old, new = inputs
    none, one = k.const(0, _LONG), k.const(1, _LONG)
    wanted = k.compute(new.shape, lambda n: k.cast(_LONG, new(n)), "wanted")
    total = _product("elements", old, old)
    known = _product("known", new, lambda n: k.select(wanted(n) < none, one, wanted(n)))

    def resolved(n: k.Scalar) -> k.Scalar:
        return k.select(wanted(n) < none, total() // k.tir.Max(known(), one), wanted(n))

    shape = k.compute(new.shape, resolved, "new_shape")
    size = _product("new_elements", new, shape)
    before, after = _strides(old, lambda n: k.cast(_LONG, old(n))), _strides(new, shape)
    axis = k.reduce_axis(old.shape[0], "r")

    def number(i: k.Scalar) -> k.Scalar:
        extent = k.cast(_LONG, old(axis.var))
        at = k.within(
            k.cast(_LONG, indices(i, axis.var)), extent, "coordinate {0} is out of range for an extent of {1}"
        )
        return k.reduce_sum(at * before(axis.var), [axis])

    def checked(n: k.Scalar) -> k.Scalar:
        same = k.within(total() - size(), one, "the new shape has {0} elements, not those of the old one", size())
        return k.cast(new.dtype, shape(n) + same)

    flat = k.compute(indices.shape[:1], number, "flat")

    def place(i: k.Scalar, n: k.Scalar) -> k.Scalar:
        return k.cast(indices.dtype, flat(i) // k.tir.Max(after(n), one) % k.tir.Max(shape(n), one))

    places = k.compute((indices.shape[0], new.shape[0]), place, "new_indices")
    return places, k.compute(new.shape, checked, "resolved")


def _product(name: str, sizes: k.Tensor, element: Callable[[k.Scalar], k.Scalar]) -> k.Tensor:
    axis = k.reduce_axis(sizes.shape[0], "r")
    return k.compute((), lambda: k.reduce_product(k.cast(_LONG, element(axis.var)), [axis]), name)


def _strides(sizes: k.Tensor, size: Callable[[k.Scalar], k.Scalar]) -> k.Tensor:
    """The strides of the axes, in elements."""
    axis = k.reduce_axis(sizes.shape[0], "r")

    def body(n: k.Scalar) -> k.Scalar:
        return k.reduce_product(k.select(axis.var > n, size(axis.var), k.const(1, _LONG)), [axis])

    return k.compute(sizes.shape, body, "strides")


def reference_reshape(inputs: Sequence[AnyArray], attributes: NoAttrs) -> tuple[AnyArray, ...]:
    """NumPy's numbers of elements."""
    indices, old, new = (x.astype(np.int64) for x in inputs)
    total = math.prod(old)
    wanted = np.where(new < 0, total // max(math.prod(new[new >= 0]), 1), new)
    if math.prod(wanted) != total:
        raise ValueError(f"{inputs[2]} has other elements than the {total} of {inputs[1]}")
    if (indices < 0).any() or (indices >= old).any():
        raise IndexError(f"coordinates lie outside of a tensor of shape {inputs[1]}")
    flat = indices @ _steps(old)
    places = flat[:, None] // np.maximum(_steps(wanted), 1) % np.maximum(wanted, 1)
    return places.astype(inputs[0].dtype), wanted.astype(inputs[2].dtype)


def _steps(shape: AnyArray) -> AnyArray:
    """The strides of the axes, in elements."""
    return np.array([math.prod(shape[n + 1 :]) for n in range(len(shape))], np.int64)


SPARSE_RESHAPE = OpDef(
    "sparse_reshape",
    inputs=(
        Input("sparse_indices", "(count, rank)"),
        Input("prev_shape", "the shape of the sparse tensor"),
        Input("new_shape", "the shape wanted; one element may be -1"),
    ),
    outputs=2,
    infer=infer_reshape,
    compute=compute_reshape,
    reference=reference_reshape,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (
        Sample(
            (
                Arr((5, 3), "int32", values=((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 2, 3))),
                Arr((3,), "int32", values=(2, 3, 6)),
                Arr((2,), "int32", values=(9, -1)),
            )
        ),
        Sample(
            (
                Arr((2, 2), "int64", values=((0, 5), (3, 2))),
                Arr((2,), "int64", values=(4, 6)),
                Arr((3,), "int64", values=(2, 3, 4)),
            )
        ),
    ),
    summary="Reshape a sparse tensor: new coordinates for its elements.",
)


def infer_fill(call: OpCall[NoAttrs]) -> Info:
    """The number of elements, which depends on the data, is unknown."""
    check_ranks(call, 2, 1, 1, 0)
    check_integers(call, 0, 2)
    indices, values, shape, default = (call.tensor(n) for n in range(4))
    _check_rank(call, shape)
    same_dtype(call, (values, default))
    columns = AnyDim() if indices.shape is None else indices.shape[1]
    count = AnyDim()
    rows, flags = TensorInfo((count, columns), indices.dtype), TensorInfo((AnyDim(),), BOOL)
    return TupleInfo((rows, TensorInfo((count,), values.dtype), flags))


def reference_fill(inputs: Sequence[AnyArray], attributes: NoAttrs) -> tuple[AnyArray, ...]:
    """A stable sort by row of the elements and the ones that are added."""
    indices, values, shape, default = inputs
    is_empty = np.ones(int(shape[0]), bool)
    is_empty[indices[:, 0]] = False
    added = np.zeros((int(is_empty.sum()), indices.shape[1]), indices.dtype)
    added[:, 0] = np.flatnonzero(is_empty)
    every = np.concatenate([indices, added])
    order = np.argsort(every[:, 0], kind="stable")
    filled = np.concatenate([values, np.full(len(added), default, values.dtype)])
    return every[order], filled[order], is_empty


SPARSE_FILL_EMPTY_ROWS = OpDef(
    "sparse_fill_empty_rows",
    inputs=(
        Input("sparse_indices", "(count, rank)"),
        Input("sparse_values", "(count)"),
        Input("dense_shape", "the shape of the sparse tensor"),
        Input("default_value", "a scalar, for rows without elements"),
    ),
    outputs=3,
    infer=infer_fill,
    compute=NotApplicable("the shape of the result depends on the elements"),
    reference=reference_fill,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    samples=lambda: (),
    summary="Add a default element to every empty row of a sparse tensor.",
)

SPARSE_COORDINATES: tuple[Definition, ...] = (SPARSE_RESHAPE, SPARSE_FILL_EMPTY_ROWS)
