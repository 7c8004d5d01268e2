"""CanonicalizeBindings, before and after as TVMScript: what users of TVM v0.19 expect of it, binding by binding."""

from __future__ import annotations

import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from tests.relax.build import module

SIZES = (
    """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Object:
    n, m, k = T.int64(), T.int64(), T.int64()
    y = R.match_cast(x, R.Tensor((n, k), "float32"))
    z = R.zeros((k + 1,), "float32")
    w = (y, z)
    return w
""",
    """
@R.function
def main(x: R.Tensor(("n", "m"), "float32")) -> R.Object:
    n, m = T.int64(), T.int64()
    z = R.zeros((m + 1,), "float32")
    w = (x, z)
    return w
""",
)
CHECKED = (
    """
@R.function
def main(x: R.Tensor(("n",)), y: R.Tensor(("m",))):
    n = T.int64()
    z = R.match_cast(y, R.Tensor((n,)))
    return z
""",
) * 2
BRANCHES = (
    """
@R.function
def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    k = T.int64()
    if c:
        a = R.match_cast(x, R.Tensor((k,), "float32"))
        r = R.sum(a)
    else:
        b = R.match_cast(y, R.Tensor((k,), "float32"))
        r = R.sum(b)
    return r
""",
) * 2
CONSTANTS = (
    """
@R.function
def main(x: R.Tensor((2,), "float32")):
    one = R.const(1.0, "float32")
    size = R.shape([2])
    y = R.add(x, one)
    z = R.reshape(y, size)
    return z
""",
    """
@R.function
def main(x: R.Tensor((2,), "float32")):
    one = R.const(1.0, "float32")
    size = R.shape([2])
    y = R.add(x, R.const(1.0, "float32"))
    z = R.reshape(y, size)
    return z
""",
)
OUTPUTS = (
    """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.sin(a)
        c = b
        R.output(a, c)
    return c
""",
    """
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        c = R.sin(a)
        R.output(c)
    return c
""",
)
TUPLES = (
    """
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):
    inner = (x, y)
    outer = (inner, x)
    again = outer[0]
    z = again[1]
    w = R.exp(z)
    return w
""",
    """
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((3,), "float32")):
    inner = (x, y)
    outer = (inner, x)
    w = R.exp(y)
    return w
""",
)
STRONGER = (
    """
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32")):
    y: R.Tensor((3,), "float32") = x
    z = R.exp(y)
    return z
""",
) * 2
WEAKER = (
    """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    w: R.Object = x
    return w
""",
    """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    return x
""",
)


@pytest.mark.rule("RELAX-PASS-05")
@pytest.mark.filterwarnings("ignore:.*is declared")
@pytest.mark.parametrize(
    ("before", "after"),
    [SIZES, CHECKED, BRANCHES, CONSTANTS, OUTPUTS, TUPLES, STRONGER, WEAKER],
    ids=["sizes", "checked", "branches", "constants", "outputs", "tuples", "stronger", "weaker"],
)
def test_detours_disappear(before: str, after: str) -> None:
    """A size under a new name is the old one; a cast that compares two known sizes, or those of two branches, stays."""
    assert_structural_equal(CanonicalizeBindings()(module(before)), module(after), map_free_vars=True)
