"""relay.quantize: models on bytes keep their accuracy, and are what the configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import baton
from baton import relay
from baton._src.passes.relay.quantize.thresholds import least_divergence, percentile, power_of_two
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relay.test_before_after import names

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
EVERY: dict[str, Any] = {"skip_conv_layers": [], "skip_dense_layer": False}


def evaluated(module: Any, *args: Any) -> Any:
    return relay.create_executor("vm", mod=module).evaluate()(*args).numpy()


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any, Any, Any]:
    """Module, parameters, images, labels."""
    with np.load(DIGITS / "digits_test.npz") as data:
        images, labels = data["image"][:120, None].astype("float32") / 16, data["label"][:120]
    model = onnx.load(DIGITS / "digits.onnx")
    module, params = relay.frontend.from_onnx(model, shape={"image": images.shape}, freeze_params=False)
    return module, params, images, labels


@pytest.mark.parametrize(
    ("options", "layers"),
    [
        ({}, 2),
        ({**EVERY, "calibrate_mode": "kl_divergence", "weight_scale": "max"}, 5),
        ({**EVERY, "calibrate_mode": "percentile", "calibrate_chunk_by": 2}, 5),
    ],
)
def test_digits_are_read_as_well(digits: Any, options: dict[str, Any], layers: int) -> None:
    """Guards the whole: so many layers multiply bytes, and accuracy stays within one per cent of the float model's."""
    module, params, images, labels = digits
    with relay.quantize.qconfig(**options):
        quantized = relay.quantize.quantize(module, params, dataset=[{"image": images}])
    text = quantized.astext()
    assert text.count('out_dtype="int32"') == layers
    right = (evaluated(quantized, images).argmax(axis=1) == labels).mean()
    assert right >= 0.99  # the float model reads all of these right


RNG = np.random.default_rng(4)


def weight(*shape: int) -> Any:
    return relay.const(RNG.uniform(-1, 1, shape).astype("float32"))


def test_simulation_is_what_bytes_compute() -> None:
    """Guards the realisation: integers give the numbers that rounded floats gave, of any number of bits."""
    x = relay.var("x", shape=(1, 4, 8, 8))
    first = relay.nn.relu(relay.nn.conv2d(x, weight(6, 4, 3, 3)))
    function = relay.Function([x], relay.nn.dense(relay.nn.batch_flatten(first), weight(3, 216)))
    results = []
    for simulated in (False, True):
        with relay.quantize.qconfig(**EVERY, do_simulation=simulated, nbit_input=6, weight_scale="max"):
            results.append(
                evaluated(
                    relay.quantize.quantize(function), np.linspace(-9, 9, 256, dtype="float32").reshape(1, 4, 8, 8)
                )
            )
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)


def test_elements_are_moved_as_bytes_and_values_marked_once() -> None:
    """Guards where marks go: ahead of pooling, and one for two readers of a value."""
    x = relay.var("x", shape=(1, 4, 8, 8))
    pooled = relay.nn.max_pool2d(relay.nn.relu(x), pool_size=(2, 2), strides=(2, 2))
    branches = [relay.nn.conv2d(relay.reshape(pooled, (1, 16, 2, 2)), weight(8, 16, 1, 1)) for _ in range(2)]
    with relay.quantize.qconfig(skip_conv_layers=[]):
        found = names(relay.quantize.quantize(relay.Function([x], relay.Tuple(branches))))
    assert found.count("qnn.quantize") == 1
    assert found.count("nn.conv2d") == 2
    one = relay.nn.conv2d(pooled, weight(8, 4, 1, 1))
    with relay.quantize.qconfig(skip_conv_layers=[]):
        order = names(relay.quantize.quantize(relay.Function([x], one)))
    assert order == ["nn.relu", "qnn.quantize", "nn.max_pool2d", "nn.conv2d", "qnn.dequantize"]


def test_products_of_computed_values() -> None:
    """Guards batch_matmul of two inputs: both are marked as data."""
    x, y = relay.var("x", shape=(2, 3, 8)), relay.var("y", shape=(2, 5, 8))
    module = baton.IRModule.from_expr(relay.Function([x, y], relay.nn.batch_matmul(relay.tanh(x), relay.tanh(y))))
    with relay.quantize.qconfig(global_scale=1.0):
        quantized = relay.quantize.quantize(module)
    assert names(quantized).count("qnn.quantize") == 2
    data = [RNG.uniform(-2, 2, s).astype("float32") for s in ((2, 3, 8), (2, 5, 8))]
    np.testing.assert_allclose(evaluated(quantized, *data), evaluated(module, *data), atol=0.06)


def test_configurations_nest() -> None:
    """Guards the context: defaults outside, the innermost inside."""
    assert relay.quantize.current_qconfig().skip_conv_layers == (0,)
    with relay.quantize.qconfig(global_scale=2.0):
        with relay.quantize.qconfig(nbit_input=4) as inner:
            assert relay.quantize.current_qconfig() is inner
        assert relay.quantize.current_qconfig().global_scale == 2.0
    assert relay.quantize.current_qconfig().global_scale == 8.0


@pytest.mark.parametrize(
    "options",
    [{"calibrate_mode": "guess"}, {"nbit_input": 9}, {"dtype_weight": "int4"}, {"global_scale": 0.0}],
)
def test_what_no_configuration_says(options: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as error:
        relay.quantize.qconfig(**options)
    assert error.value.code == "relay-quantize"


def test_unknown_fields_are_dropped_with_a_warning() -> None:
    """Guards scripts of other versions of TVM, which has dropped such fields, without a word, in all of them."""
    with pytest.warns(UserWarning, match="qconfig has no nbit_bias"):
        config = relay.quantize.qconfig(nbit_bias=32, global_scale=4.0)
    assert config.global_scale == 4.0


def test_what_cannot_be_quantised_says_why() -> None:
    """Guards errors: unknown weights, and calibration without data."""
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
    function = relay.Function([x, w], relay.nn.dense(x, w))
    with relay.quantize.qconfig(skip_dense_layer=False), pytest.raises(DiagnosticError, match="'w' is not known"):
        relay.quantize.quantize(function)
    with (
        relay.quantize.qconfig(skip_dense_layer=False, calibrate_mode="percentile"),
        pytest.raises(DiagnosticError, match="needs a data set"),
    ):
        relay.quantize.quantize(function, {"w": np.ones((3, 4), "float32")})


@pytest.mark.parametrize("mode", ["kl_divergence", "percentile"])
def test_data_sets_reach_layers_in_lets_and_branches(mode: str) -> None:
    """Guards collection: the values that a let binds are computed for main's inputs, wherever the let is."""
    x, c, y, z = relay.var("x", shape=(2, 4)), relay.var("c", shape=(), dtype="bool"), relay.var("y"), relay.var("z")
    inner = relay.Let(z, relay.exp(y), relay.nn.dense(z, weight(3, 4)))
    branches = relay.If(c, inner, relay.nn.dense(y, weight(3, 4)))
    function = relay.Function([x, c], relay.Let(y, relay.nn.dense(x, weight(4, 4)), branches))
    inputs = {"x": np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4), "c": np.array(True)}
    with relay.quantize.qconfig(**EVERY, calibrate_mode=mode):
        quantized = relay.quantize.quantize(function, dataset=[inputs])
    assert quantized.astext().count('out_dtype="int32"') == 3
    wanted = evaluated(baton.IRModule.from_expr(function), *inputs.values())
    np.testing.assert_allclose(evaluated(quantized, *inputs.values()), wanted, atol=0.05 * np.abs(wanted).max())


def test_what_cannot_be_calibrated_says_why() -> None:
    """Guards errors: layers that read what no data set for main gives, and weights without steps."""
    p, x, f = relay.var("p", shape=(1, 4)), relay.var("x", shape=(1, 4)), relay.var("f")
    inside = relay.Let(f, relay.Function([p], relay.nn.dense(p, weight(3, 4))), relay.Call(f, [x]))
    with (
        relay.quantize.qconfig(**EVERY, calibrate_mode="percentile"),
        pytest.raises(DiagnosticError, match="a layer reads %p"),
    ):
        relay.quantize.quantize(relay.Function([x], inside), dataset=[{"x": np.ones((1, 4), "float32")}])
    endless = relay.const(np.full((3, 4), np.inf, "float32"))
    with relay.quantize.qconfig(**EVERY), pytest.raises(DiagnosticError, match="have no steps"):
        relay.quantize.quantize(relay.Function([x], relay.nn.dense(x, endless)))


def test_thresholds() -> None:
    """Guards the choice: powers of two, a share of the values, and outliers that cost more than they are worth."""
    normal = RNG.standard_normal(20_000).astype("float32")
    assert power_of_two(np.array([0.3, -0.6])) == 1.0
    assert power_of_two(np.zeros(3)) == 1.0
    assert percentile(np.arange(1001.0), 0.9) == 900.0
    assert percentile(np.zeros(0)) == 1.0
    assert 2 < least_divergence(np.append(normal, 40.0)) < 8
    assert least_divergence(np.repeat([0.0, 0.25, 0.5, 1.0], 50)) == 1.0
    assert least_divergence(np.zeros(5)) == 1.0
