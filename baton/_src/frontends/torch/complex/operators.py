"""Operators on complex tensors in terms of real ones, for operators that PyTorch does not decompose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.torch.complex.functions import exponential, logarithm, product_of_parts
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.scans import scanned

Operator = Callable[..., Any]


def parts_of(z: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a tensor or a number; of a real tensor the second is zero."""
    torch = torch_library()
    if isinstance(z, torch.Tensor) and not z.is_complex():
        return z, torch.zeros_like(z)
    return z.real, z.imag


def looked_at(operator: str, joined: str) -> Operator:
    """Apply a predicate to both parts and join the results: `isnan` holds if it does for one of them (`logical_or`)."""

    def take_apart(*tensors: Any) -> Any:
        torch = torch_library()
        real, imag = (getattr(torch, operator)(*parts) for parts in zip(*map(parts_of, tensors), strict=True))
        return getattr(torch, joined)(real, imag)

    return take_apart


def as_truth(operator: str) -> Operator:
    """An operator on truth values: non-zero is true."""

    def take_apart(*given: Any, **kwargs: Any) -> Any:
        truths = (_truth(g) if isinstance(g, torch_library().Tensor) else g for g in given)
        return getattr(torch_library(), operator)(*truths, **kwargs)

    return take_apart


def _truth(z: Any) -> Any:
    return ((z.real != 0) | (z.imag != 0)) if z.is_complex() else z != 0


def products(operator: str) -> Operator:
    """What multiplies its first two tensors and adds up, from products of their parts."""

    def take_apart(x: Any, y: Any, *rest: Any) -> Any:
        torch = torch_library()

        def times(a: Any, b: Any) -> Any:
            return getattr(torch.ops.aten, operator)(a, b, *rest)

        (a, b), (c, d) = parts_of(x), parts_of(y)
        return torch.complex(times(a, c) - times(b, d), times(a, d) + times(b, c))

    return take_apart


def convolved(x: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """`convolution`, the bias added behind it."""
    found = products("convolution")(x, weight, None, *rest)
    return found if bias is None else found + bias.view(-1, *(1,) * (weight.dim() - 2))


def product_added(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`addmm` and `addmv`; what is times zero does not count, not even NaN."""
    found = torch_library().matmul(a, b) * alpha
    return found if beta == 0 else found + x * beta


def conjugate_product(x: Any, y: Any) -> Any:
    """`vdot`"""
    return torch_library().dot(x.conj(), y)


def power(base: Any, exponent: Any) -> Any:
    """exp(w log z) in doubles; the power 0 is 1, other powers of zero are zero, squares are products."""
    torch = torch_library()
    if not isinstance(exponent, torch.Tensor) and exponent in (1, 2):
        return base.clone() if exponent == 1 else base * base
    dtype = torch.result_type(base, exponent)
    (a, b), (c, d) = ([_double(part) for part in parts_of(n)] for n in (base, exponent))
    real, imag = exponential(*product_of_parts(*logarithm()(a, b), c, d))
    for found, answer in (((a == 0) & (b == 0), 0.0), ((c == 0) & (d == 0), 1.0)):
        real, imag = torch.where(found, answer, real), torch.where(found, 0.0, imag)
    return torch.complex(real, imag).to(dtype)


def _double(part: Any) -> Any:
    torch = torch_library()
    return part.to(torch.float64) if isinstance(part, torch.Tensor) else torch.full((), part, dtype=torch.float64)


def multiplied(x: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`prod`: halves of an axis are multiplied until one element is left, which needs a known length."""
    torch = torch_library()
    x = x if dtype is None else x.to(dtype)
    rows = x.reshape(1, -1) if dim is None else x.movedim(dim, -1) if x.dim() else x.reshape(1)
    if not isinstance(rows.shape[-1], int):
        return NotImplemented
    if not rows.shape[-1]:
        rows = torch.ones((*rows.shape[:-1], 1), dtype=x.dtype)
    while rows.shape[-1] > 1:
        half = rows.shape[-1] // 2
        pairs = rows[..., :half] * rows[..., half : 2 * half]
        rows = torch.cat((pairs, rows[..., 2 * half :]), -1)
    found = rows[..., 0]
    if dim is None or not x.dim():
        return found.reshape(())
    return found.unsqueeze(dim) if keepdim else found


def running_product(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """`cumprod`"""
    x = x if dtype is None else x.to(dtype)
    if not x.dim():
        return x.clone()
    return scanned((x,), dim, lambda a, b: (a[0] * b[0],))[0]


def variance(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """The sum of those of the parts."""
    torch = torch_library()
    return torch.add(*(torch.var(part, dim, correction=correction, keepdim=keepdim) for part in parts_of(x)))


def mean_and_variance(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    mean = x.mean(tuple(range(x.dim())) if dim is None else dim, keepdim)
    return variance(x, dim, correction=correction, keepdim=keepdim), mean


def norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """`linalg.vector_norm` of the sizes of elements."""
    real = None if dtype is None else dtype.to_real()
    return torch_library().linalg.vector_norm(x.abs(), ord, dim, keepdim, dtype=real)


def selected(x: Any, mask: Any) -> Any:
    """`masked_select`: the parts are a last axis, so that elements are counted once."""
    torch = torch_library()
    x, mask = torch.broadcast_tensors(x, mask)
    return torch.view_as_complex(torch.view_as_real(x)[mask])


def looked_up(x: Any, indices: Sequence[Any]) -> Any:
    """`index` by masks, likewise."""
    torch = torch_library()
    if all(i is None or i.dtype != torch.bool for i in indices):
        return NotImplemented
    return torch.view_as_complex(torch.view_as_real(x)[tuple(slice(None) if i is None else i for i in indices)])


def added_at(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """`index_add` of a multiple: parts by themselves have real ones."""
    return x.index_add(dim, index, source * alpha) if isinstance(alpha, complex) else NotImplemented


def one_number_scattered(x: Any, dim: int, index: Any, value: Any) -> Any:
    """`scatter` of a number"""
    return x.scatter(dim, index, torch_library().full(index.shape, value, dtype=x.dtype))


def numbers_instead(x: Any, *numbers: Any) -> Any:
    """`nan_to_num` of each part"""
    torch = torch_library()
    return torch.complex(*(torch.nan_to_num(part, *numbers) for part in parts_of(x)))


def log_of_sum(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """`logsumexp`: the greatest real part is taken out meanwhile."""
    top = x.real.amax(dim, keepdim=True)
    total = (x - top).exp().sum(dim, keepdim=True).log() + top
    return total if keepdim else total.squeeze(dim)
