"""Elements by where they are: read, written, masked, without axes."""

from __future__ import annotations

from typing import Any

import torch

from tests.frontends.torch.cases.inputs import UNIT, Case, N, X, floats, ints

ROWS, PLACES = torch.tensor([[0, -1], [1, 0]]), torch.tensor([[0, 1, -1], [2, 1, 0]])

INDICES: list[Case] = [
    (lambda x: (x.gather(0, torch.zeros(2, 0).long()), x[:0].gather(0, torch.zeros(0).long())), (floats(5),)),
    (lambda x, r: (x[:, r, r], x[r, :, r]), (floats(3, 4, 3, 0), torch.tensor([0, 2]))),
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


def beside_everything(x: Any) -> Any:
    """No places, slices without elements, tensors without elements, one number for one place."""
    nowhere, nothing = torch.zeros(0).long(), torch.zeros(0)
    x, empty = x.clone(), x[:0].clone()
    x[:, 2:1] = 7.0
    empty[:] = 7.0
    added = x.scatter_add(0, nowhere, nothing), x.scatter_reduce(0, nowhere, nothing, "amax", include_self=False)
    numbers = x[0].index_copy(0, torch.tensor(1), x[1, 0]), x[0].index_copy(0, torch.tensor([1]), x[1, 0])
    return x, empty, x.scatter(0, nowhere, nothing), x.scatter(1, nowhere, 7.0), *added, *numbers


WRITES: list[Case] = [
    (written, (X, torch.tensor([1, 0]), floats(3, 4, seed=5))),
    (masked, (X,)),
    (
        lambda u, p: (u.index_put((p,), u[0]), u.index_put((p, p), torch.tensor(1.0), True)),
        (UNIT, torch.tensor([1, 0])),
    ),
    (behind_slices, (X, torch.tensor([1, -2]), floats(2, 2, 4))),
    (beside_everything, (UNIT,)),
    (reduced, (UNIT, torch.tensor([[0, 1, 0], [2, 2, 2]]))),
    (reduced, (N, torch.tensor([[0, 1, 0], [2, 2, 2]]))),
]

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
        lambda x, y: (
            x.scatter_reduce(0, torch.tensor(0), y, "prod"),
            x.topk(1)[0],
            x.kthvalue(1)[1],
            x.median(0)[0],
            x.flip(0),
            x.std(0, correction=0),
            *torch.var_mean(x, -1, keepdim=True),
        ),
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

COUNTED = torch.tensor([3, 3, 0, 5, 0, 0, 3, 3])

SIZES_FOUND: list[Case] = [
    (put, (UNIT, MASK, floats(4))),
    (put, (floats(3, 4), MASK[0], floats(2, 4))),
    (put, (floats(3, 4), MASK[0], floats(1, 4))),
    (lambda x, m, v: torch.masked_scatter(x, m, v), (UNIT, MASK, floats(5))),
    (lambda x, m: torch.masked_scatter(x, m, x * 2), (floats(2, 3), MASK[0])),
    (
        lambda n: (*torch.unique(n, return_inverse=True, return_counts=True), n[3:4].unique(), n[:0].unique()),
        (COUNTED,),
    ),
    (lambda x: torch.unique(x > 0, return_inverse=True, return_counts=True), (floats(3, 4),)),
    (  # numbers of the program, which no run needs to tell
        lambda x: (x.repeat_interleave(torch.tensor([1, 2, 0]), 0), x[0, torch.bincount(torch.tensor([1, 2, 1]))]),
        (floats(3, 4),),
    ),
    (lambda n: (*n.view(2, 4).unique_consecutive(True, True), n.unique_consecutive(dim=0)), (COUNTED,)),
    *(
        (
            lambda n, dim=dim: (
                *torch.unique(n, dim=dim, return_inverse=True, return_counts=True),
                torch.unique(n > 0, dim=dim),
                *torch.unique_consecutive(n, dim=dim, return_inverse=True, return_counts=True),
            ),
            (ints(5, 2, 3, low=0, high=2),),
        )
        for dim in range(3)
    ),
    (lambda n: (*torch.unique(n[:0], dim=0, return_counts=True), n[:, :1].unique(dim=1)), (ints(4, 2),)),
    (lambda x, n: (x.repeat_interleave(n, 0), torch.repeat_interleave(n)), (UNIT, torch.tensor([3, 0]))),
    (lambda n: (n.bincount(), n.bincount(minlength=9), n[:0].bincount(), n[:0].bincount(minlength=2)), (COUNTED,)),
    (lambda n, w: (n.bincount(w), n.bincount(w.double(), 12) + 1), (COUNTED, floats(8))),
]
"""What computes with sizes that a run finds, or that elements say."""
