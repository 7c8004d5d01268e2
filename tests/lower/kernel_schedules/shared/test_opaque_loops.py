"""Loops of extern kernels in vectors and on threads where iterations are independent, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, load, local, loop, loops, store, when
from baton._src.te.computation import extern, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For, ForKind, Stmt
from tests.codegen.native_run import build, call, random_array

ROWS, COLUMNS = 300, 500
TWO = Target("llvm -num-cores=2")
ZERO, ONE = k.index(0), k.index(1)


def down(x: Any, out: Any) -> Stmt:
    """Sums down columns: each row needs the one before."""
    first = loops([COLUMNS], lambda j: store(out, [ZERO, j], load(x, ZERO, j)))

    def step(i: Any) -> Stmt:
        return loops([COLUMNS], lambda j: store(out, [i + ONE, j], load(out, i, j) + load(x, i + ONE, j)))

    return both(first, loop(ROWS - 1, step))


def along(x: Any, out: Any) -> Stmt:
    """Sums along rows, in a register of each row."""

    def row(i: Any) -> Stmt:
        def steps(total: Any) -> Stmt:
            def step(j: Any) -> Stmt:
                value = load(total, ZERO) + load(x, i, j)
                return both(store(total, [ZERO], value), store(out, [i, j], load(total, ZERO)))

            return both(store(total, [ZERO], k.const(0, "float32")), loop(COLUMNS, step, "j"))

        return local("total", (1,), "float32", steps)

    return loop(ROWS, row)


def counted(x: Any, out: Any) -> Stmt:
    """Rows count into the first one at places that depend on data."""
    begin = loops([ROWS, COLUMNS], lambda i, j: store(out, [i, j], k.const(0, "float32")))

    def count(i: Any, j: Any) -> Stmt:
        place = [ZERO, k.cast("int64", load(x, i, j)) % k.index(7)]
        return store(out, place, load(out, *place) + k.const(1, "float32"))

    return both(begin, loops([ROWS, COLUMNS], count))


def by_own_memory(x: Any, out: Any) -> Stmt:
    """Every iteration stores at the place that its own memory tells: always the same one."""

    def row(i: Any) -> Stmt:
        def inside(place: Any) -> Stmt:
            here = [load(place, ZERO) + i, ZERO]
            return both(store(place, [ZERO], k.index(ROWS - 1) - i), store(out, here, load(x, i, ZERO)))

        return local("place", (1,), "int64", inside)

    begin = loops([ROWS, COLUMNS], lambda i, j: store(out, [i, j], k.const(0, "float32")))
    return both(begin, loop(ROWS, row))


def chosen(x: Any, out: Any) -> Stmt:
    """Rows under a condition."""

    def row(i: Any) -> Stmt:
        whole = loops([COLUMNS], lambda j: store(out, [i, j], load(x, i, j) * k.const(2, "float32")))
        return when(tir.GT(load(x, i, ZERO), k.const(0, "float32")), whole, store(out, [i, ZERO], load(x, i, ZERO)))

    begin = loops([ROWS, COLUMNS], lambda i, j: store(out, [i, j], k.const(0, "float32")))
    return both(begin, loop(ROWS, row))


def last_row_first(x: Any) -> Any:
    found = np.zeros_like(x)
    found[-1, 0] = x[-1, 0]
    return found


def histogram(x: Any) -> Any:
    found = np.zeros_like(x)
    found[0, :7] = np.bincount(x.astype("int64").reshape(-1) % 7, minlength=7)
    return found


def doubled(x: Any) -> Any:
    found = np.where(x[:, :1] > 0, 2 * x, 0).astype("float32")
    found[x[:, 0] <= 0, 0] = x[x[:, 0] <= 0, 0]
    return found


CASES: dict[str, tuple[Any, Any, int, int]] = {
    "down": (down, lambda x: np.cumsum(x, 0), 2, 0),
    "along": (along, lambda x: np.cumsum(x, 1), 0, 1),
    "counted": (counted, histogram, 1, 1),
    "by own memory": (by_own_memory, last_row_first, 1, 1),
    "chosen": (chosen, doubled, 2, 2),
}
"""The loops, their reference, and how many of them are vectors and are parallel."""


def kernel(body: Any) -> PrimFunc:
    x = placeholder((ROWS, COLUMNS), "float32", "x")
    out = extern((ROWS, COLUMNS), [x], lambda ins, outs: body(ins[0], outs[0]), "out", "float32")
    return create_prim_func([x, out])


def kinds(func: PrimFunc, kind: ForKind) -> int:
    return sum(isinstance(n, For) and n.kind is kind for n in post_order(func.body))


@pytest.mark.parametrize("name", CASES)
def test_independent_loops_run_side_by_side(name: str) -> None:
    """Guards that loops are shared out where iterations are apart, only there, and give what they gave in turn."""
    body, reference, vectors, parallel = CASES[name]
    found = decide(kernel(body), TWO).func
    assert (kinds(found, ForKind.VECTORIZED), kinds(found, ForKind.PARALLEL)) == (vectors, parallel)
    x = np.abs(random_array((ROWS, COLUMNS), "float32")) + 1
    x[::3, 0] *= -1 if name == "chosen" else 1
    result = np.empty_like(x)
    assert call(build(found, TWO), found, x, result) is None
    np.testing.assert_allclose(result, reference(x), rtol=1e-4)


def test_one_core_has_no_parallel_loops() -> None:
    assert kinds(decide(kernel(along), Target("llvm -num-cores=1")).func, ForKind.PARALLEL) == 0
