"""Choosing the next token, as scripts call it by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError

PROB = np.array([0.1, 0.4, 0.05, 0.3, 0.15], "float32")


def call(name: str, *args: Any) -> Any:
    given = [baton.nd.array(a) if isinstance(a, np.ndarray) else a for a in args]
    return baton.get_global_func(f"vm.builtin.{name}")(*given)


@pytest.mark.parametrize(
    ("top_p", "uniform", "token"),
    [(1.0, 0.0, 1), (1.0, 0.39, 1), (1.0, 0.41, 3), (1.0, 0.86, 0), (1.0, 0.999, 2),
     (0.6, 0.56, 1), (0.6, 0.58, 3), (0.6, 0.999, 3), (0.75, 0.99, 4), (0.0, 0.999, 1)],
)  # fmt: skip
def test_tokens_are_drawn_among_the_likely_ones(top_p: float, uniform: float, token: int) -> None:
    """By decreasing probability: tokens 1, 3, 4, 0, 2. Of logits at a temperature likewise."""
    assert call("sample_top_p_from_prob", PROB.reshape(1, 1, 5), top_p, uniform) == token
    assert call("sample_top_p_from_logits", np.log(PROB) * 0.5 + 3, 0.5, top_p, uniform) == token
    assert call("sample_top_p_from_logits", PROB, 0.0, top_p, uniform) == 1


def test_rows_are_drawn_from() -> None:
    rows = np.stack([PROB, PROB[::-1], PROB])
    drawn = call("multinomial_from_uniform", rows, np.array([[0.0], [0.48], [1.0]], "float32"))
    assert (str(drawn.dtype), drawn.numpy().tolist()) == ("int64", [[0], [2], [4]])


def test_scores_are_lowered_in_place() -> None:
    """Tokens that are given twice are penalized twice."""
    logits = baton.nd.array(np.array([[2.0, -2.0, 0.0, 4.0]], "float32"))
    call("apply_repetition_penalty", logits, np.array([[3, 1, 3]], "int32"), 2.0)
    assert logits.numpy().tolist() == [[2, -4, 0, 1]]
    call("apply_presence_and_frequency_penalty", logits, np.array([0, 2], "int32"), np.array([1, 3], "int32"), 0.5, 1.0)
    assert logits.numpy().tolist() == [[0.5, -4, -3.5, 1]]
    call("apply_softmax_with_temperature", logits, 2.0)
    weights = np.exp(np.array([[0.5, -4, -3.5, 1]]) / 2)
    np.testing.assert_allclose(logits.numpy(), weights / weights.sum(), rtol=1e-6)


def test_what_cannot_be_drawn_from_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="expected a row of float32"):
        call("sample_top_p_from_prob", PROB.astype("float64"), 0.5, 0.5)
    with pytest.raises(DiagnosticError, match="NaNs among the scores"):
        call("sample_top_p_from_prob", PROB * np.nan, 0.5, 0.5)
    with pytest.raises(DiagnosticError, match=r"tokens outside of 0..4"):
        call("apply_repetition_penalty", PROB, np.array([5], "int32"), 2.0)
    with pytest.raises(DiagnosticError, match="a temperature is positive"):
        call("apply_softmax_with_temperature", PROB, 0.0)
