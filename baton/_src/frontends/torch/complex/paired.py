"""What operators mean for pairs: `COMPLEX` are operators of complex tensors only, `PAIRED` what others do with them."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.factors import FACTORS
from baton._src.frontends.torch.complex.pair import Pair, Part, pair_of
from baton._src.frontends.torch.complex.running_products import RUNNING_PRODUCTS, product, times
from baton._src.frontends.torch.layers.nn import NN
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.bits import read_as
from baton._src.frontends.torch.operators.creation import CREATION
from baton._src.frontends.torch.operators.elementwise import ELEMENTWISE
from baton._src.frontends.torch.operators.indexing import INDEXING
from baton._src.frontends.torch.operators.matrix import matmul
from baton._src.frontends.torch.operators.padding import constant_pad
from baton._src.frontends.torch.operators.reduction import REDUCTION
from baton._src.frontends.torch.operators.shape import SHAPE
from baton._src.frontends.torch.operators.special import atan2, hypotenuse
from baton._src.frontends.torch.operators.writing import WRITING
from baton._src.values.dtype import DataType


def as_real(node: AtenNode, x: Pair) -> Value:
    """`view_as_real`: the parts as a last axis."""
    return node.graph.call("stack", (x.real, x.imag), axis=x.real.rank)


def as_complex(node: AtenNode, x: Value) -> Pair:
    """`view_as_complex`: the last axis, of two, as parts."""
    g = node.graph
    return Pair(*(g.call("take", x, g.constant(k, "int64"), axis=x.rank - 1) for k in (0, 1)))


def bits_as(node: AtenNode, x: Pair | Value, dtype: DataType) -> Pair | Value:
    """`view(dtype)`: the parts of a number are beside one another."""
    g = node.graph
    if isinstance(x, Pair):
        *outer, last = node.sizes(x.real)
        x = g.reshape(as_real(node, x), (*outer, last * 2))
    found = read_as(node, x, dtype)
    if not isinstance(node.results[0], Part):
        return found
    *outer, last = node.sizes(found)
    return as_complex(node, g.reshape(found, (*outer, last // 2, 2)))


def joined(node: AtenNode, real: Value, imag: Value) -> Pair:
    shape = node.common_shape(real, imag)
    return Pair(node.graph.broadcast_to(real, shape), node.graph.broadcast_to(imag, shape))


def polar(node: AtenNode, size: Value, angle: Value) -> Pair:
    g = node.graph
    return Pair(*(g.call("multiply", size, g.call(op, angle)) for op in ("cos", "sin")))


def conjugate(node: AtenNode, x: Pair | Value | complex) -> Pair | Value:
    if isinstance(x, complex):  # a factor, in the gradient of a product
        x = pair_of(node, x)
    return Pair(x.real, node.graph.call("negative", x.imag)) if isinstance(x, Pair) else x


def real_part(node: AtenNode, x: Pair | Value) -> Value:
    return x.real if isinstance(x, Pair) else x


def imaginary_part(node: AtenNode, x: Pair) -> Value:
    return x.imag


def size(node: AtenNode, x: Pair) -> Value:
    return hypotenuse(node, x.real, x.imag)


def angle(node: AtenNode, x: Pair) -> Value:
    return atan2(node, x.imag, x.real)


def quotient(node: AtenNode, x: Any, y: Any) -> Pair:
    """By a real number part by part; by a complex one scaled by its larger part, so that nothing overflows.

    By zero both parts are divided by it, as in PyTorch.
    """
    g, a, b = node.graph, pair_of(node, x), pair_of(node, y)
    if not isinstance(y, (Pair, complex)):
        return Pair(*(g.call("divide", part, b.real) for part in (a.real, a.imag)))
    scale = g.call("maximum", *(g.call("abs", part) for part in (b.real, b.imag)))
    c, d = (g.call("divide", part, scale) for part in (b.real, b.imag))
    below = g.call("multiply", scale, g.call("add", times(node, c, c), times(node, d, d)))
    real = g.call("add", times(node, a.real, c), times(node, a.imag, d))
    imag = g.call("subtract", times(node, a.imag, c), times(node, a.real, d))
    by_zero = g.call("equal", scale, g.scalar(0, scale))
    parts = ((real, a.real), (imag, a.imag))
    return Pair(*(g.call("where", by_zero, g.call("divide", p, scale), g.call("divide", f, below)) for f, p in parts))


def padded(node: AtenNode, x: Pair, widths: Any, value: Any = 0) -> Pair:
    """Borders of one number, which may be real."""
    number = complex(value or 0)
    return Pair(constant_pad(node, x.real, widths, number.real), constant_pad(node, x.imag, widths, number.imag))


def converted(node: AtenNode, x: Pair | Value, *_: Any, **__: Any) -> Pair | Value:
    """To another dtype; of a complex tensor as a real one the real part is left."""
    if isinstance(node.results[0], Part):
        return pair_of(node, x)
    return node.graph.cast(x.real if isinstance(x, Pair) else x, node.dtype)


def chosen(node: AtenNode, mask: Value, x: Any, y: Any) -> Pair:
    a, b = pair_of(node, x), pair_of(node, y)
    return Pair(*(_REAL["aten.where.self"](node, mask, getattr(a, p), getattr(b, p)) for p in ("real", "imag")))


def size_of_axis(node: AtenNode, x: Pair, dim: int) -> Any:
    return _REAL["aten.sym_size.int"](node, x.real, dim)


def count_of_elements(node: AtenNode, x: Pair) -> Any:
    return _REAL["aten.sym_numel.default"](node, x.real)


def constant(converter: Converter) -> Converter:
    """Tensors of zeros and ones, real if another dtype is asked for."""

    def convert(node: AtenNode, *given: Any, **keywords: Any) -> Pair | Value:
        found: Value = converter(node, *_parts(given, "real"), **keywords)
        return pair_of(node, found) if isinstance(node.results[0], Part) else found

    return convert


def number(converter: Converter) -> Converter:
    """Tensors of one number, which is the last argument; real if another dtype is asked for."""

    def convert(node: AtenNode, *given: Any, **keywords: Any) -> Pair | Value:
        *rest, last = given
        parts = (last.real, last.imag) if isinstance(last, (Pair, complex)) else (last, 0)
        found = [converter(node, *_parts(tuple(rest), "real"), part, **keywords) for part in parts]
        return Pair(*found) if isinstance(node.results[0], Part) else found[0]

    return convert


def written(converter: Converter) -> Converter:
    """Elements of one tensor written into another one; places among the arguments are whole numbers, or truths."""

    def convert(node: AtenNode, *given: Any, **keywords: Any) -> Pair:
        joined = tuple(
            pair_of(node, g) if isinstance(g, (Pair, complex)) or (isinstance(g, Value) and g.dtype.is_float) else g
            for g in given
        )
        return Pair(*(converter(node, *_parts(joined, name), **keywords) for name in ("real", "imag")))

    return convert


def each(converter: Converter, join: bool = False) -> Converter:
    """The real operator on the real parts, and on the imaginary ones; with `join` all operands have two parts."""

    def convert(node: AtenNode, *positional: Any, **keywords: Any) -> Any:
        given = _joined(node, positional) if join else positional
        real, imag = (converter(node, *_parts(given, name), **keywords) for name in ("real", "imag"))
        if isinstance(real, tuple):
            return tuple(Pair(a, b) for a, b in zip(real, imag, strict=True))
        return Pair(real, imag)

    return convert


def _joined(node: AtenNode, given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(_joined(node, g) for g in given)
    return pair_of(node, given) if isinstance(given, (Value, Pair, complex)) else given


def _parts(given: Any, name: str) -> Any:
    if isinstance(given, tuple):
        return tuple(_parts(g, name) for g in given)
    return getattr(given, name) if isinstance(given, Pair) else given


def _added(op: str) -> Converter:
    def convert(node: AtenNode, x: Any, y: Any, alpha: Any = 1, **given: Any) -> Pair:
        a, b, factor = pair_of(node, x), pair_of(node, y), given.get("alpha", alpha)
        if factor != 1:
            b = product(times)(node, b, factor)
        return Pair(*(node.graph.call(op, getattr(a, p), getattr(b, p)) for p in ("real", "imag")))

    return convert


COMPLEX: dict[str, Converter] = {
    "aten.view_as_real.default": as_real, "aten.view_as_complex.default": as_complex, "aten.complex.default": joined,
    "aten.polar.default": polar, "aten._conj.default": conjugate, "aten._conj_physical.default": conjugate,
    "aten.conj_physical.default": conjugate, "aten.real.default": real_part, "aten.imag.default": imaginary_part,
    "aten._neg_view.default": ELEMENTWISE["aten.neg.default"],
}  # fmt: skip
"""Operators of complex tensors, and of their parts."""

_MOVED = (
    "alias", "clone", "contiguous", "detach", "lift_fresh_copy", "neg", "view", "reshape", "_unsafe_view", "view_copy",
    "permute", "permute_copy", "t", "numpy_T", "unsqueeze", "squeeze", "expand", "expand_copy", "expand_as", "repeat",
    "split_with_sizes", "chunk", "narrow", "flip", "index_select", "gather", "diagonal", "sum", "mean", "cumsum",
    "alias_copy", "detach_copy", "tril", "triu", "take", "embedding",
)  # fmt: skip
_ALSO = (
    "flatten.using_ints", "unflatten.int", "transpose.int", "squeeze.dim", "squeeze.dims", "split.Tensor",
    "split.sizes", "unbind.int", "slice.Tensor", "select.int", "index.Tensor", "sum.dim_IntList", "mean.dim",
    "unbind_copy.int",
)  # fmt: skip
_REAL = {**ELEMENTWISE, **SHAPE, **INDEXING, **REDUCTION, **CREATION, **WRITING, **NN}
_TWO_PARTS = ("cat.default", "concat.default", "stack.default")
_WRITTEN = (
    "index_put.default", "_unsafe_index_put.default", "index_add.default", "index_copy.default", "scatter.src",
    "scatter_add.default", "slice_scatter.default", "select_scatter.default", "copy.default", "masked_scatter.default",
)  # fmt: skip
_CONSTANT = (
    "zeros.default", "ones.default", "zeros_like.default", "ones_like.default", "new_zeros.default", "new_ones.default",
    "eye.default", "eye.m", "empty_like.default", "new_empty.default", "empty.memory_format",
    "new_empty_strided.default",
)  # fmt: skip
_NUMBERS = ("full.default", "full_like.default", "new_full.default", "scalar_tensor.default", "fill.Scalar")

PAIRED: dict[str, Converter] = {
    **FACTORS,
    **RUNNING_PRODUCTS,
    **{f"aten.{name}.default": each(_REAL[f"aten.{name}.default"]) for name in _MOVED},
    **{f"aten.{name}": each(_REAL[f"aten.{name}"]) for name in _ALSO},
    **{f"aten.{name}": each(_REAL[f"aten.{name}"], join=True) for name in _TWO_PARTS},
    **{f"aten.{name}": written(_REAL[f"aten.{name}"]) for name in _WRITTEN},
    **{f"aten.{name}": constant(_REAL[f"aten.{name}"]) for name in _CONSTANT},
    **{f"aten.{name}": number(_REAL[f"aten.{name}"]) for name in _NUMBERS},
    **{f"aten.add.{kind}": _added("add") for kind in ("Tensor", "Scalar")},
    **{f"aten.sub.{kind}": _added("subtract") for kind in ("Tensor", "Scalar")},
    **{f"aten.mul.{kind}": product(times) for kind in ("Tensor", "Scalar")},
    **{f"aten.{name}.default": product(matmul) for name in ("matmul", "mm", "bmm", "mv")},
    **{f"aten.div.{kind}": quotient for kind in ("Tensor", "Scalar")},
    "aten.abs.default": size, "aten.angle.default": angle,
    "aten.view.dtype": bits_as, "aten.view_copy.dtype": bits_as,
    "aten.where.self": chosen, "aten.sym_size.int": size_of_axis, "aten.sym_numel.default": count_of_elements,
    "aten.constant_pad_nd.default": padded, "aten._to_copy.default": converted, "aten.to.dtype": converted,
}  # fmt: skip
"""What operators that know real tensors, too, do with complex ones."""
