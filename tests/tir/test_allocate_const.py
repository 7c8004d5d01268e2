"""Constants of kernels (`T.allocate_const`): text, interpreter and native code agree; they are only read."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.structural import structural_equal
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script
from baton._src.values.dtype import DataType
from tests.codegen.native_run import run_native

NUMBERS = {
    "float32": [0.1, -2.5, float("inf"), float("nan"), -0.0, 1e-40],
    "float64": [1 / 3, -1e300, float("-inf"), 0.0, 5e-324, 2.0],
    "float16": [0.1, 65504.0, -1.0, 6e-8, 3.0, 4.0],
    "bfloat16": [0.1, -3e38, float("inf"), float("nan"), 1.0, 2.0],
    "int8": [-128, 127, 0, -1, 1, 64],
    "uint64": [2**64 - 1, 0, 1, 2**63, 7, 9],
    "int64": [-(2**63), 2**63 - 1, 0, 1, 2, 3],
    "bool": [True, False, True, True, False, False],
}


def reader(dtype: str) -> PrimFunc:
    """B[j, i] = constant[i, j]"""
    listed = str(NUMBERS[dtype]).replace("-inf", 'T.float64("-inf")').replace(" inf", ' T.float64("inf")')
    listed = listed.replace("nan", 'T.float64("nan")')
    return parse_text(f"""
@T.prim_func
def kernel(B: T.Buffer((3, 2), "{dtype}")):
    memory = T.allocate_const({listed}, "{dtype}", [2, 3])
    C = T.Buffer((2, 3), "{dtype}", data=memory)
    for i, j in T.grid(2, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = C[vi, vj]
""")


@pytest.mark.parametrize("dtype", NUMBERS)
def test_constants_are_read(dtype: str) -> None:
    """Guards every bit of the numbers, in text and in code, at both ends of the dtypes."""
    kernel = reader(dtype)
    assert check_prim_func(kernel) == []
    assert structural_equal(parse_text(script(kernel)), kernel)
    numpy = DataType(dtype).numpy
    expected = np.array(NUMBERS[dtype], numpy).reshape(2, 3).T
    for checked in (False, True):
        found = np.zeros((3, 2), numpy)
        assert run_native(kernel, found, checked=checked) is None
        assert found.tobytes() == expected.tobytes()
    found = np.zeros((3, 2), numpy)
    run_prim_func(kernel, [found])
    assert found.tobytes() == expected.tobytes()


def test_constants_in_loops_and_of_others() -> None:
    """Guards constants within loops that become vectors, and that kernels of other numbers are other kernels."""
    text = """
@T.prim_func
def kernel(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in T.parallel(4):
        with T.allocate_const([3, 1, 4, 1], "int32", [4]) as digits:
            D = T.Buffer((4,), "int32", data=digits)
            for j in T.vectorized(8):
                B[i, j] = A[i, j] * D[i] + D[j % 4]
"""
    kernel, other = parse_text(text), parse_text(text.replace("[3, 1, 4, 1]", "[3, 1, 4, 2]"))
    assert not structural_equal(kernel, other)
    for func, digits in ((kernel, np.array([3, 1, 4, 1])), (other, np.array([3, 1, 4, 2]))):
        a, b = np.arange(32, dtype="int32").reshape(4, 8), np.zeros((4, 8), "int32")
        assert run_native(func, a, b) is None
        np.testing.assert_array_equal(b, a * digits[:, None] + np.tile(digits, 2))


def test_what_a_constant_is_not() -> None:
    """Guards writes to constants, which end the process, and numbers that are not as many as the shape says."""
    written = parse_text("""
@T.prim_func
def kernel(A: T.Buffer((2,), "int32")):
    memory = T.allocate_const([1, 2], "int32", [2])
    C = T.Buffer((2,), "int32", data=memory)
    C[0] = A[0]
""")
    assert [finding.code for finding in check_prim_func(written)] == ["tir-constant"]
    with pytest.raises(DiagnosticError, match="int8 is given what is none"):
        parse_text(script(reader("int8")).replace("-128", "-129", 1))
    with pytest.raises(DiagnosticError, match="given 6 numbers"):
        parse_text(script(reader("int8")).replace("[2, 3])", "[2, 2])", 1))
