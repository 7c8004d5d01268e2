"""DenseToSparse, Conv2dToSparse and Conv2dToSparse2: weights of zeros become blocks, results stay, others are left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.passes.relay.operators.sparse_weights import PARTS, block_sparse
from baton.relay import Function
from baton.relay.analysis import sparse_conv2d, sparse_dense
from baton.relay.data_dep_optimization import bsr_conv2d, bsr_dense

RNG = np.random.default_rng(0)


def zeroed(shape: tuple[int, ...], share: float = 0.9) -> np.ndarray[Any, Any]:
    """Numbers of which this share is zero."""
    values = RNG.standard_normal(shape).astype("float32")
    values[RNG.random(shape) < share] = 0
    return values


def run(function: Function, params: dict[str, Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The result of a function of x, whose other parameters are given."""
    values = [baton.nd.array(x), *(params[p.name_hint] for p in function.params[1:])]
    module = baton.IRModule.from_expr(function)
    found: np.ndarray[Any, Any] = relay.create_executor("graph", mod=module, target="llvm").evaluate()(*values).numpy()
    return found


def layers(reused: bool = False) -> Function:
    """Two dense layers; with `reused`, the weight of the first is added to something else as well."""
    x, w, v = relay.var("x", shape=(4, 32)), relay.var("w", shape=(16, 32)), relay.var("v", shape=(8, 16))
    hidden = relay.nn.relu(relay.nn.dense(x, w))
    if reused:
        hidden = hidden + relay.sum(w)
    return relay.Function([x, w, v], relay.nn.dense(hidden, v))


def test_a_dense_layer_gets_a_sparse_weight() -> None:
    """Guards the pair of steps: one weight of two qualifies, and its parts take its place among the parameters."""
    function = layers()
    params = {"w": baton.nd.array(zeroed((16, 32))), "v": baton.nd.array(zeroed((8, 16), 0.1))}
    made, changed = bsr_dense.convert(function, params, (4, 1), 0.8)
    assert [p.name_hint for p in made.params] == ["x", "w.data", "w.indices", "w.indptr", "v"]
    assert set(changed) == {"v", "w.data", "w.indices", "w.indptr"}
    assert set(params) == {"w", "v"}, "the parameters given stay"
    assert "nn.sparse_dense" in str(made)
    x = RNG.standard_normal((4, 32)).astype("float32")
    np.testing.assert_allclose(run(made, changed, x), run(function, params, x), rtol=1e-4, atol=1e-5)


def test_the_analysis_says_which_and_takes_them_apart() -> None:
    params = {"w": baton.nd.array(zeroed((16, 32))), "v": baton.nd.array(zeroed((8, 16), 0.1))}
    found = sparse_dense.process_params(layers(), params, (16, 1), 0.5)
    count = params["w.data"].shape[0]
    assert found == (["w"], [[count, 16, 1, count, 2]])
    module = relay.transform.DenseToSparse(*found)(baton.IRModule.from_expr(layers()))
    assert [p.name_hint for p in module["main"].params] == ["x", *(f"w.{part}" for part in PARTS), "v"]


@pytest.mark.parametrize(
    ("blocks", "threshold", "reused"),
    [((4, 1), 0.99, False), ((5, 1), 0.5, False), ((4, 1), 0.5, True)],
    ids=["few zeros", "blocks that do not divide", "used otherwise"],
)
def test_weights_that_do_not_qualify(blocks: tuple[int, int], threshold: float, reused: bool) -> None:
    function = relay.transform.InferType()(baton.IRModule.from_expr(layers(reused)))["main"]
    params = {"w": baton.nd.array(zeroed((16, 32))), "v": baton.nd.array(zeroed((8, 16), 0.0))}
    made, changed = bsr_dense.convert(function, params, blocks, threshold)
    assert baton.ir.structural_equal(made, function)
    assert changed.keys() == params.keys()


CONVOLUTIONS = [("NHWC", 1, (2, 1)), ("NCHW", 1, (1, 4)), ("NHWC", 3, (4, 2))]


def convolution(layout: str, size: int, strides: int = 1) -> tuple[Function, dict[str, Any], np.ndarray[Any, Any]]:
    """A convolution, its weight and an image."""
    channels_last = layout == "NHWC"
    image, kernel = ((1, 6, 5, 16), (size, size, 16, 8)) if channels_last else ((1, 16, 6, 5), (8, 16, size, size))
    x, w = relay.var("x", shape=image), relay.var("w", shape=kernel)
    result = relay.nn.conv2d(
        x, w, strides, (size // 2, size // 2), kernel_size=(size, size), data_layout=layout,
        kernel_layout="HWIO" if channels_last else "OIHW",
    )  # fmt: skip
    return relay.Function([x, w], result), {"w": baton.nd.array(zeroed(kernel))}, RNG.random(image, "float32")


@pytest.mark.parametrize(("layout", "size", "blocks"), CONVOLUTIONS)
def test_convolutions_get_sparse_kernels(layout: str, size: int, blocks: tuple[int, int]) -> None:
    function, params, x = convolution(layout, size)
    made, changed = bsr_conv2d.convert(function, params, blocks, 0.5, layout, size)
    assert "nn.sparse_conv2d" in str(made)
    expected = run(function, params, x)
    np.testing.assert_allclose(run(made, changed, x), expected, rtol=1e-4, atol=1e-5)
    bound = relay.build_module.bind_params_by_name(function, params)
    frozen = relay.transform.Conv2dToSparse2(layout, size, blocks, 0.5)(baton.IRModule.from_expr(bound))["main"]
    assert "nn.sparse_conv2d" in str(frozen)
    np.testing.assert_allclose(run(frozen, {}, x), expected, rtol=1e-4, atol=1e-5)


def test_other_convolutions_stay() -> None:
    """Strides, and kernels of another size than was asked for."""
    for function, params, _ in (convolution("NHWC", 1, 2), convolution("NHWC", 3)):
        found = sparse_conv2d.process_params(function, params, (1, 1), 0.1, "NHWC", 1)
        assert found == ([], [])
        assert list(params) == ["w"]


def test_kernels_without_a_sparse_operator_are_refused() -> None:
    function, params, _ = convolution("NCHW", 3)
    with pytest.raises(ValueError, match="no sparse kernels of 3 x 3 in layout NCHW"):
        bsr_conv2d.convert(function, params, (1, 1), 0.5, "NCHW", 3)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 3), (4, 6)])
def test_blocks_are_the_matrix(blocks: tuple[int, int]) -> None:
    """Guards `block_sparse` against its meaning, with empty rows and matrices."""
    for share in (0.0, 0.7, 1.0):
        matrix = zeroed((8, 12), share)
        data, indices, begins = block_sparse(matrix, blocks)
        again = np.zeros_like(matrix)
        high, wide = blocks
        for row in range(8 // high):
            for place in range(begins[row], begins[row + 1]):
                column = indices[place] * wide
                again[row * high : (row + 1) * high, column : column + wide] = data[place]
        np.testing.assert_array_equal(again, matrix)
