"""Operators of `com.microsoft` in language models (experts, gates, weights of bitsandbytes) against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)

RANDOM = np.random.default_rng(0)


def _real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


def _bytes(*shape: int) -> Any:
    return RANDOM.integers(0, 256, shape).astype("uint8")


EXPERTS, HIDDEN, INNER, TOKENS = 4, 32, 16, 5
X, ROUTER = _real(TOKENS, HIDDEN), _real(TOKENS, EXPERTS)
LAYERS = (
    _real(EXPERTS, INNER, HIDDEN), _real(EXPERTS, INNER), _real(EXPERTS, HIDDEN, INNER), _real(EXPERTS, HIDDEN),
)  # fmt: skip
FUSED = (_real(EXPERTS, 2 * INNER, HIDDEN), _real(EXPERTS, 2 * INNER), *LAYERS[2:])
SWIGLU = {"activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0}


def _check(
    name: str, operands: Any, attributes: Any, inputs: tuple[int, ...], outputs: tuple[str, ...] = ("y",)
) -> None:
    model = model_of_node(name, operands, attributes, inputs, outputs, open_axes=1)
    feed = {f"i{k}": operands[k] for k in inputs}
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity"])
def test_experts(activation: str, k: int) -> None:
    attributes = {"activation_type": activation, "k": k, "normalize_routing_weights": int(k > 1)}
    _check("MoE", (X, ROUTER, *LAYERS), attributes, (0, 1))


@pytest.mark.parametrize("limit", [{}, {"swiglu_limit": 0.5}])
def test_experts_that_are_gated(limit: Any) -> None:
    _check("MoE", (X, ROUTER, *FUSED), {**SWIGLU, **limit, "k": 2}, (0, 1))


def test_gates_may_lie_apart() -> None:
    """The columns of the fused layer as two halves, and as two layers: onnxruntime's CPU has neither."""
    weights, bias, *rest = FUSED
    attributes = {**SWIGLU, "k": 2}
    feed = {"i0": X, "i1": ROUTER}
    expected = onnxruntime_outputs(model_of_node("MoE", (X, ROUTER, *FUSED), attributes, (0, 1), ["y"]), feed)
    gate, linear = ((weights[:, k::2], bias[:, k::2]) for k in (0, 1))
    halves = [np.concatenate(pair, axis=1) for pair in zip(gate, linear, strict=True)]
    for fusion, operands in ((2, (*halves, *rest)), (0, (*gate, *rest, *linear))):
        model = model_of_node("MoE", (X, ROUTER, *operands), {**attributes, "swiglu_fusion": fusion}, (0, 1), ["y"])
        for _, found in in_both_languages(model, feed):
            assert_as_onnxruntime(found, expected)


def test_experts_that_are_not_asked_do_not_spoil_the_sum() -> None:
    first, *rest = LAYERS
    operands = (X, ROUTER, np.where(np.arange(EXPERTS) == 3, np.inf, first.T).T.astype("float32"), *rest)
    model = model_of_node("MoE", operands, {"k": 2}, (0, 1), ["y"])
    router = ROUTER.copy()
    router[:, 3] = -9
    for _, (found,) in in_both_languages(model, {"i0": X, "i1": router}):
        assert np.isfinite(found).all()


def _quantised(bits: int, block: int) -> tuple[Any, ...]:
    """Weights and scales of two layers, and what remains empty between them."""

    def layer(rows: int, columns: int) -> tuple[Any, Any]:
        scales = (EXPERTS, rows) if not block else (EXPERTS, rows, columns // block)
        return _bytes(EXPERTS, rows, columns * bits // 8), (RANDOM.random(scales) * 0.05).astype("float32")

    return (*layer(INNER, HIDDEN), LAYERS[1], *layer(HIDDEN, INNER), LAYERS[3])


def _as_real(packed: Any, scales: Any, bits: int) -> Any:
    """The weights that bytes stand for, the zero point in the middle."""
    numbers = (packed[..., None] >> np.arange(0, 8, bits, "uint8") & ((1 << bits) - 1)).astype("float32")
    numbers = numbers.reshape(*packed.shape[:2], -1) - (1 << (bits - 1))
    each = scales.reshape(*packed.shape[:2], -1)
    return numbers * np.repeat(each, numbers.shape[2] // each.shape[2], axis=2)


@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_experts_of_few_bits(bits: int, block: int) -> None:
    """Against experts with the real numbers: onnxruntime's own kernels of 8 bits in blocks round the tokens, too."""
    activation = {"k": 2, "activation_type": "silu"}
    attributes = {**activation, "expert_weight_bits": bits, **({"block_size": block} if block else {})}
    first, scales, bias, second, second_scales, second_bias = _quantised(bits, block)
    operands = (X, ROUTER, first, scales, bias, second, second_scales, second_bias)
    model = model_of_node("QMoE", operands, attributes, (0, 1), ["y"], open_axes=1)
    real = (X, ROUTER, _as_real(first, scales, bits), bias, _as_real(second, second_scales, bits), second_bias)
    same = model_of_node("MoE", real, {**activation, "normalize_routing_weights": 1}, (0, 1), ["y"])
    expected = onnxruntime_outputs(same, {"i0": X, "i1": ROUTER})
    for _, found in in_both_languages(model, {"i0": X, "i1": ROUTER}):
        assert_as_onnxruntime(found, expected)


@pytest.mark.parametrize("normalised", [0, 1])
def test_shares_of_quantised_experts_sum_to_one(normalised: int) -> None:
    """As in onnxruntime, whatever the attribute says."""
    attributes = {"k": 2, "block_size": 16, "weights_prepacked": 0, "normalize_routing_weights": normalised}
    _check("QMoE", (X, ROUTER, *_quantised(4, 16)), attributes, (0, 1))


def test_experts_of_few_bits_with_zero_points_and_shares_of_their_own() -> None:
    zeros = (_bytes(EXPERTS, INNER, 1), _bytes(EXPERTS, HIDDEN, 1), None)
    operands = (X, ROUTER, *_quantised(4, 16), None, None, None, *zeros, RANDOM.random((TOKENS, EXPERTS), "float32"))
    _check("QMoE", operands, {"k": 2, "block_size": 16, "weights_prepacked": 0}, (0, 1))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"use_sparse_mixer": 1}, "use_sparse_mixer"),
        ({"activation_type": "tanh"}, "the activation 'tanh'"),
        ({"activation_type": "swiglu"}, "swiglu_fusion 0"),
    ],
)
def test_experts_of_other_kinds_are_refused(attributes: Any, message: str) -> None:
    with pytest.raises(baton.DiagnosticError, match=message):
        baton.compile(model_of_node("MoE", (X, ROUTER, *LAYERS), attributes, (0, 1), ["y"]))


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("inner", "outer", "block"), [(32, 6, 16), (24, 5, 32), (7, 3, 16)])
def test_weights_of_bitsandbytes(inner: int, outer: int, block: int, kind: int) -> None:
    attributes = {"K": inner, "N": outer, "block_size": block, "quant_type": kind}
    largest = RANDOM.random(-(-inner * outer // block)).astype("float32")
    operands = (_real(3, inner), _bytes((inner * outer + 1) // 2), largest)
    _check("MatMulBnb4", operands, attributes, (0,))


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_words_that_would_repeat_a_run(size: int) -> None:
    ids = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [0, 1, 0, 5, 0]])
    _check("NGramRepeatBlock", (ids, _real(3, 6)), {"ngram_size": size}, (0, 1))


GATES: list[tuple[str, tuple[Any, ...], dict[str, Any], int]] = [
    ("GatedAdd", (_real(2, 3, 8), _real(2, 3, 8), _real(2, 3, 1)), {}, 1),
    ("ScaledSiLU", (_real(2, 3),), {"alpha": 0.7}, 1),
    ("ScaledSiLU", (_real(2, 3), np.array(1.3, "float32")), {}, 1),
    ("GatedRMSNorm", (_real(2, 3, 8), _real(4), _real(2, 3, 8)), {}, 1),
    ("GatedRMSNorm", (_real(2, 3, 8), _real(8), _real(2, 3, 8)), {"activation": "sigmoid", "epsilon": 0.1}, 1),
    ("LinearAttentionGate", (_real(2, 3, 4), _real(4), _real(4), _real(2, 3, 4)), {}, 2),
    ("LinearAttentionGate", (_real(2, 3, 4), _real(4), _real(4)), {}, 1),
    ("UnfoldTensor", (_real(2, 9, 3),), {"dim": 1, "size": 4, "step": 2}, 1),
    ("UnfoldTensor", (_real(2, 3, 9),), {"size": 9}, 1),
    ("CausalConvWithState", (_real(2, 4, 6), _real(4, 1, 3), _real(4), _real(2, 4, 2)), {"activation": "silu"}, 2),
    ("LinearAttention", (_real(2, 3, 8), _real(2, 3, 8), _real(2, 3, 12), None, _real(2, 3, 2), _real(2, 3, 2)), {
        "q_num_heads": 2, "kv_num_heads": 2, "chunk_size": 64,
    }, 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "outputs"), GATES)
def test_gates_and_states(name: str, operands: Any, attributes: Any, outputs: int) -> None:
    model = model_of_node(name, operands, attributes, (0,), [f"y{k}" for k in range(outputs)])
    expected = onnxruntime_outputs(model, {"i0": operands[0]})
    for _, found in in_both_languages(model, {"i0": operands[0]}):
        assert_as_onnxruntime(found, expected)


def test_what_onnx_did_not_take_over_is_refused() -> None:
    model = model_of_node("CausalConvWithState", (_real(2, 4, 6), _real(4, 1, 3)), {"dilation": 2}, (0,), ["y", "s"])
    with pytest.raises(baton.DiagnosticError, match="dilation 2 of CausalConvWithState"):
        baton.compile(model)


def test_inverses() -> None:
    x = _real(3, 4, 4)
    model = model_of_node("Inverse", (x,), {}, (0,), ["y"], open_axes=1)
    program = baton.compile(model, num_threads=1)
    np.testing.assert_allclose(
        program.run({"i0": x})[0], onnxruntime_outputs(model, {"i0": x})[0], rtol=1e-3, atol=1e-4
    )
    with pytest.raises(baton.DiagnosticError, match=r"Inverse node 'the_node'.*no inverse"):
        program.run({"i0": np.zeros((1, 4, 4), "float32")})
