"""Calls of PyTorch's operators to compare with: by family, a function and the arrays it is applied to.

`python -m tests.docs` says which operators of the table no case reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

Case = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function of tensors, and the tensors."""


def floats(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    """float32 from a seed, no two runs different."""
    draws = np.random.default_rng([seed, *shape]).uniform(low, high, shape)
    return torch.from_numpy(draws.astype(np.float32))


def ints(*shape: int, low: int = -5, high: int = 6, dtype: Any = torch.int64, seed: int = 0) -> Any:
    return torch.from_numpy(np.random.default_rng([seed, *shape]).integers(low, high, shape)).to(dtype)


def bools(*shape: int, seed: int = 0) -> Any:
    return ints(*shape, low=0, high=2, seed=seed).bool()


X, Y, POSITIVE, UNIT = floats(2, 3, 4), floats(3, 1, seed=1), floats(2, 3, low=0.1), floats(2, 3, low=-0.9, high=0.9)
N, M, B = ints(2, 3), ints(3, low=1, high=4), bools(2, 3)
DIVISOR = torch.tensor([-2.0, 0.7, 3.0, -1.5])
IMAGE = floats(2, 4, 9, 8)

UNARY: list[Case] = [
    *((f, (UNIT,)) for f in (torch.acos, torch.asin, torch.atan, torch.atanh, torch.cos, torch.cosh, torch.erf)),
    *((f, (UNIT,)) for f in (torch.exp, torch.neg, torch.sigmoid, torch.sign, torch.sin, torch.sinh, torch.tan)),
    *((f, (UNIT,)) for f in (torch.tanh, torch.asinh, torch.expm1, torch.log1p, torch.erfc, torch.square, torch.abs)),
    *((f, (POSITIVE,)) for f in (torch.log, torch.log2, torch.log10, torch.sqrt, torch.rsqrt, torch.reciprocal)),
    *((f, (X * 3,)) for f in (torch.floor, torch.ceil, torch.round, torch.trunc)),
    *((f, (torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),)) for f in (torch.isnan, torch.isinf)),
    (lambda x: torch.acosh(x + 1), (POSITIVE,)),
    (torch.isfinite, (torch.tensor([1.0, float("nan"), float("inf")]),)),
    (torch.nan_to_num, (torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),)),
    (lambda n: (torch.sqrt(n.abs()), torch.abs(n), torch.floor(n), torch.neg(n), ~n), (N,)),
    (lambda b: (~b, torch.logical_not(b), b.to(torch.float32), b.int()), (B,)),
    (lambda x: (x.to(torch.int32), x.bool(), x.double(), x.half().float()), (X,)),
    (lambda x: x.clone().contiguous().detach(), (X,)),
]

BINARY: list[Case] = [
    (lambda x, y: (x + y, x - y, x * y, x / y, y - x), (X, Y)),
    (lambda x: (x + 1, 1 - x, 2 * x, x / 3, 1 / (x + 5), x.add(x, alpha=2), x.sub(x, alpha=0.5)), (X,)),
    (lambda n, m: (n + m, n * m, n / m, n // m, n % m, torch.fmod(n, m), n - 2, n * 1.5), (N, M)),
    (lambda n, x: (n + x, n * x, n > x, torch.maximum(n.float(), x)), (N, UNIT)),
    (
        lambda n: (n // -2, n % -2, torch.div(n, 2, rounding_mode="trunc"), torch.div(n, 2), -7 // n.abs().clamp(1)),
        (N,),
    ),
    (lambda x, d: (torch.div(x, d, rounding_mode="floor"), torch.div(x, d, rounding_mode="trunc")), (X * 4, DIVISOR)),
    (lambda x, d: (torch.remainder(x, d), torch.fmod(x, d), x // 0.7, x % -1.5), (X * 4, DIVISOR)),
    (lambda b, n: (b + n, b * b, b & b, b | ~b, b ^ b, b == n, b < ~b, b + b), (B, N)),
    (lambda n, m: (n & m, n | m, n ^ m, n << m, n >> m, n & 3), (N, M)),
    (lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y, x > 0, x == 1), (X, Y)),
    (lambda n: (n > 0.5, n == 1, n <= 2.5, n != -1), (N,)),
    (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), torch.max(x, y), torch.min(x, y)), (X, Y)),
    (lambda x: (x**2, x**3, x**0.5, x**-0.5, 2.0**x, x**x, x**1), (POSITIVE,)),
    (lambda n: (n**2, n**0, 2.0**n, n.abs() ** n.abs()), (N,)),
    (lambda x: (x.clamp(-1, 1), x.clamp(min=0.5), x.clamp(max=0.5), x.clamp_min(0), x.clamp_max(0.1)), (X,)),
    (lambda x, y: x.clamp(y, y + 1), (X, Y)),
    (lambda n: (n.clamp(-1, 2), n.clamp(min=0.5)), (N,)),
    (lambda b, x: (torch.where(b, x, 0.0), torch.where(b, x, x + 1), x.masked_fill(b, -1e9)), (B, UNIT)),
    (lambda b, n: (torch.where(b, n, 1.5), torch.where(b, 1, 2), n.masked_fill(b, torch.tensor(7))), (B, N)),
    (lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, x)), (X, Y)),
    (lambda x: (torch.addcmul(x, x, x, value=0.5), torch.addcdiv(x, x, x + 9, value=2), x.lerp(x * 2, 0.3)), (X,)),
    (lambda x, y: (torch.atan2(x, y), torch.atan2(-x, -y)), (X, Y)),
    (lambda h, x: (h + 1, h * x, (h + 1.5).dtype == torch.float16 and h), (X.half(), torch.tensor(2.0))),
    (lambda x: (x.type_as(x), x + torch.tensor([1.0, 2, 3, 4])), (X,)),
]

ACTIVATIONS: list[Case] = [
    *((f, (X * 3,)) for f in (functional.relu, functional.relu6, functional.silu, functional.hardsigmoid)),
    *((f, (X * 3,)) for f in (functional.hardswish, functional.softplus, functional.mish, functional.logsigmoid)),
    *((f, (X * 3,)) for f in (functional.elu, functional.selu, functional.celu, functional.gelu, functional.hardtanh)),
    *((f, (X,)) for f in (functional.softshrink, functional.hardshrink, functional.tanhshrink, functional.softsign)),
    (lambda x: (functional.leaky_relu(x, 0.2), functional.elu(x, 0.5), functional.celu(x, 0.5)), (X,)),
    (lambda x: (functional.gelu(x, approximate="tanh"), functional.hardtanh(x, -0.5, 0.7)), (X,)),
    (lambda x: (functional.softplus(x * 9, 2, 5), functional.threshold(x, 0.1, 20), functional.glu(x)), (X,)),
    (lambda x, w: (functional.prelu(x, w), functional.prelu(x[0, 0], w[:1])), (X, torch.tensor([0.1, 0.2, 0.3]))),
    (lambda x: (x.softmax(1), x.log_softmax(-1), x[0, 0, 0].softmax(0), torch.softmax(x, 0, torch.float64)), (X,)),
    (lambda x: functional.dropout(x, 0.5, False), (X,)),
    (lambda n: (functional.relu(n), functional.relu6(n), functional.hardtanh(n, -2, 2)), (N,)),
]

MATRICES: list[Case] = [
    (lambda a, b: (a @ b, torch.mm(a[0], b), torch.matmul(a, b[:, 0]), torch.mv(a[0], b[:, 1])), (X, floats(4, 5))),
    (lambda a, b: (torch.bmm(a, b), a @ b, torch.baddbmm(a @ b, a, b, beta=0.5, alpha=2)), (X, floats(2, 4, 5))),
    (lambda x, w, b: (functional.linear(x, w, b), functional.linear(x, w)), (X, floats(5, 4), floats(5))),
    (lambda c, a, b: (torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0, alpha=3)), (floats(5), X[0], floats(4, 5))),
    (lambda a, b: (torch.dot(a, b), torch.outer(a, b), torch.einsum("i,j->ji", a, b)), (floats(4), floats(4, seed=2))),
    (lambda a, b: (torch.einsum("bij,jk->bik", a, b), torch.einsum("bij->b", a)), (X, floats(4, 5))),
]

SHAPES: list[Case] = [
    (
        lambda x: (
            x.view(6, -1),
            x.reshape(-1),
            x.flatten(1),
            x.flatten(),
            x.unflatten(-1, (2, 2)),
            x[0, 0, 0].flatten(),
        ),
        (X,),
    ),
    (lambda x: (x.permute(2, 0, 1), x.transpose(-1, 0), x[0].t(), x.mT, x.unsqueeze(-1), x.unsqueeze(0)), (X,)),
    (lambda x: (x[:, :1].squeeze(1), x[:1, :1].squeeze(), x.squeeze(0), x[:1].squeeze((0, 1))), (X,)),
    (lambda y: (y.expand(2, 3, 4), y.expand(-1, 5), y.expand_as(torch.ones(3, 2)), y.repeat(2, 1, 3), y.tile(2)), (Y,)),
    (
        lambda x, n: (
            torch.cat((x, x), 1),
            torch.cat((n, n), -1),
            torch.stack((x, x), -1),
            torch.cat((n, x[0, :2, :3])),
        ),
        (X, N),
    ),
    (lambda x: (*x.split(2, -1), *x.split((1, 3), 2), *x.chunk(2, 1), *x.unbind(1), *torch.tensor_split(x, 2)), (X,)),
    (lambda x: (x[:, 1:], x[..., -2:], x[:, ::2], x[1], x[:, -1], x[:, 0:-1], x.narrow(1, 1, 2), x[:, :99]), (X,)),
    (lambda x: (x.flip(0, -1), x.roll(1, -1), x.movedim(0, -1), x.swapaxes(0, 1), x[:, None]), (X,)),
    (lambda x: (x.size(0) + x, x * x.numel(), torch.atleast_2d(x[0, 0])), (X,)),
]

REDUCTIONS: list[Case] = [
    (lambda x: (x.sum(), x.sum(1), x.sum((0, -1), keepdim=True), x.mean(), x.mean(-1), x.prod(), x.prod(1)), (X,)),
    (lambda x: (x.amax(1), x.amin((0, 1)), x.max(), x.min(), *x.max(1), *x.min(-1, keepdim=True)), (X,)),
    (lambda x: (x.argmax(), x.argmax(1), x.argmin(-1, keepdim=True), x.argmin()), (X,)),
    (lambda b: (b.all(), b.any(), b.all(1), b.any(0, keepdim=True), b.sum(), b.sum(1)), (B,)),
    (lambda n: (n.sum(), n.prod(1), n.all(), n.any(1), n.amax(0), n.float().mean(), n.sum(dtype=torch.float32)), (N,)),
    (
        lambda x: (x.var(), x.var(1), x.std(-1, unbiased=False), x.std(), x.var((0, 1), correction=0, keepdim=True)),
        (X,),
    ),
    (lambda x: (*torch.var_mean(x, 1), *torch.std_mean(x, (0, 2))), (X,)),
    (lambda x: (x.norm(), x.norm(dim=1), torch.linalg.vector_norm(x, 3, -1), x.norm(1, 0), x.norm(float("inf"))), (X,)),
    (lambda x: (x.logsumexp(1), x.logsumexp((0, 1), keepdim=True), x.cumsum(1), x.cumsum(-1), x.cumprod(0)), (X,)),
    (lambda n: (n.cumsum(0), n.int().cumsum(1), torch.tensor(3.0).sum(), (n * 0 + 2.0)[0, 0].sum(0)), (N,)),
]

CREATION: list[Case] = [
    (lambda x: (torch.zeros(2, 3) + x, torch.ones_like(x), torch.zeros_like(x, dtype=torch.int32)), (UNIT,)),
    (
        lambda x: (torch.full((2, 3), 1.5) * x, torch.full_like(x, 3), x.new_zeros(3), x.new_ones(2, dtype=torch.bool)),
        (UNIT,),
    ),
    (lambda x: (torch.arange(3) + x, torch.arange(1, 7, 2) * x, torch.arange(0, 1, 0.25), torch.arange(3.0)), (UNIT,)),
    (lambda x: (torch.linspace(0, 1, 3) * x, torch.eye(3) @ x.T, x.new_full((2,), 7), torch.eye(2, 3)), (UNIT,)),
    (lambda x: (x.tril(), x.triu(1), x.tril(-1), (x > 0).tril(), torch.tensor(2.5) * x), (UNIT,)),
    (lambda x: (torch.ops.aten.fill.Scalar(x, 3), torch.scalar_tensor(2) * x, torch.tensor([1, 2, 3]) * x), (UNIT,)),
]

KERNEL, FILTERS = floats(6, 4, 3, 2), floats(6, 2, 3, 3)
GAMMA, BETA, MEAN, VARIANCE = (floats(4, low=0.2, seed=k) for k in range(4))

LAYERS: list[Case] = [
    (lambda x, w: (functional.conv2d(x, w, stride=2, padding=1), functional.conv2d(x[0], w)), (IMAGE, KERNEL)),
    (lambda x, w, b: functional.conv2d(x, w, b, (1, 2), (2, 0), (2, 1), 2), (IMAGE, FILTERS, floats(6))),
    (lambda x, w: (functional.conv2d(x, w, padding="same"), functional.conv2d(x, w, padding="valid")), (IMAGE, KERNEL)),
    (lambda x, w: (functional.conv1d(x, w, padding=1), functional.conv1d(x[0], w)), (floats(2, 3, 7), floats(5, 3, 3))),
    (lambda x, w: functional.conv3d(x, w, padding=1), (floats(1, 2, 4, 4, 4), floats(3, 2, 2, 2, 2))),
    (lambda x, w: functional.conv_transpose2d(x, w, None, 2, 1, 1), (IMAGE, floats(4, 3, 3, 3))),
    (lambda x, w, b: functional.conv_transpose1d(x, w, b, 2), (floats(2, 3, 7), floats(3, 2, 3), floats(2))),
    (lambda x, g, b, m, v: functional.batch_norm(x, m, v, g, b), (IMAGE, GAMMA, BETA, MEAN, VARIANCE)),
    (lambda x, m, v: functional.batch_norm(x, m, v), (floats(3, 4), MEAN, VARIANCE)),
    (lambda x, g, b: (functional.layer_norm(x, (4,), g, b), functional.layer_norm(x, (3, 4))), (X, GAMMA, BETA)),
    (lambda x, g: (functional.rms_norm(x, (4,), g), functional.rms_norm(x, (4,), None, 1e-3)), (X, GAMMA)),
    (
        lambda x, g, b: (functional.group_norm(x, 2, g, b), functional.instance_norm(x, None, None, g, b)),
        (IMAGE, GAMMA, BETA),
    ),
    (lambda x, g, b: torch.ops.aten.native_group_norm(x, g, b, 2, 4, 72, 2, 1e-5)[0], (IMAGE, GAMMA, BETA)),
    (lambda n, w: functional.embedding(n, w), (ints(2, 3, low=0, high=5), floats(5, 4))),
]

POOLS: list[Case] = [
    (lambda x: functional.max_pool2d(x, 3, 2, 1, return_indices=True), (IMAGE,)),
    (lambda x: functional.max_pool2d(x[0].relu(), 2, (2, 1), dilation=(1, 2), return_indices=True), (IMAGE,)),
    (lambda x: (functional.max_pool2d(x, 3, 2, 1), functional.max_pool2d(x, 2, ceil_mode=True)), (IMAGE,)),
    (lambda x: (functional.max_pool2d(x[0], 2, 1, dilation=2), functional.max_pool1d(x[0], 3)), (IMAGE,)),
    (lambda x: (functional.avg_pool2d(x, 3, 2, 1), functional.avg_pool2d(x, 3, 2, 1, False, False)), (IMAGE,)),
    (lambda x: (functional.avg_pool2d(x, 2, ceil_mode=True), functional.avg_pool1d(x[0], 3)), (IMAGE,)),
    (lambda x: (functional.adaptive_avg_pool2d(x, 1), functional.adaptive_avg_pool2d(x, (3, None))), (IMAGE,)),
    (lambda x: (functional.adaptive_avg_pool1d(x[0], 5), functional.adaptive_avg_pool2d(x[0], (4, 5))), (IMAGE,)),
    (lambda x: (functional.adaptive_max_pool2d(x, (2, 3)), functional.adaptive_max_pool1d(x[0], 1)), (IMAGE,)),
    (lambda x: (functional.max_pool3d(x, 2), functional.avg_pool3d(x, 2)), (floats(1, 2, 4, 4, 4),)),
]

QUERY, KEYS, VALUES = floats(2, 4, 5, 8), floats(2, 4, 6, 8, seed=1), floats(2, 4, 6, 3, seed=2)
SEEN = torch.tensor([[1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1], [1, 1, 0, 0, 0, 0]]).bool()

ATTENTIONS: list[Case] = [
    (functional.scaled_dot_product_attention, (QUERY, KEYS, VALUES)),
    (lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True), (QUERY, KEYS, VALUES)),
    (lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m), (QUERY, KEYS, VALUES, SEEN)),
    (
        lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m, scale=0.3),
        (QUERY, KEYS, VALUES, floats(5, 6)),
    ),
    (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
        (QUERY, KEYS, VALUES),
    ),
    (lambda q, k, v: functional.scaled_dot_product_attention(q[0, 0], k[0, 0], v[0, 0]), (QUERY, KEYS, VALUES)),
]

ROWS, PLACES = torch.tensor([[0, -1], [1, 0]]), torch.tensor([[0, 1, -1], [2, 1, 0]])

INDICES: list[Case] = [
    (
        lambda x, r: (x.index_select(1, r[0]), x.index_select(-1, r[1]), torch.take(x, r)),
        (X, torch.tensor([[0, 2], [1, 0]])),
    ),
    (lambda u, p: (torch.gather(u, 1, p.abs()), torch.gather(u, 0, p[:1, :2].abs() % 2)), (UNIT, PLACES)),
    (lambda u, p: (u.scatter(1, p.abs(), u * 2), u.scatter(1, p[:, :1].abs(), 7.0)), (UNIT, PLACES)),
    (lambda u, p: u.scatter_add(1, p.abs(), u), (UNIT, PLACES)),
    (lambda x: (x.diagonal(), x.diagonal(1, 1, 2), x.diagonal(-1, -1, 1), torch.diag(x[0, :, :3])), (X,)),
    (lambda x, r: (x[r], x[:, r], x[r, r], x[:, r, r + 1], x[r, :, r], x[0, r]), (X, ROWS)),
]


def written(x: Any, places: Any, part: Any) -> Any:
    """Writes in place, into views and by indices: what PyTorch makes pure before we look."""
    x = x.clone()
    x[:, 1] = 7.0
    x[0, :, ::2] = part[:, :2]
    x[places] += 1
    x.index_add_(1, places, x[:, :2].clone(), alpha=2)
    x[x > 6] = -1.0
    x.relu_().mul_(2)
    x.view(-1)[3:5].zero_()
    return x


def masked(x: Any) -> Any:
    x = x.clone()
    x[0].masked_fill_(x[0] > 0, 5.0)
    x.index_fill_(2, torch.tensor([0, -1]), 3.0)
    return x, x.index_copy(1, torch.tensor([2, 0]), x[:, :2] * 2)


def behind_slices(x: Any, places: Any, part: Any) -> Any:
    """Indices that do not stand in front, as static caches of keys and values are written."""
    cache, alone, apart, added = (x.clone() for _ in range(4))
    cache[:, places] = part
    alone[..., places] = part[0, 0, 0]
    apart[places, :, places] = part[0, 0, :3]
    added.index_put_((torch.tensor([0, 1, 0])[:, None], torch.tensor([0, 2])), part[:1, :1], accumulate=True)
    x = x.clone()
    x[:, places, places + 1] = part[:, 0, :2]
    return cache, alone, apart, added, x


def reduced(x: Any, places: Any) -> Any:
    """Every reduction, with and without what is there already, and with more sources than places."""
    kinds = [(r, s) for r in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)]
    every = [x.scatter_reduce(1, places, x * 2, r, include_self=s) for r, s in kinds]
    return *every, x.scatter_reduce(1, places[:1, :2], x, "amax")


WRITES: list[Case] = [
    (written, (X, torch.tensor([1, 0]), floats(3, 4, seed=5))),
    (masked, (X,)),
    (
        lambda u, p: (u.index_put((p,), u[0]), u.index_put((p, p), torch.tensor(1.0), True)),
        (UNIT, torch.tensor([1, 0])),
    ),
    (behind_slices, (X, torch.tensor([1, -2]), floats(2, 2, 4))),
    (reduced, (UNIT, torch.tensor([[0, 1, 0], [2, 2, 2]]))),
    (reduced, (N, torch.tensor([[0, 1, 0], [2, 2, 2]]))),
]

DISTINCT = torch.from_numpy(np.random.default_rng(3).permutation(24).astype(np.float32)).reshape(2, 3, 4)

ORDERS: list[Case] = [
    (lambda x: (*x.sort(1), *x.sort(-1, descending=True), x.argsort(0), x.argsort(-1, descending=True)), (DISTINCT,)),
    (lambda x: (*x.topk(2), *x.topk(2, 1, largest=False), *torch.sort(x, stable=True)), (DISTINCT,)),
    (
        lambda x: (x.median(), *x.median(-1), *x.kthvalue(2, 1), torch.bucketize(x, torch.tensor([3.0, 9.0, 20.0]))),
        (DISTINCT,),
    ),
]

BORDERS: list[Case] = [
    (
        lambda x: (functional.pad(x, (1, 2)), functional.pad(x, (0, 1, 2, 0), value=3.0), functional.pad(x, (-1, 1))),
        (X,),
    ),
    (lambda x: (functional.pad(x, (1, 2), mode="reflect"), functional.pad(x, (2, 1), mode="replicate")), (X,)),
    (
        lambda x: (functional.pad(x, (1, 2, 2, 1), mode="reflect"), functional.pad(x, (2, 1, 0, 1), mode="replicate")),
        (IMAGE,),
    ),
    (lambda x: functional.pad(x, (1, 2), mode="circular"), (X,)),
    (lambda b: functional.pad(b, (1, 1), value=True), (B,)),
]

BYTES = ints(1, 2, 4, 4, low=0, high=256, dtype=torch.uint8)
RESIZES: list[Case] = [
    (lambda u: functional.interpolate(u, scale_factor=1.7, mode="bilinear"), (BYTES,)),
    (lambda u: functional.interpolate(u, size=(3, 7), mode="bicubic"), (BYTES,)),
    (lambda u: functional.interpolate(u, size=(3, 7), mode="nearest"), (BYTES,)),
    (lambda x: (functional.interpolate(x, scale_factor=2), functional.interpolate(x, (5, 13))), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"), (IMAGE,)),
    (lambda x: functional.interpolate(x, (7, 4), mode="bilinear", align_corners=True), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=(1.3, 0.7), mode="bilinear"), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=1.7, mode="nearest"), (IMAGE,)),
    (lambda x: functional.interpolate(x, (5, 11), mode="nearest-exact"), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=1.3, mode="bicubic"), (IMAGE,)),
    (lambda x: functional.interpolate(x, (11, 5), mode="bicubic"), (IMAGE,)),
    (lambda x: (functional.interpolate(x[0], 6), functional.interpolate(x[0], 6, mode="linear")), (IMAGE,)),
    (lambda x: functional.interpolate(x, scale_factor=2, mode="trilinear"), (floats(1, 2, 3, 4, 3),)),
    (lambda x, p: functional.grid_sample(x, p, align_corners=False), (IMAGE, floats(2, 3, 5, 2))),
    (lambda x, p: functional.grid_sample(x, p, "nearest", "border", True), (IMAGE, floats(2, 3, 5, 2))),
    (lambda x: (functional.pixel_shuffle(x, 2), functional.pixel_unshuffle(x[:, :, :8], 2)), (IMAGE,)),
]


def cells(kind: Any, weights: list[Any], states: list[Any], both: bool) -> Case:
    """A recurrent layer called as `torch.nn` calls it."""
    count = len(states)

    def run(x: Any, *tensors: Any) -> Any:
        start = tensors[:count] if count > 1 else tensors[0]
        return kind(x, start, list(tensors[count:]), True, 1, 0.0, False, both, False)

    return run, (floats(4, 2, 3), *states, *weights)


def gates(count: int, both: bool, projected: int = 0) -> list[Any]:
    """Weights for states of 2 numbers (which may be projected) and inputs of 3, of one direction or two."""
    shapes: list[tuple[int, ...]] = [(2 * count, 3), (2 * count, projected or 2), (2 * count,), (2 * count,)]
    if projected:
        shapes.append((projected, 2))
    return [floats(*shape, seed=seed) for seed in range(1 + both) for shape in shapes]


RECURRENCES: list[Case] = [
    cells(torch.lstm, gates(4, True), [floats(2, 2, 2), floats(2, 2, 2, seed=1)], True),
    cells(torch.lstm, gates(4, True, projected=1), [floats(2, 2, 1), floats(2, 2, 2, seed=1)], True),
    cells(torch.gru, gates(3, False), [floats(1, 2, 2)], False),
    cells(torch.rnn_tanh, gates(1, True), [floats(2, 2, 2)], True),
    cells(torch.rnn_relu, gates(1, False), [floats(1, 2, 2)], False),
]

PADDED = torch.zeros(2, 5)
PADDED[0, 3:] = -float("inf")


def encoded(x: Any, mask: Any, mask_type: int | None, norm_first: bool, *weights: Any) -> Any:
    """What `nn.TransformerEncoderLayer` calls where no gradients are wanted."""
    attention, norms, hidden = weights[:4], weights[4:8], weights[8:]
    layer = torch.ops.aten._transformer_encoder_layer_fwd
    return layer(x, 8, 2, *attention, norm_first, norm_first, 1e-5, *norms, *hidden, mask, mask_type)


ENCODER = [
    *(floats(24, 8), floats(24), floats(8, 8), floats(8), floats(8, seed=1), floats(8, seed=2)),
    *(floats(8, seed=3), floats(8, seed=4), floats(6, 8), floats(6), floats(8, 6), floats(8, seed=5)),
]


def bags(weight: Any, words: Any, starts: Any, counts: Any) -> Any:
    """The ways of `nn.EmbeddingBag`; the second of the bags is empty."""
    modes = [functional.embedding_bag(words, weight, starts, mode=m, padding_idx=2) for m in ("sum", "mean", "max")]
    rows = functional.embedding_bag(words.view(2, 3), weight)
    ends = torch.tensor([0, 4, 6])
    last = functional.embedding_bag(words, weight, ends, mode="sum", include_last_offset=True)
    return *modes, rows, last, functional.embedding_bag(words, weight, starts, mode="sum", per_sample_weights=counts)


def strided(x: Any) -> Any:
    """Overlapping windows, the whole in another order, and what lies in columns."""
    y = x * 2
    turned = x.transpose(0, 1).contiguous().transpose(0, 1)
    return x.as_strided((3, 4), (2, 1), 1), y.as_strided((4, 3, 2), (1, 4, 12)), turned.as_strided((6,), (2,))


TIES = torch.tensor([[1.0, 3, 3, float("nan"), 9, 2], [2, 2, 1, 0, 2, 0.5]])

WHOLE_IN_PYTORCH: list[Case] = [
    (lambda x, *w: encoded(x, None, None, True, *w), (floats(2, 5, 8), *ENCODER)),
    (lambda x, m, *w: encoded(x, m, 1, False, *w), (floats(2, 5, 8), PADDED, *ENCODER)),
    (
        lambda x, k, m, *w: torch.ops.aten._native_multi_head_attention(x, k, k, 8, 2, *w, m, True, True, 0),
        (floats(2, 5, 8), floats(2, 5, 8, seed=1), torch.ones(5, 5).triu(1).bool(), *ENCODER[:4]),
    ),
    (bags, (floats(5, 3), torch.tensor([0, 2, 4, 4, 1, 3]), torch.tensor([0, 3, 3]), floats(6))),
    (lambda a, b: tuple(torch.cdist(a, b, p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))), (X, floats(2, 5, 4))),
    (lambda x: (*x.cummax(1), *x.cummin(1), *x.cummax(0), *(x > 1).int().cummax(1)), (TIES,)),
    (lambda x: (x.logcumsumexp(1), (x * 50).logcumsumexp(-1)), (X,)),
    (strided, (X,)),
    (lambda x, w: torch.ops.aten._native_batch_norm_legit.no_stats(x, w, w, True, 0.1, 1e-5)[0], (IMAGE, GAMMA)),
]
"""What is taken apart by `programs/decompositions.py`, in terms of PyTorch."""

INF, NAN = float("inf"), float("nan")
SPECIAL_NUMBERS = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e38, -200.0])
SPECIALS: list[Case] = [
    (
        lambda a, b: (torch.atan2(a, b), torch.hypot(a, b), torch.fmax(a, b), torch.fmin(a, b)),
        (SPECIAL_NUMBERS.repeat(9, 1).T, SPECIAL_NUMBERS),
    ),
    (
        lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.copysign(a, b), a**b),
        (SPECIAL_NUMBERS.repeat(9, 1).T, SPECIAL_NUMBERS),
    ),
    (
        lambda a: (torch.sign(a), torch.sgn(a), torch.signbit(a), torch.expm1(a), torch.log1p(a), torch.exp2(a)),
        (SPECIAL_NUMBERS,),
    ),
    (lambda a: (a.median(), a.median(0)[0], a.sort()[0], a.argmax(), a.max(), a.topk(2)[0]), (SPECIAL_NUMBERS,)),
    (lambda b: (b.sign(), b.square(), functional.pad(b[None], (1, 2), "circular"), torch.signbit(b)), (B,)),
    (lambda x: (x.round(decimals=1), torch.exp2(x), (x * 30).round(decimals=-1)), (UNIT,)),
    (
        lambda n: (torch.arange(-0.9, 2.1, 2.0, dtype=torch.int64) + n[:1, 0], torch.arange(3.1, dtype=torch.int64)),
        (N,),
    ),
    (lambda u: (u == 3, u - 1, u * 2, u // 2, u.clamp(1, 200), -u), (torch.tensor([0, 3, 255], dtype=torch.uint8),)),
]
"""Zeros with signs, infinities, NaN, numbers beyond a dtype; floats as bounds of whole numbers."""

SCALAR = torch.tensor(1.5)
WITHOUT_AXES: list[Case] = [
    (
        lambda x, i, y: (x.gather(0, i), x.scatter(0, i, y), x.scatter_add(0, i, y), x.index_copy(0, i, y[0])),
        (SCALAR, torch.tensor([0]), torch.tensor([2.0])),
    ),
    (
        lambda x, i, y: (x.index_add(0, i, y[0]), x.index_fill(0, i, 2.0), x.index_select(0, i), torch.nonzero(x)),
        (SCALAR, torch.tensor([0]), torch.tensor([2.0])),
    ),
    (
        lambda x, y: (x.scatter_reduce(0, torch.tensor(0), y, "prod"), x.topk(1)[0], x.kthvalue(1)[1], x.median(0)[0]),
        (SCALAR, torch.tensor(2.0)),
    ),
    (lambda x: (x[:0].var(0), x[:1].var(0), x[:0].sum(0), x[:0].softmax(1)), (UNIT,)),
]
"""Tensors of rank 0 have one axis where they are indexed; nothing to average gives no number."""


def put(x: Any, mask: Any, values: Any) -> Any:
    found = x.clone()
    found[mask] = values
    return found


MASK = torch.tensor([[True, False, True], [False, True, True]])
MASKS: list[Case] = [
    (lambda x, m: (x[m], torch.masked_select(x, m[0]), x[:, m[1]], *torch.where(m)), (UNIT, MASK)),
    (lambda x, m: (x[m], x[m[0, :2]], x[:, m[1]]), (floats(2, 3, 4), MASK)),
    (lambda x, m: (put(x, m, 2.0), x.masked_fill(m, 3.0)), (UNIT, MASK)),
]
"""Masks as indices, of which a run finds how many elements they pick."""

ONLY_IN_RELAX: list[Case] = [
    (put, (UNIT, MASK, floats(4))),
    (put, (floats(3, 4), MASK[0], floats(2, 4))),
    (put, (floats(3, 4), MASK[0], floats(1, 4))),
    (lambda x, m, v: torch.masked_scatter(x, m, v), (UNIT, MASK, floats(5))),
    (lambda x, m: torch.masked_scatter(x, m, x * 2), (floats(2, 3), MASK[0])),
    (lambda x, n: (x.repeat_interleave(n, 0), torch.repeat_interleave(n)), (UNIT, torch.tensor([3, 0]))),
]
"""What computes with sizes that a run finds, for which Relay has no names."""

MORE_IN_TERMS_OF_PYTORCH: list[Case] = [
    (lambda x: (x.unfold(1, 2, 1), x.unfold(0, 2, 2), torch.diagonal_scatter(x, x[:, 0] * 9, 1)), (UNIT,)),
    (lambda x: (x.index_reduce(0, torch.tensor([1, 1]), x, "amax"), torch.dist(x, x * 2, 1)), (UNIT,)),
    (
        lambda a, b: torch.addbmm(a[0].T[:, :1], a.transpose(1, 2), b, beta=0.5, alpha=2),
        (floats(2, 3, 4), floats(2, 3, 5)),
    ),
    (torch.nn.Bilinear(3, 4, 2), (floats(5, 3), floats(5, 4))),
    (lambda e, x: (torch.searchsorted(e, x), torch.searchsorted(e[0], x, right=True)), (UNIT.sort()[0], UNIT)),
    (lambda x: x.scatter(1, torch.tensor([[0], [1]]), 2.0, reduce="add"), (UNIT,)),
    (lambda n: (torch.einsum("ij->i", n), torch.einsum("ij,kj->ik", n, n)), (N.to(torch.uint8),)),
]

SIGNAL = floats(2, 5, 12)
COMPLEX: list[Case] = [
    (lambda x: (torch.fft.rfft(x).abs(), torch.fft.rfft(x, 9, 1, "ortho").angle(), torch.fft.fft2(x).real), (SIGNAL,)),
    (lambda x: (torch.fft.irfft(torch.fft.rfft(x), 12), torch.fft.irfft(torch.fft.rfft(x, 11), 11)), (SIGNAL,)),
    (lambda x: (torch.fft.ifft(torch.fft.fft(x, norm="forward"), 7, 1).imag, torch.fft.hfft(x[0]).sum()), (SIGNAL,)),
    (lambda x: torch.fft.irfft2(torch.fft.rfft2(x) * torch.fft.rfft2(x.flip(2)), s=(5, 12)), (SIGNAL,)),
    (lambda x: torch.view_as_real(torch.fft.fftshift(torch.fft.fftn(x), (1, 2))), (SIGNAL,)),
    (
        lambda x: torch.istft(torch.stft(x[:, 0].repeat(1, 4), 8, 3, window=torch.ones(8), return_complex=True), 8, 3),
        (SIGNAL,),
    ),
    (
        lambda x: [
            torch.view_as_real(z)
            for c in [torch.view_as_complex(x.view(2, 5, 6, 2))]
            for z in (
                c * c,
                c / (c + 2),
                c * 1j - 1,
                c @ c.mT,
                c.conj().exp(),
                torch.cat([c, c * 2], 1)[:, 1:7:2],
                -c,
                c.sum(1),
                c * x[:, :, :6],
                x[:, :, :6] / c,
                torch.polar(c.abs(), c.angle()),
                c.to(torch.complex128),
            )
        ],
        (SIGNAL,),
    ),
]
"""Complex tensors within a program."""

FAMILIES: dict[str, list[Case]] = {
    "unary": UNARY,
    "binary": BINARY,
    "activations": ACTIVATIONS,
    "matrices": MATRICES,
    "shapes": SHAPES,
    "reductions": REDUCTIONS,
    "creation": CREATION,
    "layers": LAYERS,
    "pools": POOLS,
    "attentions": ATTENTIONS,
    "indices": INDICES,
    "writes": WRITES,
    "orders": ORDERS,
    "borders": BORDERS,
    "resizes": RESIZES,
    "recurrences": RECURRENCES,
    "whole in PyTorch": WHOLE_IN_PYTORCH,
    "special numbers": SPECIALS,
    "without axes": WITHOUT_AXES,
    "masks": MASKS,
    "complex": COMPLEX,
    "more in terms of PyTorch": MORE_IN_TERMS_OF_PYTORCH,
}
