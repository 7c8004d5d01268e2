"""arange of bounds and steps that are shape variables: counted by a formula where there is one, else when running."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.relax.build import module
from tests.relax.machines import everywhere, fails_everywhere

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    y = R.arange({bounds})
    return y
"""


@pytest.mark.parametrize(
    ("bounds", "length"),
    [
        ("n, 0, -1", "n"),
        ("n, -n, -3", "(n * 2 + 2) // 3"),
        ("0, n, -1", "0"),
        ("0, n, m", None),
        ("n, 0, -m", None),
        ("0.5, n, 1", None),
        ("0, n, 0.5", None),
    ],
)
@pytest.mark.rule("RELAX-OPSHAPE-13")
def test_steps_downwards_by_variables_and_fractions(bounds: str, length: str | None) -> None:
    """They were refused: a symbolic arange had to have a positive integer step."""
    program = module(PROGRAM.format(bounds=bounds))
    known = "ndim=1" if length is None else f"R.Tensor(({length},)"
    assert known in repr(program["main"].ret_struct_info)
    for n, m in product((0, 1, 5), (1, 2)):
        found = everywhere(program, np.zeros((n, m), np.float32)).numpy()
        expected = np.arange(*eval(bounds, {"n": n, "m": m}))
        np.testing.assert_array_equal(found, expected, err_msg=f"{bounds} of {n}, {m}")


def test_a_step_that_turns_out_to_be_nothing() -> None:
    fails_everywhere(PROGRAM.format(bounds="0, n, m"), np.zeros((2, 0), np.float32), says="step must not be 0")
