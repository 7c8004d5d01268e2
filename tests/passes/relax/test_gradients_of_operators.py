"""Gradients of operators in the pass: where operands and result differ in dtype, and sizes are open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relax.gradient import Gradient
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, dim, program, tensor
from tests.passes.relax.test_gradient import check_gradient

PRODUCTS: dict[str, tuple[Any, Any, Any]] = {
    "matmul": (R.matmul, (2, 3), (3, 4)),
    "conv2d": (R.nn.conv2d, (1, 2, 5, 4), (3, 2, 3, 3)),
    "conv2d_transpose": (R.nn.conv2d_transpose, (1, 2, 3, 4), (2, 3, 3, 3)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_that_are_wider_than_their_operands(name: str) -> None:
    """The gradient of the result was multiplied by operands of another dtype: an error of the checker."""
    product, *shapes = PRODUCTS[name]

    def adjoint(dtype: str) -> Any:
        def build(b: Any, x: Any, w: Any) -> Any:
            return R.sum(b.emit(R.tanh(b.emit(product(x, w, out_dtype="float32")))))

        module = program([tensor(n, *s, dtype=dtype) for n, s in zip("xw", shapes)], build)
        given = [a.astype("float16").astype(dtype) for a in arrays(*shapes)]
        return evaluate(Gradient("main")(module), "main_adjoint", *given)[1]

    for narrow, wide in zip(adjoint("float16"), adjoint("float32")):
        assert narrow.dtype == np.float16
        np.testing.assert_allclose(narrow, wide, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("strides", "message"), [(1, None), (2, "a convolution with strides is known for known")])
def test_convolutions_of_images_of_open_size(strides: int, message: str | None) -> None:
    """Guards a TypeError of the pass; with strides the last elements that windows reach are only known by the size."""

    def build(b: Any, x: Any, w: Any) -> Any:
        return R.sum(b.emit(R.tanh(b.emit(R.nn.conv2d(x, w, strides=strides)))))

    n = dim()
    module = program([tensor("x", 1, 2, n, n), tensor("w", 3, 2, 2, 3)], build)
    if message is None:
        check_gradient(module, arrays((1, 2, 5, 5), (3, 2, 2, 3)))
        return
    with pytest.raises(DiagnosticError, match=message):
        Gradient("main")(module)
