"""Native functions: concurrent calls, unusual arrays, shapes remembered, instruments and profiles kernel by kernel."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from baton._src.runtime.native.addresses import data_address
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import NDArray
from tests.lower.relax_to_vm.programs import machine

TWO_KERNELS = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tuple(R.Tensor(("n", 8), "float32"), R.Tensor(("n",), "float32")):
        with R.dataflow():
            a = R.nn.softmax(x)
            b = R.matmul(a, R.const([[1.0]] * 8, "float32"))
            c = R.sum(R.exp(a), axis=[1])
            R.output(a, c)
        return (a, c)
"""


def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    soft = np.exp(x - x.max(1, keepdims=True))
    soft = soft / soft.sum(1, keepdims=True)
    return soft, np.exp(soft).sum(1)


def test_addresses_agree_with_numpy() -> None:
    for array in (np.zeros(3), np.zeros((2, 0)), np.array(1.0), np.arange(10)[3:]):
        assert data_address(array) == array.ctypes.data


def test_threads_do_not_share_arenas() -> None:
    """Calls from several Python threads at once give each caller its own results."""
    run = machine(TWO_KERNELS)["main"]
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((n, 8)).astype("float32") for n in (1, 30, 200, 7)]
    problems: list[str] = []

    def work(x: np.ndarray) -> None:
        want = expected(x)
        for _ in range(30):
            for found, right in zip(run(x), want):
                if not np.allclose(found.data, right, rtol=1e-4):
                    problems.append("wrong result")

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_unusual_arrays_give_the_same() -> None:
    """Strided, read-only, misaligned and byte-swapped inputs are taken; results are fresh each time."""
    run = machine(TWO_KERNELS)["main"]
    x = np.random.default_rng(1).standard_normal((6, 8)).astype("float32")
    raw = np.zeros(x.nbytes + 1, np.uint8)
    misaligned = raw[1:].view("float32").reshape(x.shape)
    misaligned[...] = x
    locked = x.copy()
    locked.flags.writeable = False
    for given in (x, np.asfortranarray(x), misaligned, locked, x.astype(">f4")):
        first = run(given)
        np.testing.assert_allclose(first[0].data, expected(x)[0], rtol=1e-5)
        assert not np.shares_memory(first[0].data, run(given)[0].data)


IN_PLACE = """
@I.ir_module
class M:
    @T.prim_func
    def raised(a: T.handle):
        A = T.match_buffer(a, (4,), "float32")
        for i in range(4):
            A[i] = A[i] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir_inplace(M.raised, (x,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return y
"""


def test_arguments_that_are_written_have_memory_for_it() -> None:
    """A copy was raised of strided ones, so the result was not; read-only ones were written to."""
    run = machine(IN_PLACE)["main"]
    x, strided, locked = np.zeros(4, "float32"), np.zeros(8, "float32")[::2], np.zeros(4, "float32")
    locked.flags.writeable = False
    assert run(x).data.tolist() == x.tolist() == [1] * 4
    for given, says in ((strided, "is not contiguous"), (locked, "may only be read")):
        with pytest.raises(DiagnosticError, match=f"is written to, and its memory {says}"):
            run(NDArray(given))
    assert not locked.any()


def test_wrong_arguments_are_named() -> None:
    run = machine(TWO_KERNELS)["main"]
    run(np.zeros((2, 8), "float32"))
    with pytest.raises(DiagnosticError, match="main: argument x: dimension 1 is 9, expected 8"):
        run(np.zeros((2, 9), "float32"))
    with pytest.raises(
        DiagnosticError, match="main: argument x: expected a tensor of dtype float32, found dtype float64"
    ):
        run(np.zeros((2, 8)))
    with pytest.raises(DiagnosticError, match="main: argument x: expected a tensor, found the string 'x'"):
        run("x")


def test_kernels_one_by_one() -> None:
    """Profiles run the same kernels and give the same results."""
    vm = machine(TWO_KERNELS)
    x = np.random.default_rng(2).standard_normal((5, 8)).astype("float32")
    profile = vm.profile("main", x)
    names = [step.name for step in vm.executable.natives["main"].steps]
    assert sorted(r.name for r in profile.records) == sorted(set(names))
    assert sum(r.calls for r in profile.records) == len(names)
    assert "total" in profile.table()


EMPTY_BETWEEN = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 0, "n"), "int16"), y: R.Tensor(("n", "m"), "float32")):
        with R.dataflow():
            a = R.mod(x, R.const(3, "int16"))
            b = R.cumsum(a, axis=-1)
            c = R.add(y, R.const([[1.0], [2.0]], "float32"))
            R.output(b, c)
        return (b, c)
"""


def test_a_size_that_turns_out_to_be_none_takes_no_word() -> None:
    """2 * 0 * n bytes between kernels: code read a word for the arena that callers did not give, and took n for it."""
    vm = machine(EMPTY_BETWEEN)
    y = np.arange(6, dtype="float32").reshape(2, 3)
    for found in (vm["main"](np.zeros((2, 0, 2), "int16"), y), vm["main"](np.zeros((2, 0, 2), "int16"), y)):
        assert found[0].numpy().shape == (2, 0, 2)
        np.testing.assert_array_equal(found[1].numpy(), y + np.float32([[1], [2]]))
    assert vm.profile("main", np.zeros((2, 0, 2), "int16"), y).records


def test_what_nobody_needs_is_not_computed() -> None:
    """`b` is never used: no kernel for it."""
    vm = machine(TWO_KERNELS)
    assert not any("matmul" in step.kernel for step in vm.executable.natives["main"].steps)


def test_views_need_no_remembered_sizes() -> None:
    """Guards threads: another one may clear what is remembered while the kernels run."""
    vm = machine("""
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.exp(x)
        z = R.reshape(x, (1, n))
        return (y, z)
""")
    native = vm.engine.host_function(vm.executable.function_index["main"])
    x = np.zeros(3, "float32")
    outputs = native.run([x])
    native._remembered.clear()
    assert native.structured(outputs, [x])[1].shape == (1, 3)


def test_saved_and_loaded_natives_give_the_same(tmp_path: object) -> None:
    from baton._src.runtime.executable.executable import load_executable
    from baton._src.runtime.vm.virtual_machine import VirtualMachine

    vm = machine(TWO_KERNELS)
    path = f"{tmp_path}/m.baton"
    vm.executable.save(path)
    x = np.random.default_rng(3).standard_normal((3, 8)).astype("float32")
    for a, b in zip(vm["main"](x), VirtualMachine(load_executable(path))["main"](x)):
        np.testing.assert_array_equal(a.data, b.data)
