"""Sizes that depend on data: counted inside one native function, or between two where memory cannot be planned."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.runtime.executable.executable import Executable, load_executable
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

RNG = np.random.default_rng(0)
TEXT = """
@I.ir_module
class M:
    @R.function
    def main({params}){result}:
        with R.dataflow():
{body}
            R.output(out)
        return out
"""


def built(params: str, *lines: str, result: str = "") -> Executable:
    body = "\n".join(f"            {line}" for line in lines)
    return relax_build(from_source(TEXT.format(params=params, body=body, result=result)))


def is_native(executable: Executable) -> bool:
    return executable.entry("main").kind == "native"


def compare(executable: Executable, wanted: Any, *values: Any) -> Any:
    """Run twice, for the sizes of the first run are remembered, and compare."""
    run = VirtualMachine(executable)["main"]
    for _ in range(2):
        found, correct = run(*values), wanted(*values)
        pairs = zip(found, correct, strict=True) if isinstance(correct, tuple) else [(found, correct)]
        for got, right in pairs:
            assert (got.data.shape, got.data.dtype, got.data.flags.c_contiguous) == (right.shape, right.dtype, True)
            np.testing.assert_array_equal(got.data, right)


def mask(*shape: int, share: float = 0.5) -> Any:
    return RNG.random(shape) < share


def places(x: Any) -> Any:
    return np.stack(np.nonzero(np.atleast_1d(x))).astype("int64")


def test_any_count() -> None:
    """Guards none, all, and counts that change from call to call while the shapes do not."""
    executable = built('x: R.Tensor((37, 20), "bool")', "out = R.nonzero(x)")
    assert is_native(executable)
    for share in (0.5, 0, 1, 0.01, 0.9):
        compare(executable, places, mask(37, 20, share=share))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["bool", "float32", "int8", "uint64"])
def test_any_operand(shape: tuple[int, ...], dtype: str) -> None:
    """Guards scalars, empty tensors and every axis."""
    executable = built(f"x: R.Tensor({shape}, {dtype!r})", "out = R.nonzero(x)")
    assert is_native(executable)
    compare(executable, places, np.asarray(RNG.integers(0, 2, shape)).astype(dtype))


def test_numbers_that_are_not_zero() -> None:
    """Guards NaN, which is not zero, minus zero, which is, and subnormal numbers, which are not."""
    x = np.array([0.0, -0.0, np.nan, 1e-45, -1, np.inf], "float32")
    compare(built('x: R.Tensor((6,), "float32")', "out = R.nonzero(x)"), places, x)


ROWS = (
    "at = R.nonzero(keep)",
    "known = R.match_cast(at, R.Tensor((a, n), 'int64'))",
    "which = R.squeeze(known, axis=[0])",
    "rows = R.take(x, which, axis=0)",
)


def test_what_follows_is_part_of_the_function() -> None:
    """Guards kernels of counted sizes: fused ones, a product, a sum down the counted axis, and results in the arena."""
    executable = built(
        'x: R.Tensor((50, 8), "float32"), keep: R.Tensor((50,), "bool"), w: R.Tensor((8, 4), "float32")',
        "a = T.int64()",
        "n = T.int64()",
        *ROWS,
        "y = R.nn.relu(R.matmul(rows, w))",
        "out = (rows, R.sum(R.add(y, y), axis=[0]), R.nn.relu(R.add(rows, rows)))",
    )
    assert is_native(executable)
    x, w = (RNG.integers(-4, 5, s).astype("float32") for s in ((50, 8), (8, 4)))

    def wanted(x: Any, keep: Any, w: Any) -> Any:
        rows = x[keep]
        return rows, (2 * np.maximum(rows @ w, 0)).sum(0), np.maximum(2 * rows, 0)

    for share in (0.5, 0, 1):
        compare(executable, wanted, x, mask(50, share=share), w)


def test_counts_of_counted() -> None:
    """Guards a count that is limited by another one, and open sizes."""
    executable = built(
        'x: R.Tensor(("m",), "float32")',
        "n = T.int64()",
        "a = T.int64()",
        "at = R.nonzero(R.greater(x, R.const(0.0, 'float32')))",
        "known = R.match_cast(at, R.Tensor((a, n), 'int64'))",
        "some = R.take(x, R.squeeze(known, axis=[0]), axis=0)",
        "again = R.nonzero(R.less(some, R.const(3.0, 'float32')))",
        "out = (some, again)",
    )
    assert is_native(executable)
    for size in (40, 0, 7, 300):
        x = RNG.integers(-5, 9, size).astype("float32")
        compare(executable, lambda x: (x[x > 0], places(x[x > 0] < 3)), x)


def test_views() -> None:
    """Guards results that are views of counted ones: one under a shape of its own, or two of the same memory."""
    params, lines = 'x: R.Tensor((30,), "bool")', ("a = T.int64()", "n = T.int64()", "at = R.nonzero(x)")
    cast = "known = R.match_cast(at, R.Tensor((a, n), 'int64'))"
    one = built(params, *lines, cast, "out = R.squeeze(known, axis=[0])")
    assert is_native(one)
    compare(one, lambda x: np.flatnonzero(x), mask(30))
    two = built(params, *lines, cast, "out = (known, R.squeeze(known, axis=[0]))")
    compare(two, lambda x: (places(x), np.flatnonzero(x)), mask(30))


def test_what_cannot_be_planned() -> None:
    """Guards sizes that might be far beyond what is needed, or negative: the machine takes them step by step."""
    pairs = (
        "a = T.int64()",
        "n = T.int64()",
        "known = R.match_cast(R.nonzero(x), R.Tensor((a, n), 'int64'))",
        "flat = R.squeeze(known, axis=[0])",
        "out = R.subtract(R.expand_dims(flat, 0), R.expand_dims(flat, 1))",
    )
    small, large = (built(f'x: R.Tensor(({size},), "bool")', *pairs) for size in (100, 100_000))
    assert is_native(small)
    assert not is_native(large)
    open_ = built('x: R.Tensor(("m",), "bool")', *pairs)
    assert not is_native(open_)

    def wanted(x: Any) -> Any:
        at = np.flatnonzero(x)
        return at[None, :] - at[:, None]

    compare(small, wanted, mask(100))
    compare(open_, wanted, mask(60))
    compare(large, wanted, mask(100_000, share=1e-4))


def test_casts_of_counted_sizes_are_checked() -> None:
    """Guards a cast that demands a number of places."""
    lines = (
        "a = T.int64()",
        "known = R.match_cast(R.nonzero(x), R.Tensor((a, 3), 'int64'))",
        "out = R.add(known, known)",
    )
    executable = built('x: R.Tensor((9,), "bool")', *lines)
    x = np.arange(9) % 4 == 1
    run = VirtualMachine(executable)["main"]
    with pytest.raises(DiagnosticError, match="is 2 = n, expected 3"):
        run(x)
    x[0] = True
    np.testing.assert_array_equal(run(x).data, 2 * places(x))


def test_unused_memory_is_given_back() -> None:
    """Guards that a few places of a large tensor do not keep its memory."""
    executable = built('x: R.Tensor((100000,), "bool")', "out = R.nonzero(x)")
    x = np.zeros(100_000, bool)
    x[[5, 99_999]] = True
    found = VirtualMachine(executable)["main"](x).data
    np.testing.assert_array_equal(found, [[5, 99_999]])
    assert found.base is None


def test_kernel_by_kernel_saved_and_in_threads(tmp_path: Path) -> None:
    """Guards the plan as a file, profiles, which run step by step, and calls at the same time."""
    lines = ("a = T.int64()", "n = T.int64()", *ROWS, "out = R.add(rows, rows)")
    executable = built('x: R.Tensor((50, 8), "float32"), keep: R.Tensor((50,), "bool")', *lines)
    executable.save(tmp_path / "m.baton")
    machine = VirtualMachine(load_executable(tmp_path / "m.baton"))
    x, keep = RNG.random((50, 8), "float32"), mask(50)
    np.testing.assert_array_equal(machine["main"](x, keep).data, x[keep] * 2)
    assert len(machine.profile("main", x, keep).records) >= 3
    problems: list[int] = []

    def work(share: float) -> None:
        for _ in range(30):
            keep = np.random.default_rng(int(share * 100)).random(50) < share
            if not np.array_equal(machine["main"](x, keep).data, x[keep] * 2):
                problems.append(1)

    threads = [threading.Thread(target=work, args=(share,)) for share in (0.1, 0.5, 0.9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_inside_other_control() -> None:
    """Guards a function that is not native as a whole: a branch on what was counted."""
    text = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((40,), "float32"), flag: R.Tensor((), "bool")):
        n, a = T.int64(), T.int64()
        at = R.nonzero(x)
        known = R.match_cast(at, R.Tensor((a, n), "int64"))
        if flag:
            out = R.add(known, known)
        else:
            out = R.multiply(known, known)
        return out
"""
    machine = VirtualMachine(relax_build(from_source(text)))
    x = RNG.integers(0, 2, 40).astype("float32")
    np.testing.assert_array_equal(machine["main"](x, np.array(True)).data, places(x) * 2)
    np.testing.assert_array_equal(machine["main"](x, np.array(False)).data, places(x) ** 2)
