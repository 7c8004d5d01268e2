"""Schedules of hybrid kernels: the loops that were written are axes, and what they compute stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import nd, te
from baton._src.driver.tir.build import build
from baton._src.script.hybrid.decorator import script
from baton._src.support.diagnostics import DiagnosticError


@script
def product(a, b):
    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = float32(0)
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@script
def diagonals(a, b):
    """Each row goes on from the one before, one column to the right."""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if i == 0 or j == a.shape[1] - 1:
                c[i, j] = a[i, j]
            else:
                c[i, j] = c[i - 1, j + 1] + b[i, j]
    return c


@script
def columns(a, b):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] if i == 0 else c[i - 1, j] + b[i, j]
    return c


@script
def parts(a, b):
    """Memory of an iteration's own, and two nests: the later one's axes come first."""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = 0.0
            for k in range(2, 5):
                s += a[i, j] * float32(k)
            c[i, j] = s
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            c[y, x] = c[y, x] - b[y, x]
    return c


def tiled(s: Any, i: Any, j: Any) -> None:
    _, _, _, inner = s.tile(i, j, 3, 4)
    s.unroll(inner)


STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reorder": lambda s, i, j: s.reorder(j, i),
    "parallel": lambda s, i, j: s.parallel(i),
    "vectorize": lambda s, i, j: s.vectorize(j),
    "tile": tiled,
    "fuse": lambda s, i, j: s.fuse(i, j),
    "split": lambda s, i, j: s.parallel(s.split(j, nparts=5)[0]),
    "pragma": lambda s, i, j: s.pragma(i, "auto_unroll_max_step", 16),
}
REFUSED = {
    (diagonals, "reorder"),
    (diagonals, "parallel"),
    (diagonals, "tile"),
    (columns, "parallel"),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("kernel", [product, diagonals, columns, parts])
def test_steps(kernel: Callable[..., Any], name: str) -> None:
    """Guards that loops are changed as asked for, or refused where an iteration depends on an earlier one."""
    given = [te.placeholder((7, 7), name=n) for n in "AB"]
    made = kernel(*given)
    schedule = te.create_schedule(made.op)
    i, j = made.op.axis[:2]
    STEPS[name](schedule[made], i, j)
    if (kernel, name) in REFUSED:
        with pytest.raises(DiagnosticError, match=r"are stored in one iteration|stores elements of c in one iteration"):
            build(schedule, [*given, made], "llvm")
        return
    arrays = [np.random.default_rng(n).random((7, 7), np.float32) for n in range(2)]
    out = nd.empty((7, 7))
    build(schedule, [*given, made], "llvm")(*map(nd.array, arrays), out)
    np.testing.assert_allclose(out.numpy(), kernel(*arrays), rtol=1e-5)


def test_placed_in_a_reader() -> None:
    """Guards that a hybrid kernel is computed whole in each iteration of a reader's loop that asks for it."""

    @script
    def outer(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c

    given = [te.placeholder((7,), name=n) for n in "AB"]
    made = outer(*given)
    read = te.compute((7, 7), lambda i, j: made[i, j] + 1.0, name="read")
    schedule = te.create_schedule(read.op)
    schedule[made].compute_at(schedule[read], read.op.axis[0])
    schedule[made].vectorize(made.op.axis[1])
    arrays = [np.random.default_rng(n).random(7, np.float32) for n in range(2)]
    out = nd.empty((7, 7))
    build(schedule, [*given, read], "llvm")(*map(nd.array, arrays), out)
    np.testing.assert_allclose(out.numpy(), np.outer(*arrays) + 1, rtol=1e-5)


def test_rows_of_results() -> None:
    """Guards the errors of what hybrid kernels do not offer: aligned rows, and axes where there are no loops."""
    given = [te.placeholder((7, 7), name=n) for n in "AB"]
    made = product(*given)
    with pytest.raises(DiagnosticError, match="i is not an axis of the result of product"):
        te.create_schedule(made.op)[made].storage_align(made.op.axis[0], 8, 0)

    @script
    def first(a):
        c = output_tensor((1,), a.dtype)
        c[0] = a[0, 0]
        return c

    with pytest.raises(AttributeError, match="first has no axes to schedule"):
        _ = first(given[0]).op.axis


@script
def triangle(a):
    """Rows of different lengths behind whole ones."""
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = 0.0
        for j in range(i + 1):
            c[i, j] = a[i, j] * 2.0
    return c


@pytest.mark.parametrize("split", [False, True])
def test_rows_of_different_lengths(split: bool) -> None:
    """Guards loops whose length follows from the loop around them, which threads share: how much an iteration computes
    was said in terms of that loop, outside of it (an internal error)."""
    given = te.placeholder((7, 7), name="A")
    made = triangle(given)
    schedule = te.create_schedule(made.op)
    if split:
        schedule[made].parallel(schedule[made].split(made.op.axis[0], 3)[0])
        schedule[made].split(made.op.axis[1], 2)
    array = np.random.default_rng(0).random((7, 7), np.float32)
    out = nd.empty((7, 7))
    build(schedule, [given, made], "llvm")(nd.array(array), out)
    np.testing.assert_array_equal(out.numpy(), 2 * np.tril(array))
