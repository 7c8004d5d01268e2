"""Evaluate calls on constants while importing, by the operator's NumPy reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.operands import Operand, constant_of, size_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.op_def import NotApplicable, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

FOLD_LIMIT = 1 << 22
"""Calls on constants are evaluated while importing if their operands have at most this many elements in total."""
RESULT_LIMIT = 1 << 24
"""And if their results have at most this many: a few numbers of a file must not become more memory than there is."""


def folded(
    definition: OpDef[Any], operands: Sequence[Operand], attrs: Any, results: Sequence[Info]
) -> tuple[AnyArray, ...] | None:
    """The results of a call, whose infos are `results`; None if it is left to the program. `DiagnosticError`
    (`op-index`) for an index out of range.
    """
    if any(is_large(r.shape) for r in results if isinstance(r, TensorInfo) and r.shape is not None):
        return None
    known = [constant_of(o) for o in operands]
    if any(k is None for k in known) or isinstance(definition.reference, NotApplicable) or not definition.pure:
        return None
    if sum(size_of(k) for k in known) > FOLD_LIMIT or _is_quantised_weight(definition, operands):
        return None
    try:
        with np.errstate(all="ignore"):
            found = definition.reference(known, attrs)
    except IndexError as error:
        raise fail("op-index", f"{definition.name}: {error}") from error
    return tuple(np.asarray(r) for r in (found if isinstance(found, (tuple, list)) else (found,)))


def is_large(sizes: Sequence[Dim]) -> bool:
    """Whether a tensor is too large to be computed while importing. Sizes that are not known do not count."""
    return math.prod(d for d in sizes if isinstance(d, int)) > RESULT_LIMIT


def _is_quantised_weight(definition: OpDef[Any], operands: Sequence[Operand]) -> bool:
    """Whether a call converts an integer matrix to floats: products may use the integers, and files stay smaller."""
    return definition.name == "dequantize" and isinstance(operands[0], Value) and operands[0].rank > 1
