"""Attention, cached attention, embeddings and weights of few bits of `com.microsoft`, each against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.against_onnxruntime import (
    assert_as_onnxruntime,
    in_both_languages,
    model_of_node,
    onnxruntime_outputs,
)
from tests.frontends.onnx.models import weight

RANDOM = np.random.default_rng(0)


def real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


def below(limit: int, *shape: int, dtype: str = "uint8") -> Any:
    return RANDOM.integers(0, limit, shape).astype(dtype)


def whole(*numbers: Any) -> Any:
    return np.array(numbers, "int32")


def count(number: int) -> Any:
    return np.array(number, "int32")


def scale(number: float) -> Any:
    return np.array(number, "float32")


X, W, B = real(2, 5, 8), real(8, 24), real(24)
PAST, KEYS = real(2, 2, 2, 3, 4), real(2, 2, 3, 4)
Q, K, V = real(2, 5, 8), real(2, 7, 8), real(2, 7, 12)
TWO = {"num_heads": 2}
BYTES, SIGNED = below(255, 2, 5, 8), below(64, 8, 24, dtype="int8")  # of 7 bits: see test_operators.py
COLUMNS = RANDOM.random(24).astype("float32")
ZERO, SIGNED_ZERO = np.array(120, "uint8"), np.array(3, "int8")
RIGHT_PADDED, LEFT_PADDED = whole([1, 1, 1, 0, 0], [1] * 5), whole([0, 0, 1, 1, 1], [1] * 5)

ATTENTION: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...], int]] = [
    ("Attention", (X, W, B), TWO, (0,), 1),
    ("Attention", (X, W, B, whole(3, 5)), TWO, (0, 3), 1),
    ("Attention", (X, W, B, whole(3, 5, 1, 0)), TWO, (0, 3), 1),
    ("Attention", (X, W, B, RIGHT_PADDED), TWO, (0, 3), 1),
    ("Attention", (X, W, B, LEFT_PADDED), {**TWO, "unidirectional": 1}, (0, 3), 1),
    ("Attention", (X, W, B, below(2, 2, 5, 5, dtype="int32")), {**TWO, "scale": 0.3}, (0, 3), 1),
    ("Attention", (X, W, B, None, PAST), {**TWO, "unidirectional": 1}, (0, 4), 2),
    ("Attention", (X, W, B, None, None, real(1, 2, 5, 5)), TWO, (0, 5), 1),
    ("Attention", (X, real(8, 28), real(28)), {**TWO, "qkv_hidden_sizes": [8, 8, 12]}, (0,), 1),
    ("QAttention", (BYTES, SIGNED, B, scale(0.01), scale(0.02), None, ZERO, SIGNED_ZERO), TWO, (0,), 1),
    ("QAttention", (BYTES, SIGNED, B, scale(0.01), COLUMNS, whole(3, 4), ZERO), TWO, (0,), 1),
    ("QAttention", (BYTES, SIGNED, B, scale(0.01), scale(0.02), None, ZERO, None, PAST), TWO, (0, 8), 2),
    ("MultiHeadAttention", (Q, K, V), TWO, (0, 1, 2), 1),
    ("MultiHeadAttention", (Q, K, V, real(28)), TWO, (0, 1, 2), 1),
    ("MultiHeadAttention", (X, X + 1, X * 3, None, whole(4, 5)), TWO, (0, 1, 2, 4), 1),
    ("MultiHeadAttention", (Q, K, V, None, whole([1] * 7, [1] * 5 + [0] * 2), real(2, 2, 5, 7)), TWO, (0, 4), 1),
    ("MultiHeadAttention", (X, X + 1, X * 3), {**TWO, "unidirectional": 1, "scale": 0.2}, (0, 1, 2), 1),
    ("MultiHeadAttention", (Q, real(2, 2, 7, 4), real(2, 2, 7, 4)), TWO, (0, 1, 2), 1),
    ("MultiHeadAttention", (X, X + 1, X * 3, None, None, None, KEYS, KEYS * 2), TWO, (0, 1, 2, 6, 7), 3),
]  # fmt: skip

GROUPS = {"num_heads": 4, "kv_num_heads": 2}
FIRST = (real(2, 3, 64), real(2, 3, 32), real(2, 3, 32), *(np.zeros((2, 2, 0, 16), "float32"),) * 2)
CACHE = real(2, 2, 5, 16)
NEXT = (real(2, 1, 64), real(2, 1, 32), real(2, 1, 32), CACHE, CACHE * 2)
MORE = tuple(x[:1] for x in (*FIRST[:3], CACHE, CACHE * 2))
ANGLES = (real(32, 8), real(32, 8))
FILLED = (0, 1, 2, 3, 4, 5)
AT_5 = (whole(5, 5), count(6))

CACHED: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...], int]] = [
    ("RotaryEmbedding", (real(2, 5, 32), np.array([3]), *ANGLES), {}, (0,), 1),
    ("RotaryEmbedding", (real(2, 5, 32), below(20, 2, 5, dtype="int64"), *ANGLES), {"interleaved": 1}, (0, 1), 1),
    ("RotaryEmbedding", (real(2, 2, 5, 16), np.array([0]), *ANGLES), {}, (0,), 1),
    ("RotaryEmbedding", (real(2, 5, 40), np.array([0]), *ANGLES), {**TWO, "rotary_embedding_dim": 16}, (0,), 1),
    ("GroupQueryAttention", (*FIRST[:3], None, None, whole(2, 2), count(3)), GROUPS, (0, 1, 2, 5), 3),
    ("GroupQueryAttention", (*FIRST, whole(2, 2), count(3), *ANGLES), {**GROUPS, "do_rotary": 1}, FILLED, 3),
    ("GroupQueryAttention", (*NEXT, *AT_5), GROUPS, FILLED, 3),
    ("GroupQueryAttention", (*NEXT, *AT_5, *ANGLES), {**GROUPS, "do_rotary": 1, "rotary_interleaved": 1}, FILLED, 3),
    ("GroupQueryAttention", (*NEXT, *AT_5), {**GROUPS, "local_window_size": 3, "softcap": 5.0}, FILLED, 3),
    ("GroupQueryAttention", (*NEXT, *AT_5), {**GROUPS, "smooth_softmax": 1, "scale": 0.2}, FILLED, 3),
    ("GroupQueryAttention", (*NEXT, *AT_5, *(None,) * 4, real(4)), GROUPS, FILLED, 3),
    ("GroupQueryAttention", (*NEXT, *AT_5, *(None,) * 3, real(2, 4, 1, 6)), GROUPS, (*FILLED, 10), 3),
    ("GroupQueryAttention", (real(2, 3, 128), None, None, *FIRST[3:], whole(2, 2), count(3)), GROUPS, (0, 3, 4, 5), 3),
    ("GroupQueryAttention", (*MORE, whole(7), count(8)), GROUPS, FILLED, 3),
]  # fmt: skip

IDS, SEGMENTS = below(10, 2, 5, dtype="int32"), below(2, 2, 5, dtype="int32")
TABLES = (real(10, 8), real(6, 8), real(2, 8), real(8), real(8))
GROUP_OF_COLUMN = RANDOM.permutation(np.repeat(np.arange(4), 16)).astype("int32")
SMALL_TABLES = tuple(below(255, *t.shape) for t in TABLES)

WEIGHTS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[int, ...], int]] = [
    ("EmbedLayerNormalization", (IDS, SEGMENTS, *TABLES), {}, (0, 1), 2),
    ("EmbedLayerNormalization", (IDS, SEGMENTS, *TABLES, RIGHT_PADDED), {"epsilon": 1e-5}, (0, 1, 7), 3),
    ("EmbedLayerNormalization", (IDS, None, *TABLES[:2], None, *TABLES[3:], None, IDS % 6), {}, (0, 8), 2),
    ("QEmbedLayerNormalization", (
        IDS, SEGMENTS, *SMALL_TABLES, None, *map(scale, (0.01, 0.02, 0.03, 0.04, 0.05)), *[ZERO] * 5,
    ), {"epsilon": 1e-5}, (0, 1), 2),
    ("MatMulNBits", (real(2, 3, 64), below(256, 5, 4, 8), real(5, 4)), {"K": 64, "N": 5, "block_size": 16}, (0,), 1),
    ("MatMulNBits", (
        real(2, 40), below(256, 6, 3, 8), real(18), below(256, 6, 2), None, real(6),
    ), {"K": 40, "N": 6, "block_size": 16, "bits": 4}, (0,), 1),
    ("MatMulNBits", (
        real(2, 64), below(256, 5, 2, 16), real(5, 2), below(15, 5, 2).astype("float32"),
    ), {"K": 64, "N": 5, "block_size": 32, "bits": 4}, (0,), 1),
    ("MatMulNBits", (
        real(2, 64), below(256, 5, 2, 32), real(5, 2), below(256, 5, 2),
    ), {"K": 64, "N": 5, "block_size": 32, "bits": 8}, (0,), 1),
    ("MatMulNBits", (
        real(2, 64), below(256, 5, 2, 8), real(5, 2),
    ), {"K": 64, "N": 5, "block_size": 32, "bits": 2}, (0,), 1),
    ("MatMulNBits", (real(2, 64), below(256, 5, 4, 8), real(5, 4), None, GROUP_OF_COLUMN), {
        "K": 64, "N": 5, "block_size": 16, "bits": 4,
    }, (0,), 1),
    ("GatherBlockQuantized", (
        below(256, 10, 16), below(10, 2, 3, dtype="int64") - 5, real(10, 2), below(256, 10, 1),
    ), {"bits": 4, "block_size": 16}, (1,), 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "inputs", "outputs"), [*ATTENTION, *CACHED, *WEIGHTS])
def test_operator(name: str, operands: Any, attributes: Any, inputs: Any, outputs: int) -> None:
    model = model_of_node(name, operands, attributes, inputs, [f"o{k}" for k in range(outputs)])
    feed = {f"i{k}": operands[k] for k in inputs}
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


def test_columns_of_weights_have_the_zero_points_of_their_groups() -> None:
    """onnxruntime has this form without zero points only; its documentation states it."""
    packed, zeros, scales = below(256, 5, 4, 8), below(256, 5, 2), real(5, 4)
    attributes = {"K": 64, "N": 5, "block_size": 16, "bits": 4}
    operands = (np.eye(64, dtype="float32"), packed, scales, zeros, GROUP_OF_COLUMN)
    model = model_of_node("MatMulNBits", operands, attributes, (0,), ["o"])
    whole_weights, whole_zeros = (np.stack([b & 15, b >> 4], -1).reshape(5, -1).astype(float) for b in (packed, zeros))
    expected = (whole_weights - whole_zeros[:, GROUP_OF_COLUMN]) * scales[:, GROUP_OF_COLUMN]
    for _, found in in_both_languages(model, {"i0": operands[0]}):
        np.testing.assert_allclose(found[0], expected.T, rtol=1e-5)


def test_rows_of_a_batch_may_be_of_different_lengths() -> None:
    """Row 0 has 3 keys in a cache of 5: its new one stands behind them, and what lies beyond means nothing."""
    operands = (*NEXT, whole(3, 5), count(6))
    model = model_of_node("GroupQueryAttention", operands, GROUPS, FILLED, ["o", "keys", "values"])
    feed = {f"i{k}": operands[k] for k in FILLED}
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(
            found, expected, lambda k, a: a if k == 0 else np.concatenate([a[0, :, :4].ravel(), a[1].ravel()])
        )


@pytest.mark.parametrize("names", [("q_norm_epsilon", "k_norm_epsilon"), ("qk_norm_epsilon", "k_norm_epsilon")])
def test_queries_and_keys_are_normalised_each_by_its_epsilon(names: tuple[str, str]) -> None:
    """Guards those of their own, which go before the common one: they were passed over."""
    gains, epsilons = (real(16), real(16)), (0.5, 2.0)
    model = model_of_node(
        "GroupQueryAttention",
        (*NEXT, *AT_5, *(None,) * 7, *gains),
        {**GROUPS, **dict(zip(names, epsilons))},
        FILLED,
        ["o", "keys", "values"],
    )
    by_heads = [x.reshape(2, -1, x.shape[2] // 16, 16) for x in NEXT[:2]]
    sizes = [np.sqrt((x**2).mean(axis=3, keepdims=True) + e) for x, e in zip(by_heads, epsilons, strict=True)]
    normal = [(x / s * g).reshape(p.shape) for x, s, g, p in zip(by_heads, sizes, gains, NEXT, strict=False)]
    plain = model_of_node("GroupQueryAttention", (*NEXT, *AT_5), GROUPS, FILLED, ["o", "keys", "values"])
    feed = {f"i{k}": (*NEXT, *AT_5)[k] for k in FILLED}
    expected = onnxruntime_outputs(plain, {**feed, "i0": normal[0], "i1": normal[1]})
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


def test_one_program_serves_a_growing_cache() -> None:
    """Lengths of text and cache are open: the first step and those after it run the same compiled program."""
    operands = (*FIRST, whole(2, 2), count(3), *ANGLES)
    attributes = {**GROUPS, "do_rotary": 1}
    model = model_of_node("GroupQueryAttention", operands, attributes, (*FILLED, 6), ["o", "k", "v"])
    for declared, axis in zip(model.graph.input[:5], (1, 1, 1, 2, 2), strict=True):
        declared.type.tensor_type.shape.dim[axis].dim_param = "past" if axis == 2 else "length"
    program = baton.compile(model, num_threads=1)
    cache = list(FIRST[3:])
    for new, end in ((FIRST, 3), (NEXT, 4), (NEXT, 5)):
        feed = dict(zip([i.name for i in model.graph.input], (*new[:3], *cache, whole(end - 1, end - 1), count(end))))
        found, expected = program.run(feed), onnxruntime_outputs(model, feed)
        assert_as_onnxruntime(list(map(np.asarray, found)), expected)
        cache = expected[1:]


def test_packed_operands_are_the_three_side_by_side() -> None:
    """onnxruntime has this form on GPUs only: it is compared with the unpacked one."""
    packed = real(2, 5, 2, 3, 4)
    parts = tuple(np.ascontiguousarray(packed[:, :, :, k]).reshape(2, 5, 8) for k in range(3))
    pair = np.ascontiguousarray(packed[:, :, :, 1:])
    expected = _interpreted("MultiHeadAttention", parts)
    for operands in ((packed,), (parts[0], pair)):
        assert_as_onnxruntime(_interpreted("MultiHeadAttention", operands), expected)


def _interpreted(name: str, operands: Any) -> Any:
    model = model_of_node(name, operands, TWO, range(len(operands)), ["o"])
    return in_both_languages(model, {f"i{k}": o for k, o in enumerate(operands)})[0][1]


def test_an_optimised_transformer_compiles() -> None:
    """What onnxruntime's optimizer makes of BERT, with open sizes: embeddings, attention, skips, a fused product."""
    domain = "com.microsoft"
    words, hidden = real(10, 8), {"gain": real(8), "shift": real(8)}
    names = {"words": words, "places": real(6, 8), "kinds": real(2, 8), "w": W, "b": B, "up": real(8, 16), **hidden}
    names |= {"up_bias": real(16), "down": real(16, 8)}
    embed = ["ids", "segments", "words", "places", "kinds", "gain", "shift", "mask"]
    nodes = [
        helper.make_node("EmbedLayerNormalization", embed, ["x", "ends"], domain=domain),
        helper.make_node("Attention", ["x", "w", "b", "ends"], ["a"], domain=domain, num_heads=2),
        helper.make_node("SkipLayerNormalization", ["x", "a", "gain", "shift"], ["s", "", "", "t"], domain=domain),
        helper.make_node("FusedMatMul", ["s", "up"], ["u"], domain=domain, alpha=0.5),
        helper.make_node("BiasGelu", ["u", "up_bias"], ["v"], domain=domain),
        helper.make_node("MatMul", ["v", "down"], ["z"]),
        helper.make_node("SkipLayerNormalization", ["z", "t", "gain", "shift"], ["y"], domain=domain),
    ]
    inputs = [helper.make_tensor_value_info(n, 6, ["batch", "length"]) for n in ("ids", "segments", "mask")]
    weights = [weight(n, a) for n, a in names.items()]
    graph = helper.make_graph(nodes, "bert", inputs, [helper.make_empty_tensor_value_info("y")], weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    program = baton.compile(model, num_threads=1)
    for rows in (2, 1):
        feed = {"ids": IDS[:rows], "segments": SEGMENTS[:rows], "mask": RIGHT_PADDED[:rows]}
        found = [np.asarray(o) for o in program.run(feed)]
        assert_as_onnxruntime(found, onnxruntime_outputs(model, feed))


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "said"),
    [
        ("Attention", (X, W, B), {**TWO, "do_rotary": 1}, "do_rotary is not supported"),
        ("MultiHeadAttention", (real(2, 5, 9), K, V), TWO, "2 heads do not divide"),
        ("MultiHeadAttention", (Q, K, V), {"num_heads": 0}, "0 heads do not divide"),
        ("MultiHeadAttention", (Q, K, V), {**TWO, "unidirectional": 1}, "5 queries for 7 keys"),
        ("Attention", (X, W, B), {**TWO, "unidirectional": 2}, "'unidirectional' is 2"),
        ("Attention", (X, W, B), {**TWO, "qkv_hidden_sizes": [8, 8]}, "do not make up the 24 columns"),
        ("GroupQueryAttention", (*NEXT, *AT_5), {**GROUPS, "sliding_window_cache": 1}, "sliding_window_cache = 1"),
        ("MatMulNBits", (real(2, 64), below(9, 5, 4, 8), real(5, 4)), {
            "K": 64, "N": 5, "block_size": 16, "bits": 3,
        }, "3 bits"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_refused(name: str, operands: Any, attributes: Any, said: str) -> None:
    model = model_of_node(name, operands, attributes, (0,), ["o"])
    with pytest.raises(baton.DiagnosticError, match=said):
        baton.compile(model)
