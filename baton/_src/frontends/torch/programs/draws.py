"""Random numbers that depend on elements, as functions of draws that depend on sizes alone: those can come first.

What is drawn, and in which order, is what PyTorch's CPU draws where it does not compile, so that a seed gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library


def bernoulli(p: Any, *, generator: Any = None) -> Any:
    """One where a uniform number is below `p`. (PyTorch's own decomposition draws too few bits for float64.)"""
    if generator is not None:
        return NotImplemented
    return (torch_library().rand(p.shape, dtype=_dtype_drawn(p)) < p).to(p.dtype)


def bernoulli_of(x: Any, p: Any, *, generator: Any = None) -> Any:
    """The same in the shape and dtype of `x`, in the order of whose memory PyTorch draws."""
    if generator is not None:
        return NotImplemented
    return (torch_library().rand_like(x, dtype=_dtype_drawn(p)) < p).to(x.dtype)


def _dtype_drawn(p: Any) -> Any:
    torch = torch_library()
    return torch.float64 if p.dtype == torch.float64 else torch.float32


def normal(mean: Any, deviation: Any = 1.0, *, generator: Any = None) -> Any:
    """Normal numbers, of which either parameter, or both, is a tensor."""
    if generator is not None:
        return NotImplemented
    torch = torch_library()
    tensors = [p for p in (mean, deviation) if isinstance(p, torch.Tensor)]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    return torch.randn(shape, dtype=tensors[0].dtype) * deviation + mean


def multinomial(p: Any, samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Places of the last axis, as likely as `p` is there in proportion."""
    if generator is not None:
        return NotImplemented
    torch = torch_library()
    valid = ((p.max() < float("inf")) & (p.min() >= 0) & (p.sum(-1) > 0).all()).all()
    told = "multinomial: probabilities must be numbers of 0 or more, and their sum more than 0"
    torch.ops.aten._assert_async.msg(valid, told)
    if samples == 1 or not replacement:
        # The first of exponential processes with rates p.
        lengths = p / torch.ops.aten.exponential.default(torch.empty_like(p))
        return lengths.argmax(-1, keepdim=True) if samples == 1 else lengths.topk(samples).indices
    wide = p if p.dtype == torch.float64 else p.float()
    sums = wide.cumsum(-1)
    bounds = (sums / sums[..., -1:])[..., :-1].double().contiguous()
    return torch.searchsorted(bounds, torch.rand((*p.shape[:-1], samples), dtype=torch.float64))


DRAWS: dict[str, Callable[..., Any]] = {
    "aten.bernoulli.default": bernoulli, "aten.bernoulli.Tensor": bernoulli_of, "aten.multinomial.default": multinomial,
    **{f"aten.normal.{kind}": normal for kind in ("Tensor_float", "float_Tensor", "Tensor_Tensor")},
}  # fmt: skip
