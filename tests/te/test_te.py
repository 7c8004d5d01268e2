"""Tensors of te and the PrimFuncs made of them, run against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.driver.wiring import wire
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, extern, placeholder, reduce_axis, var
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import create_schedule
from baton._src.tir import operators as ops
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.builders.ir_builder import IRBuilder
from baton._src.tir.builders.scalar_functions import exp, select
from baton._src.tir.dtype_limits import max_value
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import IntImm, Var
from baton._src.tir.kernel_abi import kernel_abi
from baton._src.tir.stmt import BufferStore, For


def run(outputs: Any, inputs: dict[Any, np.ndarray], shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Evaluate tensors through create_prim_func and the oracle."""
    found = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    func = create_prim_func([*inputs, *found])
    assert check_prim_func(func) == []
    arrays = [np.zeros(s, t.dtype.numpy) for s, t in zip(shapes, found)]
    run_prim_func(func, [*inputs.values(), *arrays])
    return arrays


wire()
RNG = np.random.default_rng(1)


def test_reductions_agree_with_numpy() -> None:
    """Guards sum, prod, max, min, all, any, with init and where."""
    x = RNG.standard_normal((4, 6)).astype("float32")
    a = placeholder((4, 6), name="A")
    k = reduce_axis((0, 6), "k")
    for reducer, numpy in (
        (reduction.sum, np.sum),
        (reduction.prod, np.prod),
        (reduction.max, np.max),
        (reduction.min, np.min),
    ):
        out = compute((4,), lambda i, reducer=reducer: reducer(a[i, k], axis=k))
        np.testing.assert_allclose(run(out, {a: x}, [(4,)])[0], numpy(x, axis=1), rtol=1e-5)
    where = compute((4,), lambda i: reduction.sum(a[i, k], axis=k, where=k > 2))
    np.testing.assert_allclose(run(where, {a: x}, [(4,)])[0], x[:, 3:].sum(1), rtol=1e-5)
    started = compute((4,), lambda i: reduction.sum(a[i, k], axis=[k], init=10.0))
    np.testing.assert_allclose(run(started, {a: x}, [(4,)])[0], x.sum(1) + 10, rtol=1e-5)
    positive = compute((4,), lambda i: reduction.all(a[i, k] > -10.0, axis=k))
    assert run(positive, {a: x}, [(4,)])[0].all()


def test_one_condition_is_itself() -> None:
    """Guards `te.all(*conditions)` of a list that may have one: it was taken for a reduction without an axis."""
    i = var("i")
    for reducer in (reduction.all, reduction.any):
        assert str(reducer(i > 1)) == "i > 1"
    assert str(reduction.all(i > 1, i < 5)) == "i > 1 and i < 5"
    with pytest.raises(DiagnosticError, match="nothing says what is reduced over"):
        reduction.sum(i)


def test_the_maximum_of_infinities_is_one() -> None:
    """Guards the identity of max: -inf, not the smallest finite number."""
    a = placeholder((2,), name="A")
    k = reduce_axis((0, 2), "k")
    out = compute((), lambda: reduction.max(a[k], axis=k))
    assert run(out, {a: np.full(2, -np.inf, "float32")}, [()])[0] == -np.inf


def test_tuple_reductions_compute_all_parts_before_storing() -> None:
    """Guards argmin: index and value are updated together."""
    x = RNG.standard_normal((3, 7)).astype("float32")
    a = placeholder((3, 7), name="A")
    k = reduce_axis((0, 7), "k")
    argmin = reduction.comm_reducer(
        lambda p, q: (select(p[1] <= q[1], p[0], q[0]), select(p[1] <= q[1], p[1], q[1])),
        lambda index, value: (ops.const(-1, index), max_value(value)),
        name="argmin",
    )
    index, value = compute((3,), lambda i: argmin((k, a[i, k]), axis=k), name="M")
    found = run([index, value], {a: x}, [(3,), (3,)])
    assert found[0].tolist() == x.argmin(1).tolist()
    np.testing.assert_array_equal(found[1], x.min(1))


def test_several_outputs_and_intermediate_tensors() -> None:
    """Guards multi-output computations and the order of producers."""
    x = RNG.standard_normal((2, 3)).astype("float32")
    a = placeholder((2, 3), name="A")
    twice, square = compute((2, 3), lambda i, j: (a[i, j] * 2.0, a[i, j] * a[i, j]), name="P")
    both = compute((2, 3), lambda i, j: exp(twice[i, j]) + square[i, j], name="Q")
    found = run([both], {a: x}, [(2, 3)])
    np.testing.assert_allclose(found[0], np.exp(2 * x) + x * x, rtol=1e-5)
    text = create_prim_func([a, both]).script()
    assert text.count("T.grid(2, 3)") == 2  # one nest for both results, and one for what reads them


def test_arithmetic_of_tensors_broadcasts() -> None:
    """Guards operators on whole tensors and the names of topi."""
    x, y = RNG.random((2, 1, 3), "float32"), RNG.random((4, 1), "float32")
    a, b = placeholder((2, 1, 3), name="A"), placeholder((4, 1), name="B")
    out = (a + b) * 2.0 - 1.0 / b
    assert (a + b).name == "T_add"
    np.testing.assert_allclose(run(out, {a: x, b: y}, [(2, 4, 3)])[0], (x + y) * 2 - 1 / y, rtol=1e-5)
    with pytest.raises(DiagnosticError):
        _ = a + placeholder((2, 2), name="C")


def test_extern_writes_by_hand() -> None:
    """Guards hand-written TIR: a running sum, its inputs replaced by the real buffers."""
    a = placeholder((5,), "int32", name="A")
    b = compute((5,), lambda i: a[i] * 2, name="B")

    def body(ins: Any, outs: Any) -> Any:
        i = Var("i", "int64")
        before = select(i > 0, outs[0][ops.max(i - 1, 0)], 0)
        return For(i, 0, 5, 0, BufferStore(outs[0], before + ins[0][i], (i,)))

    out = extern((5,), [b], body, name="cumsum")
    assert run(out, {a: np.arange(5, dtype="int32")}, [(5,)])[0].tolist()[1:] == [2, 6, 12, 20]


def test_statements_over_the_same_buffers() -> None:
    """Their results were one buffer, which the second one filled: 2 * (x + 10)."""
    a, read, written = placeholder((3,), name="A"), decl_buffer((3,), name="read"), decl_buffer((3,), name="written")

    def plus(number: float) -> Any:
        i = Var("i", "int32")
        body = For(i, 0, 3, 0, BufferStore(written, read[i] + number, (i,)))
        return extern((3,), [a], lambda ins, outs: body, in_buffers=[read], out_buffers=[written])

    one, ten = plus(1.0), plus(10.0)
    total = compute((3,), lambda i: one[i] + ten[i], name="total")
    assert run(total, {a: np.arange(3, dtype="float32")}, [(3,)])[0].tolist() == [11, 13, 15]


def test_buffers_of_ones_own_may_leave_their_layout_open() -> None:
    """Sizes, strides and offsets that a buffer given to te.extern leaves open were undefined in the kernel."""
    n, m = var("n"), var("m")
    a = placeholder((n, 3), name="A")
    read = decl_buffer((m, 3), name="read", strides=[var("s0"), var("s1")], offset_factor=1)
    written = decl_buffer((n, 3), name="written", elem_offset=var("start"))

    def body(ins: Any, outs: Any) -> Any:
        i = Var("i", "int32")
        place = read.elem_offset + i * read.strides[0] + read.strides[1]
        stored = BufferStore(outs[0], ins[0][i, 1] + ops.cast("float32", place), (i, 1))
        return For(i, 0, m, 0, stored)

    out = extern((n, 3), [a], body, in_buffers=[read], out_buffers=[written], name="out")
    x = np.arange(12, dtype="float32").reshape(4, 3)
    assert run(out, {a: x}, [(4, 3)])[0].tolist() == [[0, v + 3 * i + 1, 0] for i, v in enumerate(x[:, 1])]


@pytest.mark.parametrize("facts", [{"shape": (4, 3)}, {"dtype": "int32"}, {"strides": [1, 3]}, {"elem_offset": 1}])
def test_buffers_of_ones_own_fit_the_tensors(facts: dict[str, Any]) -> None:
    """A buffer of another shape, dtype or layout was read as if it had the tensor's."""
    a = placeholder((3, 3), name="A")
    own = decl_buffer(**{"shape": (3, 3), "dtype": "float32", "name": "own", **facts})
    out = extern((3, 3), [a], lambda ins, outs: BufferStore(outs[0], 1.0, (0, 0)), in_buffers=[own], name="out")
    with pytest.raises(DiagnosticError, match=r"out takes float32.* as the buffer own"):
        create_prim_func([a, out])


@pytest.mark.parametrize(
    ("dim", "expected"), [(4, "int32"), (Var("n", "int64"), "int64"), (IntImm("int64", 4), "int64")]
)
def test_axes_take_the_dtype_of_the_sizes(dim: object, expected: str) -> None:
    """Guards int32 loops for plain numbers, as in TVM, and int64 ones where a size has 64 bits."""
    a = placeholder((dim, 3))
    out = compute(a.shape, lambda i, j: a[i, j])
    assert {axis.var.dtype for axis in out.axis} == {expected}


def test_shape_variables_trail_in_the_signature() -> None:
    """Guards the C signature: params in order, then shape variables that are no params, as int64."""
    n, m = var("n", "int64"), var("m", "int32")
    a = placeholder((n, 4), name="A")
    out = compute((n, 4), lambda i, j: a[i, j] + ops.cast("float32", m), name="B")
    abi = kernel_abi(create_prim_func([a, m, out]))
    assert [(p.var.name, str(p.dtype), p.is_shape) for p in abi.params] == [
        ("var_A", "handle", False),
        ("m", "int32", False),
        ("var_B", "handle", False),
        ("n", "int64", True),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a, k: compute((4,), lambda i, j: a[i, j]),
        lambda a, k: compute((4,), lambda i: reduction.sum(a[i, k], axis=k) + 1.0),
        lambda a, k: compute((4,), lambda i: a),
        lambda a, k: compute((4,), lambda i: a(i)),
        lambda a, k: compute((1.5j,), lambda i: i),
        lambda a, k: reduction.sum(a[0, k], axis=compute((4,), lambda i: i).axis[0]),
        lambda a, k: reduction.sum(a[0, k]),
        lambda a, k: create_prim_func([3]),
        lambda a, k: extern((4,), [], lambda i, o: None),
    ],
)
def test_mistakes_are_diagnosed(wrong: Any) -> None:
    """Guards against tracebacks from wrong counts, misplaced reductions and foreign values."""
    with pytest.raises(DiagnosticError):
        wrong(placeholder((4, 6), name="A"), reduce_axis((0, 6), "k"))


def test_results_of_several_reductions() -> None:
    """Guards the error, as of TVM: kernels used the variables of one for another, or one result for another."""
    a, k, other = placeholder((3, 4), name="A"), reduce_axis((0, 4)), reduce_axis((0, 4))
    pair = reduction.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda s, t: (ops.const(0, s), ops.const(1, t))
    )
    assert len(compute((3,), lambda i: pair((a[i, k], a[i, k]), axis=k))) == 2
    wrong: list[Any] = [
        lambda i: (reduction.sum(a[i, k], axis=k), reduction.sum(a[i, other], axis=other)),
        lambda i: (reduction.sum(a[i, k], axis=k), a[i, 0]),
        lambda i: pair((a[i, k], a[i, k]), axis=k)[0],
        lambda i: tuple(reversed(pair((a[i, k], a[i, k]), axis=k))),
    ]
    for element in wrong:
        with pytest.raises(DiagnosticError, match="not all results of one"):
            compute((3,), element)


def test_tensors_are_no_sequences() -> None:
    """Guards loops over a tensor or a buffer, which never ended."""
    a, buffer = placeholder((3, 4), name="A"), decl_buffer((3, 4), "float32", "B")
    for one in (a, a[0], buffer, IRBuilder().buffer_ptr(buffer)):
        with pytest.raises(TypeError, match="not iterable"):
            tuple(one)
        with pytest.raises(TypeError):
            assert a not in one


def test_operations_give_their_tensors() -> None:
    """Guards `op.output(i)`, by which scripts find the tensors of a schedule's outputs: it was of scans only."""
    a = placeholder((4,), "float32", "A")
    both = compute((4,), lambda i: (a[i] + 1.0, a[i] * 2.0), "both")
    made = extern((4,), [a], lambda ins, outs: BufferStore(outs[0], ins[0][0], [0]), "made")
    for tensor in (*both, made):
        given = tensor.op.output(tensor.value_index)
        assert (given.op, given.value_index, given.dtype) == (tensor.op, tensor.value_index, tensor.dtype)
        assert [int(n) for n in given.shape] == [4]
    func = create_prim_func([a, *(both[0].op.output(i) for i in range(2))])
    arrays = [np.arange(4, dtype="float32"), *(np.zeros(4, "float32") for _ in range(2))]
    run_prim_func(func, arrays)
    np.testing.assert_array_equal(arrays[2], arrays[0] * 2)


def test_texts_of_tensors_and_operations() -> None:
    """As TVM prints them: scripts show them while people work out a schedule."""
    n = var("n")
    A = placeholder((n,), name="A")
    B = compute((n,), lambda i: A[i] + 1.0, name="B")
    assert str(B) == "Tensor(shape=[n], op.name=B)"
    axis = 'T.iter_var(i, I.Range(0, n), "DataPar", "")'
    assert str(B.op) == f"compute(B, body=[A[i] + T.float32(1)], axis=[{axis}], reduce_axis=[], tag=, attrs={{}})"
    assert str(create_schedule(B.op)[A]) == "stage(A, placeholder(A))"


def test_arguments_that_scripts_give() -> None:
    """`runtime` stands before the name, buffers stand for the tensors they are bound to, spans and tags are taken."""
    n, k = var("n", span=None), reduce_axis((0, 4), "k", thread_tag="", span=None)
    A = placeholder((n, 4), name="A")
    B = compute((n,), lambda i: reduction.sum(A[i, k], axis=k), name="B")
    buffers = {t: decl_buffer(t.shape, t.dtype, t.name) for t in (A, B)}
    schedule = create_schedule(B.op)
    built = baton.build(schedule, list(buffers.values()), "llvm", "llvm", None, "sums", buffers)
    assert built.entry_name == "sums"
    out = baton.nd.empty((2,))
    built(baton.nd.array(np.ones((2, 4), "float32")), out)
    assert out.numpy().tolist() == [4, 4]
    again = baton.build({"llvm": baton.lower(schedule, [A, B], name="again")})
    assert again.entry_name == "again"
    strided = decl_buffer(A.shape, A.dtype, "A", strides=[8, 1])
    with pytest.raises(DiagnosticError, match="with strides"):
        baton.lower(schedule, [strided, B], binds={A: strided})


def test_sizes_that_are_tested_are_those_of_the_schedule() -> None:
    """Schedules have sizes of 64 bits: a test of an index named those of te, which nothing defined any more."""
    n, m = var("n"), var("m")
    A = placeholder((n,), name="A")
    B = compute((m,), lambda i: A[i] + 1.0, name="B")
    C = compute((m,), lambda i: B[i] * A[0], name="C")
    built = baton.build(create_schedule(C.op), [A, C], "llvm")
    out = baton.nd.empty((3,))
    built(baton.nd.array(np.ones(5, "float32")), out)
    assert out.numpy().tolist() == [2, 2, 2]
    with pytest.raises(DiagnosticError, match="out of range for axis 0 of operand 0, which has 2"):
        built(baton.nd.array(np.ones(2, "float32")), out)


def test_reducers_are_made_by_their_parts() -> None:
    """`tir.CommReducer` takes its parts in order and from lists, as TVM's does."""
    te, tir = baton.te, baton.tir
    x, y = te.var("x", "float32"), te.var("y", "float32")
    product = tir.CommReducer([x], [y], [x * y], [tir.const(1, "float32")])
    assert (product.lhs, product.rhs) == ((x,), (y,))
    k = te.reduce_axis((0, 3), "k")
    a = te.placeholder((3,), name="A")
    b = te.compute((1,), lambda i: tir.Reduce(product, [a[k]], [k], tir.const(True, "bool"), 0), name="B")
    built, result = baton.build(te.create_prim_func([a, b]), "llvm"), baton.nd.empty((1,))
    built(baton.nd.array(np.array([2, 3, 4], "float32")), result)
    assert result.numpy().tolist() == [24]


def test_shapes_of_relax_expressions() -> None:
    """`te.compute(call.struct_info.shape, ..)`, as rules of scripts write it."""
    shape = baton.relax.TensorStructInfo((2, 3), "float32").shape
    x = placeholder(shape, name="x")
    y = compute(shape, lambda i, j: x[i, j] + 1.0, name="y")
    assert [int(dim) for dim in x.shape] == [int(dim) for dim in y.shape] == [2, 3]
    with pytest.raises(DiagnosticError, match="a size must be an integer"):
        placeholder("ab")
