"""What a tensor can be made of: numbers of any byte order, and nothing whose elements no kernel knows."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.device import CPU
from baton._src.values.tensor import NDArray, array, empty
from tests.relax.machines import everywhere

DOUBLED = """
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        return R.add(x, x)
"""


@pytest.mark.rule("RELAX-VALUE-02")
@pytest.mark.parametrize("make", [NDArray, array])
def test_bytes_in_the_other_order_are_turned(make: type[NDArray]) -> None:
    """Kernels read memory as the machine orders it; a file's big-endian floats were read backwards."""
    swapped = np.array([1, 2, 3], np.float32).astype(">f4")
    tensor = make(swapped)
    assert tensor.data.dtype.isnative
    np.testing.assert_array_equal(everywhere(DOUBLED, tensor).numpy(), [2, 4, 6])


@pytest.mark.rule("RELAX-VALUE-02", rejects=True)
@pytest.mark.parametrize(
    ("source", "code"),
    [
        (np.array([object()]), "value-mismatch"),
        (["a"], "value-mismatch"),
        ([[1], 2], "value-mismatch"),
        (1j, "dtype-unknown"),
        (np.zeros(2, [("a", "i4")]), "dtype-unknown"),
    ],
)
def test_what_is_no_number_makes_no_tensor(source: object, code: str) -> None:
    """Refused when the tensor is made, not when somebody asks for its dtype."""
    with pytest.raises(DiagnosticError) as error:
        array(source)
    assert error.value.code == code


def test_memory_scopes_of_tensors() -> None:
    """Guards TVM's third parameter of `nd.array`, which was taken for a dtype, and memory that is not there."""
    assert array([1.5], CPU, "global").shape == (1,)
    assert empty((2,), "int8", CPU, "global").dtype == "int8"
    with pytest.raises(DiagnosticError, match=r"no memory 'global\.texture'"):
        array([1.5], CPU, "global.texture")
    with pytest.raises(DiagnosticError, match=r"no memory 'global\.vtcm'"):
        empty((2,), mem_scope="global.vtcm")
    with pytest.raises(DiagnosticError, match=r"no memory 'global\.vtcm'"):
        array([1.5]).copyto(CPU, "global.vtcm")


def test_loops_are_along_the_first_axis() -> None:
    """Guards scalars, of which loops saw nothing."""
    assert [row.numpy().tolist() for row in array([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError):
        list(array(1.0))


def test_texts_are_those_of_scripts() -> None:
    made = array(np.int32([[0, 1, 2]]))
    assert str(made) == "[[0 1 2]]"
    assert repr(made) == "<tvm.nd.NDArray shape=(1, 3), cpu(0)>\narray([[0, 1, 2]], dtype=int32)"
