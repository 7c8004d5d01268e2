"""Memory of large results: used again when nobody looks at it, never before."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest

from baton._src.runtime.native.output_memory import LARGEST, SMALLEST, allocator

SHAPE = (512, 257)
F32 = np.dtype("float32")


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_memory_comes_back() -> None:
    make = allocator(SHAPE, F32)
    first = make()
    where = address(first)
    del first
    assert address(make()) == where


@pytest.mark.parametrize("look", [lambda a: a[3:5], lambda a: a.T, lambda a: a.reshape(-1)[::2], memoryview])
def test_a_view_keeps_it(look: object) -> None:
    """Guards what a user still sees: any view of a result holds its memory."""
    make = allocator(SHAPE, F32)
    whole = make()
    whole[:] = 7
    view = look(whole)
    where = address(whole)
    del whole
    others = [make() for _ in range(4)]
    for other in others:
        other[:] = 0
    assert where not in map(address, others)
    assert (np.asarray(view) == 7).all()


def test_results_alive_together_are_apart() -> None:
    make = allocator(SHAPE, F32)
    arrays = [make() for _ in range(5)]
    assert len({address(a) for a in arrays}) == 5


@pytest.mark.parametrize("dtype", ["int8", "float64", ml_dtypes.bfloat16])
def test_arrays_are_ordinary(dtype: object) -> None:
    array = allocator((1024, 1024), np.dtype(dtype))()
    assert (array.shape, array.dtype) == ((1024, 1024), np.dtype(dtype))
    assert array.flags.carray
    assert address(array) % 64 == 0
    copy = array.copy()
    np.testing.assert_array_equal(copy.view("uint8"), array.view("uint8"))


@pytest.mark.parametrize("count", [0, 1, SMALLEST - 1, LARGEST + 1])
def test_small_and_huge_results_are_numpys_own(count: int) -> None:
    assert allocator((count,), np.dtype("uint8"))().base is None


def test_many_threads() -> None:
    """Guards that two callers never get the same memory."""
    make, wrong = allocator(SHAPE, F32), []

    def work(number: int) -> None:
        for _ in range(300):
            array = make()
            array[:] = number
            if not (array == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
