"""How to draw steps that move elements: other shapes, parts, borders, and elements read and written by indices."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from tests.frontends.torch.random_expressions import Scope, Step


def view(s: Scope) -> Step:
    """Other shapes of the same elements."""
    x = s.pick("fib", ranks=(1, 2, 3))
    a, b = s.axis(x), s.axis(x)
    order = s.draw.sample(range(x.ndim), x.ndim)
    shifts = s.draw.choice([1, -1, 2])
    return Step(*s.draw.choice([
        (lambda x: x.transpose(a, b), f"transpose {a} {b}"),
        (lambda x: x.permute(order), f"permute {order}"),
        (lambda x: x.unsqueeze(a), f"unsqueeze {a}"),
        (lambda x: x.flatten(), "flatten"),
        (lambda x: x.reshape(x.shape[0], -1), "reshape first"),
        (lambda x: x.reshape(-1, x.shape[-1]), "reshape last"),
        (lambda x: x.reshape(*x.shape[:-1], 2, -1), "reshape halves"),
        (lambda x: x.flip(a), f"flip {a}"),
        (lambda x: x.roll(shifts, a), f"roll {shifts} {a}"),
        (lambda x: x.unsqueeze(0).expand(2, *x.shape), "expand"),
        (lambda x: x.repeat(2, *[1] * (x.ndim - 1)), "repeat"),
        (lambda x: x.repeat_interleave(2, a), f"repeat_interleave {a}"),
        (lambda x: x.movedim(a, b), f"movedim {a} {b}"),
        (lambda x: x.diagonal(0, a, b), f"diagonal {a} {b}"),
        (lambda x: x.tril(-1), "tril"),
        (lambda x: torch.rot90(x, shifts, (a, b)), f"rot90 {a} {b}"),
        (lambda x: x.unfold(a, 2, 1), f"unfold {a}"),
        (lambda x: x.chunk(2, a)[-1], f"chunk {a}"),
        (lambda x: x.split(2, a)[0], f"split {a}"),
        (lambda x: torch.stack([x, x.flip(a)], b), f"stack {a} {b}"),
        (lambda x: torch.cat([x, x[:1]], 0), "cat"),
        (lambda x: torch.diff(x, dim=a) if x.dtype != torch.bool else x, f"diff {a}"),
        (lambda x: x.mT, "mT"),
    ]))  # fmt: skip


def cut(s: Scope) -> Step:
    """Basic indices: of slices, numbers, new axes and an ellipsis."""
    x = s.pick("fib", ranks=(1, 2, 3))
    parts: list[Any] = []
    for _ in range(s.draw.randint(1, x.ndim)):
        first, last = s.draw.choice([None, 0, 1, -2]), s.draw.choice([None, None, -1, 3, 100])
        parts.append(s.draw.choice([slice(first, last, s.draw.choice([None, 1, 2])), 0, -1, slice(None)]))
    if s.draw.random() < 0.2:
        parts.insert(s.draw.randint(0, len(parts)), None)
    if s.draw.random() < 0.2:
        parts.insert(s.draw.randint(0, len(parts)), ...)
    return Step(lambda x: x[tuple(parts)], f"index {parts}")


def pad(s: Scope) -> Step:
    """Borders; negative ones cut."""
    x = s.pick("fi", ranks=(2, 3))
    widths = [s.draw.choice([0, 1, 2, -1]) for _ in range(2 * s.draw.randint(1, x.ndim))]
    if s.draw.random() < 0.3:
        mode = s.draw.choice(["reflect", "replicate", "circular"])
        return Step(lambda x: functional.pad(x, (1, 2), mode=mode), f"pad {mode}")
    return Step(lambda x: functional.pad(x, widths, value=1.5 if x.dtype.is_floating_point else 2), f"pad {widths}")


def pick_elements(s: Scope) -> Step:
    """By tensors of indices, which are brought into range; negative ones count from the end."""
    x, places = s.pick("fib", ranks=(1, 2, 3)), s.pick("i", ranks=(1, 2))
    axis = s.axis(x)
    negative = s.draw.random() < 0.3

    def within(x: Any, at: Any, axis: int = 0) -> Any:
        return at.long() % x.shape[axis] - (x.shape[axis] if negative else 0)

    return Step(*s.draw.choice([
        (lambda x, at: x[within(x, at)], f"index by tensor {negative}"),
        (lambda x, at: x[..., within(x, at, -1)], f"index the last axis by tensor {negative}"),
        (lambda x, at: x[:, within(x, at, 1)], f"index the second axis by tensor {negative}"),
        (lambda x, at: x[within(x, at), None, within(x, at, -1)], f"index by two tensors apart {negative}"),
        (lambda x, at: x[within(x, at), within(x, at, 1)], f"index by two tensors {negative}"),
        (lambda x, at: x.index_select(axis, at.long().flatten() % x.shape[axis]), f"index_select {axis}"),
        (lambda x, at: x.gather(axis, at.long() % x.shape[axis]), f"gather {axis}"),
        (lambda x, at: torch.take_along_dim(x, at.long() % x.shape[axis], axis), f"take_along_dim {axis}"),
        (lambda x, at: x.take(at.long() % x.numel()), "take"),
        (lambda x, at: functional.embedding(at.long() % x.shape[0], x), "embedding"),
        (lambda x, at: functional.one_hot(at.long() % 5, 5), "one_hot"),
    ]))  # fmt: skip


def write(s: Scope) -> Step:
    """Elements of a copy are changed, at once or where indices say."""
    x, places = s.pick("f", ranks=(1, 2, 3)), s.pick("i", ranks=(1, 2))
    axis = s.axis(x)
    how = s.draw.choice(["sum", "amax", "amin", "mean"])

    def index(x: Any, at: Any) -> Any:
        y = x.clone()
        y[at.long() % x.shape[0]] = 7.0
        return y

    def slices(x: Any, at: Any) -> Any:
        y = x.clone()
        y[..., 1:] += 1
        y[0] = 5
        y[-1].mul_(2)
        return y

    def fill(x: Any, at: Any) -> Any:
        return x.index_fill(axis, at.long().flatten() % x.shape[axis], 3.0)

    def add(x: Any, at: Any) -> Any:
        found = at.long().flatten() % x.shape[0]
        return x.index_add(0, found, torch.ones(len(found), *x.shape[1:]), alpha=0.5)

    def put(x: Any, at: Any) -> Any:
        return x.index_put((at.long() % x.shape[0],), torch.ones(()), accumulate=True)

    def scatter(x: Any, at: Any) -> Any:
        return x.scatter_reduce(axis, at.long() % x.shape[axis], at.to(x.dtype), how, include_self=how != "mean")

    def masked(x: Any, at: Any) -> Any:
        y = x.clone()
        y[y > 0.5] = -1.0
        return y

    def selected(x: Any, at: Any) -> Any:
        return torch.select_scatter(torch.slice_scatter(x, x[:1] + 1, 0, 1, 2), x.select(axis, 0) * 2, axis, 0)

    return Step(*s.draw.choice([
        (index, "x[at] = 7"), (slices, "slices written"), (fill, f"index_fill {axis}"), (add, "index_add"),
        (put, "index_put"), (scatter, f"scatter_reduce {axis} {how}"), (masked, "x[x > 0.5] = -1"),
        (selected, f"select_scatter {axis}"),
    ]), is_exact=how != "mean")  # fmt: skip


def counted(s: Scope) -> Step:
    """Results whose size the values decide."""
    s.pick("fi", ranks=(1, 2), exact=True)
    return Step(*s.draw.choice([
        (lambda x: x[x > 0], "x[x > 0]"),
        (lambda x: torch.nonzero(x > 0), "nonzero"),
        (lambda x: x.masked_select(x < 1), "masked_select"),
        (torch.unique, "unique"),
        (lambda x: x[x.reshape(x.shape[0], -1)[:, 0] > 0], "rows by a mask"),
        (lambda x: torch.bincount(x.long().flatten().abs()), "bincount"),
        (lambda x: torch.repeat_interleave(x, x.long().reshape(x.shape[0], -1)[:, 0].abs(), dim=0), "by counts"),
        (lambda x: torch.where(x > 0)[0], "places of where"),
        (lambda x: torch.argwhere(x == x.max()), "argwhere"),
    ]))  # fmt: skip
