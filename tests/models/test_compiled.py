"""The zoo, compiled, against onnxruntime: 1e-4 relative. Small versions of all, full size of what users bring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import baton
from baton import relay
from baton.contrib import graph_executor
from bench.models.zoo import ZOO, example_inputs
from tests.grids import some
from tests.models.conftest import Judge

TOLERANCE = 1e-4


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Relative to the largest value, as models' outputs have one scale."""
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = max(float(np.abs(expected).max()), 1e-30) if expected.size else 1.0
    np.testing.assert_allclose(found / scale, expected / scale, atol=TOLERANCE, rtol=0)


def compare(compiled: baton.Model, model: onnx.ModelProto, dims: Mapping[str, int], judge: Judge) -> None:
    feed = example_inputs(model, dims)
    found = dict(zip([spec.name for spec in compiled.outputs], compiled.run(feed), strict=True))
    expected = judge(model, feed)
    assert list(found) == list(expected)
    for name, array in expected.items():
        close(np.asarray(found[name]), array)


@pytest.mark.parametrize("name", ZOO)
def test_small_models(name: str, small_compiled: Callable[[str], baton.Model], judge: Judge) -> None:
    compare(small_compiled(name), ZOO[name].small_model(), ZOO[name].dims, judge)


@pytest.mark.parametrize("name", ["bert_base", "bert_base_symbolic", "decoder_step", "decoder_prefill", "mlp_symbolic"])
def test_one_native_entry(name: str, small_compiled: Callable[[str], baton.Model]) -> None:
    """Guards symbolic models, masks made of ranges included: nothing is left to the machine."""
    model = small_compiled(name)
    assert model.executable.entry(model.function).kind == "native"


# What the others have, these have among the small ones.
FULL = some(["resnet50", "bert_base", "mobilenetv2", "bert_base_symbolic"], 2)


@pytest.mark.parametrize("name", FULL)
def test_full_models(name: str, model_file: Callable[..., Path], judge: Judge) -> None:
    model = onnx.load(model_file(name))
    compare(baton.compile(model), model, ZOO[name].dims, judge)


@pytest.mark.parametrize(
    "sizes", [{"batch": 1, "sequence": 32}, {"batch": 3, "sequence": 7}, {"batch": 8, "sequence": 64}]
)
def test_one_executable_serves_all_sizes(
    sizes: dict[str, int], small_compiled: Callable[[str], baton.Model], judge: Judge
) -> None:
    """Compiled once for all sizes: that is the point."""
    compare(small_compiled("bert_base_symbolic"), ZOO["bert_base_symbolic"].small_model(), sizes, judge)


@pytest.mark.parametrize("name", ["resnet50", "mobilenetv2"])
def test_convolution_networks_through_relay(
    name: str, small_compiled: Callable[[str], baton.Model], judge: Judge
) -> None:
    """Relay's importer and `graph_executor` give the numbers that Relax's give."""
    model = ZOO[name].small_model()
    feed = example_inputs(model)
    module, params = relay.frontend.from_onnx(model)
    with baton.transform.PassContext(opt_level=3):
        library = relay.build(module, target="llvm", params=params)
    executor = graph_executor.GraphModule(library["default"](baton.cpu(0)))
    for key, array in feed.items():
        executor.set_input(key, baton.nd.array(array))
    executor.run()
    relax_outputs = small_compiled(name).run(feed)
    for position, expected in enumerate(judge(model, feed).values()):
        found = executor.get_output(position).numpy()
        close(found, expected)
        close(found, np.asarray(relax_outputs[position]))


@pytest.mark.parametrize("name", ["mlp_symbolic", "conv", "decoder_step"])
def test_artifacts_give_the_same_numbers(
    name: str, small_compiled: Callable[[str], baton.Model], tmp_path: Path
) -> None:
    feed = example_inputs(ZOO[name].small_model(), ZOO[name].dims)
    compiled = small_compiled(name)
    path = tmp_path / "model.baton"
    compiled.save(path)
    loaded = baton.load(path)
    assert [(s.name, s.dtype, s.shape) for s in loaded.inputs] == [(s.name, s.dtype, s.shape) for s in compiled.inputs]
    for one, two in zip(compiled.run(feed), loaded.run(feed), strict=True):
        np.testing.assert_array_equal(one, two)
