"""Tensors as a whole: products, shapes, reductions, new ones, orders, borders."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from tests.frontends.torch.cases.inputs import IMAGE, UNIT, B, Case, N, X, Y, floats, ints

MATRICES: list[Case] = [
    (lambda a, b: (a @ b, torch.mm(a[0], b), torch.matmul(a, b[:, 0]), torch.mv(a[0], b[:, 1])), (X, floats(4, 5))),
    (lambda a, b: (torch.bmm(a, b), a @ b, torch.baddbmm(a @ b, a, b, beta=0.5, alpha=2)), (X, floats(2, 4, 5))),
    (lambda x, w, b: (functional.linear(x, w, b), functional.linear(x, w)), (X, floats(5, 4), floats(5))),
    (lambda c, a, b: (torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0, alpha=3)), (floats(5), X[0], floats(4, 5))),
    (  # products that narrow floats do not hold
        lambda a: (
            torch.addmm(a, a, a.T, alpha=0.001, beta=2),
            torch.baddbmm(a[None], a[None], a.T[None], alpha=0.001),
            torch.dot(a[0, :2], a[0, :2] * torch.tensor([1, -0.75]).half()),
        ),
        (torch.full((3, 3), 300.0).half(),),
    ),
    (lambda a, b: (torch.dot(a, b), torch.outer(a, b), torch.einsum("i,j->ji", a, b)), (floats(4), floats(4, seed=2))),
    (lambda a, b: (torch.einsum("bij,jk->bik", a, b), torch.einsum("bij->b", a)), (X, floats(4, 5))),
    (lambda a, b: (torch.einsum("...ij,...j->i", a, b), torch.einsum("...i,...i->", a, a)), (X, floats(4))),
    (lambda a, b: (a[0, 0] @ b[:, 0], a[:, :, :0] @ b[:0], a[:, :, :0] @ b[:0, 0], a[0, :0] @ b), (X, floats(4, 5))),
    (lambda a: (a[:, :, :0] @ a.mT[:, :0], a[:0] @ a.mT[:0], a[:, :0] @ a.mT), (X,)),
    (lambda x, w: (functional.linear(x[:, :, :0], w[:, :0]), functional.linear(x[:, :0], w)), (X, floats(5, 4))),
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
    (  # the same bytes
        lambda x, b: (
            *(x.view(getattr(torch, to)) for to in ("int32", "uint8", "int16", "float64")),
            b.view(torch.int8),
        ),
        (X, B),
    ),
    (
        lambda n: (n.view(torch.float32), n.view(torch.int64), n.view(torch.half), (n % 2).view(torch.bool)),
        (ints(2, 8, low=0, high=120, dtype=torch.uint8),),
    ),
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
    (lambda x: (x.var(1), x.std(), *(torch.linalg.vector_norm(x, p, -1) for p in (1, 2, 3))), (X.half() * 100,)),
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
    (
        lambda x: (torch.linspace(4, 0, 50, dtype=torch.uint8) + x.int()[0, 0], torch.linspace(4.7, -3.2, 7).int()),
        (UNIT,),
    ),
    (lambda x: torch.linspace(-3, 1, 7, dtype=torch.int64) + x.int()[0, 0], (UNIT,)),
    (lambda x: (x.tril(), x.triu(1), x.tril(-1), (x > 0).tril(), torch.tensor(2.5) * x), (UNIT,)),
    (lambda x: (torch.ops.aten.fill.Scalar(x, 3), torch.scalar_tensor(2) * x, torch.tensor([1, 2, 3]) * x), (UNIT,)),
]

DISTINCT = torch.from_numpy(np.random.default_rng(3).permutation(24).astype(np.float32)).reshape(2, 3, 4)

ORDERS: list[Case] = [
    (lambda x: (*x.sort(1), *x.sort(-1, descending=True), x.argsort(0), x.argsort(-1, descending=True)), (DISTINCT,)),
    (lambda x: (*x.topk(2), *x.topk(2, 1, largest=False), *torch.sort(x, stable=True)), (DISTINCT,)),
    (
        lambda x: (
            x.median(),
            *x.median(-1),
            *torch.where(x > 0, x, torch.nan).median(-1),
            *x.kthvalue(2, 1),
            torch.bucketize(x, torch.tensor([3.0, 9.0, 20.0])),
        ),
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
    (lambda x: (functional.pad(x, (-4, 5), mode="replicate"), functional.pad(x, (-1, 2), mode="reflect")), (X,)),
    (lambda x: functional.pad(x, (1, 2), mode="circular"), (X,)),
    (lambda b: functional.pad(b, (1, 1), value=True), (B,)),
]
