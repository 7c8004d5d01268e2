"""Arguments that lie in memory in odd ways: misaligned, strided, reversed, empty, read-only, aliased, huge.

Every build is run plain and with bounds checks compiled into every access; answers are right, or a diagnostic says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.ir.module import IRModule
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import array
from tests.codegen import native_run
from tests.relax.build import load, module
from tests.relax.machines import everywhere

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32"), w: R.Tensor(("m", 5), "float32")):
    with R.dataflow():
        a = R.nn.relu(R.subtract(R.add(x, y), R.const(0.5, "float32")))
        b = R.matmul(a, w)
        c = R.permute_dims(b)
        d = R.sum(R.multiply(x, y), axis=[1])
        e = R.concat((x, y), axis=1)
        f = R.nn.softmax(b, axis=-1)
        R.output(a, b, c, d, e, f)
    return (a, b, c, d, e, f)
"""


def expected(x: Any, y: Any, w: Any) -> list[Any]:
    a = np.maximum(x + y - np.float32(0.5), 0)
    b = a @ w
    shifted = np.exp(b - b.max(axis=-1, keepdims=True)) if b.size else b
    return [a, b, b.T, (x * y).sum(axis=1), np.concatenate([x, y], axis=1), shifted / shifted.sum(-1, keepdims=True)]


@cache
def machine(mode: str, checked: bool) -> Any:
    executable = relax_build(module(PROGRAM), exec_mode=mode, options=CompileOptions(checked=checked))
    return VirtualMachine(executable)["main"]


def misaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape) if x.nbytes else x
    view[...] = x
    return view


def strided(x: np.ndarray) -> np.ndarray:
    big = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    big[::2, ::3] = x
    return big[::2, ::3]


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


ODD: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": lambda x: x,
    "misaligned": misaligned,
    "strided": strided,
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "by columns": np.asfortranarray,
    "read only": read_only,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape) if x.shape[0] else x,
}
MODES = pytest.mark.parametrize("mode", ["bytecode", "compiled"])
CHECKED = pytest.mark.parametrize("checked", [False, True])


def agree(mode: str, checked: bool, x: Any, y: Any, w: Any) -> None:
    wanted = expected(x.copy(), y.copy(), w.copy())
    with np.errstate(all="ignore"):
        found = machine(mode, checked)(array(x), array(y), array(w))
    for a, b in zip(found, wanted, strict=True):
        assert a.numpy().shape == b.shape
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)


@MODES
@CHECKED
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(("n", "m"), [(3, 7), (17, 33), (1, 1), (0, 4), (4, 0)])
def test_odd_arguments(mode: str, checked: bool, kind: str, n: int, m: int) -> None:
    """Guards strides, alignment and empty tensors."""
    rng = np.random.default_rng(n)
    x, y, w = (rng.random(s, np.float32) for s in ((n, m), (n, m), (m, 5)))
    agree(mode, checked, ODD[kind](x), y, ODD[kind](w))


@MODES
@CHECKED
def test_aliased_arguments(mode: str, checked: bool) -> None:
    """Guards kernels that could write an input: one tensor given twice, and views that overlap."""
    rng = np.random.default_rng(0)
    base, w = rng.random((8, 6), np.float32), rng.random((6, 5), np.float32)
    kept = base.copy()
    agree(mode, checked, base, base, w)
    agree(mode, checked, base[1:5], base[2:6], w)
    one = array(base)
    for a, b in zip(machine(mode, checked)(one, one, array(w)), expected(base, base, w), strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(base, kept)


WRITES_OUTSIDE = """
@T.prim_func(private=True)
def spread(x: T.Buffer((T.int64(4),), "float32"), i: T.Buffer((T.int64(4),), "int64"),
           y: T.Buffer((T.int64(4),), "float32")):
    for k in range(4):
        with T.block("s"):
            v = T.axis.spatial(4, k)
            T.reads(x[v], i[v])
            T.writes(y[0:4])
            y[i[v]] = x[v]

@R.function
def main(x: R.Tensor((4,), "float32"), i: R.Tensor((4,), "int64")) -> R.Tensor((4,), "float32"):
    cls = Module
    y = R.call_tir(cls.spread, (x, i), R.Tensor((4,), "float32"))
    return y
"""


@MODES
@pytest.mark.parametrize("index", [4, -1, 2**31, -(2**40), 2**62])
@pytest.mark.parametrize("checked", [False, True])
def test_indices_from_data_that_are_outside(mode: str, index: int, checked: bool) -> None:
    """Guards the checks themselves, for indices of every size, in every build; the machine works on afterwards."""
    executable = relax_build(module(WRITES_OUTSIDE), exec_mode=mode, options=CompileOptions(checked=checked))
    main = VirtualMachine(executable)["main"]
    x, good = np.arange(4, dtype=np.float32), np.arange(4)[::-1].copy()
    assert main(x, good).numpy().tolist() == [3, 2, 1, 0]
    with pytest.raises(DiagnosticError, match="out of range for axis 0 of the result, which has 4 elements"):
        main(x, np.array([0, 1, index, 2]))
    assert main(x, good).numpy().tolist() == [3, 2, 1, 0]


BY_NUMBERS = {
    "an index": "for i in range(8):\n        b[i] = a[i + k]",
    "a guarded index": "for i in range(8):\n        if i + k < 8:\n            b[i] = a[i + k]",
    "a vector of indices": "for i in T.vectorized(8):\n        b[i] = a[i + k]",
    "how often a loop runs": "for i in range(k):\n        b[i] = a[i]",
    "a block's axis": """for i in range(k):
        with T.block("s"):
            v = T.axis.spatial(k, i)
            b[v] = a[v]""",
}
OUTSIDE_BY_NUMBERS = {"a guarded index": (-1, -(2**31)), "an index": (1, -1, 2**31 - 1), "a vector of indices": (3, -9)}


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("what", BY_NUMBERS)
def test_numbers_that_lead_outside(what: str, checked: bool) -> None:
    """Guards what a caller gives beside tensors, in every build: kernels read and wrote foreign memory by it."""
    source = f"""
@T.prim_func
def f(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32"), k: T.int32):
    {BY_NUMBERS[what]}
"""
    function = load(source)
    library = native_run.build(function, checked=checked)
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    assert native_run.call(library, function, a, b, 0) is None
    for number in OUTSIDE_BY_NUMBERS.get(what, (9, 2**31 - 1)):
        fault = native_run.call(library, function, a, b, number)
        assert fault is not None
        assert "is out of range for axis 0" in fault
    if "often" in what or "block" in what:
        assert native_run.call(library, function, a, b, 8) is None
        np.testing.assert_array_equal(b, a)


TOO_WIDE = """
@R.function
def main(x: R.Tensor((3, 4, 5, "w"), "float32")):
    with R.dataflow():
        y = R.nn.max_pool2d(x, pool_size=[1, 5], strides=[1, 1])
        z = R.nn.relu(R.mean(y, axis=[3]))
        R.output(z)
    return z
"""


@MODES
@CHECKED
def test_windows_larger_than_an_open_dim(mode: str, checked: bool) -> None:
    """Guards tensors between kernels of which only inputs show that their size is negative: kernels wrote over others'
    memory.
    """
    main = VirtualMachine(relax_build(module(TOO_WIDE), exec_mode=mode, options=CompileOptions(checked=checked)))[
        "main"
    ]
    for width in (1, 2, 3):
        with pytest.raises(DiagnosticError, match=r"negative size, \(3, 4, 5, -|cannot have shape \(3, 4, 5, -"):
            main(np.ones((3, 4, 5, width), np.float32))
    np.testing.assert_array_equal(main(np.ones((3, 4, 5, 6), np.float32)).numpy(), np.ones((3, 4, 5), np.float32))


@pytest.mark.parametrize("executor", ["debug", "vm"])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "conv2d"])
def test_windows_that_fit_nowhere_in_relay(name: str, executor: str) -> None:
    """Guards sizes that no type knows: Relay's interpreter gave empty results, too."""
    x = relay.var("x", shape=(1, 1, relay.Any(), relay.Any()), dtype="float32")
    window = relay.const(np.ones((1, 1, 3, 3), np.float32)) if name == "conv2d" else (3, 3)
    body = getattr(relay.nn, name)(x, window, strides=(2, 2))
    main = relay.create_executor(executor, mod=IRModule.from_expr(relay.Function([x], body)), target="llvm").evaluate()
    assert main(np.ones((1, 1, 5, 3), np.float32)).shape == (1, 1, 2, 1)
    for size in (1, 2):
        with pytest.raises(DiagnosticError, match="larger than the padded data"):
            main(np.ones((1, 1, 5, size), np.float32))


CUT_OFF = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), s: R.Shape(["b"])):
    n, b = T.int64(), T.int64()
    with R.dataflow():
        y = R.strided_slice(x, axes=[0], begin=[0], end=[b])
        z = R.nn.pad(R.exp(y), [2, 2, 0, 0])
        R.output(z)
    return z
"""


@MODES
def test_slices_of_negative_size(mode: str) -> None:
    """Guards tensors that are written into the kernel that reads them: nothing was left of their size, and the border
    of a slice of fewer than no rows was a result.
    """
    main = VirtualMachine(relax_build(module(CUT_OFF), exec_mode=mode))["main"]
    x = array(np.zeros((5, 3), np.float32))
    np.testing.assert_array_equal(main(x, ShapeTuple((2,))).numpy()[:, 0], [0, 0, 1, 1, 0, 0])
    for end in (-1, -2, -9):
        with pytest.raises(DiagnosticError, match=r"negative size|cannot have shape"):
            main(x, ShapeTuple((end,)))


BESIDE = """
@R.function
def main(x: R.Tensor(({}, 3), "float32"), s: R.Shape(["b", "e"])):
    n, b, e = T.int64(), T.int64(), T.int64()
    with R.dataflow():
        y = R.strided_slice(R.nn.pad(x, [2, 2, 0, 0]), axes=[0], begin=[b], end=[e], assume_inbound=True)
        z = {}
        R.output(z)
    return z
"""


@MODES
@pytest.mark.parametrize(("rows", "reader"), [('"n"', "R.exp(y)"), ("5", "R.sum(R.exp(y))")])
def test_slices_beside_a_tensor_that_is_inlined(mode: str, rows: str, reader: str) -> None:
    """Guards indices into tensors that are written into their readers: they were held against what those read, so rows
    beside a border were rows of the border. Where only numbers are left of the sizes, too.
    """
    source = module(BESIDE.replace("{}", rows, 1).replace("{}", reader, 1))
    main, interpreted = VirtualMachine(relax_build(source, exec_mode=mode))["main"], Interpreter(source)["main"]
    x = array(np.arange(15, dtype=np.float32).reshape(5, 3) / 8)
    for inside in ((0, 3), (8, 9), (9, 9), (0, 9)):
        wanted = interpreted(x, ShapeTuple(inside)).numpy()
        np.testing.assert_allclose(main(x, ShapeTuple(inside)).numpy(), wanted, rtol=1e-5)
    for outside in ((-1, 3), (2, 10), (10, 11), (5, 4)):
        for program in (main, interpreted):
            with pytest.raises(DiagnosticError):
                program(x, ShapeTuple(outside))


BY_SIZES = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), s: R.Shape(["b"])):
    n, b = T.int64(), T.int64()
    with R.dataflow():
        y = R.strided_slice(x, axes=[0], begin=[b], end=[n - 2])
        z = R.strided_slice(x, axes=[0], begin=[-2], end=[b + 1])
        R.output(y, z)
    return (y, z)
"""


def test_bounds_made_of_sizes_count_from_the_front() -> None:
    """Guards the interpreter: to NumPy a bound of -1 is the last row, whatever it is made of."""
    for rows, begin in ((1, 0), (1, 1), (0, 0), (5, 1), (2, 0)):
        x = array(np.arange(rows * 3, dtype=np.float32).reshape(rows, 3))
        y, z = everywhere(module(BY_SIZES), x, ShapeTuple((begin,)))
        assert len(y.numpy()) == max(0, rows - 2 - begin)
        assert len(z.numpy()) == max(0, min(begin + 1, rows) - max(rows - 2, 0))


SLIGHTLY_TOO_WIDE = """
@R.function
def main(x: R.Tensor(("n", 2, 5, "w"), "float32"), k: R.Tensor((4, 2, 3, "v"), "float32")):
    with R.dataflow():
        a = R.nn.{}
        b = R.sum(R.exp(a), axis=[1, 2, 3])
        R.output(b)
    return b
"""


@MODES
@pytest.mark.parametrize(
    "window",
    [
        "max_pool2d(R.nn.relu(x), pool_size=[2, 5], strides=[2, 3])",
        "avg_pool2d(x, pool_size=[2, 5], strides=[1, 1])",
        "avg_pool2d(x, pool_size=[2, 6], strides=[2, 2], padding=[0, 0, 0, 1], ceil_mode=True)",
        "conv2d(x, k, strides=[2, 2])",
        "conv2d(R.nn.relu(x), R.zeros((4, 2, 3, 5), 'float32'), strides=[1, 3])",
    ],
)
def test_windows_that_fit_nowhere(mode: str, window: str) -> None:
    """Guards windows so little larger than the data that their number, rounded down, is 0 and not negative: compiled
    programs made sums of nothing, the interpreter refused.
    """
    source = module(SLIGHTLY_TOO_WIDE.replace("{}", window))
    k = array(np.ones((4, 2, 3, 5), np.float32))
    main, interpreted = VirtualMachine(relax_build(source, exec_mode=mode))["main"], Interpreter(source)["main"]
    for program in (main, interpreted):
        for width in (3, 2):
            with pytest.raises(DiagnosticError, match=r"larger than the padded data|negative size|cannot have shape"):
                program(array(np.ones((3, 2, 5, width), np.float32)), k)
    for batch in (0, 3):
        x = array(np.ones((batch, 2, 5, 7), np.float32))
        np.testing.assert_allclose(main(x, k).numpy(), interpreted(x, k).numpy(), rtol=1e-5)


VIEW = """
@R.function
def main(x: R.Tensor((4,), "float32"), s: R.Shape(["n", "m"])):
    n, m = T.int64(), T.int64()
    y = R.memory.view(x, R.shape([n, m]), R.dtype("float32"), R.prim_value(4))
    return R.add(y, R.const(1, "float32"))
"""


@MODES
@pytest.mark.parametrize("sizes", [(-1, 1), (-3, 1), (-1, -1), (-1, 0)])
def test_views_of_negative_size(mode: str, sizes: tuple[int, int]) -> None:
    """Guards numbers that NumPy takes for "what is left"."""
    main = VirtualMachine(relax_build(module(VIEW), exec_mode=mode))["main"]
    with pytest.raises(DiagnosticError, match="a tensor cannot have shape"):
        main(np.zeros(4, np.float32), ShapeTuple(sizes))
    np.testing.assert_array_equal(main(np.zeros(4, np.float32), ShapeTuple((3, 1))).numpy(), [[1], [1], [1]])


WRITES_HALF = """
@T.prim_func(private=True)
def half(x: T.Buffer((T.int64(8),), "float32"), y: T.Buffer((T.int64(8),), "float32")):
    T.func_attr({"tir.is_scheduled": True})
    held = T.alloc_buffer((T.int64(8),), "float32")
    for k in range(4):
        y[k] = x[k]
        held[k] = x[k]
    for k in range(4):
        y[k] = y[k] + held[k + T.read]

@R.function
def main(x: R.Tensor((8,), "float32")):
    cls = Module
    y = R.call_tir(cls.half, (x,), R.Tensor((8,), "float32"))
    z = R.call_tir(cls.half, (y,), R.Tensor((8,), "float32"))
    return (y, z)
"""


@pytest.mark.parametrize(("read", "wanted"), [("0", [2, 2, 2, 2]), ("2", [2, 2, None, None])])
def test_checked_builds_show_what_nobody_wrote(read: str, wanted: list[float | None]) -> None:
    """Guards the NaN in results and workspaces: halves that no kernel writes, and reads of them."""
    source = WRITES_HALF.replace("T.read", read)
    main = VirtualMachine(relax_build(module(source), options=CompileOptions(checked=True)))["main"]
    y, z = (t.numpy() for t in main(np.ones(8, "float32")))
    assert [None if np.isnan(v) else v for v in y] == [*wanted, None, None, None, None]
    assert np.isnan(z[4:]).all()


HUGE = """
@R.function
def main(x: R.Tensor(("n", 4), "int8")):
    with R.dataflow():
        a = R.add(x, R.const(1, "int8"))
        b = R.strided_slice(a, axes=[0], begin=[500_000_000], end=[500_000_003])
        c = R.max(a)
        R.output(b, c)
    return (b, c)
"""


@pytest.mark.fuzz
@CHECKED
def test_more_than_two_gigabytes(checked: bool) -> None:
    """Guards index arithmetic beyond 32 bits: 2.2 thousand million elements, the last one the largest."""
    x = np.zeros((550_000_000, 4), np.int8)
    x[-1, -1], x[500_000_001] = 100, 7
    executable = relax_build(module(HUGE), options=CompileOptions(checked=checked))
    b, c = VirtualMachine(executable)["main"](array(x))
    assert b.numpy().tolist() == [[1] * 4, [8] * 4, [1] * 4]
    assert c.numpy() == 101
