"""The kernels of caches in pages, every access checked, against NumPy's definition of what they compute."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.frontends.nn.llm.paged_kernels import Heads, cache_kernels
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.vm.builtins.paged_arithmetic import Arithmetic
from baton._src.runtime.vm.builtins.paged_cache import PagedCache
from baton._src.runtime.vm.builtins.paged_rows import Row
from baton._src.runtime.vm.builtins.rotary import Rotary
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.tensor import NDArray
from tests.codegen.native_run import HOST, OLD, build, call

Case = tuple[tuple[int, int, int], str, int, bool, Target]
"""(query heads, key heads, size), dtype, rotated elements, pairs of neighbours, target"""
CASES: list[Case] = [
    ((4, 2, 8), "float32", 8, False, HOST),
    ((6, 2, 16), "float32", 10, True, HOST),
    ((4, 4, 16), "float16", 16, False, HOST),
    ((5, 1, 32), "float32", 0, False, HOST),
    ((8, 1, 16), "bfloat16", 12, True, HOST),
    ((4, 2, 16), "float32", 16, False, OLD),
    ((4, 4, 16), "float32", 8, True, Target("llvm -num-cores=4")),
]
PAGE = 4


def compiled(heads: Heads, target: Target) -> Arithmetic:
    """The kernels as functions of tensors, which fail at any access out of bounds."""

    def one(kernel: PrimFunc) -> Callable[..., None]:
        func = decide(kernel, target).func
        library = build(func, target, checked=True)

        def run(*values: Any) -> None:
            fault = call(library, func, *(v.data if isinstance(v, NDArray) else v for v in values))
            assert fault is None, fault

        return run

    return Arithmetic(*map(one, cache_kernels(heads).values()))


class Twins:
    """A cache of kernels and one of NumPy, with which the same is done."""

    def __init__(self, heads: Heads, kernels: Arithmetic, slides: bool, seed: int) -> None:
        kind = {"rope_type": "gptj"} if heads.neighbours else {}
        rotary = Rotary(heads.rotated, 10000.0, 1.0, kind) if heads.rotated else None
        limits, shared = [4, 80, 24, PAGE, int(slides)], (heads.queries, heads.keys)
        first, second = (
            PagedCache(limits, [0, 2], shared, heads.size, rotary, heads.dtype, k) for k in (kernels, None)
        )
        self.both, self.heads, self.slides = (first, second), heads, slides
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)

    def each(self, action: Callable[[PagedCache], Any]) -> list[Any]:
        return [action(cache) for cache in self.both]

    def step(self) -> None:
        """Add a sequence, fork, shorten, remove or let one slide, or append to some."""
        cache, choose = self.both[0], self.random
        known = list(cache.rows)
        number = choose.choice(known) if known else -1
        match choose.randrange(8):
            case 0 if len(known) < cache.max_rows:
                self.each(lambda c: c.add(max(known, default=0) + 1, Row()))
            case 1 if known and len(known) < cache.max_rows and not cache.rows[number].window:
                length = choose.randint(0, cache.rows[number].length)
                self.each(lambda c: self.fork(c, number, max(known) + 1, length))
            case 2 if known:
                length = choose.randint(0, cache.rows[number].length)
                self.each(lambda c: c.shorten(c.rows[number], length))
            case 3 if known and len(known) > 1:
                self.each(lambda c: (c.shorten(c.rows[number], 0), c.rows.pop(number)))
            case 4 if known and self.slides and not cache.rows[number].window:
                window, sink = cache.rows[number].forked + choose.randint(3, 9), choose.randint(0, 2)
                self.each(lambda c: c.slide(number, window, sink))
            case _ if known:
                self.append(choose.sample(known, choose.randint(1, len(known))))

    def fork(self, cache: PagedCache, parent: int, child: int, length: int) -> None:
        row = cache.rows[parent]
        cache.add(child, Row(row.pages[: -(-length // PAGE)], length, forked=length))
        row.forked = max(row.forked, length)

    def append(self, numbers: list[int]) -> None:
        counts = [self.random.choice((1, 1, 2, 5, 6)) for _ in numbers]
        first = self.both[0]
        rows = [first.rows[n] for n in numbers]
        lengths = [row.length_after(count) for row, count in zip(rows, counts)]
        if first.memory.needed(rows, lengths) > first.pages.available:
            return
        heads, total = self.heads, sum(counts)
        self.each(lambda c: c.begin(numbers, counts))
        dtype = first.memory.content.dtype
        for layer in range(2):
            shape = (total, heads.queries + 2 * heads.keys, heads.size)
            fused = NDArray(self.numbers.normal(size=shape).astype(dtype))
            outs = [NDArray(np.full((total, heads.queries, heads.size), np.nan, dtype)) for _ in self.both]
            for cache, out in zip(self.both, outs):
                cache.attend(layer, 1.25, fused, out)
            found, wanted = (out.data.astype("float32") for out in outs)
            rough = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}[heads.dtype]
            np.testing.assert_allclose(found, wanted, rtol=10 * rough, atol=5 * rough)
        for n in numbers:
            for which in range(2):
                stored, same = self.each(lambda c: c.stored(1, which, c.rows[n]).astype("float32"))  # noqa: B023
                np.testing.assert_allclose(stored, same, rtol=2e-2, atol=2e-2)


def compare(case: Case) -> None:
    (queries, keys, size), dtype, rotated, neighbours, target = case
    heads = Heads(queries, keys, size, dtype, rotated, neighbours)
    kernels = compiled(heads, target)
    for seed in range(8):
        twins = Twins(heads, kernels, seed % 2 == 1, seed)
        for _ in range(40):
            twins.step()


@pytest.mark.parametrize("case", CASES[:3])
def test_kernels_compute_what_numpy_does(case: Case) -> None:
    """Guards every kernel over sequences that grow, fork, shrink, slide and leave."""
    compare(case)


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES[3:])
def test_more_kernels_compute_what_numpy_does(case: Case) -> None:
    """The same for other kinds of heads and processors."""
    compare(case)
