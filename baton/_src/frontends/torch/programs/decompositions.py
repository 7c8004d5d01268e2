"""Operators that PyTorch keeps whole, taken apart here in terms of PyTorch itself.

PyTorch applies these functions while it makes a program plain, next to its own: they are given PyTorch's tensors, see
their strides, and call its operators. `NotImplemented` leaves the operator whole, and so refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library

Scanned = tuple[Any, ...]
"""Tensors of one shape that are scanned together."""


def decompositions(supported: Collection[str]) -> Any:
    """The ways to take operators apart, PyTorch's and ours, less those of operators with a converter."""
    torch = torch_library()
    table = torch.export.default_decompositions()
    everything = torch._decomp.decomposition_table
    for name in PYTORCH_HAS:
        table[_operator(name)] = everything[_operator(name)]
    for name, function in OURS.items():
        table[_operator(name)] = function
    for operator in list(table):
        if str(operator) in supported:
            table.pop(operator)
    return table


def _operator(name: str) -> Any:
    """The overload called `aten.add.Tensor`."""
    _, packet, overload = name.split(".")
    return getattr(getattr(torch_library().ops.aten, packet), overload)


def encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any, proj_bias: Any,
    use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Any, norm_bias_1: Any, norm_weight_2: Any,
    norm_bias_2: Any, ffn_weight_1: Any, ffn_bias_1: Any, ffn_weight_2: Any, ffn_bias_2: Any, mask: Any = None,
    mask_type: int | None = None,
) -> Any:  # fmt: skip
    """`nn.TransformerEncoderLayer` as it runs where no gradients are wanted."""
    functional = torch_library().nn.functional

    def attended(x: Any) -> Any:
        weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return attention(x, x, x, embed_dim, num_heads, *weights, mask, False, True, mask_type)[0]

    def fed(x: Any) -> Any:
        hidden = functional.linear(x, ffn_weight_1, ffn_bias_1)
        active = functional.gelu(hidden) if use_gelu else functional.relu(hidden)
        return functional.linear(active, ffn_weight_2, ffn_bias_2)

    def first(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Any) -> Any:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attended(first(src))
        return x + fed(second(x))
    x = first(src + attended(src))
    return second(x + fed(x))


def attention(
    query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, mask: Any = None, need_weights: bool = True, average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """`nn.MultiheadAttention` as it runs where no gradients are wanted: (result, how much each key counts or None)."""
    torch = torch_library()
    functional = torch.nn.functional
    heads = []
    for x, weight, bias in zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True):
        heads.append(functional.linear(x, weight, bias).unflatten(-1, (num_head, -1)).transpose(1, 2))
    q, k, v = heads
    scores = (q * (embed_dim // num_head) ** -0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(_hidden(mask, mask_type), -math.inf)
    counts = scores.softmax(-1)
    result = functional.linear((counts @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, counts.mean(1) if average_attn_weights else counts


def _hidden(mask: Any, mask_type: int | None) -> Any:
    """[batch, heads, queries, keys], or what broadcasts to it: True where a key is not seen.

    Types: 0 says it for [queries, keys], 1 for [batch, keys], 2 for all axes.
    """
    hidden = mask.bool()
    return hidden[:, None, None, :] if mask_type == 1 else hidden


def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Sums (mode 0), means (1) or maxima (2) of rows, which bag every index is in, how many count there, -."""
    torch = torch_library()
    starts = offsets[:-1] if include_last_offset else offsets
    places = torch.arange(indices.shape[0], dtype=starts.dtype)
    bags = torch.bucketize(places, starts, right=True) - 1
    counted = (indices != padding_idx).to(bags.dtype)
    sizes = bags.new_zeros(starts.shape[0]).index_add(0, bags, counted)
    rows = weight[indices]
    start = weight.new_zeros(starts.shape[0], weight.shape[1])
    if mode == 2:
        seen = rows.masked_fill(counted[:, None] == 0, -math.inf)
        found = (start - math.inf).scatter_reduce(0, bags[:, None].expand_as(rows), seen, "amax")
        return found.masked_fill(sizes[:, None] == 0, 0.0), bags, sizes, bags
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    total = start.index_add(0, bags, rows * counted[:, None].to(rows.dtype))
    return total / sizes.clamp(min=1)[:, None].to(total.dtype) if mode == 1 else total, bags, sizes, bags


def pairwise_distances(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    """The p-norms of the differences of all rows of one and all rows of the other."""
    apart = (x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs()
    match p:
        case 0:
            return (apart != 0).sum(-1).to(apart.dtype)
        case 1:
            return apart.sum(-1)
        case 2:
            return apart.square().sum(-1).sqrt()
        case math.inf:
            return apart.amax(-1)
        case _:
            return apart.pow(p).sum(-1).pow(1 / p)


def scanned(x: Scanned, dim: int, joined: Callable[[Scanned, Scanned], Scanned]) -> Scanned:
    """What `joined` makes of all elements up to each one, in log2(length) steps. The length must be known."""
    torch = torch_library()
    length, reach = x[0].shape[dim], 1
    while reach < length:
        before = tuple(part.narrow(dim, 0, length - reach) for part in x)
        here = tuple(part.narrow(dim, reach, length - reach) for part in x)
        both = joined(before, here)
        x = tuple(torch.cat((a.narrow(dim, 0, reach), b), dim) for a, b in zip(x, both, strict=True))
        reach *= 2
    return x


def running_extreme(better: str) -> Callable[[Any, int], Any]:
    """The greatest (`ge`) or least (`le`) element up to each one and its place; the last of several, NaN before all."""

    def take_apart(x: Any, dim: int) -> Any:
        torch = torch_library()
        if not x.dim():
            return x.clone(), torch.zeros((), dtype=torch.int64)
        if not isinstance(x.shape[dim], int):
            return NotImplemented

        def joined(before: Scanned, here: Scanned) -> Scanned:
            wins = getattr(torch, better)(here[0], before[0])
            if x.is_floating_point():
                wins = here[0].isnan() | (wins & ~before[0].isnan())
            return tuple(torch.where(wins, b, a) for a, b in zip(before, here, strict=True))

        shape = [1] * x.dim()
        shape[dim] = -1
        places = torch.arange(x.shape[dim]).view(shape).expand(x.shape)
        return scanned((x, places), dim, joined)

    return take_apart


def log_running_sum(x: Any, dim: int) -> Any:
    """log(cumsum(exp(x))), where every step keeps what is small."""
    torch = torch_library()
    if not x.dim():
        return x.clone()
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    return scanned((x,), dim, lambda a, b: (torch.logaddexp(a[0], b[0]),))[0]


def strided(x: Any, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None) -> Any:
    """Elements by where they lie in memory, as far as they are elements of a tensor without gaps."""
    torch = torch_library()
    offset = 0 if storage_offset is None else storage_offset - x.storage_offset()
    axes = [a for a in range(x.dim()) if x.shape[a] != 1]
    order = sorted(axes, key=lambda a: x.stride(a), reverse=True)
    if not _dense([x.shape[a] for a in order], [x.stride(a) for a in order]):
        return NotImplemented
    flat = x.permute(*order, *(a for a in range(x.dim()) if a not in axes)).reshape(-1)
    wide = [k for k in range(len(size)) if size[k] != 1]
    sorted_axes = sorted(wide, key=lambda k: stride[k], reverse=True)
    sizes = [size[k] for k in sorted_axes]
    if offset == 0 and _dense(sizes, [stride[k] for k in sorted_axes]) and math.prod(sizes) == flat.shape[0]:
        back = [sorted_axes.index(k) for k in wide]
        return flat.reshape(sizes).permute(back).reshape(tuple(size))
    if not all(isinstance(n, int) for n in (*size, *stride, offset, flat.shape[0])) or 0 in size:
        return NotImplemented
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if offset < 0 or last >= flat.shape[0]:
        return NotImplemented
    places = torch.full((1,) * len(size), offset)
    for axis, (count, step) in enumerate(zip(size, stride, strict=True)):
        shape = [1] * len(size)
        shape[axis] = count
        places = places + (torch.arange(count) * step).view(shape)
    return flat[places]


def _dense(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    """Whether axes, the widest first, cover memory without gaps and without overlap."""
    expected: Any = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if stride != expected:
            return False
        expected = expected * size
    return True


PYTORCH_HAS = ("aten._native_batch_norm_legit.no_stats",)
"""What PyTorch can take apart, but keeps whole in its core set."""

OURS: dict[str, Callable[..., Any]] = {
    "aten._transformer_encoder_layer_fwd.default": encoder_layer,
    "aten._native_multi_head_attention.default": attention,
    "aten._embedding_bag.default": embedding_bag,
    "aten._embedding_bag_forward_only.default": embedding_bag,
    "aten._cdist_forward.default": pairwise_distances,
    "aten.cummax.default": running_extreme("ge"),
    "aten.cummin.default": running_extreme("le"),
    "aten.logcumsumexp.default": log_running_sum,
    "aten.as_strided.default": strided,
}
"""What PyTorch keeps whole."""
