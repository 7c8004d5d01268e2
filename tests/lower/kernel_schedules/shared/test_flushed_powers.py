"""Which powers may be flushed: those of numbers less their maximum that are only added up, or divided by the sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops import kernel_words as k
from baton._src.ops.builders import RELAX as R
from baton._src.ops.reduce.folds import ReduceAttrs
from baton._src.ops.reduce.log_sum_exp import LOG_SUM_EXP
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import script
from baton.script import from_source
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.passes.relax.programs import program, tensor

SHAPE = (5, 37)
X = np.linspace(-120, 0, 185, dtype="float32").reshape(SHAPE)


def folded(fold: Any, source: Any, name: str) -> Any:
    along = k.reduce_axis(SHAPE[1], "k")
    return compute(SHAPE[:1], lambda i: fold(source[i, along.var], [along]), name)


def powers_of(x: Any, top: Any) -> Any:
    return compute(SHAPE, lambda i, j: k.exp(x[i, j] - top[i]), "powers")


def is_flushed(func: PrimFunc) -> bool:
    """Whether all powers are, or none is."""
    text = script(schedule(func, HOST))
    assert ("T.exp_flushed(" in text) != ("T.exp(" in text), text
    return "T.exp_flushed(" in text


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("operator", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_softmax(operator: str, axis: int, dtype: str) -> None:
    """Guards the recognition: rows and columns, conversions; and the values."""
    made = getattr(R.nn, operator)
    module = program([tensor("x", *SHAPE, dtype=dtype)], lambda b, x: made(x, axis=axis))
    func = only_kernel(module)
    assert is_flushed(func)
    x, found = (X * 3).astype(dtype), np.empty(SHAPE, dtype)
    scheduled = schedule(func, HOST)
    assert call(build(scheduled), scheduled, x, found) is None
    shifted = x.astype("float64") - x.astype("float64").max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    wanted = np.exp(shifted) / total if operator == "softmax" else shifted - np.log(total)
    np.testing.assert_allclose(found.astype("float64"), wanted, rtol=1e-3 if dtype == "float16" else 1e-5, atol=1e-7)
    assert not np.any((found > 0) & (found < np.finfo("float32").tiny))


def test_the_logarithm_of_a_sum() -> None:
    """Guards powers inlined into their sum; differences that are guarded against infinities."""
    x = placeholder(SHAPE, "float32", "x")
    total = folded(k.reduce_sum, powers_of(x, folded(k.reduce_max, x, "top")), "total")
    assert is_flushed(create_prim_func([x, total]))
    guarded = LOG_SUM_EXP.compute((x,), ReduceAttrs(axis=(1,)), x)
    func = create_prim_func([x, guarded])
    assert is_flushed(func)
    given, found, scheduled = X.copy(), np.empty(SHAPE[0], "float32"), schedule(func, HOST)
    given[0], given[1, 3], given[2, 5] = -np.inf, np.inf, np.nan
    assert call(build(scheduled), scheduled, given, found) is None
    np.testing.assert_allclose(found[:3], [-np.inf, np.inf, np.nan])
    np.testing.assert_allclose(found[3:], np.log(np.exp(X[3:].astype("float64")).sum(1)), rtol=1e-6)


def other_uses() -> dict[str, PrimFunc]:
    """Powers whose subnormal values count."""
    x, y = placeholder(SHAPE, "float32", "x"), placeholder(SHAPE, "float32", "y")
    given = placeholder(SHAPE[:1], "float32", "given")
    powers = powers_of(x, folded(k.reduce_max, x, "top"))
    total = folded(k.reduce_sum, powers, "total")
    scaled = compute(SHAPE, lambda i, j: powers[i, j] / total[i] + powers[i, j] * k.const(1e30, "float32"), "scaled")
    lowest = folded(k.reduce_min, x, "lowest")
    more = compute(SHAPE[:1], lambda i: total[i] * k.const(1e-30, "float32"), "more")
    quotient = compute(SHAPE, lambda i, j: powers[i, j] / more[i], "quotient")
    elsewhere = powers_of(x, folded(k.reduce_max, y, "other"))
    return {
        "they are a result": create_prim_func([x, powers, total]),
        "they are multiplied, too": create_prim_func([x, scaled]),
        "they are divided by something else": create_prim_func([x, more, quotient]),
        "the greatest of them is not known": create_prim_func(
            [x, given, folded(k.reduce_sum, powers_of(x, given), "total")]
        ),
        "less the minimum": create_prim_func([x, folded(k.reduce_sum, powers_of(x, lowest), "total")]),
        "less the maximum of others": create_prim_func([x, y, folded(k.reduce_sum, elsewhere, "total")]),
    }


@pytest.mark.parametrize("why", other_uses())
def test_other_powers_keep_their_values(why: str) -> None:
    assert not is_flushed(other_uses()[why])


OVERWRITTEN = """
@T.prim_func
def f(x: T.Buffer((5, 37), "float32"), y: T.Buffer((5, 37), "float32"), total: T.Buffer((5,), "float32")):
    top = T.alloc_buffer((5,), "float32")
    for i, k in T.grid(5, 37):
        with T.block("top"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                top[vi] = T.float32(-3e38)
            top[vi] = T.max(top[vi], x[vi, vk])
    for i, k in T.grid(5, 37):
        with T.block("other"):
            vi, vk = T.axis.remap("SS", [i, k])
            x[vi, vk] = y[vi, vk]
    for i, k in T.grid(5, 37):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + T.exp(x[vi, vk] - top[vi])
"""


def test_numbers_that_are_overwritten() -> None:
    """Guards maxima of what stood there before."""
    assert not is_flushed(from_source(OVERWRITTEN))
