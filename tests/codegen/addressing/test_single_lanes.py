"""A lane that is stored alone is stored as wide as it is, however wide it was before it was narrowed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from baton._src.codegen.llvm.addressing.single_lanes import stores_narrow_lanes, with_single_lanes
from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import parse_text
from baton._src.values.dtype import DataType
from tests.codegen.native_run import random_array, run_native

NARROWED = [
    ("int32", "int8"), ("int32", "int16"), ("int64", "int8"), ("int64", "int16"), ("int64", "int32"), ("int16", "int8"),
    ("float32", "bfloat16"), ("float32", "int8"), ("float64", "float32"), ("float32", "float16"),
]  # fmt: skip


def _cast(size: int, source: str, target: str, condition: str) -> PrimFunc:
    """A vector of 16, of which the lanes are stored for which the condition holds."""
    return parse_text(f"""
def main(A: T.Buffer(({size},), "{source}"), C: T.Buffer(({size},), "{target}")):
    for v in T.vectorized(16):
        if {condition}:
            C[v] = T.Cast("{target}", A[v])
""")


@pytest.mark.parametrize(("source", "target"), NARROWED)
@pytest.mark.parametrize(
    ("condition", "stored"), [("v < 1", [0]), ("v == 3", [3]), ("v < 2", [0, 1]), ("v < 15", range(15))]
)
def test_only_these_lanes_are_written(source: str, target: str, condition: str, stored: Sequence[int]) -> None:
    """Guards against LLVM's single lanes of truncated vectors: what lay behind was lost."""
    values = random_array((16,), source)
    found, wanted = np.full(16, 7, DataType(target).numpy), np.full(16, 7, DataType(target).numpy)
    places = list(stored)
    wanted[places] = values.astype(wanted.dtype)[places]
    assert run_native(_cast(16, source, target, condition), values, found) is None
    np.testing.assert_array_equal(found, wanted)


def test_stores_of_bytes_store_bytes() -> None:
    """Guards the same where no AVX-512 is at hand to run it."""
    machine = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512")
    texts, _ = module_texts({"f": _cast(1, "int32", "int8", "v < 1")}, machine)
    assert stores_narrow_lanes(texts["f"])
    assert re.search(r"\t(movb|vpextrb)\t.*, \(%rsi\)", assembly(texts["f"], Machine.of(machine)))


@pytest.mark.parametrize("pointer", ["ptr align 2 %p", "ptr nonnull align 2 %p", "ptr dereferenceable(8) %p.1"])
def test_one_lane_is_spelt_out(pointer: str) -> None:
    """Guards what is rewritten, and that stores of several lanes or of unknown ones stay."""
    call = "  tail call void @llvm.masked.store.v2i16.p0(<2 x i16> %v, {}, <2 x i1> {}), !tbaa !0"
    found = with_single_lanes(call.format(pointer, "<i1 false, i1 true>"))
    align = 2 if "align" in pointer else 1
    assert found.splitlines() == [
        "  %single.0 = extractelement <2 x i16> %v, i64 1",
        f"  %place.0 = getelementptr i16, ptr {pointer.split()[-1]}, i64 1",
        f"  store i16 %single.0, ptr %place.0, align {align}",
    ]
    for mask in ("<i1 true, i1 true>", "%mask", "zeroinitializer"):
        kept = call.format(pointer, mask)
        assert with_single_lanes(kept) == kept
