"""Transposed convolutions of a few points, which are one product of matrices, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.ops.catalogue import CATALOGUE

OPERATOR = CATALOGUE.get("nn.conv2d_transpose")


@pytest.mark.parametrize(
    ("x", "w", "attrs"),
    [
        ((2, 5, 2, 3), (5, 7, 3, 3), {"padding": 1}),
        ((1, 4, 1, 1), (4, 3, 3, 3), {}),
        ((2, 3, 3, 2), (3, 4, 2, 3), {"padding": (0, 1), "dilation": (2, 1)}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"padding": (2, 0, 1, 2)}),
    ],
    ids=["square", "point", "dilation", "cut"],
)
def test_against_the_reference(x: Any, w: Any, attrs: dict[str, Any]) -> None:
    draw = np.random.default_rng(0)
    given = [draw.standard_normal(shape).astype("float32") for shape in (x, w)]
    params = [relax.Var(n, relax.TensorStructInfo(v.shape, "float32")) for n, v in zip("xw", given)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(relax.op.nn.conv2d_transpose(*params, **attrs)))
    program = baton.compile(builder.get(), num_threads=1)
    wanted = OPERATOR.reference(tuple(given), OPERATOR.attrs(**attrs))  # type: ignore[operator]
    np.testing.assert_allclose(np.asarray(program(*given)[0]).reshape(wanted.shape), wanted, atol=1e-5)
    assert not any("transpose" in kernel.name and "conv" in kernel.name for kernel in program.kernels)
