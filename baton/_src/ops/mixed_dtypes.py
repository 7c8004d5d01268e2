"""Gradients of products whose result has another dtype than their operands (`out_dtype`).

They are computed in the result's dtype, in which the gradient comes, and rounded to that of each operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def like_result(b: Any, operands: Sequence[Any], grad: Any) -> list[Any]:
    """The operands in the dtype of the result's gradient."""
    return [_cast(b, x, x.struct_info.dtype, grad.struct_info.dtype) for x in operands]


def like_operands(b: Any, grads: Sequence[Any], operands: Sequence[Any], grad: Any) -> list[Any]:
    """Gradients that were computed in the dtype of the result's gradient, each in the dtype of its operand."""
    return [_cast(b, g, grad.struct_info.dtype, x.struct_info.dtype) for g, x in zip(grads, operands)]


def _cast(b: Any, x: Any, given: Any, wanted: Any) -> Any:
    return x if given == wanted else b.op("astype", x, dtype=wanted)
