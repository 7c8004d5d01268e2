"""What is known of a dataflow block's variables must not be used after it: values found through tuples, and views."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.pipelines import default
from baton._src.passes.relax.bindings.call_closures import CallClosures
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.layouts.convert_layout import ConvertLayout
from baton._src.passes.relax.machine.rewrite_dataflow_reshape import RewriteDataflowReshape
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.nodes import Call
from baton._src.relax.well_formed import well_formed
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import arrays, bindings, check
from tests.relax.build import load, module

TUPLE_OUT = """
@R.function
def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    with R.dataflow():
        lv = R.exp(x)
        lv1 = R.add(lv, x)
        gv = (lv, lv1)
        R.output(gv)
    a = gv[0]
    b = R.concat(gv, axis=0)
    c = R.multiply(a, a)
    return c
"""


@pytest.mark.rule("RELAX-PASS-05")
@pytest.mark.parametrize("passes", [[CanonicalizeBindings()], [LegalizeOps()], list(default())], ids=["c", "l", "all"])
def test_fields_of_an_output_stay_behind_it(passes: list[Any]) -> None:
    """`gv[0]` outside of the block does not become the DataflowVar that was put there."""
    found = module(TUPLE_OUT)
    for step in passes:
        found = step(found)
        assert well_formed(found) == []


@pytest.mark.rule("RELAX-PASS-05")
def test_a_tuple_put_together_outside_is_not_the_one_inside() -> None:
    found = CanonicalizeBindings()(
        module("""
@R.function
def main(t: R.Tuple(R.Tensor((2,)), R.Tensor((3,))), x: R.Tensor((2,))):
    with R.dataflow():
        p = (x, x)
        q = p
        a = q[0]
        b = q[1]
        R.output(a, b)
    c = (a, b)
    return c
""")
    )
    assert well_formed(found) == []


RESHAPES = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def flat(a: T.Buffer((T.int64(2), T.int64(3)), "float32"), b: T.Buffer((T.int64(6),), "float32")):
        for i in range(T.int64(6)):
            with T.block("flat"):
                vi = T.axis.spatial(T.int64(6), i)
                b[vi] = a[vi // T.int64(3), vi % T.int64(3)]

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Object:
        cls = Module
        with R.dataflow():
            one = R.call_tir(cls.flat, (x,), out_sinfo=R.Tensor((6,), "float32"))
            two = R.call_tir(cls.flat, (x,), out_sinfo=R.Tensor((6,), "float32"))
            three = R.call_tir(cls.flat, (x,), out_sinfo=R.Tensor((6,), "float32"))
            used = R.exp(three)
            copied = one
            packed = (two, used)
            R.output(copied, packed)
        return (copied, packed)
"""


def test_what_leaves_a_block_is_no_view() -> None:
    """A copy or a tuple takes the memory out of the block just as the output itself would."""
    found = RewriteDataflowReshape()(load(RESHAPES))
    made = {b.var.name_hint: b.value.op.name for b in bindings(found) if isinstance(b.value, Call)}
    assert made["one"] == made["two"] == "relax.call_tir"
    assert made["three"] == "relax.reshape"


FUNCTION_IN_A_BLOCK = """
    @R.function
    def main(x: R.Tensor((1, 2, 3, 3), "float32"), w: R.Tensor((2, 2, 1, 1), "float32")):
        with R.dataflow():
            c = R.nn.conv2d(x, w)
            @R.function
            def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                with R.dataflow():
                    e = R.exp(a)
                    R.output(e)
                return e
            r = R.nn.relu(c)
            flat = R.reshape(x, (18,))
            one = inner(R.ones((2,), "float32"))
            R.output(r, flat, one)
        return (r, flat, one)
"""


@pytest.mark.parametrize("layout", [["NHWC", "OHWI"], ["NCHW", "OIHW"]])
def test_a_function_in_a_block_ends_nothing_that_is_known_of_it(layout: list[str]) -> None:
    """After it a converted value had no binding, and an output that is a reshape was a view of the argument."""
    step = Sequential([ConvertLayout({"relax.nn.conv2d": layout}), LegalizeOps(), RewriteDataflowReshape()])
    (x, w) = arrays((1, 2, 3, 3), (2, 2, 1, 1))
    found = check(step, module(FUNCTION_IN_A_BLOCK), x, w)
    (made,) = [b.value.op.name for b in bindings(found) if b.var.name_hint == "flat"]
    assert made == "relax.call_tir"


TUPLE_OF_A_TUPLE = """
    @R.function
    def step(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), x: R.Tensor((2,), "float32")):
        return R.add(t[0], x)
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            t = ((a, a),)
            R.output(t)
        f = R.make_closure(M.step, (x,))
        return R.invoke_pure_closure(f, t, sinfo_args=R.Tensor((2,), "float32"))
"""


def test_tuples_in_tuples_of_a_block_stay_behind_it() -> None:
    """The call named the variables of the inner tuple."""
    found = CallClosures()(load("@I.ir_module\nclass M:" + TUPLE_OF_A_TUPLE))
    assert well_formed(found) == []
