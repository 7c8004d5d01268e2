"""Hybrid kernels: what they compute as TIR, interpreted and native, is what they compute as Python on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.script.hybrid.decorator import script
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.computation import compute, placeholder, var
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.text.printer import script as text_of
from tests.codegen.native_run import run_native

RNG = np.random.default_rng(3)


@script
def outer_product(a, b):
    """The product of every element with every other."""
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c


@script
def row_sums(a):
    n = a.shape[0]
    c = output_tensor((a.shape[0],), "float32")
    for i in parallel(n):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        c[i] = s
    return c


@script
def fibonacci(a):
    """Branches, steps that go on from earlier ones, unrolled loops, conditions that are known."""
    c = output_tensor(a.shape, "float32")
    for i in const_range(2):
        c[i] = a[i]
    for i in range(2, len(a.shape) * 5):
        if i % 2 == 0 and not i >= 4:
            c[i] = c[i - 1] + c[i - 2]
        elif 2 < i < 6:
            c[i] = a[i] if a[i] > 0.5 else exp(a[i])
        else:
            c[i] = sqrt(a[i]) + power(a[i], 2.0)
        if len(a.shape) == 1:
            c[i] = c[i] * 2.0
    return c


@script
def two_results(a, scale):
    """Temporary buffers, several results, conversions, loops of other kinds, a number handed in."""
    b = output_tensor((8,), "float32")
    c = output_tensor((8,), "int32")
    t = allocate((8,), "float32", "local")
    for i in vectorize(8):
        t[i] = a[i] * float32(scale)
    for i in unroll(8):
        b[i] = max(t[i], 0.25) - min(t[i], 0.5)
    for i in bind("threadIdx.x", 8):
        c[i] = int32(t[i] * 10.0) // 3 + ceil_div(i, 2) - -i
    return b, c


@script
def scaled(a, k):
    b = output_tensor((a.shape[0],), "float32")
    for i in range(a.shape[0]):
        b[i] = a[i] * k
    return b


FACTOR = 3


@script
def through_another(a):
    half = 0.5
    m = scaled(a, half)
    c = output_tensor((a.shape[0],), "float32")
    for i in range(a.shape[0]):
        c[i] = m[i] + float32(FACTOR)
    return c


@script
def summed(tensors):
    c = output_tensor((4,), "float32")
    for i in range(4):
        c[i] = tensors[0][i] - tensors[1][i]
    return c


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 1.0, shape).astype("float32")


CASES: list[tuple[Callable[..., Any], list[Any]]] = [
    (outer_product, [array(5), array(7)]),
    (row_sums, [array(4, 6)]),
    (fibonacci, [array(5)]),
    (two_results, [array(8), 2]),
    (through_another, [array(6)]),
    (summed, [(array(4), array(4))]),
]


@pytest.mark.parametrize(("kernel", "args"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_kernels_agree_with_python(kernel: Callable[..., Any], args: list[Any]) -> None:
    """Guards every statement and word: the same function on tensors and on arrays."""
    wanted = kernel(*args)
    arrays: list[np.ndarray] = []

    def tensor(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(tensor, value))
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return placeholder(value.shape, str(value.dtype), f"A{len(arrays)}")
        return value

    given = [tensor(arg) for arg in args]
    made = kernel(*given)
    results = list(made) if isinstance(made, tuple) else [made]
    expected = list(wanted) if isinstance(wanted, tuple) else [wanted]
    inputs = [t for one in given for t in (one if isinstance(one, tuple) else [one]) if hasattr(t, "op")]
    func = create_prim_func([*inputs, *results])
    assert check_prim_func(func) == [], text_of(func)
    for run in (run_prim_func, lambda f, given: run_native(f, *given)):
        outputs = [np.zeros_like(one) for one in expected]
        run(func, [*arrays, *outputs])
        for found, one in zip(outputs, expected):
            np.testing.assert_allclose(found, one, rtol=2e-5)


def test_kernels_among_computations_and_open_sizes() -> None:
    """Guards tensors before and after, and sizes that a run tells."""
    n = var("n")
    a, b = placeholder((n,), name="a"), placeholder((3,), name="b")
    doubled = compute((n,), lambda i: a[i] * 2.0, name="doubled")
    product = outer_product(doubled, b)
    out = compute(product.shape, lambda i, j: product[i, j] + 1.0, name="out")
    func = create_prim_func([a, b, out])
    x, y, found = array(5), array(3), np.zeros((5, 3), "float32")
    run_native(func, x, y, found)
    np.testing.assert_allclose(found, np.outer(2 * x, y) + 1, rtol=1e-6)
    assert product.op.name == "outer_product"


@script
def _writes_its_input(a):
    c = output_tensor((4,), "float32")
    a[0] = 1.0
    return c


@script
def _too_few_indices(a):
    c = output_tensor((4, 4), "float32")
    for i in range(4):
        c[i] = a[i]
    return c


@script
def _other_dtype(a):
    c = output_tensor((4,), "int32")
    for i in range(4):
        c[i] = a[i]
    return c


@script
def _ended_name(a):
    c = output_tensor((4,), "float32")
    for i in range(4):
        s = a[i] + 1.0
    c[0] = s
    return c


@script
def _nothing(a):
    for i in range(4):
        t = a[i] * 2.0


@script
def _while(a):
    c = output_tensor((4,), "float32")
    while a[0] > 0.0:
        c[0] = a[0]
    return c


@script
def _unknown_word(a):
    c = output_tensor((4,), "float32")
    c[0] = fft(a[0])
    return c


@script
def _returns_under_a_condition(a):
    c = output_tensor((4,), "float32")
    if a[0] > 0.0:
        return c
    c[0] = 1.0
    return c


@script
def _goes_on_behind_its_return(a):
    c = output_tensor((4,), "float32")
    return c
    c[0] = 1.0


@script
def _cuts_off_a_fraction(a):
    c = output_tensor((4,), "float32")
    s = 0
    for i in range(4):
        s = 1.5
        c[i] = a[i] * float32(s)
    return c


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (_writes_its_input, "a is an argument"),
        (_too_few_indices, "c has 2 dims and is given 1 indices"),
        (_other_dtype, r"c is int32, and a\[i\] is float32"),
        (_ended_name, "s is not defined here"),
        (_nothing, "returns nothing"),
        (_while, "'while a.*is not supported"),
        (_unknown_word, "fft is not a function"),
        (_returns_under_a_condition, "a kernel returns once, at its end"),
        (_goes_on_behind_its_return, "returns nothing at its end"),
        (_cuts_off_a_fraction, r"s is int32, and 1\.5 is float32"),
    ],
    ids=lambda c: getattr(c, "__name__", ""),
)
def test_errors_show_the_place(kernel: Callable[..., Any], words: str) -> None:
    """Guards that what cannot be read is an error in the kernel's text, not something else computed."""
    with pytest.raises(DiagnosticError, match=words) as error:
        kernel(placeholder((4,), name="a"))
    assert "test_hybrid.py:" in str(error.value)
