"""meshgrid (coordinate matrices of vectors) and sparse_to_dense (values at coordinates, a default elsewhere).

Source: facts relax-ops-passes-vm §1 (manipulate), relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Literal

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype, same_vdevice
from baton._src.ops.dims import DimMath, as_dims, show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.operand_checks import check_scalar
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.joining import tensors_of
from baton._src.ops.shape.targets import as_shape, is_computed, target_numbers
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import fail
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class MeshgridAttrs(Attrs):
    """The order of the first two axes."""

    indexing: str = attr("ij", '"ij": axis i belongs to vector i; "xy": the first two swapped')


def _order(count: int, indexing: str) -> list[int]:
    """The axis of each vector."""
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    return axes


def infer_meshgrid(call: OpCall[MeshgridAttrs]) -> Info:
    """As many matrices as vectors, all of one shape."""
    vectors = tensors_of(call)
    if call.attrs.indexing not in ("ij", "xy"):
        call.fail(f'indexing must be "ij" or "xy", got {call.attrs.indexing!r}', code="op-attribute")
    for v in vectors:
        if v.ndim > 1:
            call.fail(f"takes vectors, got {show_shape(v.shape, v.ndim)}")
    dtype = same_dtype(call, vectors)
    shape: list[Dim] | None = [1] * len(vectors)
    for v, axis in zip(vectors, _order(len(vectors), call.attrs.indexing)):
        if v.shape is None or shape is None:
            shape = None
        else:
            shape[axis] = v.shape[0] if v.shape else 1
    each = TensorInfo(None if shape is None else tuple(shape), dtype, len(vectors), same_vdevice(call, vectors))
    return TupleInfo((each,) * len(vectors))


def compute_meshgrid(inputs: tuple[tuple[k.Tensor, ...]], a: MeshgridAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
    """Every vector along its axis."""
    vectors = list(inputs[0])
    axes = _order(len(vectors), a.indexing)
    return tuple(_spread(v, axis, f.shape, n) for n, (v, axis, f) in enumerate(zip(vectors, axes, out.fields)))


def _spread(vector: k.Tensor, axis: int, shape: Sequence[Dim], number: int) -> k.Tensor:
    return k.compute(shape, lambda *i: vector(i[axis]) if vector.ndim else vector(), f"meshgrid_{number}")


def reference_meshgrid(inputs: tuple[tuple[AnyArray, ...]], a: MeshgridAttrs) -> tuple[AnyArray, ...]:
    """`numpy.meshgrid`."""
    indexing: Literal["ij", "xy"] = "ij" if a.indexing == "ij" else "xy"
    return tuple(np.ascontiguousarray(x) for x in np.meshgrid(*inputs[0], indexing=indexing))


def gradient_meshgrid(b: CallMaker, args: Exprs, a: MeshgridAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Sums over all axes but a vector's own; of a scalar, over all."""
    fields = args[0].struct_info.fields
    axes = _order(len(fields), a.indexing)

    def total(n: int, own: int | None) -> GraphExpr:
        others = tuple(axis for axis in axes if axis != own)
        return b.op("sum", b.item(grad, n), axis=others) if others else b.item(grad, n)

    return [b.tuple(*(total(n, axis if field.ndim else None) for n, (axis, field) in enumerate(zip(axes, fields))))]


def relay_meshgrid(make: OpBuilder, data: Given, indexing: str = "ij") -> Made:
    """One result a vector."""
    if not isinstance(data, Sized):
        message = f"meshgrid takes a list of vectors, got {type(data).__name__}: {data!r}"
        raise fail("op-argument", message, kind=TypeError)
    found = make(data, indexing=indexing)
    assert isinstance(found, relay.Expr)
    return TupleWrapper(found, len(data))


MESHGRID = OpDef(
    "meshgrid",
    MeshgridAttrs,
    inputs=(Input("tensors", "vectors", kind="tensors", relay_name="data"),),
    infer=infer_meshgrid,
    compute=compute_meshgrid,
    reference=reference_meshgrid,
    gradient=gradient_meshgrid,
    fusion=Fusion.INJECTIVE,
    relay_builder=relay_meshgrid,
    samples=lambda: (
        Sample(((Arr(("n",)), Arr((4,))),), MeshgridAttrs()),
        Sample(((Arr((2,)), Arr(("m",)), Arr((3,))),), MeshgridAttrs(indexing="xy")),
    ),
    summary="Coordinate grids from vectors.",
)


@attrs
class SparseToDenseAttrs(Attrs):
    """The shape of the result."""

    output_shape: tuple[Dim, ...] = attr(doc="the shape of the result")

    def __post_init__(self) -> None:
        set_attr(self, "output_shape", as_dims(as_shape(self.output_shape) or ()))


def infer_sparse(call: OpCall[SparseToDenseAttrs]) -> Info:
    """The output shape; the dtype of the values."""
    at, values = call.tensor(0), call.tensor(1)
    if at.ndim > 2:
        call.fail(f"indices must have rank 0, 1 or 2, got {show_shape(at.shape, at.ndim)}")
    if values.ndim > 1:
        call.fail(f"values must be a scalar or a vector, got {show_shape(values.shape, values.ndim)}")
    if len(call.args) > 2:
        check_scalar(call, 2)
    if at.shape is not None:
        _check_places(call, at.shape, values.shape)
    return TensorInfo(call.attrs.output_shape, values.dtype)


def _check_places(call: OpCall[SparseToDenseAttrs], at: tuple[Dim, ...], values: tuple[Dim, ...] | None) -> None:
    """A coordinate for each axis of the result, and a place for each value."""
    math, rank = DimMath(call.prover), len(call.attrs.output_shape)
    if math.equal(at[1] if len(at) == 2 else 1, rank) is False:
        call.fail(f"indices {show_shape(at)} have no coordinates of the {rank} axes of {call.attrs.output_shape}")
    if values and (not at or math.equal(at[0], values[0]) is False):
        call.fail(f"{values[0]} values for indices {show_shape(at)}", help="a scalar goes to every place")


def compute_sparse(inputs: Sequence[k.Tensor], a: SparseToDenseAttrs, out: k.Result) -> k.Tensor:
    """The default, in the dtype of the values, everywhere; then value after value."""
    at, values = inputs[:2]
    default = inputs[2] if len(inputs) > 2 else None
    rank = len(out.shape)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        places, new = ins[0], ins[1]
        fill = k.const(0, out.dtype) if default is None else k.cast(out.dtype, load(ins[2]))

        def write(*i: k.Scalar) -> Stmt:
            if at.ndim == 2:
                where = [k.index(load(places, *i, k.index(c))) for c in range(rank)]
            else:
                where = [k.index(load(places, *i))]
            return store(outs[0], where, load(new, *i) if values.ndim else load(new))

        blank = loops(out.shape, lambda *i: store(outs[0], i, fill))
        return both(blank, loops(at.shape[:1], write, "v"))

    operands = [x for x in (at, values, default) if x is not None]
    return extern(k.dims(out.shape), operands, body, "sparse_to_dense", out.dtype)


def reference_sparse(inputs: Sequence[AnyArray], a: SparseToDenseAttrs) -> AnyArray:
    """Assignment by coordinates."""
    at, values = inputs[:2]
    default = inputs[2] if len(inputs) > 2 else 0
    found = np.full(target_numbers((), 0, a.output_shape), convert(default, DataType(values.dtype)))
    rows = at.reshape(-1, 1) if at.ndim < 2 else at
    for number, row in enumerate(rows):
        found[tuple(int(c) for c in row)] = values[number] if values.ndim else values
    return found


def relay_sparse(
    make: OpBuilder, sparse_indices: Given, output_shape: Given, sparse_values: Given, default_value: Given = 0
) -> Made:
    """The shape comes second; one that is computed makes it `dyn.sparse_to_dense`."""
    operands = (sparse_indices, sparse_values, default_value)
    if is_computed(output_shape):
        return make.op("dyn.sparse_to_dense", *operands, output_shape)
    return make(*operands, output_shape=output_shape)


SPARSE_TO_DENSE = OpDef(
    "sparse_to_dense",
    SparseToDenseAttrs,
    inputs=(Input("sparse_indices"), Input("sparse_values"), Input("default_value", "a scalar; 0", optional=True)),
    infer=infer_sparse,
    compute=compute_sparse,
    reference=reference_sparse,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    relay_builder=relay_sparse,
    samples=lambda: (
        Sample((Arr(("n", 2), "int32", 0, 3), Arr(("n",)), Arr(())), SparseToDenseAttrs((3, 4))),
        Sample((Arr((2,), "int64", 0, 4), Arr(()), Arr(())), SparseToDenseAttrs((4,))),
        Sample((Arr((), "int64", 0, 4), Arr((), "int32")), SparseToDenseAttrs((4,))),
        Sample((Arr((2,), "int32", 0, 4), Arr(()), Arr((), "int32")), SparseToDenseAttrs((4,))),
    ),
    summary="A dense tensor with values at given coordinates and a default elsewhere.",
)

GRIDS: tuple[Definition, ...] = (MESHGRID, SPARSE_TO_DENSE)
