"""Choices of schedule rules: without a record nothing changes; with one it is honoured; every candidate is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import compile_kernels
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, tuned, using
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import reading_panels
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature
from baton._src.runtime.native.kernel_function import KernelFunction
from baton._src.runtime.native.library import load
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.buffer import constant_shape
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import script
from baton._src.values.tensor import NDArray

TWO, ONE = Target("llvm -mcpu=skylake-avx512 -num-cores=2"), Target("llvm -mcpu=haswell -num-cores=1")
HOST = Target("llvm -num-cores=1")


def product(m: int, n: int, k: int) -> PrimFunc:
    a, b = placeholder((m, k), "float32", "a"), placeholder((k, n), "float32", "b")
    r = reduce_axis((0, k), "r")
    return create_prim_func([a, b, compute((m, n), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "c")])


def packed(m: int, n: int, k: int) -> PrimFunc:
    plain = product(m, n, k)
    weight = packable_weight(plain, HOST)
    assert weight is not None
    return reading_panels(plain, weight)


def blocked_convolution() -> PrimFunc:
    """(1, 2, 10, 10, 16) by (4, 2, 3, 3, 16, 16), no padding."""
    x, w = placeholder((1, 2, 10, 10, 16), "float32", "x"), placeholder((4, 2, 3, 3, 16, 16), "float32", "w")
    c, i = reduce_axis((0, 2), "c"), reduce_axis((0, 16), "i")
    p, q = reduce_axis((0, 3), "p"), reduce_axis((0, 3), "q")

    def at(n: Any, o: Any, h: Any, v: Any, l: Any) -> Any:  # noqa: E741
        return reduction.sum(x[n, c, h + p, v + q, i] * w[o, c, p, q, i, l], [c, p, q, i])

    return create_prim_func([x, w, compute((1, 4, 8, 8, 16), at, "y")])


def elementwise() -> PrimFunc:
    a = placeholder((1 << 20,), "float32", "a")
    return create_prim_func([a, compute((1 << 20,), lambda i: a[i] * a[i] + a[i], "b")])


def sums() -> PrimFunc:
    a = placeholder((3, 300), "float32", "a")
    r = reduce_axis((0, 300), "r")
    return create_prim_func([a, compute((3,), lambda i: reduction.sum(a[i, r], r), "s")])


KERNELS: dict[str, tuple[Callable[[], PrimFunc], set[str]]] = {
    "product": (lambda: product(70, 80, 24), {"tile_rows", "tile_vectors", "unroll_k", "thread_work"}),
    "product of few rows": (
        lambda: product(40, 80, 70),
        {"tile_rows", "tile_vectors", "k_block", "unroll_k", "thread_work"},
    ),
    "packed": (lambda: packed(40, 200, 24), {"tile_rows", "unroll_k"}),
    "packed, one row": (lambda: packed(1, 200, 24), {"panels_beside", "sums_apart"}),
    "convolution": (blocked_convolution, {"conv_blocks", "conv_points"}),
    "elementwise": (elementwise, {"chunk", "thread_work"}),
    "reduction": (sums, {"reduce_chains"}),
}


def offered(func: PrimFunc, target: Target) -> Choices:
    with using(Choices()) as choices:
        decide(func, target)
    return choices


@pytest.mark.parametrize("name", KERNELS)
def test_without_a_record_nothing_changes(name: str) -> None:
    """Guards untuned code: asking what a rule offers gives the same schedule; and that it offers what it should."""
    make, names = KERNELS[name]
    func = make()
    target = HOST if "packed" in name else TWO
    plain = script(decide(func, target).func)
    with using(Choices()) as choices:
        assert script(decide(func, target).func) == plain
    assert names <= set(choices.offered)


def run(func: PrimFunc, arrays: list[Any]) -> Any:
    """The last parameter after a run of the compiled kernel."""
    values = [NDArray(a.copy()) for a in arrays]
    library = load(compile_kernels({"f": func}, HOST).code)
    KernelFunction(kernel_signature("f", func), library.address("f"), library)(*values)
    return values[-1].data


@pytest.mark.parametrize("name", [n for n in KERNELS if n != "elementwise"])
def test_every_candidate_is_honoured_and_right(name: str) -> None:
    """Guards the point of it: the answers at both ends give other schedules, which compute the same."""
    func = KERNELS[name][0]()
    plain = decide(func, HOST).func
    random = np.random.default_rng(0)
    shapes = [constant_shape(func.buffer_map[p]) or () for p in func.params]
    arrays = [random.integers(-3, 4, shape).astype("float32") for shape in shapes]
    expected = run(plain, arrays)
    for choice, offer in offered(func, HOST).offered.items():
        others = [v for v in offer.candidates if v != offer.default]
        for value in dict.fromkeys((others[0], others[-1])):
            with using(Choices({choice: value})):
                scheduled = decide(func, HOST).func
            assert script(scheduled) != script(plain), (choice, value)
            np.testing.assert_array_equal(run(scheduled, arrays), expected, err_msg=f"{choice}={value}")


def test_what_is_not_offered_is_ignored() -> None:
    """Guards against records of other versions and machines: they can never make a tile that does not fit."""
    func = product(40, 80, 24)
    plain = script(decide(func, ONE).func)
    with using(Choices({"tile_rows": 14, "unroll_k": 3, "nonsense": 1})):
        assert script(decide(func, ONE).func) == plain


def test_a_choice_put_twice_has_one_answer() -> None:
    """Guards kernels of several tiles: candidates of all places together, each place takes what it can."""
    with using(Choices({"n": 8})) as choices:
        assert tuned("n", 2, (1, 2, 8)) == 8
        assert tuned("n", 2, (1, 2)) == 2
        assert tuned("alone", 5, (5,)) == 5
    assert choices.offered["n"].candidates == (2, 1, 8)
    assert "alone" not in choices.offered
    assert tuned("n", 2, (1, 2, 8)) == 2
