"""Ordering operators of `nn.op`: running sums, sorting, top-k, sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.frontends.nn.tensor import Tensor, emit
from baton._src.ops.builders import RELAX
from baton._src.relax.literals import const
from baton._src.support.diagnostics import fail

_RELAX: Any = RELAX


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None,
    name: str = "cumsum",
) -> Any:  # fmt: skip
    """Running sums along an axis."""
    return emit(_RELAX.cumsum(data._expr, axis=axis, dtype=dtype, exclusive=bool(exclusive)), name)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Any:
    """Sort along an axis."""
    return emit(_RELAX.sort(x._expr, axis=axis, descending=descending), name)


def argsort(data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort") -> Any:
    """The indices that sort along an axis."""
    return emit(_RELAX.argsort(data._expr, axis=axis, descending=descending, dtype=dtype), name)


def topk(
    data: Tensor, k: int = 1, axis: int = -1, ret_type: str = "both", largest: bool = True, dtype: str = "int32",
    name: str = "topk",
) -> Any:  # fmt: skip
    """The largest (or smallest) elements along an axis, their indices, or both."""
    options = {"k": k, "axis": axis, "ret_type": ret_type, "largest": largest, "dtype": dtype}
    return emit(_RELAX.topk(data._expr, **options), name)


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor | None = None, dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Any:  # fmt: skip
    """Sample from the distributions in the rows of `prob`, once for each uniform number; number i samples row i unless
    `sample_indices` says otherwise.
    """
    if sample_indices is None:
        count = uniform_sample.shape[0]
        if not isinstance(count, int) or prob.shape[0] != count:
            message = f"{count} numbers for {prob.shape[0]} distributions"
            raise fail("nn-tensor", message, help="give sample_indices: which number draws from which row")
        indices: Any = const(np.arange(count).reshape(count, 1), "int64")
    else:
        indices = sample_indices._expr
    found = _RELAX.multinomial_from_uniform(prob._expr, uniform_sample._expr, indices, dtype=dtype)
    return emit(found, name)
