"""Host objects become run-time values and come back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from baton._src.runtime.value_errors import describe
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values import ffi
from baton._src.values.adt import ADT, RefCell
from baton._src.values.convert import from_host
from baton._src.values.device import Device
from baton._src.values.dtype import DataType
from baton._src.values.filled_tensor import FilledTensor
from baton._src.values.packed_func import FunctionTable, PackedFunc
from baton._src.values.prim import as_declared, prim, prim_dtype
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray, array, empty


def test_arrays_share_memory_when_they_can() -> None:
    """Contiguous arrays are not copied; strided and byte-swapped ones are made usable."""
    array = np.arange(6, dtype="float32").reshape(2, 3)
    assert np.shares_memory(from_host(array).data, array)
    strided = from_host(array.T)
    assert strided.data.flags.c_contiguous
    np.testing.assert_array_equal(strided.data, array.T)
    swapped = from_host(array.astype(">f4"))
    assert swapped.data.dtype.isnative
    np.testing.assert_array_equal(swapped.data, array)


def test_zero_dim_arrays_stay_zero_dim() -> None:
    for given in (np.float32(3), np.array(3.0), np.array(3)[()]):
        assert from_host(given).shape == ()


@pytest.mark.rule("RELAX-VALUE-02")
def test_tensors_that_are_filled_late_are_tensors() -> None:
    """Guards weights of a transformed module that a caller gives again: native functions refused them."""
    late = FilledTensor(np.zeros(3, "float32"), lambda memory: memory.fill(2))
    found = from_host(late)
    assert type(found) is NDArray
    assert found.numpy().tolist() == [2, 2, 2]


def test_element_types() -> None:
    for name in ("int8", "uint16", "float64", "bool"):
        assert from_host(np.zeros(2, name)).dtype == name
    assert from_host(np.zeros(2, ml_dtypes.bfloat16)).dtype == "bfloat16"


@pytest.mark.rule("RELAX-VALUE-02", rejects=True)
def test_object_arrays_are_refused() -> None:
    for bad in (np.array([object()]), np.array(["text"]), np.zeros(2, "complex64"), np.zeros(2, "M8[s]")):
        with pytest.raises(DiagnosticError, match="is not a tensor"):
            from_host(bad)


@pytest.mark.rule("RELAX-REP-1")
def test_categories_can_be_told_apart() -> None:
    """Each category is described as what it is."""
    cases = {
        "a tensor of shape (2,)": np.zeros(2),
        "the shape (2, 3)": ShapeTuple((2, 3)),
        "a tuple of 2 values": (1, 2),
        "the prim value 3 of dtype int64": 3,
        "the prim value True of dtype bool": True,
        "the string 'x'": "x",
        "the data type int8": DataType("int8"),
        "the null value": None,
        "the packed function f": PackedFunc(lambda: None, "f"),
        "a reference": RefCell(1),
        "a value of constructor Cons": ADT(1, (), "Cons"),
        "an object of class object": object(),
    }
    for text, value in cases.items():
        assert describe(from_host(value)).startswith(text)


def test_lists_become_tuples_and_shapes_stay_shapes() -> None:
    found = from_host([1, (ShapeTuple((2,)), [np.zeros(1)])])
    assert isinstance(found, tuple)
    assert isinstance(found[1][0], ShapeTuple)
    assert isinstance(found[1][1][0], NDArray)


def test_prims_keep_their_dtype_and_wrap() -> None:
    assert prim_dtype(prim(3, "int32")) == "int32"
    assert prim(300, "int8") == 44
    assert prim(-1, "uint8") == 255
    assert prim_dtype(prim(0.1, "float32")) == "float32"
    assert prim(0.1, "float32") == np.float32(0.1)
    assert prim_dtype(True) == "bool"
    assert prim_dtype("3") is None


@pytest.mark.rule("RELAX-VALUE-09")
def test_shapes_are_immutable_integers() -> None:
    shape = ShapeTuple((np.int64(2), 3))
    assert all(type(d) is int for d in shape)
    with pytest.raises(TypeError):
        ShapeTuple((2.5,))


@pytest.mark.rule("RELAX-VALUE-09", rejects=True)
@pytest.mark.rule("RELAX-VALUE-04", rejects=True)
def test_shapes_and_tuples_cannot_be_written() -> None:
    for value in (ShapeTuple((2, 3)), from_host([1, 2])):
        with pytest.raises(TypeError):
            value[0] = 5


@pytest.mark.rule("RELAX-REP-3")
@pytest.mark.rule("RELAX-VALUE-12")
def test_packed_functions_see_and_return_values() -> None:
    """Python functions get the very values; opaque objects come back unchanged."""
    table = FunctionTable()
    marker = object()
    table.register("f", lambda *a: [*a, marker])
    tensor = NDArray(np.zeros(2))
    found = table.lookup("f")(tensor, ShapeTuple((1,)), "s", None, (1, 2))
    assert found[0] is tensor
    assert isinstance(found[1], ShapeTuple)
    assert found[2:] == ("s", None, (1, 2), marker)


def test_registering_twice_needs_override() -> None:
    table = FunctionTable()
    table.register("f", lambda: 1)
    with pytest.raises(DiagnosticError, match="registered already"):
        table.register("f", lambda: 2)
    table.register("f", lambda: 2, override=True)
    assert table.lookup("f")() == 2


def test_foreign_functions_write_tensors_in_place() -> None:
    """A function of tvm-ffi's own table is found, gets tensors as DLPack, and may write them."""
    package = ffi.tvm_ffi()

    def fill(tensor: object, value: float) -> object:
        np.from_dlpack(tensor)[...] = value
        return tensor

    package.register_global_func("baton.test.fill", fill, override=True)
    tensor = NDArray(np.zeros(3, "float32"))
    result = FunctionTable().lookup("baton.test.fill")(tensor, 2.5)
    assert tensor.data.tolist() == [2.5] * 3
    assert isinstance(result, NDArray)
    assert np.shares_memory(result.data, tensor.data)


def test_long_adt_prints_without_recursion() -> None:
    value = ADT(0, (), "Nil")
    for number in range(20_000):
        value = ADT(1, (number, value), "Cons")
    assert repr(value).startswith("Cons(19999, Cons(19998")


def test_numbers_of_the_host_take_the_declared_dtype() -> None:
    """Floats round to any float dtype, integers keep their value; other categories stay for the check to refuse."""
    rounded = as_declared(2.1, "float32")
    assert prim_dtype(rounded) == "float32"
    assert rounded == float(np.float32(2.1))
    assert prim_dtype(as_declared(3, "int32")) == "int32"
    for value, dtype in ((3, "float32"), (2.5, "int32"), (300, "int8"), (-1, "uint8"), (True, "int32"), (3, "bool")):
        assert as_declared(value, dtype) is value


def test_tensors_lie_on_devices_that_are_there() -> None:
    """A tensor on a device that the machine lacks cannot be made, so no call is ever given one."""
    cuda = Device(2, 0)
    for make in (lambda: array([1.0], cuda), lambda: empty((1,), "float32", cuda), lambda: array([1.0]).copyto(cuda)):
        with pytest.raises(DiagnosticError, match="there is no device cuda"):
            make()
