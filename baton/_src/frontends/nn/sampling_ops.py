"""Sampling operators of `nn.op` for nucleus (top-p) and top-k sampling.

Of a row of probabilities in descending order the first entries are kept: those up to where their sum reaches `top_p`,
at most `top_k`, and at least one. Rows are (batch, vocab), `top_p` and `top_k` (batch, 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.frontends.nn.tensor import Tensor, emit
from baton._src.ops.builders import RELAX
from baton._src.relax.literals import const
from baton._src.support.diagnostics import fail

_R: Any = RELAX


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor, sorted_index: Tensor, top_p: Tensor, top_k: Tensor, uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Any:  # fmt: skip
    """For each of n uniform numbers (n, 1) the sampled index, (n, 1): from row i for number i, unless `sample_indices`,
    (n, 1), names the rows. `sorted_index` are the indices before the rows were sorted.
    """
    count = uniform_sample.shape[0]
    if sample_indices is None and (not isinstance(count, int) or sorted_prob.shape[0] != count):
        message = f"{count} numbers for {sorted_prob.shape[0]} distributions"
        raise fail("nn-tensor", message, help="give sample_indices: which number draws from which row")
    rows = const(np.arange(count), "int64") if sample_indices is None else _R.reshape(sample_indices._expr, (-1,))
    sums, last, total = _likeliest(sorted_prob, top_p, top_k)
    sums, last, total, index = (_R.take(x, rows, axis=0) for x in (sums, last, total, sorted_index._expr))
    passed = _R.astype(_R.less_equal(_R.divide(sums, total), uniform_sample._expr), "int64")
    chosen = _R.minimum(_R.sum(passed, axis=1, keepdims=True), last)
    return emit(_picked(index, chosen, sorted_prob, sorted_index.dtype), "sample_top_p_top_k_from_sorted_prob")


def renormalize_top_p_top_k_prob(prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor) -> Any:
    """The rows of `prob`, which are not sorted, with dropped entries set to zero and the sums normalised to 1."""
    _, last, _ = _likeliest(sorted_prob, top_p, top_k)
    least = _picked(sorted_prob._expr, last, sorted_prob, prob.dtype)
    kept = _R.where(_R.greater_equal(prob._expr, least), prob._expr, const(0, prob.dtype))
    return emit(_R.divide(kept, _R.sum(kept, axis=1, keepdims=True)), "renormalize_top_p_top_k_prob")


def _likeliest(sorted_prob: Tensor, top_p: Tensor, top_k: Tensor) -> tuple[Any, Any, Any]:
    """Running sums of the rows, the index of the last kept entry, and the sum up to it, as columns."""
    sums = _bound(_R.cumsum(sorted_prob._expr, axis=1), "sums")
    place = _places(sorted_prob)
    more = _R.less(_R.add(place, const(1, "int64")), _R.astype(top_k._expr, "int64"))
    goes_on = _R.astype(_R.logical_and(_R.less(sums, top_p._expr), more), "int64")
    last = _bound(_R.minimum(_R.sum(goes_on, axis=1, keepdims=True), _R.max(place)), "last")
    return sums, last, _bound(_picked(sums, last, sorted_prob, sorted_prob.dtype), "total")


def _picked(rows: Any, column: Any, sorted_prob: Tensor, dtype: str) -> Any:
    """The entry of each row in that column."""
    here = _R.equal(_places(sorted_prob), column)
    return _R.sum(_R.where(here, rows, const(0, dtype)), axis=1, keepdims=True)


def _places(sorted_prob: Tensor) -> Any:
    """0, 1, ..., one for each entry of a row."""
    return _bound(_R.arange(0, sorted_prob.shape[1], 1, dtype="int64"), "places")


def _bound(expr: Any, name: str) -> Any:
    return emit(expr, name)._expr
