"""LiftTransformParams with one function that prepares the weights of several."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.relax.interfaces.lift_transform_params import LiftTransformParams
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import arrays, called, same_values
from tests.relax.build import module

TEXT = """
@R.function
def prefill(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((3, 4), "float32"), u: R.Tensor((3,), "float32")):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        t = R.permute_dims(w)
        y = R.matmul(x, t)
        z = R.add(y, u)
        R.output(z)
    return z

@R.function
def decode(x: R.Tensor((1, 4), "float32"), w: R.Tensor((3, 4), "float32"), u: R.Tensor((3,), "float32")):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        turned = R.permute_dims(w)
        e = R.exp(u)
        y = R.matmul(x, turned)
        z = R.multiply(y, e)
        R.output(z)
    return z
"""


@pytest.mark.rule("RELAX-PASS-13")
@pytest.mark.parametrize("chosen", [True, [], ["prefill", "decode"]])
def test_what_all_compute_is_prepared_once(chosen: Any) -> None:
    """The transpose of both; each function takes all results, and does itself what only it needs."""
    before = module(TEXT)
    after = LiftTransformParams(shared_transform=chosen)(before)
    assert well_formed(after) == []
    assert called(after, "transform_params") == ["TupleGetItem", "permute_dims", "TupleGetItem", "Tuple"]
    assert called(after, "decode") == ["exp", "matmul", "multiply"]
    w, u = arrays((3, 4), (3,))
    ready = evaluate(after, "transform_params", (w, u))
    assert len(ready) == 2
    for name, rows in (("prefill", 5), ("decode", 1)):
        (x,) = arrays((rows, 4), seed=rows)
        assert len(after[name].params) == 3
        same_values(evaluate(after, name, x, *ready), evaluate(before, name, x, w, u))


@pytest.mark.rule("RELAX-PASS-13")
def test_only_those_named() -> None:
    """Others keep their interface: they were given a preparation of their own."""
    before = module(TEXT)
    after = LiftTransformParams(shared_transform=["decode"])(before)
    assert {v.name_hint for v in after.functions} == {"prefill", "decode", "transform_params"}
    assert after["prefill"] is before["prefill"]
    assert well_formed(after) == []


@pytest.mark.rule("RELAX-PASS-13")
def test_names_are_those_of_functions_with_weights() -> None:
    """Names of nothing were passed over."""
    before = module(TEXT + '\n@R.function\ndef plain(x: R.Tensor((2,), "float32")):\n    return x\n')
    for name, says in (
        ("nope", "has no function 'nope'"),
        ("plain", "plain is not a Relax function with the attribute"),
    ):
        with pytest.raises(DiagnosticError, match=says):
            LiftTransformParams(shared_transform=["decode", name])(before)


def test_sizes_of_shared_weights_may_be_open() -> None:
    """Each function has a variable of its own for them."""
    before = module(TEXT.replace("(3, 4)", '("k", 4)').replace("(3,)", '("k",)'))
    after = LiftTransformParams(shared_transform=True)(before)
    assert well_formed(after) == []
    w, u, x = arrays((3, 4), (3,), (1, 4))
    ready = evaluate(after, "transform_params", (w, u))
    for name in ("prefill", "decode"):
        same_values(evaluate(after, name, x, *ready), evaluate(before, name, x, w, u))


def test_weights_that_differ_are_refused() -> None:
    other: Any = module(
        TEXT.replace(
            'decode(x: R.Tensor((1, 4), "float32"), w: R.Tensor((3, 4)',
            'decode(x: R.Tensor((1, 4), "float32"), w: R.Tensor((7, 4)',
        ).replace("z = R.multiply(y, e)", "z = R.exp(y)")
    )
    with pytest.raises(DiagnosticError, match="do not take the same weights"):
        LiftTransformParams(shared_transform=True)(other)
