"""The models we measure and test with are good ones: valid, reproducible, of sane magnitude, and not constant."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from bench.models.zoo import ZOO, example_inputs
from tests.models.conftest import Judge


@pytest.mark.parametrize("name", ZOO)
def test_model_is_valid_and_well_scaled(name: str, judge: Judge) -> None:
    entry = ZOO[name]
    model = entry.small_model()
    onnx.checker.check_model(model, full_check=True)
    first = judge(model, example_inputs(model, entry.dims, seed=1))
    second = judge(model, example_inputs(model, entry.dims, seed=2))
    for output, value in first.items():
        assert np.isfinite(value).all(), output
        assert 1e-2 < np.abs(value).max() < 1e2, output
        assert np.abs(value - second[output]).max() > 1e-3, f"{output} does not depend on the input"


@pytest.mark.parametrize("name", ZOO)
def test_model_is_the_same_each_time(name: str) -> None:
    entry = ZOO[name]
    assert entry.small_model().SerializeToString() == entry.small_model().SerializeToString()


def test_loop_computes_what_the_lstm_operator_does(judge: Judge) -> None:
    operator, loop = ZOO["lstm"].small_model(), ZOO["lstm_loop"].small_model()
    inputs = example_inputs(operator)
    by_operator, by_loop = judge(operator, inputs), judge(loop, inputs)
    for output, value in by_operator.items():
        np.testing.assert_allclose(by_loop[output], value, atol=1e-5)


def test_symbolic_bert_computes_what_static_bert_does(judge: Judge) -> None:
    static, symbolic = ZOO["bert_base"].small_model(), ZOO["bert_base_symbolic"].small_model()
    inputs = example_inputs(static)
    by_static, by_symbolic = judge(static, inputs), judge(symbolic, inputs)
    for output, value in by_static.items():
        np.testing.assert_allclose(by_symbolic[output], value, atol=1e-5)


def test_decoder_step_continues_the_prefill(judge: Judge) -> None:
    """The last token alone, with the cache of those before it, gives the logits of the whole prompt."""
    prefill, step = ZOO["decoder_prefill"].small_model(), ZOO["decoder_step"].small_model()
    whole = example_inputs(prefill, {"sequence": 9})
    prompt, last = dict(whole), {}
    prompt["input_ids"], last["input_ids"] = whole["input_ids"][:, :-1], whole["input_ids"][:, -1:]
    for output, value in judge(prefill, prompt).items():
        if output.startswith("present."):
            last[output.replace("present", "past")] = value
    expected = judge(prefill, whole)["logits"][:, -1:]
    np.testing.assert_allclose(judge(step, last)["logits"], expected, atol=1e-4)
