"""What callers give a model: arrays of any layout, what NumPy reads as one, numbers; and copies of models."""

from __future__ import annotations

import copy
from array import array
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.driver.model.model import Model
from baton._src.support.diagnostics import DiagnosticError


def doubled(dtype: str) -> Model:
    x = relay.var("x", shape=(3,), dtype=dtype)
    return baton.compile(relay.Function([x], relay.add(x, x)))


@pytest.fixture(scope="module")
def floats() -> Model:
    return doubled("float32")


@pytest.fixture(scope="module")
def ints() -> Model:
    return doubled("int32")


GIVEN = np.array([1, 2, 3], "float32")


class ByArray:
    """As data frames and images are read."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return GIVEN


class ByInterface:
    __array_interface__ = GIVEN.__array_interface__


@pytest.mark.parametrize("given", [ByArray(), ByInterface(), memoryview(GIVEN), array("f", GIVEN)])
def test_what_numpy_reads_is_an_array(floats: Model, given: Any) -> None:
    """Guards data frames, images and buffers, which were refused."""
    assert floats(given)[0].tolist() == [2, 4, 6]


@pytest.mark.parametrize("given", [[1, 2, 3], (1.0, 2, True), [np.float32(1), 2, 3]])
def test_numbers_become_the_dtype(floats: Model, given: Any) -> None:
    assert floats(given)[0].tolist() == (2 * np.array(given)).tolist()


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise KeyError("no data")


@pytest.mark.parametrize(
    "given", [[1.5, 2, 3], [None, 2, 3], ["1", "2", "3"], [1j, 2, 3], [2**40, 0, 0], [np.array(2**40), 0, 0], Broken()]
)
def test_numbers_that_would_change_are_refused(ints: Model, given: Any) -> None:
    """Guards against cut numbers: 1.5 became 1 where an integer was wanted, None became NaN among floats."""
    with pytest.raises(DiagnosticError, match="value-mismatch"):
        ints(given)


def test_none_among_floats_is_refused(floats: Model) -> None:
    with pytest.raises(DiagnosticError, match="holds objects, which do not become float32"):
        floats([None, 2, 3])
    with pytest.raises(DiagnosticError, match=r"an array of dtype (float128|longdouble) is not a tensor"):
        floats(np.ones(3, np.longdouble))


def test_lazily_negated_views_of_pytorch(floats: Model) -> None:
    """Guards the sign: DLPack passed on the memory of `x.conj().imag`, which PyTorch negates when it is read."""
    torch = pytest.importorskip("torch")
    view = torch.tensor([1j, 2j, 3j], dtype=torch.complex64).conj().imag
    assert floats(view)[0].tolist() == [-2, -4, -6]
    assert baton.nd.from_dlpack(view).numpy().tolist() == [-1, -2, -3]


@pytest.mark.parametrize("wanted", [0, -1, 1.5, "2"])
def test_numbers_of_threads_of_a_call(floats: Model, wanted: Any) -> None:
    """Guards what only the number that a model is made with was: 0 and -1 meant all, others were errors of Python's."""
    with pytest.raises(DiagnosticError, match="num_threads must be an integer of at least 1"):
        floats(GIVEN, num_threads=wanted)
    with pytest.raises(DiagnosticError, match="num_threads must be an integer of at least 1"):
        floats.profile([GIVEN], num_threads=wanted)


def test_arrays_in_order_are_counted(floats: Model) -> None:
    """Guards one too many, which was an error of a tuple's."""
    for wrong in ([], [GIVEN, GIVEN]):
        for call in (floats.run_arrays, floats.profile, lambda arrays: floats(*arrays)):
            with pytest.raises(DiagnosticError, match=f"takes 1 inputs .*; {len(wrong)} given"):
                call(wrong)
    assert floats.run({"x": GIVEN}, num_threads=np.int64(1))[0].tolist() == [2, 4, 6]


def test_copies_share_the_code_and_pickles_are_refused(floats: Model) -> None:
    """Guards programs that copy objects holding a model (an error of ctypes), and pools of processes."""
    for again in (copy.copy(floats), copy.deepcopy({"model": floats})["model"]):
        assert again.executable is floats.executable
        assert again(GIVEN)[0].tolist() == [2, 4, 6]
    with pytest.raises(DiagnosticError, match=r"baton.load\(path\)"):
        floats.__reduce__()


@pytest.mark.parametrize("given", [np.array(["a", "b", "c"]), np.array([1j, 2j, 3j]), np.array([None, 1, 2])])
def test_an_array_that_is_no_tensor_is_told_with_the_name_of_the_input(floats: Model, given: Any) -> None:
    """Of a model with dozens of inputs one must know which."""
    with pytest.raises(DiagnosticError, match="is not a tensor\n  while reading input x"):
        floats.run({"x": given})
