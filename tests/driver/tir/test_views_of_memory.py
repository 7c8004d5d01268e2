"""Kernels whose blocks show memory of their own under other names (`T.match_buffer` within a block), compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

import baton
from baton import nd
from baton._src.tir.prim_func import PrimFunc
from baton.script import from_source
from baton.script import tir as T

ROWS = np.arange(9, dtype="float32").reshape(3, 3)


def built(func: PrimFunc, results: int) -> list[Any]:
    """The results of the compiled kernel for `ROWS`."""
    found = [nd.empty((3, 3)) for _ in range(results)]
    baton.build(func)(nd.array(ROWS), *found)
    return [r.numpy() for r in found]


@T.prim_func
def shown(A: T.Buffer((3, 3), "float32"), B: T.Buffer((3, 3), "float32"), C: T.Buffer((3, 3), "float32")):
    D = T.alloc_buffer((3, 3))
    for i, j in T.grid(3, 3):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] + T.float32(1)
    for i in range(3):
        with T.block("C"):
            vi = T.axis.spatial(3, i)
            T.reads(D[vi, 0:3])
            T.writes(C[vi, 0:3])
            row = T.match_buffer(D[vi, 0:3], (3,), offset_factor=1)
            for j in range(3):
                C[vi, j] = row[2 - j]
    for i, j in T.grid(3, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = D[vi, vj] * T.float32(2)


def test_memory_that_a_view_reads_stays() -> None:
    """Guards a stage with two readers, one of them a view: it was put into the other one, and its memory was gone."""
    doubled, reversed_ = built(shown, 2)
    np.testing.assert_array_equal(doubled, (ROWS + 1) * 2)
    np.testing.assert_array_equal(reversed_, (ROWS + 1)[:, ::-1])


def test_views_in_kernels_of_programs() -> None:
    """Guards the same in a Relax program, whose kernels are fused first."""
    text = shown.script().split("def shown", 1)[1].replace("\n", "\n    ")
    program = from_source(f"""
@I.ir_module
class Program:
    @T.prim_func(private=True)
    def kernel{text}
    @R.function
    def main(x: R.Tensor((3, 3), "float32")):
        with R.dataflow():
            both = [R.Tensor((3, 3), "float32"), R.Tensor((3, 3), "float32")]
            found = R.call_tir(Program.kernel, (x,), out_sinfo=both)
            result = R.add(found[0], found[1])
            R.output(result)
        return result
""")
    (result,) = baton.compile(program).run({"x": ROWS})
    np.testing.assert_array_equal(result, (ROWS + 1) * 2 + (ROWS + 1)[:, ::-1])


def test_memory_that_only_a_view_writes_is_there() -> None:
    """Guards memory that nothing reads: it was not allocated, and writing to it an internal error."""

    @T.prim_func
    def unread(A: T.Buffer((3, 3), "float32"), B: T.Buffer((3, 3), "float32")):
        D = T.alloc_buffer((3, 3))
        for i in range(3):
            with T.block("D"):
                vi = T.axis.spatial(3, i)
                T.reads(A[vi, 0:3])
                T.writes(D[vi, 0:3])
                row = T.match_buffer(D[vi, 0:3], (3,), offset_factor=1)
                for j in range(3):
                    row[j] = A[vi, j]
        for i, j in T.grid(3, 3):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)

    np.testing.assert_array_equal(built(unread, 1)[0], ROWS + 1)
