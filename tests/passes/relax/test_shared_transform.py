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


def test_weights_are_prepared_once_for_both() -> None:
    """The transpose that both compute is computed once; each function takes all results."""
    before = module(TEXT)
    after = LiftTransformParams(shared_transform=True)(before)
    assert well_formed(after) == []
    assert called(after, "transform_params") == [
        "TupleGetItem",
        "permute_dims",
        "TupleGetItem",
        "exp",
        "TupleGetItem",
        "Tuple",
    ]
    w, u = arrays((3, 4), (3,))
    ready = evaluate(after, "transform_params", (w, u))
    assert len(ready) == 3
    for name, rows in (("prefill", 5), ("decode", 1)):
        (x,) = arrays((rows, 4), seed=rows)
        assert len(after[name].params) == 4
        same_values(evaluate(after, name, x, *ready), evaluate(before, name, x, w, u))


def test_only_those_named() -> None:
    after = LiftTransformParams(shared_transform=["decode"])(module(TEXT))
    names = {v.name_hint for v in after.functions}
    assert names == {"prefill", "decode", "transform_params", "prefill_transform_params"}
    assert well_formed(after) == []


def test_weights_that_differ_are_refused() -> None:
    other: Any = module(
        TEXT.replace(
            'decode(x: R.Tensor((1, 4), "float32"), w: R.Tensor((3, 4)',
            'decode(x: R.Tensor((1, 4), "float32"), w: R.Tensor((7, 4)',
        ).replace("z = R.multiply(y, e)", "z = R.exp(y)")
    )
    with pytest.raises(DiagnosticError, match="do not take the same weights"):
        LiftTransformParams(shared_transform=True)(other)
