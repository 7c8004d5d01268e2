"""Attention of `com.microsoft` whose keys are kept in buffers larger than what is in them, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
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

RANDOM = np.random.default_rng(7)
STEP, MULTI_HEAD = "DecoderMaskedMultiHeadAttention", "MultiHeadAttention"
HEADS, ROOM, KEPT = 2, 8, 3
TWO = {"num_heads": HEADS}
SHARED = {**TWO, "past_present_share_buffer": 1}
GROUPS = {"num_heads": 4, "kv_num_heads": 2}


def real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


def whole(*numbers: Any) -> Any:
    return np.array(numbers, "int32")


Q, K, V, PAST_K, PAST_V = real(2, 1, 16), real(2, 1, 16), real(2, 1, 16), real(2, 2, 8, 8), real(2, 2, 8, 8)
MASK, ADDED, BIAS = whole([1, 0, 1, 1], [0, 0, 1, 1]), real(1, 2, 1, 4), real(48)
BEAMS = RANDOM.integers(0, 2, (1, 2, ROOM)).astype("int32")
BUFFERS = (PAST_K, PAST_V, whole(KEPT))
PROMPT = (real(2, 3, 16), real(2, 3, 16), real(2, 3, 16))

CASES: list[tuple[str, Sequence[Any], dict[str, Any]]] = [
    (STEP, (Q, K, V, None, None, *BUFFERS), SHARED),
    (STEP, (Q, K, V, MASK, None, *BUFFERS), SHARED),
    (STEP, (Q, K, V, None, ADDED, *BUFFERS, None, None, BIAS), SHARED),
    (STEP, (Q, K, V, MASK, ADDED, *BUFFERS, whole(2), BEAMS), SHARED),
    (MULTI_HEAD, (Q, K, V, None, None, None, *BUFFERS), TWO),
    (MULTI_HEAD, (Q, K, V, None, MASK, ADDED, *BUFFERS, BEAMS), TWO),
    (MULTI_HEAD, (*PROMPT, None, None, None, *BUFFERS), {**TWO, "unidirectional": 1}),
    (MULTI_HEAD, (*PROMPT, None, None, None, *BUFFERS), TWO),
]


def _model(name: str, operands: Sequence[Any], attributes: Any, **further: Any) -> tuple[Any, dict[str, Any]]:
    given = [k for k, o in enumerate(operands) if o is not None]
    model = model_of_node(name, operands, attributes, given, ["o", "keys", "values"], **further)
    return model, {f"i{k}": operands[k] for k in given}


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES)
def test_buffers_are_filled_and_read(name: str, operands: Any, attributes: Any) -> None:
    """What lies behind the new keys means nothing, and is not compared."""
    model, feed = _model(name, operands, attributes)
    there, expected = KEPT + operands[0].shape[1], onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected, lambda k, a: a if k == 0 else a[:, :, :there])


def test_one_program_serves_a_buffer_that_fills() -> None:
    model, feed = _model(STEP, CASES[0][1], SHARED, open_axes=1)
    program = baton.compile(model, num_threads=1)
    for kept in (0, KEPT, ROOM - 1):
        feed["i7"] = whole(kept)
        found, expected = [np.asarray(o) for o in program.run(feed)], onnxruntime_outputs(model, feed)
        assert_as_onnxruntime(found, expected, lambda k, a, end=kept + 1: a if k == 0 else a[:, :, :end])
        feed["i5"], feed["i6"] = found[1:]


@pytest.mark.parametrize("change", [{7: whole(ROOM)}, {7: whole(-1)}, {3: MASK[:, :2].copy()}])
def test_what_does_not_fit_fails_when_it_runs(change: dict[int, Any]) -> None:
    """Guards a full buffer, a negative length and a mask that is too short: keys would be lost, or hidden by others'
    marks."""
    operands = [change.get(k, o) for k, o in enumerate((Q, K, V, MASK, None, *BUFFERS))]
    model, feed = _model(STEP, operands, SHARED)
    with pytest.raises(baton.DiagnosticError):
        baton.compile(model, num_threads=1).run(feed)


@pytest.mark.parametrize("form", ["by heads", "with a bias", "with a mask"])
def test_a_step_of_cross_attention_has_its_keys_by_heads(form: str) -> None:
    mask = whole([1, 1, 0, 1, 0, 1, 1, 1], [1] * 8) if form == "with a mask" else None
    bias = (*(None,) * 6, BIAS) if form == "with a bias" else ()
    model = model_of_node(STEP, (Q, PAST_K, PAST_V, mask, *bias), TWO, (0, 1, 2), ["o"])
    feed = {"i0": Q, "i1": PAST_K, "i2": PAST_V}
    expected = onnxruntime_outputs(model, feed)
    for _, found in in_both_languages(model, feed):
        assert_as_onnxruntime(found, expected)


def test_a_packed_step_is_the_three_side_by_side() -> None:
    """onnxruntime fails on this form: it is compared with the unpacked one."""
    packed = np.concatenate([Q, K, V], axis=2)
    plain, packed_model = (_model(STEP, (*three, None, None, *BUFFERS), SHARED) for three in (
        (Q, K, V), (packed, None, None),
    ))  # fmt: skip
    expected = onnxruntime_outputs(*plain)
    for _, found in in_both_languages(*packed_model):
        assert_as_onnxruntime(found, expected, lambda k, a: a if k == 0 else a[:, :, : KEPT + 1])


def test_what_is_added_to_scores_may_be_shorter_than_the_buffer() -> None:
    """Guards grouped queries, whose attention_bias is as wide as there are keys: the buffer is wider. Their positions
    may have sizes of other names than the queries'."""
    query, new, past = real(2, 1, 64), real(2, 1, 32), real(2, 2, 8, 16)
    angles, positions = (real(32, 8), real(32, 8)), np.array([[7], [4]])
    operands = (query, new, new * 2, past, past * 2, whole(5, 3), np.array(6, "int32"), *angles, positions)
    operands = (*operands, real(2, 4, 1, 6))
    inputs = (0, 1, 2, 3, 4, 5, 9, 10)
    feed = {f"i{k}": operands[k] for k in inputs}
    attributes = {**GROUPS, "do_rotary": 1}
    model = model_of_node("GroupQueryAttention", operands, attributes, inputs, ["o", "k", "v"], open_axes=2)
    expected = onnxruntime_outputs(model, feed)
    found = [np.asarray(o) for o in baton.compile(model, num_threads=1).run(feed)]
    assert_as_onnxruntime(found, expected, lambda k, a: a if k == 0 else a[:, :, :4])


def test_lengths_may_come_with_the_places_of_packed_rows() -> None:
    """A mask (3 * batch + 2,) begins with how many keys each row has; the rest says where packed rows would lie."""
    operands = (real(2, 5, 8), real(8, 24), real(24), whole(3, 5))
    long = (*operands[:3], whole(3, 5, 0, 5, 10, 0, 5, 10))
    (short_model, feed), (long_model, longer) = (
        (model_of_node("Attention", o, TWO, (0, 3), ["o"]), {"i0": o[0], "i3": o[3]}) for o in (operands, long)
    )
    for _, found in in_both_languages(long_model, longer):
        assert_as_onnxruntime(found, onnxruntime_outputs(short_model, feed))


def test_a_cache_without_its_length_is_refused() -> None:
    model, _ = _model(STEP, (Q, K, V, None, None, PAST_K, PAST_V), SHARED)
    with pytest.raises(baton.DiagnosticError, match="past_sequence_length"):
        baton.compile(model)
