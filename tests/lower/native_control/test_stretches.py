"""Loops whose iterations change sizes: a kernel runs many of them, whatever grows, shrinks or is read."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.lower.native_control import stretches
from baton._src.lower.native_control.native_control_flow import native_control_flow
from baton._src.passes.pipelines import default
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.passes import Sequential
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import array
from tests.at_length import seeds_at_length
from tests.lower.native_control.test_native_control_flow import _leaves, module

CACHES = """
def main(
    i: R.Tensor((), "int32"), x: R.Tensor((1, 4), "float32"), keys: R.Tensor((2, "n", 2), "float32"),
    rows: R.Tensor(("k", 4), "float32"),
) -> R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor(dtype="float32", ndim=3), R.Tensor(dtype="float32", ndim=2)):
    if R.less(i, R.const(1, "int32")):
        r = (x, keys, rows)
    else:
        longer = R.concat((keys, R.reshape(x, R.shape([2, 1, 2]))), axis=1)
        scores = R.nn.softmax(R.matmul(longer, R.reshape(x, R.shape([2, 2, 1]))), axis=1)
        y = R.tanh(R.add(R.reshape(R.sum(R.multiply(longer, scores), axis=[1]), R.shape([1, 4])), x))
        r = M.main(R.subtract(i, R.const(1, "int32")), y, longer, R.concat((rows, y), axis=0))
    return r
"""


def given(rounds: int, length: int = 2) -> list[Any]:
    x, keys = np.linspace(-1, 1, 4, dtype="float32")[None], np.ones((2, length, 2), "float32")
    return [array(a) for a in (np.int32(rounds), x, keys, np.zeros((0, 4), "float32"))]


def compared(program: Any, values: list[Any], executable: Any = None) -> None:
    found = VirtualMachine(executable or relax_build(program))["main"](*values)
    for a, b in zip(_leaves(found), _leaves(Interpreter(program, {})["main"](*values)), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def kernels(program: Any) -> set[str]:
    lowered = native_control_flow(Sequential(default())(program), Analyzer())
    return {v.name_hint for v in lowered.functions if v.name_hint.endswith("_steps")}


@pytest.mark.parametrize("least", [1, 64, stretches.LEAST])
def test_a_loop_with_caches(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards what one call of the kernel hands to the next: also where each has memory for one iteration only. Each
    iteration took the machine's time."""
    monkeypatch.setattr(stretches, "LEAST", least)
    program = module(CACHES)
    assert kernels(program) == {"main_steps"}
    executable = relax_build(program)
    for rounds, length in ((0, 2), (1, 0), (2, 2), (3, 0), (40, 1), (7, 30)):
        compared(program, given(rounds, length), executable)


def test_memory_is_checked_and_not_kept() -> None:
    """Guards the accesses of a checked build, and results that are views of larger memory."""
    program = module(CACHES)
    executable = relax_build(program, options=CompileOptions(checked=True))
    compared(program, given(50), executable)
    main = VirtualMachine(executable)["main"]
    kept = main(*given(3))
    wanted = [leaf.copy() for leaf in _leaves(kept)]
    main(*given(9))
    for a, b in zip(_leaves(kept), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def test_calls_from_several_threads() -> None:
    program = module(CACHES)
    main = VirtualMachine(relax_build(program))["main"]
    wanted = {rounds: _leaves(main(*given(rounds))) for rounds in (3, 100, 500)}
    wrong: list[int] = []

    def call(rounds: int) -> None:
        for _ in range(5):
            found = _leaves(main(*given(rounds)))
            if not all(np.array_equal(a, b) for a, b in zip(found, wanted[rounds], strict=True)):
                wrong.append(rounds)

    threads = [threading.Thread(target=call, args=(rounds,)) for rounds in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


SHRINKING = """
def main(i: R.Tensor((), "int32"), x: R.Tensor((1, 1, "n"), "float32")) -> R.Tensor(dtype="float32", ndim=3):
    if R.less(i, R.const(1, "int32")):
        r = x
    else:
        r = M.main(R.subtract(i, R.const(1, "int32")), R.nn.max_pool1d(x, pool_size=3))
    return r
"""


def test_sizes_that_become_negative() -> None:
    """Guards that the iteration which would compute them is refused, as the machine refuses it."""
    program = module(SHRINKING)
    assert kernels(program)
    executable = relax_build(program)
    x = np.arange(9, dtype="float32")[None, None]
    compared(program, [array(np.int32(4)), array(x)], executable)
    with pytest.raises(DiagnosticError, match="of negative size"):
        VirtualMachine(executable)["main"](array(np.int32(5)), array(x))


def test_a_cast_that_fails_in_some_iteration() -> None:
    text = CACHES.replace(
        "scores = ", 'same = R.match_cast(rows, R.Tensor(("n - 2", 4), "float32"))\n        scores = '
    )
    program = module(text)
    assert kernels(program)
    main = VirtualMachine(relax_build(program))["main"]
    compared(program, given(5))
    for rounds, fails in ((1, True), (0, False)):
        values = given(rounds, 5)
        if fails:
            with pytest.raises(DiagnosticError, match=r"match_cast to same: dimension 0 is 0 = k, expected"):
                main(*values)
        else:
            main(*values)


SHAPED = """
def main(
    i: R.Tensor((), "int32"), s: R.Shape(["n", "m"]), x: R.Tensor((2, "n"), "float32"), y: R.Tensor(("k",), "float32")
) -> R.Tuple(R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=1), R.Shape(ndim=2)):
    n = T.int64()
    m = T.int64()
    k = T.int64()
    if R.less(i, R.const(1, "int32")):
        r = (x, y, s)
    else:
        more = R.broadcast_to(R.sum(y), R.shape([2, m]))
        less = R.subtract(i, R.const(1, "int32"))
        r = M.main(less, R.shape([n + m, m + 1]), R.concat((x, more), axis=1), R.add(y, y))
    return r
"""


def test_sizes_that_only_a_shape_tells() -> None:
    program = module(SHAPED)
    assert kernels(program)
    values = [array(np.int32(5)), ShapeTuple((3, 0)), array(np.ones((2, 3), "f4")), array(np.ones(4, "f4"))]
    found = VirtualMachine(relax_build(program))["main"](*values)
    wanted = Interpreter(program, {})["main"](*values)
    assert tuple(found[2]) == tuple(wanted[2]) == (13, 5)
    for a, b in zip(found[:2], wanted[:2], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), strict=True)


def test_faults_inside() -> None:
    """Guards that a kernel's fault in the second iteration ends the loop."""
    place = "R.subtract(R.const(6, 'int32'), i)"
    index = f"R.reshape(R.astype(R.multiply({place}, {place}), 'int64'), R.shape([1]))"
    taken = f"row = R.take(rows, {index}, axis=0, mode='fast')\n        longer = "
    program = module(CACHES.replace("longer = ", taken).replace("y), axis=0)", "R.add(y, row)), axis=0)"))
    assert kernels(program)
    main = VirtualMachine(relax_build(program))["main"]
    values = given(5)
    values[3] = array(np.zeros((2, 4), "float32"))
    for _ in range(3):
        with pytest.raises(DiagnosticError, match="index"):
            main(*values)
    values[0] = array(np.int32(0))
    assert main(*values)[2].shape == (2, 4)


NESTED = (
    CACHES.replace("def main", "def inner").replace("M.main", "M.inner")
    + """
def main(
    i: R.Tensor((), "int32"), x: R.Tensor((1, 4), "float32"), keys: R.Tensor((2, "n", 2), "float32"),
    rows: R.Tensor(("k", 4), "float32"),
) -> R.Tuple(R.Tensor((1, 4), "float32"), R.Tensor(dtype="float32", ndim=3)):
    n = T.int64()
    if R.less(i, R.const(1, "int32")):
        r = (x, keys)
    else:
        found = M.inner(i, x, keys, rows)
        m = T.int64()
        longer = R.match_cast(found[1], R.Tensor((2, m, 2), "float32"))
        r = M.main(R.subtract(i, R.const(1, "int32")), found[0], longer, rows)
    return r
"""
)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_loops_in_loops(rounds: int) -> None:
    """The inner one is called by the machine, as its result has a size that nobody knows before."""
    inner, main = NESTED.split("\ndef main")
    program = module(inner, "\ndef main" + main)
    assert kernels(program) == {"inner_steps"}
    compared(program, given(rounds))


def test_a_loop_inside() -> None:
    """Guards kernels of other functions, whose sizes are those of the iteration."""
    inner = """
def power(j: R.Tensor((), "int32"), y: R.Tensor((2, "m", 2), "float32")) -> R.Tensor((2, "m", 2), "float32"):
    if R.less(j, R.const(1, "int32")):
        r = y
    else:
        r = M.power(R.subtract(j, R.const(1, "int32")), R.tanh(R.add(y, y)))
    return r
"""
    program = module(inner, CACHES.replace("(longer, R.reshape", "(M.power(R.const(3, 'int32'), longer), R.reshape"))
    assert "main_steps" in kernels(program)
    compared(program, given(12))


# ------------------------------------------------------------------------------------------ random loops


def random_loop(draw: random.Random) -> tuple[str, list[Any]]:
    """A loop over a vector and up to three tensors, which grow or shrink along some axis in one of two ways; and
    arguments for it."""
    ranks = [draw.randint(1, 3) for _ in range(draw.randint(1, 3))]
    axes = [draw.randrange(rank) for rank in ranks]
    shapes = [[f"'n{k}'" if d == axes[k] else str(draw.randint(1, 3)) for d in range(r)] for k, r in enumerate(ranks)]

    def changed(k: int, indent: str) -> list[str]:
        name, axis, kind = f"c{k}", axes[k], draw.randrange(6)
        part = ", ".join(str(draw.randint(1, 3)) if d == axis else s for d, s in enumerate(shapes[k]))
        new = f"R.broadcast_to(R.reshape(R.sum(y), R.shape([{', '.join(['1'] * ranks[k])}])), R.shape([{part}]))"
        value = [
            f"R.concat(({name}, {new}), axis={axis})",
            f"R.concat(({new}, {name}), axis={axis})",
            f"R.strided_slice({name}, axes=[{axis}], begin=[1], end=[1000])",
            f"R.bitwise_and(R.concat(({name}, {new}), axis={axis}), R.const(7, 'int32'))",
            f"R.concat((R.strided_slice({name}, axes=[{axis}], begin=[1], end=[1000]), {new}), axis={axis})",
            name,
        ][kind]
        return [f"{indent}d{k} = {value}"]

    def arm(indent: str) -> list[str]:
        lines = [line for k in range(len(ranks)) for line in changed(k, indent)]
        args = ", ".join(f"d{k}" for k in range(len(ranks)))
        return [*lines, f"{indent}r = M.main(R.subtract(i, R.const(1, 'int32')), y, {args})"]

    tensors = [f"R.Tensor(({', '.join(s)},), 'int32')" for s in shapes]
    any_size = ", ".join(f"R.Tensor(dtype='int32', ndim={r})" for r in ranks)
    head = ", ".join(["i: R.Tensor((), 'int32')", "x: R.Tensor((3,), 'int32')"])
    seen = [f"R.sum(c{k})" for k in range(len(ranks)) if draw.random() < 0.7] or ["R.sum(x)"]
    total = seen[0] if len(seen) == 1 else f"R.add({', '.join(seen[:2])})"
    last = ["x", "R.add(x, x)"][draw.randrange(2)]
    lines = [
        f"def main({head}, {', '.join(f'c{k}: {t}' for k, t in enumerate(tensors))}) -> "
        f"R.Tuple(R.Tensor((3,), 'int32'), {any_size}):",
        "    if R.less(i, R.const(1, 'int32')):",
        f"        r = ({last}, {', '.join(f'c{k}' for k in range(len(ranks)))})",
        "    else:",
        f"        y = R.bitwise_and(R.subtract(R.multiply(x, R.const(3, 'int32')), {total}), R.const(15, 'int32'))",
    ]
    if draw.random() < 0.5:
        lines += ["        if R.less(R.sum(y), R.const(22, 'int32')):", *arm(" " * 12)]
        lines += ["        else:", *arm(" " * 12)]
    else:
        lines += arm(" " * 8)
    sizes = [[draw.randint(0, 4) if d == axes[k] else int(s) for d, s in enumerate(sh)] for k, sh in enumerate(shapes)]
    rng = np.random.default_rng(draw.randrange(1 << 30))
    values = [np.int32(draw.choice([0, 1, 2, 5, 13])), *(rng.integers(0, 9, s, "int32") for s in [[3], *sizes])]
    return "\n".join([*lines, "    return r"]), [array(v) for v in values]


def check_random_loop(seed: int) -> None:
    text, values = random_loop(random.Random(seed))
    program = module(text)
    assert kernels(program)
    compared(program, values)


@pytest.mark.parametrize("seed", range(8))
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards states of all shapes that grow and shrink, in memory for a few iterations."""
    monkeypatch.setattr(stretches, "LEAST", 32)
    check_random_loop(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds_at_length(200))
def test_more_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "LEAST", 32)
    check_random_loop(seed)
