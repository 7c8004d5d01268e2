"""Passes of `tir.transform` that are left out: what is said instead is so."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import baton
from baton import tir
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

WITHOUT = "build the module without the pass"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("MakePackedAPI", WITHOUT),
        ("LowerTVMBuiltin", WITHOUT),
        ("PointerValueTypeRewrite", WITHOUT),
        ("BF16StorageLegalize", "stores bfloat16 and float8 as they are"),
        ("ExtractPrimFuncConstants", "compiles constants into the kernel"),
        ("InstrumentBoundCheckers", "checks indices"),
        ("ReduceBranchingThroughOvercompute", "LoopPartition"),
        ("UnifiedStaticMemoryPlanner", "planned in Relax"),
        ("InjectDoubleBuffer", "compiles for CPUs"),
    ],
)
def test_reasons(name: str, said: str) -> None:
    """Guards that a script which composes them is told what to do."""
    with pytest.raises(AttributeError, match=said):
        getattr(tir.transform, name)


def built(source: str) -> Any:
    """The function of a script, built."""
    return baton.build(IRModule({"main": from_source(source)}), "llvm")["main"]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
def test_narrow_floats_are_stored_as_they_are(dtype: str) -> None:
    """Guards what is said of storage."""
    run = built(f'''
@T.prim_func
def main(A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "{dtype}")):
    for i in range(8):
        B[i] = A[i] + A[i]
''')
    a, b = baton.nd.array(np.arange(8).astype(getattr(ml_dtypes, dtype))), baton.nd.empty((8,), dtype)
    run(a, b)
    np.testing.assert_array_equal(b.numpy().astype("float32"), np.arange(8) * 2)


def test_indices_are_checked() -> None:
    """Guards what is said of indices that data tell."""
    run = built("""
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[A[i]] = T.float32(1)
""")
    with pytest.raises(DiagnosticError, match="index 400000 is out of range"):
        run(baton.nd.array(np.array([0, 1, 2, 400000], "int32")), baton.nd.empty((4,), "float32"))
