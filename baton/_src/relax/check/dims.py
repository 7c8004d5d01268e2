"""Prove or refute equality of dimensions: yes, no, or undecided (facts: relax-language §2, §4, §11; contradictions
A-41).

Equality is decided by the arithmetic analyzer: equal after simplification is YES, a difference that cannot be zero is
NO, anything else is MAYBE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import DimProver
from baton._src.relax.nodes import ShapeExpr, Var
from baton._src.relax.struct_info import ShapeStructInfo
from baton._src.tir.expr import FloatImm, IntImm


class Answer(IntEnum):
    """A three-valued answer. The answer for a whole is the minimum of those for its parts."""

    NO = 0
    """Certainly not."""
    MAYBE = 1
    """Not decided when compiling: a run-time check decides."""
    YES = 2
    """Certainly."""


def same_dim(a: PrimExpr, b: PrimExpr, prover: DimProver) -> Answer:
    """Whether two scalars are equal whenever both are defined."""
    if a is b:
        return Answer.YES
    if isinstance(a, (IntImm, FloatImm)) and isinstance(b, (IntImm, FloatImm)):
        return Answer.YES if a.value == b.value else Answer.NO
    if a.dtype != b.dtype:
        return Answer.MAYBE
    found = prover.equal(a, b)
    return Answer.MAYBE if found is None else Answer.YES if found else Answer.NO


def same_dims(left: Sequence[PrimExpr], right: Sequence[PrimExpr], prover: DimProver) -> Answer:
    """Whether two lists of dims are equal; different lengths certainly are not."""
    if len(left) != len(right):
        return Answer.NO
    return combine(same_dim(a, b, prover) for a, b in zip(left, right))


def combine(answers: Iterable[Answer]) -> Answer:
    """The answer for a whole: the minimum of its parts' answers, YES without parts."""
    worst = Answer.YES
    for answer in answers:
        if answer < worst:
            worst = answer
            if worst is Answer.NO:
                break
    return worst


def known_dims(shape: Any) -> tuple[PrimExpr, ...] | None:
    """The dims of a tensor's shape expression, looking through a variable whose shape is known; None if unknown."""
    if isinstance(shape, ShapeExpr):
        return shape.values
    if isinstance(shape, Var) and isinstance(shape.struct_info_, ShapeStructInfo):
        return shape.struct_info_.values
    return None


def same_shape(a: Any, b: Any, prover: DimProver) -> Answer:
    """Whether two shape expressions (ShapeExprs or variables holding shapes) denote the same shape."""
    if a is b:
        return Answer.YES
    left, right = known_dims(a), known_dims(b)
    if left is None or right is None:
        return Answer.MAYBE
    return same_dims(left, right, prover)
