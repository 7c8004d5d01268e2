"""Checked builds: the first element outside is named, whichever lanes are active, and nothing is tested twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module, module_texts
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, OLD, loops, run_native

KINDS = (st.ForKind.SERIAL, st.ForKind.VECTORIZED)


def reading(of: Callable[[Any, Any], Any], lanes: int = 16, size: Any = 10) -> PrimFunc:
    """C[i] = of(A, i) for all lanes i; A has 10 elements."""
    a = placeholder((size,), "float32", "A")
    return create_prim_func([a, compute((lanes,), lambda i: of(a, i), "C")])


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "sse"])
@pytest.mark.parametrize(
    ("of", "outside"),
    [
        (lambda a, i: a[i], 10),
        (lambda a, i: a[i - 2], -2),
        (lambda a, i: a[i * 3], 12),
        (lambda a, i: a[15 - i], 15),
        (lambda a, i: a[i * i], 16),
        (lambda a, i: if_then_else(ops.floormod(i, 4) == 3, a[i], 0.0), 11),
        (lambda a, i: if_then_else(i >= 6, a[i * 3 - 15], 0.0), 12),
        (lambda a, i: if_then_else(i < 10, a[i], 0.0), None),
        (lambda a, i: if_then_else(i > 99, a[i], 0.0), None),
    ],
)
def test_the_first_element_outside_is_named(of: Callable[[Any, Any], Any], outside: int | None, target: Any) -> None:
    """Guards tests of the first and the last active lane: as good as tests of each."""
    for kind in KINDS:
        given, found = np.ones(10, "float32"), np.zeros(16, "float32")
        fault = run_native(loops(reading(of), [kind]), given, found, target=target, checked=True)
        if outside is None:
            assert fault is None
        else:
            assert f"access to A out of bounds: element {outside}, the buffer has 10" in (fault or "")


@pytest.mark.parametrize("lanes", [64, 128])
def test_long_vectors(lanes: int) -> None:
    """Guards masks that fill a word, and longer ones."""
    last = loops(reading(lambda a, i: a[i], lanes, lanes - 1), [st.ForKind.VECTORIZED])
    fault = run_native(last, np.ones(lanes - 1, "float32"), np.zeros(lanes, "float32"), checked=True)
    assert f"element {lanes - 1}, the buffer has {lanes - 1}" in (fault or "")
    every = loops(reading(lambda a, i: a[i], lanes, lanes), [st.ForKind.VECTORIZED])
    assert run_native(every, np.ones(lanes, "float32"), np.zeros(lanes, "float32"), checked=True) is None


def places_tested(func: PrimFunc) -> int:
    """How many places of the code tell of an access outside."""
    texts, _ = module_texts({"f": func}, HOST, checked=True)
    kernel = texts["f"].partition("define void @k_")[2]
    return len(re.findall(r"^outside\.\d+:", kernel, re.MULTILINE))


def test_nothing_is_tested_that_is_known() -> None:
    """Guards compile time: places that are numbers, as of sums in registers, and places that were tested before."""
    same = loops(reading(lambda a, i: a[i] * a[i], 16, 16), [st.ForKind.VECTORIZED])
    assert places_tested(same) == 0
    n = Var("n", "int64")
    twice = loops(reading(lambda a, i: (a[i] + a[i + 1]) * a[i + 1], n, n + 1), [st.ForKind.SERIAL])
    assert places_tested(twice) == 3  # two of A, one of C


def test_checked_code_is_optimised_as_little_as_at_level_1() -> None:
    """Guards compile time: LLVM takes ten times as long for all of its work on code with so many ways out. A level that
    is asked for is the one used."""
    func = reading(lambda a, i: a[i] + 1.0, 100, 100)
    codes = {
        (checked, level): compile_module({"f": func}, HOST, CompileOptions(checked, level, cache=CacheOptions(None)))
        for checked in (False, True)
        for level in (None, 1, 3)
    }
    assert codes[True, None] == codes[True, 1] != codes[True, 3]
    assert codes[False, None] == codes[False, 3] != codes[False, 1]
