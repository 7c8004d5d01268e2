"""ToMixedPrecision: the casts that TVM v0.19 documents, in the scopes where they are seen, and close results."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.passes.relax.operators.to_mixed_precision import ToMixedPrecision
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from tests.passes.relax.programs import becomes
from tests.relax.build import module
from tests.relax.machines import everywhere

SIGNATURE = 'x: R.Tensor((2, 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")'


@pytest.mark.rule("RELAX-PASS-21")
def test_products_are_kept_narrow_and_their_readers_cast_for_themselves() -> None:
    """`relu` follows its operand, `add` has one of float32, `softmax` keeps its dtype; x is for products only."""
    before = f"""
@R.function
def main({SIGNATURE}):
    with R.dataflow():
        p = R.matmul(x, w)
        r = R.nn.relu(p)
        s = R.add(r, b)
        t = R.nn.softmax(r)
        gv = R.multiply(s, t)
        R.output(gv)
    return gv
"""
    after = f"""
@R.function
def main({SIGNATURE}):
    with R.dataflow():
        x16 = R.astype(x, "float16")
        w16 = R.astype(w, "float16")
        sums = R.matmul(x16, w16, out_dtype="float32")
        p = R.astype(sums, "float16")
        r = R.nn.relu(p)
        r32 = R.astype(r, "float32")
        s = R.add(r32, b)
        again = R.astype(r, "float32")
        t = R.nn.softmax(again)
        gv = R.multiply(s, t)
        R.output(gv)
    return gv
"""
    becomes(ToMixedPrecision(), before, after)


@pytest.mark.rule("RELAX-PASS-21")
def test_constants_follow_where_they_fit() -> None:
    """An infinity in float16 would be none in float32."""
    before = f"""
@R.function
def main({SIGNATURE}):
    with R.dataflow():
        p = R.matmul(x, w)
        small = R.multiply(p, R.const(2.0, "float32"))
        gv = R.multiply(small, R.const(1e6, "float32"))
        R.output(gv)
    return gv
"""
    after = f"""
@R.function
def main({SIGNATURE}):
    with R.dataflow():
        x16 = R.astype(x, "float16")
        w16 = R.astype(w, "float16")
        p = R.matmul(x16, w16, out_dtype="float16")
        two = R.astype(R.const(2.0, "float32"), "float16")
        small = R.multiply(p, two)
        small32 = R.astype(small, "float32")
        gv = R.multiply(small32, R.const(1e6, "float32"))
        R.output(gv)
    return gv
"""
    becomes(ToMixedPrecision("float16"), before, after)


@pytest.mark.rule("RELAX-PASS-21")
def test_tuples_hand_on_what_their_fields_are_wanted_as() -> None:
    """Only a product reads the first part; what leaves the block is as it was, and made once."""
    before = """
@R.function
def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((2, 4), "float32")):
    with R.dataflow():
        s = R.split(x, 2, axis=1)
        first = s[0]
        t = (first, s[1])
        p = R.matmul(t[0], w)
        parts = R.split(p, 2, axis=1)
        e = R.exp(t[1])
        R.output(parts, e)
    return (parts, e)
"""
    found = ToMixedPrecision()(module(before))
    assert not well_formed(found)
    text = found["main"].script()
    assert text.count("R.split") == 2
    x, w = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4), np.ones((2, 4), "float32")
    (left, right), e = everywhere(found, x, w)
    wanted = np.split(x[:, :2] @ w, 2, axis=1)
    np.testing.assert_allclose(left.numpy(), wanted[0], rtol=1e-2)
    np.testing.assert_allclose(right.numpy(), wanted[1], rtol=1e-2)
    np.testing.assert_allclose(e.numpy(), np.exp(x[:, 2:]), rtol=1e-6)


@pytest.mark.rule("RELAX-PASS-21")
@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.parametrize("names", [(), ("x", "w")])
def test_branches_and_inner_functions_see_no_cast_of_the_block(names: tuple[str, ...]) -> None:
    """Casts end with their block: one branch used the other's."""
    before = module("""
@R.function
def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), c: R.Tensor((), "bool")):
    with R.dataflow():
        p = R.matmul(x, w)
        cast = R.match_cast(p, R.Tensor((4, 4), "float32"))
        @R.function
        def inner(y: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            with R.dataflow():
                q = R.matmul(y, w)
                R.output(q)
            return q
        r = inner(cast)
        R.output(r)
    if c:
        z = R.matmul(r, w)
    else:
        z = R.add(r, x)
    return z
""")
    after = ToMixedPrecision(fp16_input_names=names)(before)
    assert [d.render() for d in well_formed(after)] == []
    x, w = np.linspace(-1, 1, 16, dtype="float32").reshape(4, 4), np.eye(4, dtype="float32")
    given = (x.astype("float16"), w.astype("float16")) if names else (x, w)
    for flag in (np.bool_(True), np.bool_(False)):
        wanted = Interpreter(before)["main"](x, w, flag).numpy()
        np.testing.assert_allclose(everywhere(after, *given, flag).numpy(), wanted, rtol=1e-2, atol=1e-3)
