"""Layers that PyTorch keeps whole, in its own terms: its fast transformers, bags of embeddings, distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library


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
    """Sums (mode 0), means (1) or maxima (2) of rows, which bag every index is in, how many count there, and the rows
    where maxima are."""
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
        wide = bags[:, None].expand_as(rows)
        found = (start - math.inf).scatter_reduce(0, wide, seen, "amax")
        first = torch.where(seen == found[bags], torch.arange(indices.shape[0])[:, None], indices.shape[0] - 1)
        first = torch.full_like(start, indices.shape[0] - 1, dtype=torch.int64).scatter_reduce(0, wide, first, "amin")
        return found.masked_fill(sizes[:, None] == 0, 0.0), bags, sizes, indices[first]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    total = start.index_add(0, bags, rows * counted[:, None].to(rows.dtype))
    return total / sizes.clamp(min=1)[:, None].to(total.dtype) if mode == 1 else total, bags, sizes, bags


def embedding_bag_backward(
    grad: Any, indices: Any, offsets: Any, offset2bag: Any, bag_size: Any, maximum_indices: Any, num_weights: Any,
    scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int = -1,
) -> Any:  # fmt: skip
    """What every row of the weight has given to sums (mode 0), means (1) and maxima (2)."""
    if sparse or scale_grad_by_freq:
        return NotImplemented
    if mode == 2:
        counted = grad.masked_fill(bag_size[:, None] == 0, 0.0)
        return grad.new_zeros(num_weights, grad.shape[1]).scatter_add(
            0, maximum_indices.to(torch_library().int64), counted
        )
    rows = grad[offset2bag]
    if mode == 1:
        rows = rows / bag_size.clamp(min=1)[offset2bag][:, None].to(rows.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    rows = rows * (indices != padding_idx)[:, None].to(rows.dtype)
    return grad.new_zeros(num_weights, grad.shape[1]).index_add(0, indices, rows)


def sample_weights_backward(
    grad: Any, weight: Any, indices: Any, offsets: Any, offset2bag: Any, mode: int, padding_idx: int = -1
) -> Any:
    """What the factor of every row has given to its sum."""
    return (grad[offset2bag] * weight[indices]).sum(1) * (indices != padding_idx)


def pairwise_distances(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    """The p-norms of the differences of all rows of one and all rows of the other."""
    return _norms((x1.unsqueeze(-2) - x2.unsqueeze(-3)).abs(), p)


def distances_of_pairs(x: Any, p: float = 2) -> Any:
    """The p-norms of the differences of every row and all that follow it."""
    first, second = torch_library().triu_indices(x.shape[0], x.shape[0], 1).unbind()
    return _norms((x[first] - x[second]).abs(), p)


def _norms(apart: Any, p: float) -> Any:
    """Of the last axis of absolute differences."""
    match p:
        case 0:
            return (apart != 0).sum(-1).to(apart.dtype)
        case 1:
            return apart.sum(-1)
        case 2:
            return _root_with_slope(apart.square().sum(-1), 0.5)
        case math.inf:
            return apart.amax(-1)
        case _:
            return _root_with_slope(apart.pow(p).sum(-1), 1 / p)


def _root_with_slope(x: Any, power: float) -> Any:
    """`x ** power`, whose slope at zero is taken to be zero, as PyTorch does for distances of equal rows."""
    nothing = x == 0
    return x.masked_fill(nothing, 1).pow(power).masked_fill(nothing, 0)


def trilinear(
    i1: Any, i2: Any, i3: Any, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int],
    sumdim: Sequence[int], unroll_dim: int = 1,
) -> Any:  # fmt: skip
    """Three tensors with new axes where they are said, multiplied, and summed over axes: `nn.Bilinear`."""
    whole = []
    for tensor, axes in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for axis in axes:
            tensor = tensor.unsqueeze(axis)
        whole.append(tensor)
    return (whole[0] * whole[1] * whole[2]).sum(tuple(sumdim), dtype=i1.dtype)


def margins_of_labels(x: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """(how far other classes come near to those before the first -1 of a row, by the number of classes; the labels)

    PyTorch's own way to take this apart counts what stands behind the -1, too.
    """
    torch = torch_library()
    rows, listed = torch.atleast_2d(x), torch.atleast_2d(target)
    classes = rows.shape[1]
    order = torch.arange(classes)
    given = order < torch.where(listed == -1, order, classes).amin(-1, keepdim=True)
    labels = torch.where(given, listed, 0)
    is_label = ((labels.unsqueeze(-1) == order) & given.unsqueeze(-1)).any(1)
    near = (1 - rows.gather(1, labels).unsqueeze(-1) + rows.unsqueeze(1)).clamp_min(0)  # row, label, class
    counted = given.unsqueeze(-1) & ~is_label.unsqueeze(1)
    losses = (torch.where(counted, near, 0).sum((1, 2)) / classes).reshape(x.shape[:-1])
    found = (losses, losses.mean(), losses.sum())[reduction]
    return found, is_label.to(x.dtype).reshape(target.shape)


def weight_norm_backward(grad: Any, v: Any, g: Any, norms: Any, dim: int) -> tuple[Any, Any]:
    """What becomes of the direction v and the length g of a weight g * v / |v|, whose norms keep one axis of v."""
    along = (grad * v).sum([a for a in range(v.dim()) if a != dim % v.dim()], keepdim=True)
    return g / norms * (grad - v * along / (norms * norms)), along / norms


def leaky_relu_between(
    x: Any, noise: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """(`rrelu`, whose slope is the middle one where nothing is drawn, the noise as it is)"""
    if training:
        return NotImplemented
    return torch_library().nn.functional.leaky_relu(x, (lower + upper) / 2), noise.clone()
