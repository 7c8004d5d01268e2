"""HalfConvolutions: what is widened, what is rounded, who reads which, and that results stay what they were."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import baton
from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.passes.relax.products.half_convolutions import HalfConvolutions
from baton._src.relax.nodes import Constant
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, bindings, called, check, dim, program, tensor

WIDEN = HalfConvolutions()
HALVES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
ROUNDING = {"float16": 2e-3, "bfloat16": 2e-2}


def _weights(dtype: str, *shape: int, seed: int = 0) -> Constant:
    values = np.random.default_rng(seed).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return Constant(values.astype(HALVES[dtype]))


def _data(dtype: str, *shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(HALVES[dtype])


def _block(dtype: str, batch: Any = 1) -> IRModule:
    """A residual block as networks have it: the first sum is read by a convolution and by the second sum."""

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.relu(R.nn.conv2d(x, _weights(dtype, 16, 3, 3, 3), padding=1)))
        y = b.emit(R.nn.max_pool2d(y, (2, 2), strides=(2, 2)))
        z = b.emit(R.nn.conv2d(y, _weights(dtype, 16, 16, 3, 3, seed=1), padding=1))
        return R.nn.conv2d(R.nn.relu(R.add(z, y)), _weights(dtype, 8, 16, 1, 1, seed=2))

    return program([tensor("x", batch, 3, 8, 8, dtype=dtype)], build)


def _agree(found: Any, expected: Any, dtype: str) -> None:
    assert found.dtype == expected.dtype == HALVES[dtype]
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=ROUNDING[dtype], atol=ROUNDING[dtype]
    )


WIDENED = """
lv = astype(x): float32
lv_wide = nn.conv2d(lv, constant): float32
lv = astype(lv_wide): half
lv1 = nn.relu(lv): half
lv1_wide = astype(lv1): float32
lv1_half = astype(lv1_wide): half
lv2_wide = nn.max_pool2d(lv1_wide): float32
lv2 = astype(lv2_wide): half
lv2_wide = astype(lv2): float32
lv2_half = astype(lv2_wide): half
lv3_wide = nn.conv2d(lv2_wide, constant): float32
lv3 = astype(lv3_wide): half
lv4 = add(lv3, lv2_half): half
lv5 = nn.relu(lv4): half
lv5_wide = astype(lv5): float32
lv5_half = astype(lv5_wide): half
gv_wide = nn.conv2d(lv5_wide, constant): float32
gv = astype(gv_wide): half
"""


@pytest.mark.parametrize("dtype", HALVES)
def test_a_residual_block(dtype: str) -> None:
    """Guards values and the whole program: who reads which width."""
    before = _block(dtype)
    with Target("llvm -mcpu=haswell"):
        after = check(WIDEN, before)
    x = _data(dtype, 1, 3, 8, 8)
    _agree(evaluate(after, "main", x), evaluate(before, "main", x), dtype)
    lines = [""]
    for name, (var, value) in zip(called(after), ((b.var, b.value) for b in bindings(after)), strict=True):
        operands = ", ".join("constant" if isinstance(a, Constant) else a.name_hint for a in value.args)
        width = str(var.struct_info.dtype).replace(dtype, "half")
        lines.append(f"{var.name_hint} = {name}({operands}): {width}")
    assert "\n".join([*lines, ""]) == WIDENED


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("batch", [1, dim()])
def test_compiled(dtype: str, batch: Any) -> None:
    """Guards the way to kernels, of known and open batch, against the interpreter without the pass."""
    module, x = _block(dtype, batch), _data(dtype, 1, 3, 8, 8)
    _agree(baton.compile(module).run({"x": x})[0], evaluate(module, "main", x), dtype)


@pytest.mark.parametrize(
    ("name", "shape", "weight", "attrs"),
    [
        ("conv1d", (2, 4, 9), (6, 4, 3), {"strides": 2}),
        ("conv2d", (1, 4, 7, 7), (4, 1, 3, 3), {"groups": 4}),
        ("conv2d", (1, 4, 7, 7), (6, 2, 3, 3), {"groups": 2, "dilation": 2}),
        ("conv3d", (1, 2, 5, 5, 5), (3, 2, 2, 2, 2), {}),
        ("conv1d_transpose", (1, 4, 5), (4, 3, 4), {"strides": 2}),
        ("conv2d_transpose", (1, 4, 5, 5), (4, 3, 4, 4), {"strides": (2, 2), "padding": (1, 1, 1, 1)}),
    ],
)
def test_every_convolution(name: str, shape: Any, weight: Any, attrs: Any) -> None:
    """Guards kinds, groups and attributes: they stay, and values do."""
    op = getattr(R.nn, name)
    module = program([tensor("x", *shape, dtype="float16")], lambda b, x: op(x, _weights("float16", *weight), **attrs))
    x = _data("float16", *shape)
    assert called(check(WIDEN, module)) == ["astype", f"nn.{name}", "astype"]
    _agree(baton.compile(module).run({"x": x})[0], evaluate(module, "main", x), "float16")


def test_results_in_float32_are_not_rounded() -> None:
    """Guards `out_dtype`: sums that the program wants in full stay in full."""
    module = program(
        [tensor("x", 1, 3, 8, 8, dtype="float16")],
        lambda b, x: R.nn.conv2d(x, _weights("float16", 4, 3, 3, 3), out_dtype="float32"),
    )
    after = check(WIDEN, module)
    assert called(after) == ["astype", "nn.conv2d"]
    x = _data("float16", 1, 3, 8, 8)
    np.testing.assert_allclose(evaluate(after, "main", x), evaluate(module, "main", x), rtol=1e-5, atol=1e-5)


def test_bfloat16_where_it_is_multiplied() -> None:
    """Guards processors whose dot products of bfloat16 are faster than float32, and those that only have them."""
    before = _block("bfloat16")
    with Target("llvm -mcpu=znver4"):
        assert WIDEN(before) is before
    for other in ("skylake-avx512", "sapphirerapids"):
        with Target(f"llvm -mcpu={other}"):
            assert WIDEN(before) is not before


def test_what_stays() -> None:
    """Guards programs without such convolutions: weights that are no constants, float32, windows alone."""
    data, weight = tensor("x", 1, 3, 8, 8, dtype="float16"), tensor("w", 4, 3, 3, 3, dtype="float16")
    wide = Constant(np.ones((4, 3, 3, 3), "float32"))
    for module in (
        program([data, weight], lambda b, x, w: R.nn.conv2d(x, w)),
        program([tensor("x", 1, 3, 8, 8)], lambda b, x: R.nn.conv2d(x, wide)),
        program([tensor("x", 1, 3, 8, 8, dtype="float16")], lambda b, x: R.nn.max_pool2d(x, (2, 2))),
    ):
        assert WIDEN(module) is module


def test_values_outside_of_dataflow_blocks() -> None:
    """Guards variables that other blocks read: they keep their width, and what convolutions read is cast for them."""

    def build(b: Any, x: Any) -> Any:
        y = b.emit(R.nn.relu(x))
        z = b.emit(R.nn.conv2d(y, _weights("float16", 3, 3, 1, 1)))
        return R.add(z, y)

    module = program([tensor("x", 1, 3, 8, 8, dtype="float16")], build, dataflow=False)
    x = _data("float16", 1, 3, 8, 8)
    _agree(evaluate(check(WIDEN, module), "main", x), evaluate(module, "main", x), "float16")


def test_a_weight_of_two_convolutions_is_widened_once() -> None:
    """Guards memory: shared weights stay shared."""
    weight = _weights("float16", 3, 3, 3, 3)
    module = program(
        [tensor("x", 1, 3, 8, 8, dtype="float16")],
        lambda b, x: R.nn.conv2d(b.emit(R.nn.conv2d(x, weight)), weight),
    )
    bindings = [b for block in check(WIDEN, module)["main"].body.blocks for b in block.bindings]
    weights = [b.value.args[1] for b in bindings if len(getattr(b.value, "args", ())) == 2]
    assert len(weights) == 2
    assert weights[0] is weights[1]
