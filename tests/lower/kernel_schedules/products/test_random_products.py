"""Random products of matrices, each array between protected pages: a read or write beyond it ends the process.

`make fuzz` draws others in each run; the seed stands in the failure, or is the last one printed.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.overwriting import overwritable
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import panels, reading_panels
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.expr import Var
from tests.at_length import seeds_at_length
from tests.codegen.native_run import HOST, build, call, random_array
from tests.guarded_memory import guarded, posix

NAMED = [
    "llvm", "llvm -num-cores=2", "llvm -mcpu=x86-64", "llvm -mcpu=x86-64-v3 -num-cores=2", "llvm -mcpu=znver4",
]  # fmt: skip
TARGETS = [target for target in map(Target, NAMED) if target.features <= HOST.features]
"""Those whose instructions this machine has."""
ROWS = [0, *range(1, 31), *range(95, 101), *range(119, 131), *range(250, 261)]


def check(seed: int) -> None:
    """One kernel: any layout of B, some known or any number of rows, bias and residual, the latter in place too."""
    draw = random.Random(seed)
    target, dtype = draw.choice(TARGETS), draw.choice(["float32", "float32", "float16", "bfloat16"])
    n, k = (
        draw.choice([draw.randint(1, 40), draw.randint(1, 130)]),
        draw.choice([draw.randint(1, 9), draw.randint(1, 300)]),
    )
    known = draw.choice([None, draw.randint(1, 16), draw.randint(1, 130)])
    m: Any = Var("m", "int64") if known is None else known
    transposed, packs = draw.random() < 0.4, draw.random() < 0.3
    a, b = placeholder((m, k), dtype, "a"), placeholder((n, k) if transposed else (k, n), dtype, "b")
    v, w, r = placeholder((n,), "float32", "v"), placeholder((m, n), "float32", "w"), reduce_axis((0, k), "r")

    def term(i: Any, j: Any) -> Any:
        return ops.cast("float32", a[i, r]) * ops.cast("float32", b[j, r] if transposed else b[r, j])

    c = compute((m, n), lambda i, j: reduction.sum(term(i, j), r), "c")
    func = create_prim_func([a, b, v, w, compute((m, n), lambda i, j: c[i, j] + v[j] + w[i, j], "d")])
    over = (3, 4) in overwritable(func)
    weight = packable_weight(func, target) if packs else None
    func = func if weight is None else reading_panels(func, weight)
    scheduled = decide(func, target).func
    library = build(scheduled, target, checked=draw.random() < 0.3)
    for rows in [known] if known is not None else draw.sample(ROWS, 6):
        left, right = random_array((rows, k), dtype, seed), random_array((k, n), dtype, seed + 1)
        lies = np.ascontiguousarray(right.T) if transposed else right
        given = lies if weight is None else panels(right, weight.width)
        bias, residual = random_array((n,), "float32", 3), random_array((rows, n), "float32", 4)
        wanted = left.astype("float64") @ right.astype("float64") + bias + residual
        end = weight is not None or draw.random() < 0.7
        with guarded(left, end) as x, guarded(given, end) as y, guarded(bias, end) as z, guarded(residual, end) as s:
            with guarded(np.full((rows, n), np.nan, "float32"), end) as out:
                assert call(library, scheduled, x, y, z, s, out) is None, seed
                np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-3, err_msg=str(seed))
            if over:
                assert call(library, scheduled, x, y, z, s, s) is None, seed
                np.testing.assert_allclose(s, wanted, rtol=1e-4, atol=2e-3, err_msg=str(seed))


@posix
@pytest.mark.parametrize("seed", range(7))
def test_random_products(seed: int) -> None:
    """Guards whatever the ways to compute a product share: tails, masks, packing, writing over an operand."""
    check(seed)


@posix
@pytest.mark.fuzz
def test_many_random_products() -> None:
    for seed in seeds_at_length(1000):
        print(seed, flush=True)
        check(seed)
