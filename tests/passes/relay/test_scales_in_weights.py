"""ForwardFoldScaleAxis and BackwardFoldScaleAxis leave what TVM's leave: which scales go where, and which stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relay.operators.fold_scale_axis import BackwardFoldScaleAxis, ForwardFoldScaleAxis
from baton._src.relay.interpreter import Interpreter
from tests.relay.programs import read_module

F = "float32"
PARAMS = (
    f"%x: Tensor[(1, 4, 5, 5), {F}], %w: Tensor[(3, 4, 3, 3), {F}], %d: Tensor[(4, 1, 3, 3), {F}]"
    f", %s: Tensor[(4), {F}], %b: Tensor[(4), {F}], %t: Tensor[(3), {F}], %c: Tensor[(3), {F}]"
    f", %r: Tensor[(2, 4), {F}], %v: Tensor[(3, 4), {F}]"
)
P4, P3, N4 = "Constant(2, (4, 1, 1), float32)", "Constant(2, (3, 1, 1), float32)", "Constant(-2, (4, 1, 1), float32)"
S4, S3 = f"squeeze({P4}, axis=[1, 2])", f"squeeze({P3}, axis=[1, 2])"
CUBES = "nn.conv3d(expand_dims(%x, axis=4), expand_dims(%w, axis=4), channels=3, kernel_size=[3, 3, 1])"


def conv(data: str, weight: str = "%w") -> str:
    return f"nn.conv2d({data}, {weight}, channels=3, kernel_size=[3, 3])"


def depthwise(data: str, weight: str) -> str:
    return f"nn.conv2d({data}, {weight}, groups=4, channels=4, kernel_size=[3, 3])"


def wide(vector: str, after: int) -> str:
    return f"expand_dims({vector}, axis=1, num_newaxis={after})"


B, C, IN = wide("%b", 2), wide("%c", 2), wide("%1", 2)
W_IN, W_OUT = f"%w * {IN}", f"%w * {wide('%1', 3)}"
"""The weight times a scale of its inputs, of its outputs."""

FORWARD = [
    (conv(f"%x * {P4}"), conv("%x", f"%w * {wide(S4, 2)}")),
    (conv(f"{wide('%s', 2)} * %x"), conv("%x", f"%w * {wide('squeeze(' + wide('%s', 2) + ', axis=[1, 2])', 2)}")),
    (conv(f"nn.relu(%x * {P4})"), conv("nn.relu(%x)", f"%w * {wide(S4, 2)}")),
    (conv(f"nn.leaky_relu(%x * {P4})"), conv("nn.leaky_relu(%x)", f"%w * {wide(S4, 2)}")),
    (
        conv(f"nn.relu(%x * {P4}) - {B}"),
        f"%1 = {S4}; " + conv(f"nn.relu(%x) - {B} / {IN}", W_IN),
    ),
    (depthwise(f"%x * {P4}", "%d"), depthwise("%x", f"%d * {wide(S4, 3)}")),
    ("nn.dense(%r * %s, %v)", "nn.dense(%r, %v * %s)"),
    (
        f"%1 = %x * {P4}; {conv('%1')} + {conv('nn.relu(%1)')}",
        f"%1 = {S4}; {conv('%x', W_IN)} + {conv('nn.relu(%x)', W_IN)}",
    ),
    (conv("%x * 2f"), conv("%x", f"%w * {wide('repeat(expand_dims(2f, axis=0), repeats=4, axis=0)', 2)}")),
]
BACKWARD = [
    (f"{conv('%x')} * {P3}", conv("%x", f"%w * {wide(S3, 3)}")),
    (f"nn.leaky_relu({conv('%x')}) * {P3}", f"nn.leaky_relu({conv('%x', f'%w * {wide(S3, 3)}')})"),
    (
        f"nn.relu({conv('%x')} + {C}) * {P3}",
        f"%1 = {S3}; nn.relu({conv('%x', W_OUT)} + {C} * {IN})",
    ),
    (
        f"{P3} * ({C} - {conv('%x')})",
        f"%1 = {S3}; {C} * {IN} - {conv('%x', W_OUT)}",
    ),
    (
        f"nn.bias_add({conv('%x')}, %c) * {P3}",
        f"%1 = {S3}; nn.bias_add({conv('%x', W_OUT)}, %c * %1)",
    ),
    (
        f"({conv('%x')} + {conv('nn.relu(%x)')}) * {P3}",
        f"%1 = {S3}; {conv('%x', W_OUT)} + {conv('nn.relu(%x)', W_OUT)}",
    ),
    (f"{depthwise('%x', '%d')} * {P4}", depthwise("%x", f"%d * {wide(S4, 3)}")),
    ("nn.dense(%r, %v) * %t", f"nn.dense(%r, %v * {wide('%t', 1)})"),
    (
        f"{CUBES} * Constant(2, (3, 1, 1, 1), float32)",
        CUBES.replace(
            "expand_dims(%w, axis=4)",
            f"expand_dims(%w, axis=4) * {wide('squeeze(Constant(2, (3, 1, 1, 1), float32), axis=[1, 2, 3])', 4)}",
        ),
    ),
]
WIDENED = conv('cast(%x, dtype="float16")', 'cast(%w, dtype="float16")')[:-1] + ', out_dtype="float32")'
STAYS = [
    (ForwardFoldScaleAxis(), conv(f"nn.relu(%x * {N4})")),
    (ForwardFoldScaleAxis(), conv(f"nn.relu(%x * {wide('%s', 2)})")),
    (ForwardFoldScaleAxis(), f"%1 = %x * {P4}; ({conv('%1')}, exp(%1))"),
    (ForwardFoldScaleAxis(), conv("exp(%x * 2f)")),
    (ForwardFoldScaleAxis(), conv("%x * expand_dims(%s, axis=0)").replace("%s", "Constant(1, (5,), float32)")),
    (BackwardFoldScaleAxis(), f"nn.relu({conv('%x')}) * Constant(-2, (3, 1, 1), float32)"),
    (BackwardFoldScaleAxis(), f"%1 = {conv('%x')}; (%1 * {P3}, %1)"),
    (BackwardFoldScaleAxis(), f"{conv('%x')} * Constant(2, (3, 3), float32)"),
    (BackwardFoldScaleAxis(), f"exp({conv('%x')}) * {P3}"),
    (BackwardFoldScaleAxis(), f"{WIDENED} * {P3}"),  # the scale is float32, the weights are not
]


def main(body: str) -> IRModule:
    return read_module(f"def @main({PARAMS}) {{ {body} }}")


def values(module: IRModule) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [[d.value for d in p.checked_type.shape] for p in module["main"].params]
    found = Interpreter(module).evaluate(module["main"])(*(rng.standard_normal(s).astype(F) for s in shapes))
    return [v.data for v in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.rule("RELAY-PASS-24")
@pytest.mark.parametrize(
    ("step", "before", "after"),
    [*((ForwardFoldScaleAxis(), *c) for c in FORWARD), *((BackwardFoldScaleAxis(), *c) for c in BACKWARD)],
)
def test_becomes(step: Any, before: str, after: str) -> None:
    found = step(main(before))
    assert_structural_equal(found, main(after))
    np.testing.assert_allclose(values(found), values(main(before)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("step", "body"), STAYS)
def test_stays(step: Any, body: str) -> None:
    assert_structural_equal(step(main(body)), main(body))


def test_a_scale_with_zeros_is_not_divided_by() -> None:
    """x * s + b is not (x + b / s) * s where s is 0, or not known."""
    for scale in ("Constant(0, (4, 1, 1), float32)", wide("%s", 2)):
        before = main(conv(f"%x * {scale} + {B}"))
        found = ForwardFoldScaleAxis()(before)
        np.testing.assert_allclose(values(found), values(before), rtol=1e-4, atol=1e-5)


def test_an_unknown_number_of_images() -> None:
    head = f"def @main(%x: Tensor[(?, 4, 5, 5), {F}], %w: Tensor[(3, 4, 3, 3), {F}])"
    before = read_module(f"{head} {{ {conv('%x')} * {P3} }}")
    after = read_module(f"{head} {{ {conv('%x', f'%w * {wide(S3, 3)}')} }}")
    assert_structural_equal(BackwardFoldScaleAxis()(before), after)
