"""Long chains of elementwise operations are cut into pieces of several vectors side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.operators import max, min
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore
from tests.codegen.native_run import HOST, build, call, random_array

TARGETS = [HOST, Target("llvm -num-cores=4"), Target("llvm -mcpu=x86-64")]


def links(x: Any, y: Any, count: int, reads: int) -> Any:
    """`count` operations of x, the one numbered `reads` with y: as expressions, or of NumPy's arrays."""
    smaller, larger = (np.minimum, np.maximum) if isinstance(x, np.ndarray) else (min, max)
    for n in range(count):
        if n == reads:
            x = x + y
        elif n % 5 == 0:
            x = x * (0.5 + n % 3)
        elif n % 5 == 1:
            x = 3 - x
        elif n % 5 == 2:
            x = larger(x, -4.0 - n)
        elif n % 5 == 3:
            x = x - n % 7
        else:
            x = smaller(x, 60.0 + n)
    return x


def chain(shape: tuple[int, ...], count: int, reads: int, dtype: str) -> PrimFunc:
    x, y = placeholder(shape, dtype, "x"), placeholder(shape, dtype, "y")
    return create_prim_func([x, y, compute(shape, lambda *i: links(x[i], y[i], count, reads), "z")])


def stores(func: PrimFunc) -> int:
    return sum(isinstance(item, BufferStore) for item in post_order(func.body))


@pytest.mark.parametrize("target", TARGETS, ids=["one", "threads", "sse"])
@pytest.mark.parametrize("shape", [(64,), (1024,), (3, 128), (3, 100), (9000,), (8192,)], ids=str)
@pytest.mark.parametrize(("count", "reads"), [(10, 2), (60, 0), (60, 25), (60, 59), (200, 70)])
def test_chain(target: Target, shape: tuple[int, ...], count: int, reads: int) -> None:
    """Guards the operations of every piece, where they begin and what they read."""
    func = chain(shape, count, reads, "float32")
    x, y = (random_array(shape, "float32", seed) for seed in (1, 2))
    out = np.zeros(shape, "float32")
    scheduled = decide(func, target).func
    assert call(build(scheduled, target, checked=True), scheduled, x, y, out) is None
    np.testing.assert_allclose(out, links(x, y, count, reads), rtol=1e-5, atol=1e-5)


def test_long_chains_are_cut_where_nothing_more_is_read() -> None:
    """Guards that only the first piece loads operands, and that short chains and open sizes stay whole."""
    counts = {key: stores(decide(chain((1024,), *key, "float32"), HOST).func) for key in [(60, 0), (60, 59), (10, 0)]}
    assert counts[60, 59] == counts[10, 0] == 1 < counts[60, 0]


def test_the_result_may_lie_where_an_operand_did() -> None:
    """Guards pieces against reading an operand that the piece before has overwritten."""
    func = chain((256,), 60, 20, "float32")
    x, y = (random_array((256,), "float32", seed) for seed in (1, 2))
    wanted = links(x, y, 60, 20)
    scheduled = decide(func, HOST).func.with_attr("tir.noalias", False)
    assert call(build(scheduled, HOST), scheduled, x, y, y) is None
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


def test_integers_wrap_in_every_piece() -> None:
    """Guards integers: the same numbers however the chain is cut."""
    x, y = placeholder((128,), "int32", "x"), placeholder((128,), "int32", "y")

    def body(a: Any, b: Any) -> Any:
        for n in range(40):
            a = a * 3 + n if n else a + b
        return a

    func = create_prim_func([x, y, compute((128,), lambda i: body(x[i], y[i]), "z")])
    scheduled = decide(func, HOST).func
    given = [np.arange(128, dtype="int32") * factor for factor in (12345, 678)]
    out = np.zeros(128, "int32")
    assert call(build(scheduled, HOST, checked=True), scheduled, *given, out) is None
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, body(*given))
