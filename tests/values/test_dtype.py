"""Names of data types that there are not."""

from __future__ import annotations

import re

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import INT32, VOID, DataType


@pytest.mark.parametrize("name", ["float17", "complex64", "int8x", "float32\n", "float8_e4m3fn\n", "boolx4\n"])
def test_unknown_names_are_value_errors(name: str) -> None:
    """As in TVM, whose scripts catch those."""
    with pytest.raises(ValueError, match=re.escape(f"unknown data type {name!r}")) as caught:
        DataType(name)
    assert isinstance(caught.value, DiagnosticError)


def test_no_dtype_is_the_empty_text_of_scripts() -> None:
    """`attrs.out_dtype or data.dtype`, `attrs.out_dtype == ""`: TVM's scripts see "" where none is given."""
    assert VOID == ""
    assert VOID == "void"
    assert not VOID
    assert (VOID or INT32) == "int32"
    assert VOID != "int32"
    assert INT32 != VOID
    assert hash(VOID) == hash("void")


@pytest.mark.parametrize(
    ("spelled", "canonical"), [("boolx1", "bool"), ("uint1x4", "boolx4"), ("float8_e4m3fnx1", "float8_e4m3fn")]
)
def test_a_vector_of_one_is_a_scalar(spelled: str, canonical: str) -> None:
    """Guards the canonical spelling, by which dtypes are compared."""
    assert DataType(spelled) == canonical


def test_there_are_no_vectors_of_none() -> None:
    with pytest.raises(DiagnosticError, match="boolx0"):
        DataType("boolx0")
