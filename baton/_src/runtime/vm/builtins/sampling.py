"""What language models do with the scores of the next token: TVM v0.19's `vm.builtin.sample_*` and `apply_*`.

Scores (`logits`) and probabilities are float32, one row with leading axes of size 1. The uniform numbers are drawn by
the caller, so that all of this is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.value_errors import describe, mismatch
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray, NDArray, array

_COLDEST = 1e-6
"""Below this temperature the token of the highest score is taken."""


def sample_top_p_from_logits(logits: NDArray, temperature: float, top_p: float, uniform_sample: float) -> int:
    """The token that `uniform_sample` in [0, 1) selects among the most likely ones that together have `top_p`."""
    row = _row("sample_top_p_from_logits", logits)
    if temperature < _COLDEST:
        return int(row.argmax())
    weights = np.exp((row - row.max()) / np.float32(temperature))
    return _sampled(weights / weights.sum(), top_p, uniform_sample)


def sample_top_p_from_prob(prob: NDArray, top_p: float, uniform_sample: float) -> int:
    """The same, of probabilities."""
    return _sampled(_row("sample_top_p_from_prob", prob), top_p, uniform_sample)


def multinomial_from_uniform(prob: NDArray, uniform_sample: NDArray) -> NDArray:
    """For each row of probabilities, the first index up to which their sum exceeds the row's uniform number: (rows, 1)
    of int64. The last index, if none does."""
    rows, drawn = prob.data, uniform_sample.data
    if rows.ndim != 2 or 0 in rows.shape or drawn.size != len(rows):
        found = f"{describe(prob)} and {describe(uniform_sample)}"
        raise mismatch("multinomial_from_uniform", "rows of probabilities and a number for each", found, ValueError)
    exceeded = np.cumsum(rows, axis=1) > drawn.reshape(-1, 1)
    exceeded[:, -1] = True
    return array(exceeded.argmax(axis=1).reshape(-1, 1).astype(np.int64))


def apply_repetition_penalty(logits: NDArray, token_ids: NDArray, penalty: float) -> None:
    """Make the scores of tokens lower, in place: divide positive ones by the penalty, multiply the others with it."""
    row = _row("apply_repetition_penalty", logits)
    tokens = _tokens("apply_repetition_penalty", token_ids, row)
    positive = row[tokens] > 0
    np.divide.at(row, tokens[positive], np.float32(penalty))
    np.multiply.at(row, tokens[~positive], np.float32(penalty))


def apply_presence_and_frequency_penalty(
    logits: NDArray, token_ids: NDArray, token_freqs: NDArray, presence_penalty: float, frequency_penalty: float
) -> None:
    """Subtract from the scores of tokens, in place: one penalty, and another one as often as they occurred."""
    what = "apply_presence_and_frequency_penalty"
    row = _row(what, logits)
    tokens, counts = _tokens(what, token_ids, row), token_freqs.data.reshape(-1)
    if tokens.shape != counts.shape:
        raise mismatch(what, f"{tokens.size} frequencies", describe(token_freqs), ValueError)
    np.subtract.at(row, tokens, (counts * frequency_penalty + presence_penalty).astype(np.float32))


def apply_softmax_with_temperature(logits: NDArray, temperature: float) -> None:
    """Replace the scores by the probabilities, in place."""
    row = _row("apply_softmax_with_temperature", logits)
    if temperature <= 0:
        raise fail("value-mismatch", f"a temperature is positive, not {temperature}", kind=ValueError)
    weights = np.exp((row - row.max()) / np.float32(temperature))
    row[...] = weights / weights.sum()


def _sampled(prob: AnyArray, top_p: float, uniform_sample: float) -> int:
    """The index that a uniform number selects among the largest probabilities: as few as reach `top_p` together."""
    order = np.argsort(-prob, kind="stable")
    reached = np.cumsum(prob[order])
    kept = reached[: 1 + int(np.count_nonzero(reached[:-1] < np.float32(top_p)))]
    place = int(np.searchsorted(kept, kept[-1] * np.float32(uniform_sample), side="right"))
    return int(order[min(place, len(kept) - 1)])


def _row(what: str, tensor: NDArray) -> AnyArray:
    """The row that a tensor is, its own memory."""
    data = tensor.data
    if data.dtype != np.float32 or data.ndim == 0 or data.size == 0 or data.size != data.shape[-1]:
        raise mismatch(what, "a row of float32", describe(tensor), ValueError)
    if np.isnan(data).any():
        raise fail("value-mismatch", f"{what}: there are NaNs among the scores of the tokens", kind=ValueError)
    row: AnyArray = data[(0,) * (data.ndim - 1)]
    return row


def _tokens(what: str, token_ids: NDArray, row: AnyArray) -> AnyArray:
    """The numbers of tokens, each of which `row` has."""
    tokens: AnyArray = token_ids.data.reshape(-1)
    if tokens.dtype.kind not in "iu":
        raise mismatch(what, "numbers of tokens", describe(token_ids), ValueError)
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < len(row)):
        raise fail("value-mismatch", f"{what}: there are tokens outside of 0..{len(row) - 1}", kind=IndexError)
    return tokens


_FUNCTIONS = (
    sample_top_p_from_logits,
    sample_top_p_from_prob,
    multinomial_from_uniform,
    apply_repetition_penalty,
    apply_presence_and_frequency_penalty,
    apply_softmax_with_temperature,
)
TABLE: Mapping[str, Callable[..., Any]] = {f"vm.builtin.{f.__name__}": f for f in _FUNCTIONS}
