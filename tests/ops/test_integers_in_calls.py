"""What is declared an integer in a call is one: truths and sizes are refused by name, when the call is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.ops.builders import RELAX
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import deduce
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.nodes import Var as RelaxVar
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import Var

N = Var("n", "int64")
X = RelaxVar("x", TensorStructInfo(ShapeExpr((N, 4)), "float32"))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: RELAX["topk"](X, k=N), "topk: k is a number that is known when compiling, got "),
        (lambda: RELAX["nn"]["softmax"](X, axis=True), "nn.softmax: axis is an integer, got True"),
        (lambda: RELAX["sum"](X, axis=True), "an axis is an integer, got True"),
        (lambda: RELAX["expand_dims"](X, axis=True), "an axis is an integer, got True"),
        (lambda: RELAX["expand_dims"](X, None), "the new axes have to be named"),
        (lambda: RELAX["permute_dims"](X, axes=[True, False]), "an axis is an integer, got True"),
    ],
)
def test_attributes_that_are_no_integers_are_refused_where_they_are_given(call: Callable[[], Any], says: str) -> None:
    """Guards `topk(k=n)`, which told of truth values, and True, which was axis 1."""
    with pytest.raises(TypeError) as error:
        call()
    assert isinstance(error.value, DiagnosticError)
    assert error.value.code == "op-attribute"
    assert says in str(error.value)


def test_axes_of_any_operator_are_integers() -> None:
    """Guards attributes that may be None besides, which are judged when types are inferred."""
    with pytest.raises(DiagnosticError, match="axis is an integer, got True"):
        deduce(RELAX["concat"]((X, X), axis=True), Context())


@pytest.mark.parametrize("dim", [True, np.True_, 2.0, "n"])
def test_dims_are_no_truths(dim: Any) -> None:
    """True was a dim of 1."""
    with pytest.raises(DiagnosticError, match="a dimension is an integer or a scalar expression"):
        ShapeExpr((dim,))
