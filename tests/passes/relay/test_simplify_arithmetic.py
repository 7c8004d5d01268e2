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
]  # fmt: skip

STAYS = [
    "clip(%n, a_min=1f, a_max=255f)",
    "clip(%x, a_min=0f, a_max=255f)",
    "argmax(qnn.dequantize(%n, -0.5f, 3), axis=[1])",
    "%x * %x + 3f * %x * %y + %y * %y",
    "%x * %x + 2f * %x * %x + %y * %y",
    "(%n + cast(1, dtype=\"uint8\")) * cast(200, dtype=\"uint8\")",
    'cast(clip(cast(%n, dtype="int32"), a_min=0f, a_max=100f), dtype="uint8")',
]  # fmt: skip


def main(body: str) -> IRModule:
    return read_module(f"def @main({X}) {{ {body} }}")


def value(module: IRModule) -> Any:
    rng = np.random.default_rng(2)
    x, y = rng.uniform(0.3, 2, (2, 2, 3)).astype("float32")
    return Interpreter(module).evaluate(module["main"])(x, y, np.uint8([[0, 255, 7], [1, 200, 3]])).data


@pytest.mark.rule("RELAY-PASS-26")
@pytest.mark.parametrize(("before", "after"), CASES)
def test_becomes(before: str, after: str) -> None:
    found = SimplifyExpr()(main(before))
    assert_structural_equal(found, main(after))
    np.testing.assert_allclose(value(found), value(main(before)), rtol=1e-5)


@pytest.mark.parametrize("body", STAYS)
def test_stays(body: str) -> None:
    assert_structural_equal(SimplifyExpr()(main(body)), main(body))
