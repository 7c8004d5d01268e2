"""Operators of several steps on float16: what the steps need beyond its range and digits does not reach the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node

X = (np.random.default_rng(0).standard_normal((2, 4, 3, 8)) * 600).astype("float16")
OF_CHANNELS, OF_ROWS = np.linspace(0.5, 1.5, 4).astype("float16"), np.linspace(0.5, 1.5, 8).astype("float16")
CASES: dict[str, tuple[list[Any], dict[str, Any], int]] = {
    "RMSNormalization": ([X, OF_ROWS], {}, 23),
    "InstanceNormalization": ([X, OF_CHANNELS, OF_CHANNELS], {}, 17),
    "GroupNormalization": ([X, OF_CHANNELS, OF_CHANNELS], {"num_groups": 2}, 21),
    "LpNormalization": ([X], {}, 17),
    "MeanVarianceNormalization": ([X], {}, 17),
    "BatchNormalization": ([X, *[OF_CHANNELS] * 4], {"training_mode": 1}, 17),
    "LRN": ([X], {"size": 3, "alpha": 0.5}, 17),
    "ReduceL2": ([X, np.array([3])], {}, 18),
    "LpPool": ([X], {"kernel_shape": [2, 2]}, 18),
    "GlobalLpPool": ([X], {}, 17),
    "Mean": ([X * 16, X * 16, X * 16], {}, 17),
    "Softplus": ([X / 300], {}, 17),
    "Mish": ([X / 300], {}, 22),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_are_wide(name: str) -> None:
    operands, attributes, opset = CASES[name]
    inputs = [k for k, o in enumerate(operands) if o.dtype == np.float16]
    found, wide = (
        in_both_languages(
            model_of_node(name, given, attributes, inputs, ["y"], domain="", opset=opset),
            {f"i{k}": given[k] for k in inputs},
        )
        for given in (operands, [o.astype("float32") if o.dtype == np.float16 else o for o in operands])
    )
    for (language, (result,)), (_, (wanted,)) in zip(found, wide, strict=True):
        assert result.dtype == np.float16, language
        np.testing.assert_allclose(result.astype("float32"), wanted, rtol=4e-3, atol=1e-3, err_msg=language)


def test_the_scale_gives_the_dtype() -> None:
    """RMSNormalization of float16 by a scale of float32 gives float32."""
    model = model_of_node("RMSNormalization", [X, OF_ROWS.astype("float32")], {}, [0, 1], ["y"], domain="", opset=23)
    wide = X.astype("float32")
    wanted = wide / np.sqrt((wide**2).mean(-1, keepdims=True)) * OF_ROWS
    for _, (result,) in in_both_languages(model, {"i0": X, "i1": OF_ROWS.astype("float32")}):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, wanted, rtol=2e-3, atol=1e-4)


def test_scores_of_attention_are_wide() -> None:
    """A score of float16 overflows before it is scaled."""
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 3, 64)).astype("float16")
    q[0, 1] = k[0, 2] = 99
    model = model_of_node("MultiHeadAttention", [q, k, v], {"num_heads": 1}, [0, 1, 2], ["y"])
    scores = q[0].astype("float32") @ k[0].astype("float32").T / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = (weights / weights.sum(-1, keepdims=True)) @ v[0].astype("float32")
    for _, (result,) in in_both_languages(model, {"i0": q, "i1": k, "i2": v}):
        np.testing.assert_allclose(result[0].astype("float32"), wanted, rtol=4e-3, atol=1e-3)
