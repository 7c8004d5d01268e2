"""How the heads of blocks are written: T.axis.remap, T.axis.spatial, and regions of T.reads and T.writes."""

from __future__ import annotations

from typing import Any

from baton._src.ir.structural import structural_equal
from baton._src.tir import operators
from baton._src.tir.buffer import BufferRegion
from baton._src.tir.expr import IterVar, Var
from baton._src.tir.stmt import BlockRealize, For
from baton._src.tir.text.expressions import expression_text
from baton._src.tir.text.names import Names

_LETTERS = {"spatial": "S", "reduce": "R"}


def axis_lines(node: BlockRealize, loops: dict[Any, For], names: Names) -> list[str]:
    """The lines that bind the axes of a block, in order; runs of plain loop variables share one remap."""
    lines: list[str] = []
    run: list[tuple[IterVar, Var]] = []

    def flush() -> None:
        if len(run) == 1:
            lines.append(_single(run[0][0], run[0][1], names))
        elif run:
            left = ", ".join(names.of(axis.var) for axis, _ in run)
            letters = "".join(_LETTERS[axis.iter_type] for axis, _ in run)
            values = ", ".join(names.of(value) for _, value in run)
            lines.append(f'{left} = T.axis.remap("{letters}", [{values}])')
        run.clear()

    for axis, value in zip(node.block.iter_vars, node.iter_values):
        if isinstance(value, Var) and axis.iter_type in _LETTERS and _same_domain(axis, loops.get(value)):
            run.append((axis, value))
        else:
            flush()
            lines.append(_single(axis, value, names))
    flush()
    return lines


def _same_domain(axis: IterVar, loop: For | None) -> bool:
    if loop is None or axis.dom is None or axis.var.dtype != loop.loop_var.dtype:
        return False
    return structural_equal(axis.dom.extent, loop.extent) and structural_equal(axis.dom.min, loop.min)


def _single(axis: IterVar, value: Any, names: Names) -> str:
    dom = axis.dom
    if dom is None:
        shown = "None"
    elif operators.is_const(dom.min, 0):
        shown = expression_text(dom.extent, names)
    else:
        end = operators.add(dom.min, dom.extent)
        shown = f"({expression_text(dom.min, names)}, {expression_text(end, names)})"
    binding = expression_text(value, names)
    return f"{names.of(axis.var)} = T.axis.{axis.iter_type}({shown}, {binding})"


def region_text(region: BufferRegion, names: Names) -> str:
    """`A[i, 0:8]`"""
    parts = []
    for box in region.region:
        begin = expression_text(box.min, names)
        if operators.is_const(box.extent, 1):
            parts.append(begin)
        else:
            parts.append(f"{begin}:{expression_text(operators.add(box.min, box.extent), names)}")
    return f"{names.of(region.buffer)}[{', '.join(parts) or '()'}]"
