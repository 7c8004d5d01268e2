"""Tensors that are written in the background: complete for who reads them, one after another, across forks."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from baton._src.passes.shared.filled_arrays import SMALL, filling
from baton._src.values.filled_tensor import FilledTensor, plain, unfinished
from baton._src.values.tensor import AnyArray, NDArray

SHAPE = (SMALL, 2)


def _plus_one(into: AnyArray, source: AnyArray) -> None:
    np.add(source, 1, out=into)


def test_a_chain_of_tensors_is_complete_after_the_block() -> None:
    last = NDArray(np.zeros(SHAPE, "float32"))
    with filling() as tensors:
        for _ in range(20):
            last = tensors.fill(SHAPE, "float32", _plus_one, last)
    assert isinstance(last, FilledTensor)
    assert (last.shape, last.ndim, last.dtype) == (SHAPE, 2, "float32")
    assert (last.memory == 20).all()
    assert type(plain(last)) is NDArray


def test_readers_wait_or_write_themselves() -> None:
    """Guards the whole scheme: nobody sees a tensor half written, and it is written once."""
    written, go = [], threading.Event()

    def slowly(into: AnyArray) -> None:
        go.wait(10)
        written.append(1)
        into[:] = 7

    with filling() as tensors:
        tensor = tensors.fill(SHAPE, "float32", slowly)
        behind = tensors.fill(SHAPE, "float32", _plus_one, tensor)
        assert unfinished(tensor).shape == SHAPE
        threading.Timer(0.02, go.set).start()
        assert (behind.data == 8).all()
        assert (tensor.data == 7).all()
    assert written == [1]


def test_blocks_within_a_block_do_not_wait() -> None:
    go = threading.Event()
    with filling() as outer:
        with filling() as inner:
            tensor = inner.fill(SHAPE, "float32", lambda into: (go.wait(10), into.fill(3)))
        assert inner is outer
        assert not go.is_set()
        go.set()
    assert (unfinished(tensor) == 3).all()


def test_errors_are_raised_at_the_latest_at_the_end() -> None:
    def fails(into: AnyArray) -> None:
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"), filling() as tensors:
        kept = tensors.fill(SHAPE, "float32", fails)
    assert kept.shape == SHAPE


def test_small_ones_are_written_at_once() -> None:
    with filling() as tensors:
        assert type(tensors.fill((2,), "float32", _plus_one, np.zeros(2, "float32"))) is NDArray


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_forks_wait_for_what_is_being_written_and_children_can_finish_the_rest() -> None:
    """Guards against children that inherit libraries of linear algebra in the middle of a product."""
    inside: list[int] = []

    def product(into: AnyArray) -> None:
        inside.append(1)
        np.matmul(np.ones((300, 300), "float32"), np.ones((300, 300), "float32"), out=into)
        inside.pop()

    with filling() as tensors:
        made = [tensors.fill((300, 300), "float32", product) for _ in range(12)]
        child = os.fork()
        if child == 0:
            good = not inside and all((m.data == 300).all() for m in made)
            os._exit(0 if good else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert all((unfinished(m) == 300).all() for m in made)
