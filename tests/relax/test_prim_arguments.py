"""Numbers that a host gives for prim parameters."""

from __future__ import annotations

import numpy as np

from tests.relax.machines import everywhere, fails_everywhere


def test_numbers_of_the_host_have_the_dtype_that_parameters_declare() -> None:
    """Python has one float and one int: they become prim values of the declared dtype where they fit."""
    text = """
@R.function
def main(x: R.Prim("float32"), k: R.Prim("int32")) -> R.Object:
    return (x, k)
"""
    real, whole = everywhere(text, 2.1, 3)
    assert (real, whole) == (float(np.float32(2.1)), 3)
    assert "float32" in repr(real)
    assert "int32" in repr(whole)
    for wrong in ((2, 3), (2.0, 3.0), (2.0, 2**40), (2.0, True)):
        fails_everywhere(text, *wrong, code="value-mismatch")
