"""Making tensors: `placeholder`, `compute`, `extern`, and the axes and variables they range over.

    A = placeholder((n, 128), name="A")
    B = compute((n, 128), lambda i, j: A[i, j] * 2.0, name="B")
    k = reduce_axis((0, 128), name="k")
    C = compute((n,), lambda i: sum(A[i, k], axis=k), name="C")

Sizes given as Python ints make int32 axes, unless the other sizes are int64 expressions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsInt, overload

from baton._src.ir.array import Array
from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.te.tag import chosen_tag
from baton._src.te.tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import IterVar, Reduce, SizeVar, StringImm, Var, literal
from baton._src.tir.stmt import Evaluate, Stmt
from baton._src.values.dtype import INT32, INT64, DataType

Shape = PrimExpr | SupportsInt | Iterable[PrimExpr | SupportsInt]
"""One size, or several."""
Element = PrimExpr | IterVar | Tensor | float
"""A scalar expression, an axis or a tensor without dims that stand for one, or a number."""
Written = Callable[[list[Buffer], list[Buffer]], Stmt | PrimExpr]
"""What writes the output buffers, from input buffers and these."""


def var(name: str = "tindex", dtype: object = "int32", span: Span | None = None) -> Var:
    """A scalar variable."""
    return Var(name, dtype, span)


def size_var(name: str = "size", dtype: object = "int32", span: Span | None = None) -> SizeVar:
    """A scalar variable known to be >= 0."""
    return SizeVar(name, dtype, span)


def dims(shape: Shape) -> tuple[PrimExpr, ...]:
    """Sizes as expressions of one integer dtype: of one, or of a sequence (the shape of a Relax expression is one)."""
    items = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    given = {d.dtype for d in items if isinstance(d, PrimExpr)}
    dtype = INT64 if INT64 in given else INT32
    return Array(operators.cast(dtype, d) if isinstance(d, PrimExpr) else literal(_size(d), dtype) for d in items)


def _size(dim: SupportsInt) -> int:
    try:
        if not isinstance(dim, str) and int(dim) == dim:
            return int(dim)
    except (TypeError, ValueError):
        pass
    raise fail("te-shape", f"a size must be an integer or a scalar expression, got {dim!r}")


def placeholder(shape: Shape, dtype: object = None, name: str = "placeholder") -> Tensor:
    """A tensor that comes from outside (of float32 unless told otherwise)."""
    return PlaceholderOp(name, dims(shape), DataType("float32" if dtype is None else dtype)).output(0)


def reduce_axis(
    dom: Range | Sequence[PrimExpr | int], name: str = "rv", thread_tag: str = "", span: Span | None = None
) -> IterVar:
    """An axis to reduce over: `dom` is (begin, end) or a `Range`."""
    if isinstance(dom, Range):
        return IterVar(dom, Var(name, dom.extent.dtype), "reduce", thread_tag, span)
    ends = dims(dom)
    if len(ends) != 2:
        raise fail("te-axes", f"a reduced axis runs over (begin, end), not {dom!r}", help="te.reduce_axis((0, n))")
    begin, end = ends
    extent = operators.subtract(end, begin)
    return IterVar(Range(begin, extent), Var(name, extent.dtype), "reduce", thread_tag, span)


@overload
def compute(
    shape: Shape,
    fcompute: Callable[..., Element],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor: ...
@overload
def compute(
    shape: Shape,
    fcompute: Callable[..., Sequence[Element]],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> tuple[Tensor, ...]: ...
def compute(
    shape: Shape,
    fcompute: Callable[..., Element | Sequence[Element]],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """The tensor with element `fcompute(i, j, ...)` at (i, j, ...); a tuple of tensors if `fcompute` gives several.

    An element is a scalar expression or one reduction (nothing around it). Axes are named by `fcompute`'s parameters.
    """
    sizes = dims(shape)
    axes = tuple(
        IterVar(Range(literal(0, size.dtype), size), Var(axis_name, size.dtype))
        for axis_name, size in zip(_axis_names(fcompute, len(sizes), name, varargs_names), sizes)
    )
    result = fcompute(*(axis.var for axis in axes))
    body = tuple(_element(e, name) for e in (result if isinstance(result, (tuple, list)) else (result,)))
    _require_one_reduction(body, name)
    first = body[0]
    reduce_axes = first.axis if isinstance(first, Reduce) else ()
    op = ComputeOp(name, axes, reduce_axes, body, chosen_tag(tag), dict(attrs or {}))
    outputs = tuple(Tensor(sizes, e.dtype, op, i) for i, e in enumerate(body))
    return outputs[0] if len(outputs) == 1 else outputs


def _axis_names(fcompute: Callable[..., object], count: int, name: str, varargs: Sequence[str] | None) -> list[str]:
    names: list[str] = []
    for parameter in inspect.signature(fcompute).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = count - len(names)
            names += list(varargs) if varargs is not None else [f"i{len(names) + k}" for k in range(rest)]
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    if len(names) != count:
        raise fail("te-axes", f"{name}: the element function takes {len(names)} indices, the shape has {count} dims")
    return names


def _element(result: Element, name: str) -> PrimExpr:
    if isinstance(result, Tensor):
        if result.ndim:
            raise fail("te-element", f"{name}: the element function gave the tensor {result.name}; index it")
        result = result()
    body = operators.convert(result)
    if isinstance(body, StringImm):
        raise fail("te-element", f"{name}: the element function gave {body}; an element is a number")
    below = body.source if isinstance(body, Reduce) else (body,)
    if any(isinstance(n, Reduce) for n in post_order(below)):
        raise fail("te-reduce", f"{name}: a reduction must be the whole element", help="compute it as a tensor first")
    return body


def _require_one_reduction(body: Sequence[PrimExpr], name: str) -> None:
    """Elements are no reductions, or they are all of the results of one, which are computed together."""
    found = [e for e in body if isinstance(e, Reduce)]
    if not found:
        return
    is_one = all(e.combiner is found[0].combiner for e in found) and len(found) == len(body)
    if not is_one or [e.value_index for e in found] != list(range(len(found[0].source))):
        message = f"{name}: the element function gives elements beside a reduction, or not all results of one in order"
        raise fail("te-reduce", message, help="compute each reduction, and all that is none, as a tensor of its own")


@overload
def extern(
    shape: tuple[PrimExpr | SupportsInt, ...],
    inputs: Sequence[Tensor],
    fcompute: Written,
    name: str = "extern",
    dtype: object = None,
    in_buffers: Sequence[Buffer] | None = None,
    out_buffers: Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Tensor: ...
@overload
def extern(
    shape: Shape | Sequence[Shape],
    inputs: Sequence[Tensor],
    fcompute: Written,
    name: str = "extern",
    dtype: object = None,
    in_buffers: Sequence[Buffer] | None = None,
    out_buffers: Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Tensor | tuple[Tensor, ...]: ...
def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Written,
    name: str = "extern",
    dtype: object = None,
    in_buffers: Sequence[Buffer] | None = None,
    out_buffers: Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Tensors written by hand-made TIR: `fcompute(input buffers, output buffers)` gives the statement (or call).

    `shape` is one shape or a list of shapes, `dtype` one dtype or as many (default: that of the only input). One
    tensor comes back as such, several as a tuple.
    """
    shapes = list(shape) if shape and isinstance(shape[0], (tuple, list)) else [shape]
    outputs = externs(shapes, inputs, fcompute, name, dtype, in_buffers, out_buffers, tag, attrs)
    return outputs[0] if len(outputs) == 1 else outputs


def externs(
    shapes: Sequence[Shape],
    inputs: Sequence[Tensor],
    fcompute: Written,
    name: str = "extern",
    dtype: object = None,
    in_buffers: Sequence[Buffer] | None = None,
    out_buffers: Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> tuple[Tensor, ...]:
    """`extern` for as many tensors as there are shapes, which come back as a tuple."""
    dtypes = _extern_dtypes(dtype, inputs, len(shapes), name)
    ins = list(in_buffers) if in_buffers else [decl_buffer(t.shape, t.dtype, t.name) for t in inputs]
    outs = list(out_buffers or ()) or [
        decl_buffer(dims(s), d, name if len(shapes) == 1 else f"{name}_{i}")
        for i, (s, d) in enumerate(zip(shapes, dtypes))
    ]
    made = fcompute(ins, outs)
    body = Evaluate(made) if isinstance(made, PrimExpr) else made
    if not isinstance(body, Stmt):
        raise fail("te-extern", f"{name}: the function gives a statement or a call, not a {type(made).__name__}")
    op = ExternOp(name, tuple(inputs), tuple(ins), tuple(outs), body, chosen_tag(tag), dict(attrs or {}))
    return tuple(Tensor(b.shape, b.dtype, op, i) for i, b in enumerate(outs))


def _extern_dtypes(dtype: object, inputs: Sequence[Tensor], count: int, name: str) -> list[DataType]:
    if dtype is None:
        known = {t.dtype for t in inputs}
        if len(known) != 1:
            raise fail("te-extern", f"{name}: inputs have dtypes {sorted(known)}; state the dtype of the output")
        return [known.pop()] * count
    given = list(dtype) if isinstance(dtype, (tuple, list)) else [dtype] * count
    if len(given) != count:
        raise fail("te-extern", f"{name}: {count} shapes but {len(given)} dtypes")
    return [DataType(d) for d in given]
