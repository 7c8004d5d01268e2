"""Results of operators have axes as narrow as their operands: sizes print as numbers, and kernels mean the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import te, topi
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func

CALLS: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "transpose": (((4, 5),), topi.transpose),
    "reshape": (((4, 6),), lambda x: topi.reshape(x, (3, 8))),
    "concatenate": (((4, 5), (2, 5)), lambda *x: topi.concatenate(x, 0)),
    "split": (((4, 6),), lambda x: topi.split(x, 3, 1)[1]),
    "pad": (((4, 5),), lambda x: topi.nn.pad(x, [1, 0], [0, 2])),
    "strided_slice": (((9, 5),), lambda x: topi.strided_slice(x, [7, 0], [0, 5], [-2, 1])),
    "argmax": (((4, 5),), lambda x: topi.argmax(x, 1)),
    "softmax": (((4, 5),), topi.nn.softmax),
    "layer_norm": (((4, 5), (5,), (5,)), lambda x, g, b: topi.nn.layer_norm(x, g, b, axis=1)),
    "matmul": (((4, 5), (5, 3)), topi.matmul),
    "conv2d": (((1, 3, 6, 6), (4, 3, 3, 3)), lambda x, w: topi.nn.conv2d(x, w, 2, 1, 1)),
    "pool2d": (((1, 2, 5, 5),), lambda x: topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg")),
    "resize2d": (((1, 2, 5, 5),), lambda x: topi.image.resize2d(x, [0.0] * 4, (7, 3), method="linear")),
    "cumsum": (((4, 5),), lambda x: topi.cumsum(x, axis=1)),
}


def _result(wide: bool, shapes: tuple[tuple[int, ...], ...], call: Callable[..., Any], arrays: list[Any]) -> Any:
    """The tensor, and its elements."""
    kind = "int64" if wide else "int32"
    inputs = [te.placeholder([te.const(n, kind) for n in shape], name=f"x{k}") for k, shape in enumerate(shapes)]
    out = call(*inputs)
    func = te.create_prim_func([*inputs, out])
    assert check_prim_func(func) == []
    value = np.zeros([int(d) for d in out.shape], out.dtype)
    run_prim_func(func, [*arrays, value])
    return out, value


@pytest.mark.parametrize("name", CALLS)
def test_narrow_and_wide_compute_the_same(name: str) -> None:
    """Guards that axes of int32 change nothing but the dtype of sizes, which is that of the operands."""
    shapes, call = CALLS[name]
    draws = np.random.default_rng(0)
    arrays = [draws.random(shape, np.float32) for shape in shapes]
    narrow, found = _result(False, shapes, call, arrays)
    wide, expected = _result(True, shapes, call, arrays)
    np.testing.assert_array_equal(found, expected)
    assert {d.dtype for d in wide.shape} == {"int64"}
    if name != "cumsum":  # written by hand-made TIR: it keeps its axes
        assert {d.dtype for d in narrow.shape} == {"int32"}


def test_indices_that_are_data_keep_their_bits() -> None:
    """Guards that clipping comes before narrowing: 2**32 clipped to an axis of 4 is 3, not 0."""
    x, at = te.placeholder((4,), name="x"), te.placeholder((2,), "int64", name="at")
    func = te.create_prim_func([x, at, topi.take(x, at, 0, mode="clip")])
    value = np.zeros(2, "float32")
    run_prim_func(func, [np.arange(4, dtype="float32"), np.array([1 << 32, 1]), value])
    assert value.tolist() == [3, 1]


def test_symbolic_sizes_keep_their_dtype() -> None:
    """Guards sizes that are variables, and tensors that are too large to count their elements in 32 bits."""
    n = te.var("n")
    out = topi.transpose(te.placeholder((n, 5)))
    assert out.shape[1] is n
    assert {d.dtype for d in topi.transpose(te.placeholder((70000, 70000))).shape} == {"int64"}
