"""What a call of a private function checks and binds when it runs it still does where the call is inlined."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.passes.relax.bindings.inline_private_functions import InlinePrivateFunctions
from baton._src.relax.well_formed import well_formed
from tests.relax.build import module
from tests.relax.machines import everywhere, f32, fails_everywhere

ANY = 'R.Tensor(dtype="float32", ndim=1)'
THREE = 'R.Tensor((3,), "float32")'

PROGRAM = """
@R.function(private=True)
def g({signature}:
    {body}

@R.function
def main({arguments}) -> R.Object:
    {calls}
    return pair
"""
ONCE = {"arguments": f"x: {ANY}", "calls": "pair = cls.g(x)"}
TWICE = {"arguments": f"x: {ANY}, y: {ANY}", "calls": "pair = (cls.g(x), cls.g(y))"}

pytestmark = pytest.mark.filterwarnings("ignore:.*it cannot be ruled out at compile time")


def program(signature: str, body: str, arguments: str, calls: str) -> str:
    return PROGRAM.format(signature=signature, body=body, arguments=arguments, calls=calls)


def test_what_is_inlined_here_stays_well_formed() -> None:
    """The programs below: nothing is left of `g` in most of them, and `g` stays where a dim would be compared early."""
    simple = module(program(f"t: {ANY}) -> {THREE}", "return R.add(t, t)", **ONCE))
    early = module(program(*PRODUCT))
    for found, left in ((simple, ["main"]), (early, ["g", "main"])):
        after = InlinePrivateFunctions()(found)
        assert [v.name_hint for v in after.functions] == left
        assert not well_formed(after)


@pytest.mark.rule("RELAX-PASS-10")
@pytest.mark.rule("RELAX-SINFO-02")
@pytest.mark.rule("RELAX-SINFO-02", rejects=True)
@pytest.mark.rule("RELAX-EXPR-17", rejects=True)
def test_an_argument_is_checked() -> None:
    text = program(f"t: {THREE}) -> {THREE}", "return R.add(t, t)", **ONCE)
    np.testing.assert_array_equal(everywhere(text, f32(1, 2, 3)).numpy(), [2, 4, 6])
    fails_everywhere(text, f32(1, 2, 3, 4), says="is 4, expected 3")


@pytest.mark.rule("RELAX-EXPR-18", rejects=True)
def test_a_result_is_checked() -> None:
    text = program(f"t: {ANY}) -> {THREE}", "return R.add(t, t)", **ONCE)
    np.testing.assert_array_equal(everywhere(text, f32(1, 2, 3)).numpy(), [2, 4, 6])
    fails_everywhere(text, f32(1, 2, 3, 4), says="is 4, expected 3")


@pytest.mark.rule("RELAX-SIG-6")
@pytest.mark.rule("RELAX-SIG-6", rejects=True)
def test_two_lengths_that_are_one_are_compared() -> None:
    """A length of 1 would broadcast if nothing looked."""
    both = 'R.Tensor(("n",), "float32")'
    text = program(
        f"t: {both}, u: {both}) -> {both}",
        "return R.add(t, u)",
        'x: R.Tensor(("a",), "float32"), y: R.Tensor(("b",), "float32")',
        "pair = cls.g(x, y)",
    )
    np.testing.assert_array_equal(everywhere(text, f32(1, 2), f32(3, 4)).numpy(), [4, 6])
    fails_everywhere(text, f32(1, 2), f32(3), says="expected 2")


@pytest.mark.parametrize(
    ("signature", "body"),
    [
        ('t: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32")', "n = T.int64()\n    cast = t"),
        (f"t: {ANY}) -> {ANY}", 'n = T.int64()\n    cast = R.match_cast(t, R.Tensor((n,), "float32"))'),
    ],
    ids=["of a parameter", "of a cast"],
)
@pytest.mark.rule("RELAX-DIM-3")
def test_each_call_binds_its_own_shape_variables(signature: str, body: str) -> None:
    body += '\n    return R.add(cast, R.ones(R.shape([n]), "float32"))'
    result = everywhere(program(signature, body, **TWICE), f32(1, 2), f32(3))
    assert [part.numpy().tolist() for part in result] == [[2, 3], [4]]


PRODUCT = (
    't: R.Tensor(("m * n",), "float32"), u: R.Tensor(("m", "n"), "float32")) -> R.Tensor(("m * n",), "float32")',
    "m, n = T.int64(), T.int64()\n    return R.add(t, R.reshape(u, R.shape([m * n])))",
    f'x: {ANY}, y: R.Tensor(dtype="float32", ndim=2)',
    "pair = cls.g(x, y)",
)


@pytest.mark.rule("RELAX-SIG-2")
@pytest.mark.rule("RELAX-SIG-3", rejects=True)
def test_every_variable_is_bound_before_a_dim_is_compared() -> None:
    text = program(*PRODUCT)
    six, matrix = np.ones(6, np.float32), np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(everywhere(text, six, matrix).numpy(), six + 1)
    fails_everywhere(text, six, matrix[:, :2], says="is 6, expected 4")
