"""Operators of `com.microsoft` that onnxruntime computes on GPUs only: against the formulas of its documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node

RANDOM = np.random.default_rng(0)
Reference = Callable[..., Any]


def _real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


def _bytes(*shape: int) -> Any:
    return RANDOM.integers(-128, 128, shape).astype("int8")


def _fast_gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def _complex(x: Any) -> Any:
    return x[..., 0] + 1j * x[..., 1]


def _pairs(x: Any) -> Any:
    return np.stack((x.real, x.imag), -1)


def _group_norm(x: Any, scale: Any, bias: Any) -> Any:
    """Two groups of the last axis, each normalised over the image."""
    n, h, w, c = x.shape
    parts = x.reshape(n, h * w, 2, c // 2)
    mean, variance = (f(parts, axis=(1, 3), keepdims=True) for f in (np.mean, np.var))
    return ((parts - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * scale + bias


def _channels_first(reference: Reference) -> Reference:
    return lambda x, *rest: reference(x.transpose(0, 2, 3, 1), *rest).transpose(0, 3, 1, 2)


def _convolved(x: Any, w: Any, bias: Any) -> Any:
    """Kernels of 3 x 3 over (N, H, W, C), w (outputs, 3, 3, C), a border of one pixel of zeros."""
    height, width = x.shape[1:3]
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [(i, j, wide[:, i : i + height, j : j + width]) for i in range(3) for j in range(3)]
    return sum(part @ w[:, i, j].T for i, j, part in taps) + bias


def _gated_positions(q: Any, q_bias: Any, rel_pos: Any, w: Any, b: Any, eco: Any) -> Any:
    batch, length, _ = q.shape
    heads = (q + q_bias).reshape(batch, length, 2, -1).transpose(0, 2, 1, 3)
    u, r = np.split(_sigmoid((heads @ w + b).reshape(batch, 2, length, 2, -1).sum(-1)), 2, axis=-1)
    return (u * (r * eco - 1.0) + 2.0) * rel_pos


X, IMAGE, GAINS = _real(2, 3, 8), _real(2, 4, 5, 6), (_real(6), _real(6))
WAVES = _real(2, 3, 8)
GROUPS = {"groups": 2, "activation": 0}
KERNEL, BIAS = _real(4, 3, 3, 6), _real(4)
ROTATED = tuple(_real(2, 3, 4, 8) for _ in range(4))
QUERIES = (_real(2, 5, 8), _real(8), _real(1, 2, 5, 5), _real(4, 6), _real(6), _real(1, 2, 1, 1))

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], Reference]] = [
    ("GemmFastGelu", (X, _real(8, 5), _real(5)), {}, lambda x, w, b: _fast_gelu(x @ w + b)),
    ("GemmFastGelu", (X, _real(8, 5)), {}, lambda x, w: _fast_gelu(x @ w)),
    ("FusedMatMulActivation", (X, _real(5, 8)), {"transB": 1, "alpha": 0.5, "activation": "Relu"},
     lambda x, w: np.maximum(x @ w.T * 0.5, 0)),
    ("BiasSoftmax", (_real(2, 3, 4, 5), _real(2, 1, 1, 5)), {"axis": 3, "is_inner_broadcast": 1},
     lambda x, b: _softmax(x + b)),
    ("BiasSoftmax", (_real(2, 3, 4, 5), _real(4, 5)), {"axis": 3, "is_inner_broadcast": 0},
     lambda x, b: _softmax(x + b)),
    ("BiasDropout", (X, _real(8), X * 2), {}, lambda x, b, r: x + b + r),
    ("ComplexMul", (_real(3, 4, 2), _real(4, 2)), {}, lambda a, b: _pairs(_complex(a) * _complex(b))),
    ("ComplexMulConj", (_real(3, 4, 2), _real(4, 2)), {}, lambda a, b: _pairs(_complex(a) * _complex(b).conj())),
    ("Rfft", (WAVES,), {"signal_ndim": 1}, lambda x: _pairs(np.fft.rfft(x))),
    ("Irfft", (_pairs(np.fft.rfft(WAVES)).astype("float32"),), {"signal_ndim": 1}, lambda x: WAVES),
    ("TorchEmbedding", (_real(6, 4), np.array([[1, 5], [0, 2]])), {}, lambda table, ids: table[ids]),
    ("MulInteger", (_bytes(3, 4), np.int8(5), _bytes(4), np.int8(-7)), {},
     lambda a, a0, b, b0: (a.astype("int32") - a0) * (b.astype("int32") - b0)),
    ("ReduceSumInteger", (_bytes(3, 4),), {"axes": [1], "keepdims": 0}, lambda x: x.sum(1, dtype="int32")),
    ("QLinearReduceMean", (_bytes(3, 4), np.float32(0.5), np.int8(3), np.float32(0.25), np.int8(-4)),
     {"axes": [1], "keepdims": 1},
     lambda x, s, z, t, y: np.clip(np.round((x - z.astype("float32")).mean(1, keepdims=True) * s / t) + y, -128, 127)),
    ("BiasAdd", (X, _real(8), X * 2), {}, lambda x, b, s: x + b + s),
    ("BiasSplitGelu", (X, _real(8)), {}, lambda x, b: (x + b)[..., :4] * _gelu((x + b)[..., 4:])),
    ("GroupNorm", (IMAGE, *GAINS), GROUPS, _group_norm),
    ("GroupNorm", (IMAGE, *GAINS), {**GROUPS, "activation": 1},
     lambda *v: _group_norm(*v) * _sigmoid(_group_norm(*v))),
    ("GroupNorm", (_real(2, 6, 4, 5), *GAINS), {**GROUPS, "channels_last": 0}, _channels_first(_group_norm)),
    ("SkipGroupNorm", (IMAGE, *GAINS, IMAGE * 3, _real(6)), GROUPS, lambda x, s, b, y, c: _group_norm(x + y + c, s, b)),
    ("SkipGroupNorm", (IMAGE, *GAINS, _real(2, 6)), GROUPS,
     lambda x, s, b, y: _group_norm(x + y[:, None, None], s, b)),
    ("NhwcConv", (IMAGE, KERNEL, BIAS), {"pads": [1] * 4}, _convolved),
    ("NhwcFusedConv", (IMAGE, KERNEL.transpose(0, 3, 1, 2), BIAS, _real(2, 4, 5, 4)),
     {"pads": [1] * 4, "activation": "Relu"},
     lambda x, w, b, z: np.maximum(_convolved(x, w.transpose(0, 2, 3, 1), b) + z, 0)),
    ("GemmaRotaryEmbedding", (_real(2, 4, 8), *ROTATED), {},
     lambda e, q, r, *_: q * np.cos(e)[:, None] + r * np.sin(e)[:, None]),
    ("GatedRelativePositionBias", QUERIES, {"num_heads": 2}, _gated_positions),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "reference"), CASES)
def test_operator(name: str, operands: Any, attributes: Any, reference: Reference) -> None:
    operands = [np.asarray(o) for o in operands]
    model = model_of_node(name, operands, attributes, range(len(operands)), ["y"])
    feed = {f"i{k}": o for k, o in enumerate(operands)}
    for _, (found,) in in_both_languages(model, feed):
        np.testing.assert_allclose(found, reference(*operands), rtol=1e-4, atol=1e-4)


def _bucket(distance: int, buckets: int, farthest: int, both_ways: bool) -> int:
    """T5's: distances of one bucket each, then buckets that grow by a constant factor."""
    first = 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
    distance = abs(distance) if both_ways else max(-distance, 0)
    single = buckets // 2
    if distance < single:
        return first + distance
    step = math.log(distance / single) / math.log(farthest / single) * (buckets - single)
    return first + min(single + int(step), buckets - 1)


@pytest.mark.parametrize("both_ways", [False, True])
def test_biases_of_relative_positions(both_ways: bool) -> None:
    """Of 30 keys, some farther than the farthest that has a bucket of its own."""
    table = _real(3, 8)  # (heads, buckets): the operator has it as (buckets, heads), in this order in memory
    attributes = {"max_distance": 20, "is_bidirectional": int(both_ways)}
    model = model_of_node(
        "RelativePositionBias", (table.reshape(8, 3), np.int64(30), np.int64(30)), attributes, (), "y"
    )
    places = [[_bucket(key - query, 8, 20, both_ways) for key in range(30)] for query in range(30)]
    for _, (found,) in in_both_languages(model, {}):
        np.testing.assert_array_equal(found, table[:, np.array(places)][None])


def _packed_weights(outer: int, inner: int) -> tuple[Any, Any, Any]:
    """(bytes of two codes, scales, what they mean), in blocks of 16."""
    codes, scales = RANDOM.integers(0, 16, (outer, inner)), _real(outer, inner // 16)
    whole = (codes - 8) * np.repeat(scales, 16, axis=1)
    packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype("uint8").reshape(outer, inner // 16, 8)
    return packed, scales, whole.astype("float32")


def _rms(x: Any, gain: Any, epsilon: float) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def test_projections_of_one_normalised_input() -> None:
    x, skip, gain, bias = _real(2, 3, 32), _real(2, 3, 32), _real(32), _real(8)
    weights = [_packed_weights(n, 32) for n in (12, 8, 8)]
    operands = (x, skip, gain, *weights[0][:2], None, *weights[1][:2], bias, *weights[2][:2])
    attributes = {"K": 32, "Nq": 12, "Nkv": 8, "block_size": 16}
    model = model_of_node("MatMulNBitsQkv", operands, attributes, (0, 1), ["q", "k", "v", "sum"])
    normal = _rms(x + skip, gain, 1e-6)
    expected = [normal @ w.T + b for (_, _, w), b in zip(weights, (0, bias, 0), strict=True)]
    for _, found in in_both_languages(model, {"i0": x, "i1": skip}):
        for ours, theirs in zip(found, [*expected, x + skip], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("normalised", [False, True])
def test_the_first_half_of_a_gated_network(normalised: bool) -> None:
    x, gain = _real(2, 3, 32), _real(32) if normalised else None
    gate, other = (_packed_weights(8, 32) for _ in range(2))
    attributes = {"K": 32, "N": 8, "block_size": 16, "activation": "silu"}
    operands = (x, None, gain, *gate[:2], None, *other[:2])
    model = model_of_node("MatMulNBitsMlp", operands, attributes, (0,), ["y"])
    inner = _rms(x, gain, 1e-5) if normalised else x
    opened = inner @ gate[2].T
    for _, (found,) in in_both_languages(model, {"i0": x}):
        np.testing.assert_allclose(found, opened * _sigmoid(opened) * (inner @ other[2].T), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("name", "operands", "attributes", "told"), [
    ("GroupNorm", (IMAGE, *GAINS), {"groups": 2, "activation": 3}, "activation 3 is not defined"),
    ("GroupNorm", (IMAGE, *GAINS), {"groups": 4, "activation": 0}, "6 channels do not divide into 4 groups"),
    ("Rfft", (WAVES,), {"signal_ndim": 2}, "signal_ndim 2 is not supported"),
    ("ComplexMul", (X, X), {}, "must hold the real and the imaginary part"),
    ("NhwcConv", (X, KERNEL), {}, "an image and weights of four axes"),
])  # fmt: skip
def test_what_does_not_fit_is_named(name: str, operands: Any, attributes: Any, told: str) -> None:
    model = model_of_node(name, operands, attributes, range(len(operands)), ["y"])
    with pytest.raises(baton.DiagnosticError, match=told):
        baton.compile(model)
