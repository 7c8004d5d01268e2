"""The buffers that `te.extern` was told to use (`in_buffers`, `out_buffers`), as they are in a kernel: compact."""

from __future__ import annotations

from collections.abc import Iterator

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import substitute
from baton._src.support.diagnostics import fail
from baton._src.te.shown import kind_text
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var, literal


def stands_for(name: str, own: Buffer, given: Buffer) -> dict[Node, Node]:
    """What replaces `own` and its variables (pointer, sizes, strides, offset) in the body of the extern `name`, where
    it stands for `given`. Error `te-extern`: it states another shape, dtype or layout.
    """
    if own is given:
        return {}
    values: dict[Node, PrimExpr] = {}
    fits = own.dtype == given.dtype and own.ndim == given.ndim
    for stated, actual in _facts(own, given) if fits else ():
        found = operators.cast(stated.dtype, actual)
        if isinstance(stated, Var) and stated not in values:
            values[stated] = found
        else:
            fits = fits and Analyzer().can_prove_equal(substitute(stated, values), found)
    if not fits:
        help = "give it the tensor's shape and dtype, and leave strides and offset out, or open: elem_offset=te.var()"
        message = f"{name} takes {kind_text(given)} as the buffer {own.name}, which is {kind_text(own)}"
        laid = " of another layout" if own.strides or own.elem_offset is not None else ""
        raise fail("te-extern", message + laid, help=help)
    return {own: given, own.data: given.data, **values}


def _facts(own: Buffer, given: Buffer) -> Iterator[tuple[PrimExpr, PrimExpr]]:
    """What a buffer states, and what it is."""
    yield from zip(own.shape, given.shape)
    step: PrimExpr = literal(1)
    for stride, dim in reversed([*zip(own.strides, given.shape)]):
        yield stride, step
        step = operators.multiply(step, dim)
    if own.elem_offset is not None:
        yield own.elem_offset, literal(0)
