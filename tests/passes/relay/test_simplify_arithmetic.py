"""SimplifyExpr's rules about constants, clips, extrema and "like" operators: form and value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relay.operators.simplify_expr import SimplifyExpr
from baton._src.relay.interpreter import Interpreter
from tests.relay.programs import read_module

X = "%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32], %n: Tensor[(2, 3), uint8]"
X += ", %i: Tensor[(2, 3), int32], %j: Tensor[(2, 3), int32]"
Y = "%b: Tensor[(2, 3), int8], %k: Tensor[(2, 3), int64], %l: Tensor[(2, 3), int64]"

CASES = [
    ("(%x + 1f) + 2f", "%x + 3f"),
    ("2f * (%x * 3f)", "%x * 6f"),
    ("(%x + 2f) * 3f", "%x * 3f + 6f"),
    ("2f / sqrt(%x)", "2f * rsqrt(%x)"),
    ("%y / sqrt(%x)", "%y * rsqrt(%x)"),
    ("%x + full(2f, shape=[2, 3], dtype=\"float32\")", "%x + 2f"),
    ("%x * ones_like(%y)", "%x"),
    ("full_like(%x, 2f) + %y", "2f + %y"),
    ("%x - zeros_like(%y)", "%x"),
    ("maximum(zeros(shape=[2, 3], dtype=\"float32\"), %x)", "maximum(0f, %x)"),
    ("clip(%n, a_min=0f, a_max=255f)", "%n"),
    ('cast(clip(cast(%n, dtype="int32"), a_min=0f, a_max=255f), dtype="uint8")', "%n"),
    ("argmax(qnn.dequantize(%n, 0.5f, 3), axis=[1])", "argmax(%n, axis=[1])"),
    ("reshape_like(exp(%x), transpose(%y))", "reshape(exp(%x), newshape=[3, 2])"),
    ("collapse_sum_like(%x, %y)", "%x"),
    ('cast_like(%n, %x)', 'cast(%n, dtype="float32")'),
    ("%x * %x + 2f * %x * %y + %y * %y", "%1 = %x + %y; %1 * %1"),
    ("%x * %x + %x * (%y * 2f) + %y * %y", "%1 = %x + %y; %1 * %1"),
    ("%x * %x + 5f * %x * %y + 4f * (%y * %y)", "(%x + %y * 4f) * (%x + %y)"),
    ("5f * %x * %y + (%x * %x + %y * (4f * %y))", "(%x + %y * 4f) * (%x + %y)"),
    ("4f * (%x * %x) + 5f * %x * %y + %y * %y", "(%y + %x * 4f) * (%y + %x)"),
    ("2f * (%x * %x) + 6f * (%x * %y) + 4f * (%y * %y)", "2f * ((%x + %y * 2f) * (%x + %y))"),
    ("%i * %i + 5 * %i * %j + 4 * (%j * %j)", "(%i + %j * 4) * (%i + %j)"),
    ("%x + %x", "%x * 2f"),
    ("%i + %i", "%i * 2"),
    ("(%i + 1) + 2", "%i + 3"),
    ("(%i + 7) * 2000000000", "%i * 2000000000 + 1115098112"),
    ("(%x + Constant(1, (2, 1), float32)) * Constant(2, (3,), float32)",
     "%x * Constant(2, (3,), float32) + Constant(2, (2, 3), float32)"),
    ("zeros_like(%x)", "zeros(shape=[2, 3], dtype=\"float32\")"),
    ("%x * ones(shape=[1, 3], dtype=\"float32\") - zeros(shape=[3], dtype=\"float32\")", "%x"),
    ('cast(cast(clip(%i, a_min=0f, a_max=255f), dtype="uint8"), dtype="int32")', "clip(%i, a_min=0f, a_max=255f)"),
    ('cast(cast(clip(%i, a_min=0f, a_max=255f), dtype="uint8"), dtype="int8")',
     'cast(clip(%i, a_min=0f, a_max=255f), dtype="int8")'),
    ('cast(cast(clip(%i, a_min=-9f, a_max=9f), dtype="float16"), dtype="int32")', "clip(%i, a_min=-9f, a_max=9f)"),
    ("reshape(contrib_reverse_reshape(%x, newshape=[-1, 2]), newshape=[6])", "reshape(%x, newshape=[6])"),
]  # fmt: skip

STAYS = [
    "clip(%n, a_min=1f, a_max=255f)",
    "clip(%x, a_min=0f, a_max=255f)",
    "argmax(qnn.dequantize(%n, -0.5f, 3), axis=[1])",
    "%x * %x + %x * %y + %y * %y",
    "%i * %i + 3 * %i * %j + %j * %j",
    "2 * (%i * %i) + 5 * (%i * %j) + 2 * (%j * %j)",
    "%x + Constant(1, (2, 3), float32)",
    "%x * 3e38f * 3e38f",
    "%x * 1e-30f * 1e-30f",  # 0 at once, but 1e38 times each is 1e-22
    'cast(clip(cast(%b, dtype="uint16"), a_min=-128f, a_max=127f), dtype="int8")',  # -1 is 65535 in between
    'cast(cast(%l, dtype="float64"), dtype="int64")',  # 2**53 + 1 is rounded
    'cast(cast(%l, dtype="float64"), dtype="int32")',
    '%l * %l + %l * %k * 9007199254740993i64 + %k * %k * 9007199254740992i64',  # no float is the first
    'cast(cast(clip(%x, a_min=0f, a_max=255f), dtype="uint8"), dtype="float32")',
    'cast(cast(clip(%i, a_min=0f, a_max=256f), dtype="uint8"), dtype="int32")',
    'cast(cast(clip(%i, a_min=0f, a_max=2049f), dtype="float16"), dtype="int32")',
    "%x * %x + 2f * %x * %x + %y * %y",
    "(%n + cast(1, dtype=\"uint8\")) * cast(200, dtype=\"uint8\")",
    'cast(clip(cast(%n, dtype="int32"), a_min=0f, a_max=100f), dtype="uint8")',
]  # fmt: skip


def main(body: str) -> IRModule:
    return read_module(f"def @main({X}) {{ {body} }}")


def value(module: IRModule) -> Any:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.3, 2, (2, 2, 3)).astype("float32")
    i, j = rng.integers(-300, 300, (2, 2, 3)).astype("int32")
    return Interpreter(module).evaluate(module["main"])(x, y, np.uint8([[0, 255, 7], [1, 200, 3]]), i, j).data


@pytest.mark.rule("RELAY-PASS-26")
@pytest.mark.parametrize(("before", "after"), CASES)
def test_becomes(before: str, after: str) -> None:
    found = SimplifyExpr()(main(before))
    assert_structural_equal(found, main(after))
    np.testing.assert_allclose(value(found), value(main(before)), rtol=1e-5)


@pytest.mark.parametrize("body", STAYS)
def test_stays(body: str) -> None:
    module = read_module(f"def @main({X}, {Y}) {{ {body} }}")
    assert_structural_equal(SimplifyExpr()(module), module)


def test_casts_that_hold_every_integer_go() -> None:
    """int32 is exact in float64, and int8 in a wider signed type."""
    body = 'cast(cast(%i, dtype="float64"), dtype="int64") + cast(cast(%n, dtype="float16"), dtype="int64")'
    assert_structural_equal(SimplifyExpr()(main(body)), main('cast(%i, dtype="int64") + cast(%n, dtype="int64")'))


def test_shapes_of_empty_tensors_are_said_as_they_are() -> None:
    """In Relay's `newshape` a 0 copies a dim: the reshape would have had 10 elements."""
    before = read_module("def @main(%x: Tensor[(2, 0), float32], %y: Tensor[(0, 5), float32]) { reshape_like(%x, %y) }")
    after = SimplifyExpr()(before)
    found = Interpreter(after).evaluate(after["main"])(np.zeros((2, 0), np.float32), np.zeros((0, 5), np.float32))
    assert after["main"].body.op.name == "reshape"
    assert found.shape == (0, 5)
