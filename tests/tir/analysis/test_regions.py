"""Regions of blocks: what is read and written while inner loops run, and what parsing infers where none is written."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.traverse import post_order
from baton._src.tir.buffer import BufferRegion
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.stmt import Block
from baton._src.tir.text.blocks import region_text
from baton._src.tir.text.names import Names
from baton._src.tir.text.parser import parse_text
from tests.tir.programs import matmul_add


def regions(body: str) -> tuple[list[str], list[str]]:
    """(reads, writes) inferred for a block with axes i < 8 and j < n."""
    func = parse_text(
        "def f(a: T.handle, B: T.Buffer((8, 16), 'float32'), C: T.Buffer((8,), 'float32')):\n"
        "    n = T.int32(is_size_var=True)\n"
        "    A = T.match_buffer(a, (8, n))\n"
        "    for i0, j0 in T.grid(8, n):\n"
        "        with T.block('b'):\n"
        "            i, j = T.axis.remap('SR', [i0, j0])\n"
        + "".join(f"            {line}\n" for line in body.split("\n"))
    )
    block = next(x for x in post_order(func.body) if isinstance(x, Block) and x.name_hint == "b")
    names = Names()
    return _shown(block.reads, names), _shown(block.writes, names)


def _shown(found: Any, names: Names) -> list[str]:
    boxes: tuple[BufferRegion, ...] = found
    return [region_text(r, names) for r in boxes]


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("C[i] = A[i, j]", ["A[i, j]"], ["C[i]"]),
        ("C[i] = A[i, j] + A[i, j + 1]", ["A[i, j:j + 2]"], ["C[i]"]),
        ("C[i] = A[i, j] + A[i, 0]", ["A[i, 0:j + 1]", "A[i, 0:n]"], ["C[i]"]),
        ("for k in range(4):\n    B[i, k * 4] = C[i]", ["C[i]"], ["B[i, 0:13]"]),
        ("for k in range(n):\n    C[i] = A[i, k]", ["A[i, 0:n]"], ["C[i]"]),
        ("C[i] = B[i, T.Cast('int32', A[i, j])]", ["A[i, j]", "B[i, 0:16]"], ["C[i]"]),
        ("with T.init():\n    C[i] = T.float32(0)\nC[i] = C[i] + A[i, j]", ["A[i, j]"], ["C[i]"]),
        ("T_1 = T.alloc_buffer((4,))\nT_1[0] = A[i, j]\nC[i] = T_1[0]", ["A[i, j]"], ["C[i]"]),
    ],
)
def test_regions_cover_every_access(body: str, reads: list[str], writes: list[str]) -> None:
    """Guards boxes: points, hulls, inner loops, gathers, reductions, memory of the block itself."""
    found_reads, found_writes = regions(body)
    assert found_writes == writes
    assert all(r in reads for r in found_reads)


def test_axes_of_blocks_inside_cover_what_they_are_bound_to() -> None:
    """Guards blockize: the block around a tile said that it reads and writes whole buffers."""
    schedule = Schedule(matmul_add(16))
    block = schedule.get_block("C")
    outer, inner = schedule.split(schedule.get_loops(block)[0], [None, 4])
    schedule.decompose_reduction(block, outer)
    schedule.blockize(inner)
    made = schedule.get("C_update_o")
    (row, column) = made.writes[0].region
    assert int(row.extent) == 4
    assert int(column.extent) == 5
