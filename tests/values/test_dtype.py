"""Names of data types that there are not."""

from __future__ import annotations

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType


@pytest.mark.parametrize("name", ["float17", "complex64", "int8x"])
def test_unknown_names_are_value_errors(name: str) -> None:
    """As in TVM, whose scripts catch those."""
    with pytest.raises(ValueError, match=f"unknown data type '{name}'") as caught:
        DataType(name)
    assert isinstance(caught.value, DiagnosticError)
