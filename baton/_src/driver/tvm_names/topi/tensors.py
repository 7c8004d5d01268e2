"""`tvm.topi` where its names or the order of its arguments are its own: shapes, sorting, sums, parts of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, number_of, shape_of
from baton._src.ir.expr import PrimExpr
from baton._src.ops.shape.slicing import end_of_size
from baton._src.ops.shape.triangles import alignment, bands
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute, reduce_axis
from baton._src.te.reduction import sum as te_sum
from baton._src.te.tensor import Tensor
from baton._src.tir.expr import literal
from baton._src.tir.operators import cast
from baton._src.values.dtype import DataType


def identity(x: Tensor) -> Any:
    """x itself."""
    return call("copy", x)


def clip(x: Tensor, a_min: float, a_max: float) -> Any:
    """Bounded."""
    return call("clip", x, a_min, a_max)


def ceil_log2(x: Tensor) -> Any:
    """The logarithm to base 2, rounded up; of integers as integers."""
    if x.dtype.is_float:
        return call("ceil", call("log2", x))
    return call("astype", call("ceil", call("log2", call("astype", x, dtype="float64"))), dtype=x.dtype)


def elemwise_sum(xs: Any) -> Any:
    """The sum of tensors of one shape."""
    found, *rest = xs
    for x in rest:
        found = call("add", found, x)
    return found


def full(shape: Any, dtype: Any, fill_value: Any) -> Any:
    """A tensor of one number."""
    number = _literal(fill_value, DataType(dtype))
    return compute(tuple(shape), lambda *i: number, "T_full", varargs_names=[f"ax{n}" for n in range(len(shape))])


def _literal(number: Any, dtype: DataType) -> Any:
    """A number, or an expression, as a scalar of a dtype."""
    if isinstance(number, PrimExpr):
        return cast(dtype, number)
    return literal(float(number) if dtype.is_float else int(number), dtype)


def full_like(x: Tensor, fill_value: Any) -> Any:
    """A tensor of x's shape and dtype filled with one number."""
    return full(x.shape, x.dtype, fill_value)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "float32") -> Any:
    """Numbers in even steps."""
    begin, end = (0, start) if stop is None else (start, stop)
    return call("arange", begin, end, step, dtype=dtype)


def expand_dims(a: Tensor, axis: int, num_newaxis: int = 1) -> Any:
    """Axes of extent 1."""
    first = axis if axis >= 0 else axis + a.ndim + 1
    return call("expand_dims", a, axis=tuple(range(first, first + num_newaxis)))


def expand_like(a: Tensor, shape_like: Tensor, axis: Any) -> Any:
    """Repeated along new axes, which get the extents of another tensor's."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = shape_like.ndim
    added = {int(n) % rank for n in given}
    if len(added) + a.ndim != rank:
        raise fail("topi", f"a tensor of {a.ndim} axes and {len(added)} new ones has no shape of {rank} axes")
    return compute(shape_like.shape, lambda *i: a(*(v for n, v in enumerate(i) if n not in added)), "expand_like")


def matrix_set_diag(data: Tensor, diagonal: Tensor, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Diagonals k (or k[0] to k[1]) replaced; `align` says where shorter ones start, upper and lower."""
    return call("matrix_set_diag", data, diagonal, **bands(k), **alignment(align))


def adv_index(data: Tensor, indices: Any) -> Any:
    """Elements at several tensors of indices, one an axis, broadcast to one shape."""
    return call("adv_index", (data, *indices))


def transpose(a: Tensor, axes: Any = None) -> Any:
    """Axes in another order; reversed if none is given."""
    return call("permute_dims", a, axes=None if axes is None else tuple(int(n) for n in axes))


def reshape(a: Tensor, newshape: Any) -> Any:
    """The same elements in another shape."""
    return call("reshape", a, tuple(newshape) if isinstance(newshape, (tuple, list)) else (newshape,))


def squeeze(a: Tensor, axis: Any = None) -> Any:
    """Without these axes, or all that are of extent 1: those of open extents stay."""
    if axis is None:
        axis = [n for n, dim in enumerate(shape_of(a)) if isinstance(dim, int) and dim == 1]
    return call("squeeze", a, axis=(axis,) if isinstance(axis, int) else axis)


def concatenate(a_tuple: Any, axis: int = 0) -> Any:
    """Joined along an axis."""
    return call("concat", tuple(a_tuple), axis=axis)


def stack(tensors: Any, axis: int = 0) -> Any:
    """Joined along a new axis."""
    return call("stack", tuple(tensors), axis=axis)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts along an axis."""
    return list(call("split", ary, indices_or_sections=indices_or_sections, axis=axis))


def strided_slice(
    a: Tensor,
    begin: Any,
    end: Any,
    strides: Any = None,
    axes: Any = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Any:
    """A part of a tensor, from numbers or expressions on; `assume_inbound` makes no difference, bounds are cut to the
    tensor's.
    """
    if any(isinstance(bound, Tensor) for bound in (begin, end, strides)):
        why = "strided_slice: the size of its result depends on the elements of its bounds, which no kernel can write"
        raise fail("topi", why, help="call it in Relay or Relax, or give the bounds as numbers")
    begins, ends = (tuple(v if isinstance(v, PrimExpr) else int(v) for v in given) for given in (begin, end))
    steps = tuple(int(v) for v in strides) if strides else (1,) * len(begins)
    steps += (1,) * (len(begins) - len(steps))
    places = tuple(range(len(begins))) if axes is None else tuple(int(v) for v in axes)
    if slice_mode == "size":
        after = map(end_of_size, begins, map(number_of, ends))
        ends = tuple(shape_of(a)[axis] if end is None else end for axis, end in zip(places, after))
        steps = (1,) * len(begins)
    return call("strided_slice", a, places, begins, ends, steps)


def take(a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Any:
    """Elements, or slices along an axis, at indices; the first `batch_dims` axes are those of both."""
    return call("take", a, indices, axis=axis, batch_dims=batch_dims, mode=mode)


def gather(data: Tensor, axis: int, indices: Tensor) -> Any:
    """An index for each element."""
    return call("gather_elements", data, indices, axis=axis)


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Any:
    """Slices at coordinates, which are along the first axis of the indices."""
    return call("relay_gather_nd", a, indices, batch_dims=batch_dims)


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Any:
    """Slices written at coordinates, which are along the first axis of the indices."""
    return call("relay_scatter_nd", data, indices, updates, reduction=mode)


def matmul(a: Tensor, b: Tensor, transp_a: bool = False, transp_b: bool = False) -> Any:
    """A product of matrices."""
    return call("nn.matmul", a, b, transpose_a=transp_a, transpose_b=transp_b, out_dtype=a.dtype)


def tensordot(a: Tensor, b: Tensor, axes: Any) -> Any:
    """A sum of products over the last axes of a and the first of b, or over given axes of each."""
    left, right = (range(a.ndim - axes, a.ndim), range(axes)) if isinstance(axes, int) else axes
    pairs = [tuple(v) if isinstance(v, (tuple, list, range)) else (v,) for v in (left, right)]
    summed = [[axis % t.ndim for axis in pair] for t, pair in zip((a, b), pairs)]
    kept = [[i for i in range(t.ndim) if i not in pair] for t, pair in zip((a, b), summed)]
    over = [reduce_axis((0, a.shape[axis]), f"k{n}") for n, axis in enumerate(summed[0])]

    def body(*i: Any) -> Any:
        found = []
        for tensor, own, pair, offset in zip((a, b), kept, summed, (0, len(kept[0]))):
            places = {axis: i[offset + n] for n, axis in enumerate(own)}
            places |= {axis: over[n].var for n, axis in enumerate(pair)}
            found.append(tensor(*(places[axis] for axis in range(tensor.ndim))))
        return te_sum(found[0] * found[1], over)

    return compute((*(a.shape[n] for n in kept[0]), *(b.shape[n] for n in kept[1])), body, "tensordot")


def einsum(subscripts: str, *operand: Tensor) -> Any:
    """Sums of products, as NumPy writes them."""
    return call("einsum", tuple(operand), equation=subscripts)


def meshgrid(a_tuple: Any, indexing: str) -> list[Any]:
    """The coordinates of a grid."""
    return list(call("meshgrid", tuple(a_tuple), indexing=indexing))


def layout_transform(array: Tensor, src_layout: str, dst_layout: str, schedule_rule: str = "None") -> Any:
    """The same tensor in another layout."""
    return call("relay_layout_transform", array, src_layout=src_layout, dst_layout=dst_layout)


def shape(array: Tensor, dtype: Any = "int32") -> Any:
    """A tensor's extents as a tensor."""
    return call("shape_tensor", array, dtype=dtype)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Any:
    """x where the condition (not zero) holds, y elsewhere."""
    is_bool = condition.dtype.is_bool
    return call("where", condition if is_bool else call("astype", condition, dtype="bool"), x, y)


def one_hot(indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: Any) -> Any:
    """A row of off_value with on_value at the index."""
    kind = DataType(dtype)
    values = (_literal(v, kind) for v in (on_value, off_value))
    return call("one_hot", indices, *values, depth=depth, axis=axis, dtype=kind)


def sparse_to_dense(sparse_indices: Tensor, output_shape: Any, sparse_values: Tensor, default_value: Any = 0) -> Any:
    """Values at indices, a number elsewhere."""
    default = default_value if isinstance(default_value, Tensor) else full((), sparse_values.dtype, default_value)
    return call("sparse_to_dense", sparse_indices, sparse_values, default, output_shape=tuple(output_shape))


def argmax(data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> Any:
    """The index of the greatest element (int32)."""
    options = {"axis": axis, "keepdims": keepdims, "select_last_index": select_last_index}
    return call("argmax_int32", data, **options)


def argmin(data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False) -> Any:
    """The index of the least element (int32)."""
    options = {"axis": axis, "keepdims": keepdims, "select_last_index": select_last_index}
    return call("argmin_int32", data, **options)


def collapse_sum(data: Tensor, target_shape: Any) -> Any:
    """Summed over what broadcasting would have added."""
    return call("collapse_sum_to", data, tuple(target_shape))


def sort(data: Tensor, axis: int = -1, is_ascend: Any = 1) -> Any:
    """In order along an axis."""
    return call("sort", data, axis=axis, descending=not is_ascend)


def argsort(
    data: Tensor, valid_count: Tensor | None = None, axis: int = -1, is_ascend: Any = 1, dtype: Any = "float32"
) -> Any:
    """The indices that sort the elements."""
    if valid_count is not None:
        raise fail("topi", "argsort with valid_count is not supported", help="set the elements behind to the extreme")
    return call("argsort", data, axis=axis, descending=not is_ascend, dtype=dtype)


def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: Any = "int64"
) -> Any:
    """The k greatest (least) elements, and where they are."""
    found = call("topk", data, k=k, axis=axis, ret_type=ret_type, largest=not is_ascend, dtype=dtype)
    return list(found) if isinstance(found, tuple) else found


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: Any = "int64") -> Any:
    """The insertion positions of values in a sorted sequence."""
    return call("searchsorted", sorted_sequence, values, right=right, dtype=out_dtype)


def dft(re_data: Tensor, im_data: Tensor, inverse: Any) -> list[Any]:
    """[real, imaginary] parts of the Fourier transform."""
    return list(call("dft", re_data, im_data, inverse=bool(inverse)))


def stft(
    data: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Tensor,
    normalized: bool,
    onesided: bool,
    output_shape: Any = None,
) -> Any:
    """Fourier transforms of windows that slide over a signal; the shape is known from the operands."""
    options = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length}
    return call("stft", data, window, normalized=bool(normalized), onesided=bool(onesided), **options)


_WRITTEN: tuple[Callable[..., Any], ...] = (
    *(identity, clip, ceil_log2, elemwise_sum, full, full_like, arange, expand_dims, expand_like, transpose),
    *(matrix_set_diag, adv_index, reshape, squeeze),
    *(concatenate, stack, split, strided_slice, take, gather, gather_nd, scatter_nd, matmul, tensordot, einsum),
    *(meshgrid, layout_transform, shape, where, one_hot, sparse_to_dense, argmax, argmin, collapse_sum, sort),
    *(argsort, topk, searchsorted, dft, stft),
)
TENSORS: Mapping[str, Callable[..., Any]] = {function.__name__: function for function in _WRITTEN}
"""Functions of topi by their names."""
