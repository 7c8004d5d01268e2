"""Indices just beyond either end of an axis: every operator that takes them ends with a diagnostic, in every build.

Guarded: that no kernel reads or writes memory that is not its own because of what is in a tensor of indices, that the
message says where it was, and that the reference interpreter refuses the same inputs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, relay
from baton._src.relax.interpreter import Interpreter
from baton._src.support.diagnostics import DiagnosticError
from baton.script import relax as R
from baton.script import tir as T
from baton.tir import Var

X = np.arange(20, dtype="float32").reshape(4, 5)
ONE = np.ones((1, 5), "float32")


def _at(*values: int, dtype: str = "int64", shape: tuple[int, ...] = (-1,)) -> Any:
    return np.array(values, dtype).reshape(shape)


OPERATORS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], int, bool]] = {
    "gather_elements": (lambda x, i: R.gather_elements(x, i, 0), lambda v: (X, _at(0, v, shape=(1, 2))), 4, True),
    "gather_elements of the last axis": (
        lambda x, i: R.gather_elements(x, i, -1),
        lambda v: (X, _at(*range(4), v, shape=(1, 5), dtype="int32")),
        5,
        True,
    ),
    "gather_nd": (R.gather_nd, lambda v: (X, _at(v, 0, shape=(1, 2))), 4, True),
    "gather_nd, second coordinate": (R.gather_nd, lambda v: (X, _at(0, v, shape=(1, 2))), 5, True),
    "scatter_elements": (
        lambda x, i, u: R.scatter_elements(x, i, u, axis=1),
        lambda v: (X, _at(v, shape=(1, 1)), ONE[:, :1]),
        5,
        True,
    ),
    "scatter_nd": (R.scatter_nd, lambda v: (X, _at(v, shape=(1, 1)), ONE), 4, True),
    "index_put": (lambda x, i, u: R.index_put(x, (i,), u), lambda v: (X, _at(v), ONE), 4, True),
    "index_tensor": (lambda x, i: R.index_tensor(x, (i,)), lambda v: (X, _at(0, v)), 4, True),
    "take of rows": (lambda x, i: R.take(x, i, axis=0, mode="fast"), lambda v: (X, _at(0, v)), 4, False),
    "take of columns": (lambda x, i: R.take(x, i, axis=1, mode="fast"), lambda v: (X, _at(0, v)), 5, False),
}
"""The operator, its operands for an index, the axis' extent, whether negative indices count from the end."""


def _module(build: Callable[..., Any], arrays: tuple[Any, ...], is_symbolic: bool) -> Any:
    builder = relax.BlockBuilder()
    shapes = [
        [Var(f"d{n}_{a}", "int64") for a in range(x.ndim)] if is_symbolic else x.shape for n, x in enumerate(arrays)
    ]
    params = [relax.Var(f"p{n}", R.Tensor(s, str(a.dtype))) for n, (s, a) in enumerate(zip(shapes, arrays))]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(build(*params))
        builder.emit_func_output(out)
    return builder.get()


def _machine(build: Callable[..., Any], arrays: tuple[Any, ...], is_symbolic: bool = False) -> Any:
    return relax.VirtualMachine(relax.build(_module(build, arrays, is_symbolic), "llvm"), baton.cpu())


def _given(arrays: tuple[Any, ...]) -> list[Any]:
    return [baton.nd.array(a) for a in arrays]


@pytest.mark.parametrize("is_symbolic", [False, True], ids=["numbers", "symbols"])
@pytest.mark.parametrize("name", OPERATORS)
def test_just_beyond_either_end(name: str, is_symbolic: bool) -> None:
    build, operands, extent, wraps = OPERATORS[name]
    main = _machine(build, operands(0), is_symbolic)["main"]
    main(*_given(operands(extent - 1)))
    if wraps:
        main(*_given(operands(-extent)))
    for outside in (extent, -extent - 1 if wraps else -1, 2**40 if operands(0)[1].dtype == np.int64 else 2**30):
        with pytest.raises(DiagnosticError, match=rf"index {outside} is out of range.* {extent} elements"):
            main(*_given(operands(outside)))
    main(*_given(operands(0)))


@pytest.mark.parametrize("name", OPERATORS)
def test_the_interpreter_refuses_them_too(name: str) -> None:
    build, operands, extent, wraps = OPERATORS[name]
    module = _module(build, operands(0), False)
    for outside in (extent, -extent - 1 if wraps else -1):
        with pytest.raises(DiagnosticError, match=r"out of bounds|indices from"):
            Interpreter(module).run("main", *_given(operands(outside)))


def test_the_message_names_operator_line_and_shapes() -> None:
    with pytest.raises(DiagnosticError, match=r"gather_nd\(float32 \(4, 5\), int64 \(1, 1\)\).*axis 0 of operand 0"):
        _machine(R.gather_nd, (X, _at(0, shape=(1, 1))))["main"](*_given((X, _at(4, shape=(1, 1)))))


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_modes_of_take_that_leave_no_index_outside_but_for_an_empty_axis(mode: str) -> None:
    main = _machine(lambda x, i: R.take(x, i, axis=0, mode=mode), (X, _at(0, 1)), True)["main"]
    found = main(*_given((X, _at(-1, 4)))).numpy()
    np.testing.assert_array_equal(found, np.take(X, [-1, 4], axis=0, mode=mode))
    with pytest.raises(DiagnosticError, match="which has 0 elements"):
        main(*_given((X[:0], _at(0, 1))))


@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
@pytest.mark.parametrize("is_symbolic", [False, True], ids=["numbers", "symbols"])
def test_nothing_is_taken_if_the_result_is_empty(mode: str, is_symbolic: bool) -> None:
    """Guards that all builds agree on indices that read nothing: compiled for numbers they were refused, and the
    interpreter's NumPy does not end when it wraps them."""
    for shape, indices in (((0, 0), _at(0, 1)), ((3, 0), _at(7)), ((0, 3), _at(dtype="int64"))):
        arrays = np.zeros(shape, "float32"), indices
        module = _module(lambda x, i: R.take(x, i, axis=0, mode=mode), arrays, is_symbolic)
        for machine in (relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu()), Interpreter(module)):
            assert machine["main"](*_given(arrays)).numpy().shape == (len(indices), shape[1])


@pytest.mark.parametrize("is_symbolic", [False, True], ids=["numbers", "symbols"])
def test_an_empty_axis_has_no_nearest_element(is_symbolic: bool) -> None:
    """Indices that are clipped to an axis are in range only if it has elements: a resized image of no rows has none."""
    empty = np.zeros((1, 1, 0, 4), "float32")
    found = "axis 2 of operand 0, which has 0 elements" if is_symbolic else r"\(1, 1, 0, 4\) has no pixels"
    with pytest.raises(DiagnosticError, match=found):
        _machine(lambda x: R.image.resize2d(x, size=(3, 3), method="nearest_neighbor"), (empty,), is_symbolic)["main"](
            *_given((empty,))
        )


MADE: dict[str, Callable[[Any], Any]] = {
    "broadcast": lambda x: R.broadcast_to(R.strided_slice(x, [0], [0], [1]), R.shape([4, 5])),
    "computed and broadcast": lambda x: R.exp(R.broadcast_to(R.strided_slice(x, [0], [0], [1]), R.shape([4, 5]))),
    "slice": lambda x: R.strided_slice(R.concat([x, x]), [0], [2], [6]),
    "slice of a slice": lambda x: R.strided_slice(R.strided_slice(R.tile(x, [4, 1]), [0], [1], [9]), [0], [2], [6]),
    "border": lambda x: R.nn.pad(R.strided_slice(x, [0], [1], [3]), [1, 1, 0, 0]),
    "repetition": lambda x: R.tile(R.strided_slice(x, [0], [0], [2]), [2, 1]),
    "turned": lambda x: R.flip(x, axis=0),
    "computed": lambda x: R.add(x, R.const(1, "float32")),
}
READ: dict[str, Callable[[Any, Any], Any]] = {
    "gather_elements": lambda x, i: R.gather_elements(x, R.broadcast_to(R.expand_dims(i, 1), R.shape([2, 5])), 0),
    "gather_nd": lambda x, i: R.gather_nd(x, R.expand_dims(i, 1)),
    "index_tensor": lambda x, i: R.index_tensor(x, (i,)),
    "take": lambda x, i: R.take(x, i, axis=0, mode="fast"),
}


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("made", MADE)
def test_indices_of_what_a_kernel_computes(made: str, read: str) -> None:
    """Guards tensors that are written into their readers: their axes were gone, and with them what indices are held
    against. Programs read elements that were cut off, or none at all.
    """
    operands = X, _at(0, 3)
    module = _module(lambda x, i: READ[read](MADE[made](x), i), operands, False)
    programs = [Interpreter(module)["main"], relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())["main"]]
    expected, found = (p(*_given(operands)).numpy() for p in programs)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for program in programs:
        for outside in (4, 7):
            with pytest.raises(DiagnosticError, match=r"out of bounds|out of range|indices from"):
                program(*_given((X, _at(0, outside))))


@pytest.mark.parametrize("lengths", [(1, 5), (4, -1), (2**40, 0)])
@pytest.mark.parametrize("is_symbolic", [False, True], ids=["numbers", "symbols"])
def test_sequences_longer_than_time(is_symbolic: bool, lengths: tuple[int, ...]) -> None:
    """Guards lengths that are none: they were taken for the nearest that is one."""
    x = relay.var("x", shape=(2, relay.Any() if is_symbolic else 4), dtype="float32")
    n = relay.var("n", shape=(2,), dtype="int64")
    module = baton.IRModule.from_expr(relay.Function([x, n], relay.reverse_sequence(x, n, 1, 0)))
    for executor in ("debug", "vm"):
        main = relay.create_executor(executor, mod=module, target="llvm").evaluate()
        found = main(X[:2, :4], np.array([3, 0])).numpy()
        np.testing.assert_array_equal(found, [[2, 1, 0, 3], [5, 6, 7, 8]])
        with pytest.raises(DiagnosticError, match=r"sequence of length|out of range"):
            main(X[:2, :4], np.array(lengths))


def test_wide_gathers_name_the_lane_that_is_outside() -> None:
    """Vectors of indices are tested at once, also where the last one is only part of a vector."""
    source, at = np.arange(1000, dtype="float32"), np.arange(1000)[::-1].copy()
    main = _machine(lambda x, i: R.gather_elements(x, i, 0), (source, at))["main"]
    np.testing.assert_array_equal(main(*_given((source, at))).numpy(), source[at])
    for place in (0, 5, 501, 998, 999):
        wrong = at.copy()
        wrong[place] = 1000 + place
        with pytest.raises(DiagnosticError, match=f"index {1000 + place} is out of range"):
            main(*_given((source, wrong)))


def test_nothing_is_written_beyond_the_tensor() -> None:
    @T.prim_func
    def put(at: T.Buffer((3,), "int64"), values: T.Buffer((3,), "float32"), out: T.Buffer((4,), "float32")) -> None:
        for i in range(3):
            with T.block("put"):
                v = T.axis.opaque(3, i)
                T.reads(at[v], values[v])
                T.writes(out[0:4])
                out[at[v]] = values[v]

    kernel = baton.build(put, target="llvm")
    around = np.zeros(12, "float32")
    middle = baton.nd.from_dlpack(around[4:8])
    kernel(_given((_at(0, 3, 1),))[0], baton.nd.array(np.ones(3, "float32")), middle)
    np.testing.assert_array_equal(around, [0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0])
    for outside in (4, -1):
        with pytest.raises(DiagnosticError, match=f"index {outside} is out of range for axis 0 of the result"):
            kernel(_given((_at(0, outside, 1),))[0], baton.nd.array(np.ones(3, "float32")), middle)
    np.testing.assert_array_equal(around[[0, 1, 2, 3, 8, 9, 10, 11]], np.zeros(8))


def test_an_index_that_is_not_used_is_not_judged() -> None:
    """Under a condition only the accesses that happen count."""

    @T.prim_func
    def pick(x: T.Buffer((4,), "float32"), at: T.Buffer((16,), "int64"), out: T.Buffer((16,), "float32")) -> None:
        for i in range(16):
            with T.block("pick"):
                v = T.axis.spatial(16, i)
                out[v] = T.if_then_else(at[v] >= 0, x[at[v]], T.float32(-1))

    kernel = baton.build(pick, target="llvm")
    x, at, out = np.arange(4, dtype="float32"), np.arange(16) % 5 - 1, baton.nd.empty((16,), "float32")
    kernel(*_given((x, at)), out)
    np.testing.assert_array_equal(out.numpy(), np.where(at >= 0, x[at], -1))
    with pytest.raises(DiagnosticError, match="index 4 is out of range"):
        kernel(*_given((x, at + 1)), out)


def test_relay_refuses_them_too() -> None:
    x, at = relay.var("x", shape=(4, 5)), relay.var("at", shape=(1, 2), dtype="int64")
    module = baton.IRModule.from_expr(relay.Function([x, at], relay.gather(x, 0, at)))
    for kind in ("graph", "vm", "debug"):
        run = relay.create_executor(kind, module, target="llvm").evaluate()
        with pytest.raises((DiagnosticError, IndexError), match=r"out of range|out of bounds"):
            run(X, _at(0, 4, shape=(1, 2)))


def test_faults_of_one_thread_are_not_raised_in_another() -> None:
    """A call that is right gives its result, one that is wrong its error, however they overlap."""
    main = _machine(R.gather_nd, (X, _at(0, shape=(1, 1))))["main"]
    wrong: list[str] = []

    def call(index: int) -> None:
        for _ in range(300):
            try:
                found = main(*_given((X, _at(index, shape=(1, 1))))).numpy()
                if index > 3 or not np.array_equal(found, X[[index]]):
                    wrong.append(f"{index} gave {found}")
            except DiagnosticError as error:
                if f"index {index} is" not in str(error) or index < 4:
                    wrong.append(f"{index}: {error}")

    threads = [threading.Thread(target=call, args=(index,)) for index in (0, 3, 4, 7, 2, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
