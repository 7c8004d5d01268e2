"""The functional operators (`tvm.relax.frontend.nn.op`): each binds one operator in the function being exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.nn.tensor import Tensor, binary, emit, unwrap
from baton._src.ops.builders import RELAX
from baton._src.relax.literals import const
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.special_builders import alloc_tensor
from baton._src.tir.expr import FloatImm, IntImm

_RELAX: Any = RELAX


def _unary(path: str, hint: str = "") -> Callable[..., Any]:
    own = path.rpartition(".")[2]

    def operator(x: Tensor, name: str = hint or own) -> Any:
        return emit(RELAX.find(path)(unwrap(x)), name)

    operator.__name__ = operator.__qualname__ = own
    operator.__doc__ = f"`relax.op.{path}` of a tensor."
    return operator


def _binary(kind: str, hint: str = "") -> Callable[[Any, Any], Tensor]:
    def operator(a: Any, b: Any, name: str = hint or kind) -> Tensor:
        return binary(kind, a, b, name)

    operator.__name__ = operator.__qualname__ = kind
    operator.__doc__ = f"`relax.op.{kind}` of tensors, or of a tensor and a number."
    return operator


def maximum(x1: Any, x2: Any, name: str = "maximum") -> Tensor:
    """Elementwise maximum."""
    return binary("maximum", x1, x2, name)


def minimum(x1: Any, x2: Any, name: str = "minimum") -> Tensor:
    """Elementwise minimum."""
    return binary("minimum", x1, x2, name)


relu, silu, sigmoid, tanh = (_unary(n) for n in ("nn.relu", "nn.silu", "sigmoid", "tanh"))
exp, log, sqrt, square, floor = (_unary(n) for n in ("exp", "log", "sqrt", "square", "floor"))
negative = _unary("negative", "neg")
add, subtract, divide = (_binary(n) for n in ("add", "subtract", "divide"))
multiply = _binary("multiply", "mul")
less, less_equal, greater, greater_equal, equal, not_equal = (
    _binary(n) for n in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """GELU; `approximate="tanh"` by its formula with tanh."""
    if approximate not in (None, "none", "tanh"):
        raise KeyError(f"unknown approximation of GELU: {approximate!r}")
    build = _RELAX.nn.gelu_tanh if approximate == "tanh" else _RELAX.nn.gelu
    found: Tensor = emit(build(x._expr), name)
    return found


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Any:
    """Softmax along an axis."""
    return emit(_RELAX.nn.softmax(x._expr, axis=axis), name)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Any:
    """Matrix product."""
    return emit(_RELAX.matmul(a._expr, b._expr, out_dtype=out_dtype), name)


def sum(x: Tensor, axis: Any = None, keepdims: bool = False, name: str = "sum") -> Any:
    """The sum along axes."""
    return emit(_RELAX.sum(x._expr, axis=axis, keepdims=keepdims), name)


def max(x: Tensor, axis: Any = None, keepdims: bool = False, name: str = "max") -> Any:
    """The maximum along axes."""
    return emit(_RELAX.max(x._expr, axis=axis, keepdims=keepdims), name)


def min(x: Tensor, axis: Any = None, keepdims: bool = False, name: str = "min") -> Any:
    """The minimum along axes."""
    return emit(_RELAX.min(x._expr, axis=axis, keepdims=keepdims), name)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Any:
    """Concatenate tensors along an axis."""
    return emit(_RELAX.concat(list(unwrap(x)), axis=dim), name)


def split(ary: Tensor, indices_or_sections: Any, axis: int = 0, name: str = "split") -> tuple[Tensor, ...]:
    """Split a tensor along an axis."""
    found: tuple[Tensor, ...] = emit(_RELAX.split(ary._expr, indices_or_sections, axis=axis), name)
    return found


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Any:
    """The same elements in another shape."""
    return emit(_RELAX.reshape(x._expr, tuple(shape)), name)


def permute_dims(x: Tensor, axes: Any = None, name: str | None = None) -> Any:
    """Permute the axes; without `axes`, reverse them."""
    if name is None:
        beside = str(getattr(x._expr, "name_hint", ""))
        name = beside.replace("linear", "matmul") if "linear" in beside else "permute_dims"
    return emit(_RELAX.permute_dims(x._expr, axes=None if axes is None else tuple(axes)), name)


def permute(x: Tensor, axes: Any = None, name: str = "permute") -> Any:
    """`permute_dims` under its other name."""
    return permute_dims(x, axes, name)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Any:
    """Broadcast to a shape."""
    return emit(_RELAX.broadcast_to(x._expr, tuple(shape)), name)


def squeeze(x: Tensor, axis: Any = -1, name: str = "squeeze") -> Any:
    """Remove an axis of extent one."""
    return emit(_RELAX.squeeze(x._expr, axis=axis), name)


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Any:
    """Insert an axis of extent one."""
    return emit(_RELAX.expand_dims(x._expr, axis=dim), name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Any:
    """Repeat every element."""
    return emit(_RELAX.repeat(x._expr, repeats, axis=axis), name)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Any:
    """Take elements or slices by index."""
    return emit(_RELAX.take(x._expr, indices._expr, axis=axis), name)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """Convert the elements to a dtype."""
    return x if x.dtype == dtype else emit(_RELAX.astype(x._expr, dtype=dtype), name)


def where(condition: Tensor, x1: Tensor, x2: Tensor, name: str = "where") -> Any:
    """Select `x1` where the condition holds, else `x2`."""
    return emit(_RELAX.where(condition.astype("bool")._expr, x1._expr, x2._expr), name)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full") -> Any:
    """A tensor filled with one value: a number, a TIR literal, or a tensor without axes."""
    number = fill_value.value if isinstance(fill_value, (IntImm, FloatImm)) else fill_value
    value = number._expr if isinstance(number, Tensor) else const(number, dtype)
    return emit(_RELAX.full(tuple(shape), value, dtype=dtype), name)


def arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = "float32", name: str = "arange") -> Any:
    """The numbers from `start` (0, if there is no `end`) up to, but excluding, `end`."""
    return emit(_RELAX.arange(start, end, step, dtype), name)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "zeros") -> Any:
    """A tensor of zeros."""
    return emit(_RELAX.zeros(tuple(shape), dtype=dtype), name)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "ones") -> Any:
    """A tensor of ones."""
    return emit(_RELAX.ones(tuple(shape), dtype=dtype), name)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Any:
    """The upper triangle; zeros elsewhere."""
    return emit(_RELAX.triu(x._expr, k=diagonal), name)


def _filled(number: int, shape: Sequence[Any], dtype: str) -> Any:
    """A tensor of one number: a constant, unless a size is known only when the program runs."""
    if all(isinstance(dim, int) for dim in shape):
        return const(np.full(shape, number), dtype)
    return _RELAX.full(tuple(shape), const(number, dtype), dtype)


def layer_norm(
    x: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    name: str = "layer_norm",
) -> Any:  # fmt: skip
    """Normalize to mean 0 and variance 1 over the last axes, then scale and shift."""
    extents = [normalized_shape] if not isinstance(normalized_shape, (list, tuple)) else list(normalized_shape)
    axes = list(range(-len(extents), 0))
    scale = weight._expr if weight is not None else _filled(1, extents, x.dtype)
    shift = bias._expr if bias is not None else _filled(0, extents, x.dtype)
    return emit(_RELAX.nn.layer_norm(x._expr, scale, shift, axes=axes, epsilon=eps), name)


def rms_norm(x: Tensor, weight: Tensor, axes: Any, epsilon: float = 1e-5, name: str = "rms_norm") -> Any:
    """Divide by the root mean square along axes, then scale."""
    return emit(_RELAX.nn.rms_norm(x._expr, weight._expr, axes=axes, epsilon=epsilon), name)


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5, channel_axis: int = 1,
    axes: Sequence[int] | None = None, name: str = "group_norm",
) -> Any:  # fmt: skip
    """Normalize to mean 0 and variance 1 over groups of channels and `axes` (all after the second), then scale and
    shift.
    """
    channels = x.shape[channel_axis]
    scale = weight._expr if weight is not None else _filled(1, [channels], x.dtype)
    shift = bias._expr if bias is not None else _filled(0, [channels], x.dtype)
    over = list(range(2, x.ndim)) if axes is None else list(axes)
    return emit(_RELAX.nn.group_norm(x._expr, scale, shift, num_groups, channel_axis, over, eps), name)


def _convolution(
    x: Tensor, weight: Tensor, bias: Tensor | None, layout: str, options: dict[str, Any], name: str
) -> Any:
    """A convolution of one, two or three axes, plus the bias of each channel. Weights have their channels first."""
    path = f"nn.conv{x.ndim - 2}d" + ("_transpose" if "output_padding" in options else "")
    found = RELAX.find(path)(x._expr, weight._expr, data_layout=layout, **options)
    if bias is not None:
        places = [-1 if letter == "C" else 1 for letter in layout]
        found = _RELAX.add(found, _RELAX.reshape(bias._expr, places))
    return emit(found, name)


def conv1d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, name: str = "conv1d",
) -> Any:  # fmt: skip
    """A one-dimensional convolution, plus the bias of each channel."""
    options = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution(x, weight, bias, "NCW", options, name)


def conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, data_layout: str = "NCHW", name: str = "conv2d",
) -> Any:  # fmt: skip
    """A two-dimensional convolution, plus the bias of each channel."""
    options = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution(x, weight, bias, data_layout, options, name)


def conv3d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1, data_layout: str = "NCDHW", name: str = "conv3d",
) -> Any:  # fmt: skip
    """A three-dimensional convolution, plus the bias of each channel."""
    options = {"strides": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return _convolution(x, weight, bias, data_layout, options, name)


def conv1d_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    dilation: Any = 1, groups: int = 1, name: str = "conv1d_transpose",
) -> Any:  # fmt: skip
    """A one-dimensional transposed convolution, plus the bias of each channel."""
    options = {"strides": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    return _convolution(x, weight, bias, "NCW", {**options, "groups": groups}, name)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False,
    scale: float | None = None, name: str = "scaled_dot_product_attention",
) -> Any:  # fmt: skip
    """Attention of (batch, sequence, head, dim) tensors."""
    bias = None if attn_mask is None else attn_mask._expr
    causal = "TopLeft" if is_causal else None
    parts = (query._expr, key._expr, value._expr)
    return emit(_RELAX.nn.attention(*parts, bias=bias, scale=scale, causal_mask=causal), name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> Any:
    """Split into equal parts along an axis."""
    return emit(_RELAX.split(x._expr, chunks, dim), name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Any:
    """An uninitialised tensor."""
    return emit(alloc_tensor(ShapeExpr(list(shape)), dtype, 0), name)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0, name: str = "pad") -> Any:
    """Pad the borders of the data."""
    return emit(_RELAX.nn.pad(x._expr, pad_width=pad, pad_mode=mode, pad_value=float(value)), name)


def relu6(x: Tensor, name: str = "relu6") -> Any:
    """Clip the elements to [0, 6]."""
    return emit(_RELAX.clip(x._expr, 0, 6), name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Any:
    """log(1 + exp(beta x)) / beta; x itself above the threshold."""
    return emit(_RELAX.nn.softplus(x._expr, beta=beta, threshold=threshold), name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Any:
    """x where it is positive, else alpha x."""
    return emit(_RELAX.nn.prelu(x._expr, alpha._expr), name)
