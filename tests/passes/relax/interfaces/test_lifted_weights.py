"""LiftTransformParams by TVM v0.19's account: what is lifted, what stays, and what the two functions hand over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relax.interfaces.lift_transform_params import LiftTransformParams
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from tests.passes.relax.programs import arrays, called, same_values
from tests.relax.build import module
from tests.relax.machines import MODES, machine, table


def program(weights: str, *lines: str, x: str = "(2,)") -> Any:
    body = "\n".join(f"        {line}" for line in lines)
    return module(f"""
@R.function
def main(x: R.Tensor({x}, "float32"), {weights}):
    R.func_attr({{"num_input": 1}})
    m = T.int64()
    with R.dataflow():
{body}
        R.output(gv)
    return gv
""")


def same_everywhere(before: Any, after: Any, x: np.ndarray, *weights: np.ndarray) -> None:
    """Prepared weights give what the weights gave: interpreted, by bytecode and compiled."""
    assert well_formed(after) == []
    for mode in MODES:
        lifted = machine(after, mode)
        expected = machine(before, mode)["main"](x, *weights)
        same_values(lifted["main"](x, *lifted["main_transform_params"](weights)), expected)


def prepared(before: Any, *values: np.ndarray) -> Any:
    after = LiftTransformParams()(before)
    same_everywhere(before, after, *values)
    return after


@pytest.mark.rule("RELAX-PASS-13")
def test_stop_lift_params_stops() -> None:
    """It was lifted with what follows from it."""
    lines = ("n = R.negative(w)", "q = R.builtin.stop_lift_params(n)", "e = R.exp(q)", "gv = R.add(x, e)")
    after = prepared(program('w: R.Tensor((2,), "float32")', *lines), *arrays((2,), (2,)))
    assert called(after, "main_transform_params") == ["TupleGetItem", "negative", "Tuple"]
    assert called(after) == ["exp", "add"]


@pytest.mark.rule("RELAX-PASS-13")
def test_what_depends_on_no_weight_stays() -> None:
    """Constants that a function computes would be kept beside its weights; what weights need of them is in both."""
    lines = ('z = R.ones(R.shape([2]), "float32")', "v = R.add(w, z)", "a = R.add(x, z)", "gv = R.add(a, v)")
    after = prepared(program('w: R.Tensor((2,), "float32")', *lines), *arrays((2,), (2,)))
    assert called(after, "main_transform_params") == ["ones", "TupleGetItem", "add", "Tuple"]
    assert called(after) == ["ones", "add", "add"]


@pytest.mark.rule("RELAX-PASS-13")
def test_sizes_that_only_weights_show_are_handed_over() -> None:
    """sum((m, 2)) has no m left, but the function still makes a tensor of m rows."""
    lines = ("c = R.sum(w)", 'd = R.ones(R.shape([m]), "float32")', "e = R.sum(d)", "gv = R.add(R.add(x, c), e)")
    after = prepared(program('w: R.Tensor(("m", 2), "float32")', *lines), *arrays((2,), (5, 2)))
    assert called(after, "main_transform_params") == ["TupleGetItem", "sum", "Tuple"]
    assert [p.name_hint for p in after["main"].params] == ["x", "vars_from_compile_time_params", "c"]


def test_sizes_that_inputs_show_are_no_weights() -> None:
    """w has twice as many elements as x: its preparation cannot know of how many, and hands it on."""
    lines = ("r = R.reshape(w, (m, 2))", "s = R.sum(r, axis=1)", "gv = R.add(x, s)")
    after = prepared(program('w: R.Tensor(("m * 2",), "float32")', *lines, x='("m",)'), *arrays((3,), (6,)))
    assert called(after, "main_transform_params") == ["TupleGetItem", "Tuple"]


@pytest.mark.rule("RELAX-PASS-13")
def test_nothing_to_prepare_is_prepared_as_well() -> None:
    """Scripts call main_transform_params whatever the model is; weights that nothing uses are gone."""
    weights = 'w: R.Tensor((2,), "float32"), unused: R.Tensor((2,), "float32")'
    after = prepared(program(weights, "gv = R.add(x, w)"), *arrays((2,), (2,), (2,)))
    assert called(after, "main_transform_params") == ["TupleGetItem", "Tuple"]
    assert len(after["main"].params) == 2


@pytest.mark.rule("RELAX-PASS-13")
def test_preparing_again_prepares_what_was_prepared() -> None:
    """A preparation is no function with weights: it was taken apart as one."""
    lines = ("c = R.sum(w)", 'd = R.ones(R.shape([m]), "float32")', "gv = R.add(R.add(x, c), R.sum(d))")
    before = program('w: R.Tensor(("m", 2), "float32")', *lines)
    once = LiftTransformParams()(before)
    twice = LiftTransformParams()(once)
    assert {v.name_hint for v in twice.functions} == {"main", "main_transform_params"}
    same_everywhere(before, twice, *arrays((2,), (5, 2)))


@pytest.mark.rule("RELAX-PASS-13")
def test_a_preparation_that_gives_something_else_is_refused() -> None:
    before = program('w: R.Tensor((2,), "float32")', "gv = R.add(x, R.exp(w))")
    other = module("""
@R.function
def main_transform_params(params: R.Tuple(R.Tensor((3,), "float32"))):
    return params
""")
    both = before.with_functions({**before.functions, **other.functions})
    with pytest.raises(DiagnosticError, match="what was prepared before is"):
        LiftTransformParams()(both)


def test_weights_that_a_script_wants_consumed_are_left_to_the_caller() -> None:
    """TVM's setting drops them from the tuple it was given; here tuples never change, and results are the same."""
    before = program('w: R.Tensor((2,), "float32")', "gv = R.add(x, R.exp(w))")
    with PassContext(config={"relax.lift_transform_params.consume_params": True}):
        prepared(before, *arrays((2,), (2,)))


WRITTEN = """
@T.prim_func(private=True)
def doubled(a: T.Buffer((2,), "float32")):
    for i in range(2):
        a[i] = a[i] * T.float32(2)

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), v: R.Tensor((2,), "float32")):
    R.func_attr({"num_input": 1})
    R.call_packed("test.double", w, sinfo_args=R.Tuple())
    with R.dataflow():
        a = R.exp(w)
        b = R.exp(v)
        c = R.sin(v)
        d = R.call_tir_inplace(cls.doubled, (b,), out_sinfo=R.Tensor((2,), "float32"), inplace_indices=[0])
        gv = R.add(R.add(x, a), R.add(c, d))
        R.output(gv)
    return gv
"""


@pytest.mark.parametrize("mode", MODES)
def test_what_calls_write_is_not_prepared(mode: str) -> None:
    """A weight that a packed function changes was read before it did; a prepared value that a kernel writes in place
    was another one in the second run."""

    def double(a: Any) -> None:
        a.copyfrom(a.numpy() * 2)

    before, functions = module(WRITTEN), table(double=double)
    after = LiftTransformParams()(before)
    assert called(after, "main_transform_params").count("sin") == 1
    x, w, v = arrays((2,), (2,), (2,))
    expected = machine(before, mode, functions)["main"](x, w.copy(), v)
    lifted = machine(after, mode, functions)
    prepared = lifted["main_transform_params"]((w.copy(), v))
    first, *others = prepared
    for _ in range(2):
        first.copyfrom(w)
        same_values(lifted["main"](x, first, *others).numpy(), expected.numpy())
