"""torch.compile of programs whose sizes and numbers stay open: arithmetic of sizes, numbers as arguments, views."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import baton
from baton._src.driver.frontends import torch_dynamo, torch_sizes
from tests.frontends.torch.cases.inputs import floats

ROWS = floats(2, 6, 4)
IMAGES = [(floats(2, 3, 5, 6),), (floats(2, 3, 9, 4),), (floats(1, 3, 7, 7),)]
TABLES = [(floats(2, n),) for n in (8, 7, 6, 4, 3)]


def check(function: Callable[..., Any], examples: Sequence[tuple[Any, ...]], dynamic: bool | None = None) -> None:
    """The compiled function gives what PyTorch gives, for one example after another."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="baton", dynamic=dynamic)
    for given in examples:
        torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-4, atol=1e-5)


def written(x: Any, begin: int) -> Any:
    cache = torch.zeros(2, 12, 4)
    cache[:, begin : begin + x.shape[1]] = x
    return cache[:, : begin + x.shape[1]].sum(1)


def emptied(x: Any, begin: int, end: int) -> Any:
    y = x.clone()
    y[:, begin:end] = 5
    return y


def every_other(x: Any, begin: int) -> Any:
    y = x.clone()
    y[:, begin::2] = 5
    y.view(-1)[::3] = -1
    return y


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda x, n: x * n + torch.full((n, 1, 1), 2.0)[:1] / n, [(2,), (3,), (5,)]),
        (written, [(1,), (2,), (5,)]),
        (lambda x, n: (*x.topk(n, 1), *x.topk(n - 1, 2, largest=False), x.topk(0)[0]), [(2,), (3,), (4,)]),
        (lambda x, n: (x[:, n:] + 1, x[:, :n] * 2, x[:, -n:] * 3), [(2,), (3,), (6,), (9,)]),
        (lambda x, n: (x[:, n:] + 1, x[:, :n] * 2, x[:, n] * 3), [(-1,), (-2,), (-3,)]),
        (
            lambda x, n: (
                *x[:, n:].median(1),
                torch.arange(6 - n, -1, -2),
                torch.arange(n, -9, -3),
                torch.arange(n - 1, -n, -1.0),
                torch.arange(-n, 3.0, 0.75),
                torch.arange(n, 0.0, -0.1),
                *x[:, n:].split(4, 1),
                *x[:, n:].chunk(2, 1),
            ),
            [(1,), (2,), (4,)],
        ),
        (lambda x, n: x.narrow(1, n, 2).sum(1) + x.select(1, n), [(1,), (2,), (4,)]),
        (emptied, [(1, 2), (2, 4), (3, 6), (4, 2), (5, 9)]),
        (every_other, [(1,), (2,), (3,)]),
        (lambda x, n: x.masked_fill(torch.ones(6, 4).tril(n) == 0, -1.0), [(1,), (-2,), (2,), (-1,)]),
        (lambda x, n: x + torch.arange(n, n + 4)[None].triu(n), [(2,), (3,)]),
        (
            lambda x, n: (
                functional.elu(x, n * 0.25) + functional.celu(x, n * 0.5) + functional.leaky_relu(x, n * 0.1),
                functional.hardshrink(x, n * 0.25) + functional.softshrink(x, n * 0.25) + functional.softplus(x, n / 3),
                functional.threshold(x, n * 0.25, n / 3) + functional.hardtanh(x, -1.0, n * 0.25),
            ),
            [(2,), (3,), (5,)],
        ),
    ],
    ids=[
        "arithmetic",
        "cache",
        "greatest",
        "slices",
        "from the end",
        "middle",
        "narrow",
        "written",
        "stepped",
        "triangle",
        "places",
        "activations",
    ],
)
def test_numbers_as_arguments(function: Callable[..., Any], numbers: list[tuple[int, ...]]) -> None:
    """From the second one on, PyTorch leaves them open; no tensor has them as its size."""
    check(function, [(ROWS, *given) for given in numbers])


def test_cache_that_the_module_keeps() -> None:
    """Positions are numbers; what is written before is seen by later calls."""

    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(1, 10, 4))

        def forward(self, x: Any, place: int) -> Any:
            self.seen[:, place : place + x.shape[1]] = x
            return (x @ self.seen[:, : place + x.shape[1]].mT).softmax(-1)

    torch._dynamo.reset()
    plain, place = Cached(), 0
    compiled = torch.compile(Cached(), backend="baton")
    for length in (3, 1, 1, 2):
        words = floats(1, length, 4, seed=place)
        torch.testing.assert_close(compiled(words, place), plain(words, place))
        place += length


@pytest.mark.parametrize(
    "function",
    [
        lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        lambda x: functional.interpolate(x, scale_factor=1.5, mode="bilinear"),
        lambda x: functional.interpolate(x, size=(x.shape[2] // 2, x.shape[3] + 1), mode="bicubic"),
        lambda x: functional.interpolate(x[:, :, ::2, 1::2], size=x.shape[-2:]),
        lambda x: functional.interpolate(torch.ones(1, 1, 4, 4), size=(x.shape[2] // 2, x.shape[3]), mode="bilinear"),
        lambda x: (x @ x.mT) * x.shape[-1] ** -0.5 + 1 / math.sqrt(x.shape[2]) + x.shape[2] ** 2,
        lambda x: x.sum((2, 3)) / (x.shape[2] * x.shape[3]) - x.size(3) / x.size(2) * 0.3,
        lambda x: x[:, :, : int(x.shape[2] * 0.5)] + math.ceil(x.shape[3] * 1.25),
        lambda x: torch.arange(x.shape[3]) / x.shape[3],
        lambda x: torch.eye(x.shape[2], x.shape[3]) * x,
        lambda x: (x.diagonal(0, 2, 3) * 2, x[0, 0].diagonal(-1) + 1, (x @ x.mT).diagonal(1, 2, 3) - 1),
        lambda x: (x.var(correction=1.5), *torch.var_mean(x, (2, 3), correction=0.5)),
        lambda x: (functional.adaptive_avg_pool2d(x, (None, 1)), functional.adaptive_avg_pool2d(x, (None, None))),
        lambda x: functional.embedding_bag((x[0, 0] > 0).long(), torch.eye(2)),
    ],
    ids=[
        *("corners", "half", "cubic", "strided", "of a constant", "powers", "means", "cut", "places", "eye"),
        *("diagonal", "variance", "kept", "bags"),
    ],
)
def test_numbers_computed_from_sizes(function: Callable[..., Any]) -> None:
    """Quotients, roots and products with floats are numbers of the program; what is rounded is a size again."""
    check(function, IMAGES, dynamic=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, x.shape[1] - 5 :],
        lambda x: x[:, : x.shape[1] - 5],
        lambda x: x[:, -(x.shape[1] // 2) :],
        lambda x: (x.t(), x + 1, x.unsqueeze(0).expand(3, -1, -1)),
        lambda x: (x * 2, (x * 2).t()[1:]),
        lambda x: x.split(2, 1)[0],
        lambda x: x.add_(1).t(),
    ],
    ids=["end", "start", "half", "turned", "of results", "parts", "changed"],
)
def test_results_that_are_views(function: Callable[..., Any]) -> None:
    """PyTorch looks at its own tensors with the strides and offsets of such results."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="baton", dynamic=True)
    for (table,) in TABLES:
        torch.testing.assert_close(compiled(table.clone()), function(table.clone()))


def test_views_share_memory_with_their_input() -> None:
    torch._dynamo.reset()
    table = torch.zeros(2, 5)
    seen = torch.compile(lambda x: x[:, 1:], backend="baton", dynamic=True)(table)
    seen += 1
    assert table.tolist() == [[0.0, 1, 1, 1, 1]] * 2


def smoothed(x: Any) -> Any:
    """Smaller by a broken factor along rows, and to a number of columns."""
    return functional.interpolate(x, (x.shape[2] // 2, 3), mode="bicubic", antialias=True)


@pytest.mark.parametrize(
    "function",
    [
        smoothed,
        lambda x: torch.fft.rfft(x, norm="ortho").abs(),
        lambda x: x[:, :, : int(x.shape[2] * 0.7)] + round(x.shape[3] ** 0.5),
    ],
    ids=["smoothed", "fourier", "rounded"],
)
@pytest.mark.parametrize("dynamic", [None, True], ids=["opened", "open"])
def test_sizes_that_must_be_known(function: Callable[..., Any], dynamic: bool | None) -> None:
    """PyTorch opens a size when a second one comes: models that took the first image were refused for the next."""
    check(function, [*IMAGES, IMAGES[0]], dynamic)


def test_models_of_known_sizes_are_kept_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that a size is compiled once, and that sizes without end do not fill the memory."""
    built = []
    monkeypatch.setattr(torch_sizes, "MOST", 2)
    monkeypatch.setattr(torch_dynamo, "compile_model", lambda m: built.append(m) or baton.compile(m))
    lines = [(floats(2, n),) for n in (6, 5, 6, 5, 4, 6)]
    check(lambda x: torch.fft.rfft(x).real, lines, dynamic=True)
    assert len(built) == 4  # 6, 5, 4 in the place of 6, 6 again


@pytest.mark.parametrize("mode", ["constant", "replicate", "reflect", "circular"])
def test_borders_of_open_width(mode: str) -> None:
    """As windows are filled up to whole ones, and a decoder's images to those of the encoder."""
    given = {"value": 2.0} if mode == "constant" else {}

    def bordered(x: Any) -> Any:
        return functional.pad(x, (x.shape[2] % 3, 1, 0, x.shape[3] // 4), mode=mode, **given) + 1

    check(bordered, [*IMAGES, (floats(2, 3, 8, 12),)], dynamic=True)


def test_borders_that_may_take_away() -> None:
    def cropped(x: Any) -> Any:
        mask = functional.pad(x > 0, (8 - x.shape[3], 0))
        whole = functional.pad((x * 5).int(), (6 - x.shape[2], 9 - x.shape[3], x.shape[2] - 4, 0), value=3)
        return functional.pad(x, (0, 8 - x.shape[3]), value=-1.0) * 2, mask, whole

    check(cropped, [*IMAGES, (floats(2, 3, 8, 12),)], dynamic=True)


class Resized(nn.Module):
    """By factors that are not whole, in every way."""

    def forward(self, x: Any) -> Any:
        found = []
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
            for align in (None,) if "nearest" in mode else (False, True):
                for factor in ((1.5, 0.75), 0.5):
                    found.append(functional.interpolate(x, scale_factor=factor, mode=mode, align_corners=align))
        return tuple(found)


def test_images_of_any_size_resized_by_broken_factors() -> None:
    sizes = {2: torch.export.Dim("height", min=4), 3: torch.export.Dim("width", min=4)}
    exported = torch.export.export(Resized(), (floats(2, 3, 9, 7),), dynamic_shapes=(sizes,))
    compiled = baton.compile(exported, opt_level=1)
    for given in (floats(2, 3, 9, 7), floats(2, 3, 12, 5), floats(2, 3, 4, 13)):
        found = [torch.from_numpy(np.asarray(r)) for r in compiled(given)]
        torch.testing.assert_close(found, list(Resized()(given)), rtol=1e-4, atol=1e-4)


class Scanned(nn.Module):
    """What is made of all elements up to each one, with NaN and equal elements."""

    def forward(self, x: Any) -> Any:
        return (*x.cummax(0), x.logcumsumexp(-1))


def test_scans_of_open_length() -> None:
    """They were refused: the steps were as many as a known length needs."""
    sizes = {0: torch.export.Dim("rows", max=8), 1: torch.export.Dim("columns", max=8)}
    given = floats(5, 6).masked_fill(floats(5, 6, seed=1) > 0.5, math.nan).round(decimals=1)
    compiled = baton.compile(torch.export.export(Scanned(), (given,), dynamic_shapes=(sizes,)), opt_level=1)
    for x in (given, floats(8, 8), floats(1, 2), floats(0, 3)):
        found = [torch.from_numpy(np.asarray(r)) for r in compiled(x)]
        torch.testing.assert_close(found, list(Scanned()(x)), rtol=1e-4, atol=1e-5, equal_nan=True)


class Averaged(nn.Module):
    """Windows that hang over the border, where that counts, and where sums are divided by a number."""

    def forward(self, x: Any) -> Any:
        average = functional.avg_pool2d
        return average(x, 3, 2, 1, True), average(x, (2, 3), 3, (1, 0), True), average(x, 2, 3, 1, True, True, 5)


def test_averages_of_open_size_rounded_up() -> None:
    """They were refused: how many elements each window has was computed when importing. PyTorch leaves sizes open of
    which as many elements remain behind the last window."""
    open_size = torch.export.Dim.AUTO
    exported = torch.export.export(
        Averaged(), (floats(2, 3, 8, 7),), dynamic_shapes=({2: open_size, 3: open_size},), strict=False
    )
    compiled = baton.compile(exported, opt_level=1)
    for given in (floats(2, 3, 8, 7), floats(2, 3, 5, 10)):
        found = [torch.from_numpy(np.asarray(r)) for r in compiled(given)]
        torch.testing.assert_close(found, list(Averaged()(given)), rtol=1e-5, atol=1e-6)
