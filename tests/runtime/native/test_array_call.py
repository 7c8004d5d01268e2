"""Calls that check their arrays in machine code: they take what fits, and leave everything else to the careful way."""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

import numpy as np
import pytest

import baton
from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.model.model import Model
from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.diagnostics import DiagnosticError

_PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.sum(x, axis=[0])
            R.output(a, b)
        return (a, b)
"""


@pytest.fixture(scope="module")
def model() -> Model:
    compiled: Model = baton.compile(from_source(_PROGRAM))
    return compiled


def _check(model: Model, x: Any, y: Any) -> None:
    a, b = model(x, y)
    left, right = np.asarray(x, np.float32), np.asarray(y, np.float32)
    np.testing.assert_allclose(a, left + right, rtol=1e-6)
    np.testing.assert_allclose(b, left.sum(0), rtol=1e-5)


def test_shapes_that_change(model: Model) -> None:
    """Guards the comparison of dims: a call like the one before, and one of another size."""
    y = np.arange(3, dtype=np.float32)
    for rows in (2, 2, 5, 2, 0, 7, 7):
        _check(model, np.random.default_rng(rows).random((rows, 3), np.float32), y)


def test_arrays_that_are_not_usable_as_they_are(model: Model) -> None:
    """Guards flags and types: strided, read-only, misaligned arrays, subclasses and lists give the right answer."""
    y = np.arange(3, dtype=np.float32)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    _check(model, x, y)
    fixed = x.copy()
    fixed.flags.writeable = False
    raw = np.zeros(4 * 3 * 4 + 1, np.uint8)
    crooked = raw[1:].view(np.float32).reshape(4, 3)
    crooked[:] = x
    for given in (
        np.asfortranarray(x),
        np.repeat(x, 2, 1)[:, ::2],
        fixed,
        crooked,
        x.astype(">f4"),
        x.view(np.memmap),
        x.tolist(),
    ):
        _check(model, given, y)
        _check(model, x, y)


def test_wrong_arrays_are_refused_after_right_ones(model: Model) -> None:
    """Guards that remembering the last call loosens no check."""
    x, y = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    _check(model, x, y)
    for wrong in (x.astype(np.float64), np.ones((2, 4), np.float32), np.ones(3, np.float32)):
        with pytest.raises(DiagnosticError):
            model(wrong, y)
    with pytest.raises(DiagnosticError):
        model(x)
    _check(model, x, y)


def test_one_model_from_several_threads(model: Model) -> None:
    """Guards shared state: shapes that differ between threads, arrays that die at once."""
    wrong: list[BaseException] = []

    def work(rows: int) -> None:
        try:
            for _ in range(300):
                _check(model, np.full((rows, 3), rows, np.float32), np.ones(3, np.float32))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    gc.collect()
    assert not wrong


def test_limits_belong_to_python_threads() -> None:
    """Guards `limited`: what one Python thread asks for does not reach another, nor outlive the call."""
    pool = thread_pool()
    pool.start_once()
    common = pool.num_threads
    inside, seen = threading.Event(), []
    leave = threading.Event()

    def narrow() -> None:
        with pool.limited(1):
            seen.append(pool.num_threads)
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=narrow)
    thread.start()
    assert inside.wait(30)
    with pool.limited(3):
        assert pool.num_threads == 3
        with pool.limited(2):
            assert pool.num_threads == 2
        assert pool.num_threads == 3
    assert pool.num_threads == common
    leave.set()
    thread.join(30)
    assert seen == [1]


def test_number_of_threads_of_a_call(model: Model) -> None:
    """Guards `num_threads`: any number works, and the pool's own stays."""
    before = thread_pool().num_threads
    x, y = np.ones((6, 3), np.float32), np.ones(3, np.float32)
    for threads in (1, 2, 5, None):
        a, _ = model(x, y, num_threads=threads)
        assert (a == 2).all()
    assert thread_pool().num_threads == before


def test_runs_in_a_forked_child(model: Model) -> None:
    """Guards `start_once` before runs: a child has no workers, gets its own, and computes the same."""
    x, y = np.ones((6, 3), np.float32), np.ones(3, np.float32)
    _check(model, x, y)
    child = os.fork()
    if child == 0:
        fine = False
        try:
            fine = bool((model(x, y)[0] == 2).all() and (model(x, y, num_threads=2)[1] == 6).all())
        finally:
            os._exit(0 if fine else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    _check(model, x, y)


_OUT_OF_BOUNDS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def pick(x: T.Buffer((T.int64(4),), "float32"), i: T.Buffer((), "int64"), y: T.Buffer((T.int64(1),), "float32")):
        with T.block("pick"):
            y[T.int64(0)] = x[i[()]]

    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((), "int64")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.pick, (x, i), out_sinfo=R.Tensor((1,), "float32"))
            R.output(y)
        return y
"""


def test_faults_of_checked_kernels_are_errors_of_their_call() -> None:
    """Guards the fault cell: an access out of bounds ends the call it happens in, and only that."""
    executable = relax_build(from_source(_OUT_OF_BOUNDS), options=CompileOptions(checked=True))
    model, x = Model(executable), np.arange(4, dtype=np.float32)
    for index in (1, 1, 7, 7, -1, 3, 2):
        if 0 <= index < 4:
            assert model(x, np.array(index))[0].tolist() == [index]
        else:
            with pytest.raises(DiagnosticError) as caught:
                model(x, np.array(index))
            assert caught.value.code == "kernel-fault"
