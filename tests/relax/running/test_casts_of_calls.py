"""A call may stand where a cast takes its operand; passes and machines find it as they find every other call."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.build import module
from tests.relax.machines import everywhere, fails_everywhere

BODY = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), t: R.Tuple(R.Object, R.Tensor("float32"))) -> R.Object:
    n = T.int64()
    m = T.int64()
    s = R.match_cast(R.shape_of(x), R.Shape([m, 3]))
    with R.dataflow():
        a = R.match_cast(R.add(x, x), R.Tensor((m, 3), "float32"))
        b = R.match_cast((R.exp(a), t[1]), R.Tuple(R.Tensor((m, 3)), R.Tensor((m,), "float32")))
        R.output(a, b)
    return (R.zeros(s, "float32"), a, b)
"""


@pytest.mark.rule("RELAX-NF-1")
@pytest.mark.rule("RELAX-EXPR-11")
def test_casts_of_calls_run_everywhere() -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    zeros, doubled, (powers, last) = everywhere(BODY, x, (x, np.ones(2, "float32")))
    np.testing.assert_array_equal(zeros.numpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(doubled.numpy(), x + x)
    np.testing.assert_allclose(powers.numpy(), np.exp(x + x), rtol=1e-5)
    np.testing.assert_array_equal(last.numpy(), np.ones(2))
    fails_everywhere(BODY, x, (x, np.ones(3, "float32")))


def test_their_operands_are_variables() -> None:
    """The reader binds them, in the order of evaluation."""
    text = module(BODY).script()
    places = [text.index(part) for part in ("R.shape_of", "R.Shape([m, 3])", "R.add", "R.exp", "t[1]")]
    assert places == sorted(places)
    assert "match_cast(R." not in text
