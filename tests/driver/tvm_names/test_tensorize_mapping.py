"""`tir.schedule.analysis` and `.transform`: loops that intrinsics can take, and tiles of their size."""

from __future__ import annotations

import numpy as np
import pytest

from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.prim_func import PrimFunc
from baton.script import ir as I
from baton.script import tir as T
from baton.script.parser import ir_module, prim_func
from baton.tir.schedule.analysis import get_tensorize_loop_mapping, has_block, is_output_block
from baton.tir.schedule.transform import tile_with_tensor_intrin
from tests.codegen.native_run import run_native

NAME = "dot_16x4_vnni"


def product(columns: int) -> PrimFunc:
    """C[i, j] = sum of A[i, k] * B[j, k], B in blocks of 16 by 4."""
    a, b = te.placeholder((6, 32), "uint8", name="A"), te.placeholder((columns // 16, 8, 16, 4), "int8", name="B")
    k = te.reduce_axis((0, 32), "k")

    def element(i, j):
        return te.sum(a[i, k].astype("int32") * b[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k)

    return te.create_prim_func([a, b, te.compute((6, columns), element, name="C")])


def test_tiles_of_an_intrinsics_size() -> None:
    """Guards which axes correspond: inner ones of a kind first. 6 rows are no multiple of 16."""
    sch = tir.Schedule(product(columns=32))
    block = sch.get_block("C")
    sch.transform_block_layout(block, lambda i, j, k: (j, i, k))
    assert tile_with_tensor_intrin(sch, block, NAME) is None
    sch.transform_block_layout(block, lambda j, i, k: (i, j, k))
    info = get_tensorize_loop_mapping(sch, block, tir.TensorIntrin.get(NAME).desc)
    sizes = [(sref.stmt.extent.value, part.extent.value) for sref, part in info.loop_map.items()]
    assert sizes == [(32, 4), (32, 16)]
    assert list(info.desc_loop_indexer.values()) == [0, 1]
    loop = tile_with_tensor_intrin(sch, block, NAME)
    assert [sch.get(loop).extent.value for loop in sch.get_loops(block)] == [6, 2, 8, 16, 4]
    sch.decompose_reduction(block, sch.get_loops(block)[2])
    sch.tensorize(loop, NAME)
    draws = np.random.default_rng(0)
    a, b = draws.integers(0, 255, (6, 32)).astype("uint8"), draws.integers(-128, 127, (2, 8, 16, 4)).astype("int8")
    found = np.zeros((6, 32), "int32")
    run_native(sch.func, a, b, found)
    np.testing.assert_array_equal(found, a.astype("int32") @ b.transpose(1, 3, 0, 2).reshape(32, 32).astype("int32"))


def test_questions() -> None:
    """Guards what leaves no step in the trace, and that padding is refused by name."""
    sch = tir.Schedule(product(columns=16))
    block = sch.get_block("C")
    assert has_block(sch, "C")
    assert not has_block(sch, "D")
    assert is_output_block(sch, block)
    assert len(sch.trace.insts) == 1
    with pytest.raises(DiagnosticError, match="pad_einsum"):
        get_tensorize_loop_mapping(sch, block, tir.TensorIntrin.get(NAME).desc, allow_padding=True)


def test_decorators_of_the_parser() -> None:
    """Guards the decorators by the parser's module, as scripts import them."""
    assert (ir_module, prim_func) == (I.ir_module, T.prim_func)
