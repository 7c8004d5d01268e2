"""Gradients that PyTorch keeps whole: of attention, distances, borders that repeat edges, writes by masks, resizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library


def attention_backward(
    gradient: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float, is_causal: bool, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """Towards queries, keys and values, in float32 at least.

    The shares are computed anew: what stands for their logarithm is something else where PyTorch has taken the forward
    operator apart.
    """
    torch = torch_library()
    if dropout_p or query.shape[1] != key.shape[1]:
        return NotImplemented
    wide = torch.promote_types(query.dtype, torch.float32)
    g, q, k, v = (x.to(wide) for x in (gradient, query, key, value))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = q @ k.mT * factor
    if is_causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    shares = scores.softmax(-1)
    towards = g @ v.mT
    towards = shares * (towards - (towards * shares).sum(-1, keepdim=True)) * factor
    return tuple(x.to(query.dtype) for x in (towards @ k, towards.mT @ q, shares.mT @ g))


def repeated_border_backward(rank: int) -> Callable[[Any, Any, Sequence[int]], Any]:
    """Every element of a border, whose widths are listed from the last axis on, gives back to the edge it repeats."""

    def take_apart(gradient: Any, x: Any, padding: Sequence[int]) -> Any:
        torch = torch_library()
        for place in range(rank):
            axis = x.dim() - 1 - place
            size = x.shape[axis]
            origins = (torch.arange(gradient.shape[axis]) - padding[2 * place]).clamp(0, size - 1)
            shape = (*gradient.shape[:axis], size, *gradient.shape[axis + 1 :])
            gradient = gradient.new_zeros(shape).index_add(axis, origins, gradient)
        return gradient

    return take_apart


def distances_backward(gradient: Any, x1: Any, x2: Any, p: float, distances: Any) -> Any:
    """Towards the first rows of `cdist`: along each difference, by its share of the p-norm; equal rows give nothing."""
    torch = torch_library()
    apart = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    size, whole = apart.abs(), distances.unsqueeze(-1)
    match p:
        case 0:
            share = torch.zeros_like(size)
        case math.inf:
            share = (size == whole).to(size.dtype)
        case _:
            share = torch.where(size == 0, 0.0, (size / torch.where(whole == 0, 1.0, whole)) ** (p - 1))
    return (gradient.unsqueeze(-1) * apart.sign() * share).sum(-2)


def masked_scatter_backward(gradient: Any, mask: Any, sizes: Sequence[Any]) -> Any:
    """Towards what was written where a mask is true, in order; what was not needed gets nothing."""
    torch = torch_library()
    count = math.prod(sizes)
    mask = mask.expand(gradient.shape).reshape(-1)
    turn = torch.where(mask, torch.cumsum(mask.to(torch.int64), 0) - 1, count)
    return gradient.new_zeros(count + 1).scatter_add(0, turn, gradient.reshape(-1))[:count].reshape(sizes)


def antialiased_backward(method: str) -> Callable[..., Any]:
    """A resize along rows and columns is a product with a matrix each: what it makes of the unit vectors."""

    def take_apart(
        gradient: Any, output_size: Sequence[Any], input_size: Sequence[Any], align_corners: bool,
        scales_h: float | None = None, scales_w: float | None = None,
    ) -> Any:  # fmt: skip
        torch = torch_library()
        resize = getattr(torch.ops.aten, f"_upsample_{method}2d_aa").default
        (height, width), (rows, columns) = input_size[2:], output_size
        wide = torch.promote_types(gradient.dtype, torch.float32)
        down = resize(torch.eye(height, dtype=wide)[None, None], (rows, height), align_corners, scales_h, None)[0, 0]
        across = resize(torch.eye(width, dtype=wide)[None, None], (width, columns), align_corners, None, scales_w)[0, 0]
        return (down.mT @ gradient.to(wide) @ across.mT).to(gradient.dtype)

    return take_apart
