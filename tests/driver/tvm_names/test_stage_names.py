"""Kernels of operators have the blocks and loops of TVM's, by name: scripts schedule them by `get_block`.

Source of the names: modules printed in TVM's documentation and in its users' scripts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, te, tir, topi
from baton.script import relax as R
from baton.tir.schedule import Schedule

A = te.placeholder((4, 8), name="A")
B = te.placeholder((4, 8), name="B")
IMAGE = te.placeholder((1, 4, 8, 8), name="X")
WEIGHT = te.placeholder((6, 4, 3, 3), name="W")
ROWS = te.placeholder((2, 4, 8), name="P")
COLUMNS = te.placeholder((2, 5, 8), name="Q")


def stages(kernel: tir.PrimFunc) -> list[str]:
    """Its blocks, each with its loops."""
    schedule = Schedule(kernel)
    blocks = schedule.get_child_blocks(schedule.get_block("root"))
    return [f"{b.name}: {' '.join(schedule.get(loop).loop_var.name for loop in schedule.get_loops(b))}" for b in blocks]


def computed(*inputs: Any) -> list[str]:
    """The stages that give the last of these (or all, of a tuple) from the others."""
    *given, result = inputs
    results = result if isinstance(result, (tuple, list)) else [result]
    return stages(te.create_prim_func([*given, *results]))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "power", "greater", "floor_mod"])
def test_binary_operators(name: str) -> None:
    assert computed(A, B, getattr(topi, name)(A, B)) == [f"T_{name}: ax0 ax1"]


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "sqrt", "rsqrt", "abs", "negative", "floor", "erf"])
def test_functions_of_one_operand(name: str) -> None:
    assert computed(A, getattr(topi, name)(A)) == ["compute: i0 i1"]


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (topi.nn.relu(A), "compute: i0 i1"),
        (topi.nn.leaky_relu(A, 0.1), "compute: i0 i1"),
        (topi.cast(A, "int32"), "compute: i0 i1"),
        (topi.clip(A, 0.0, 1.0), "compute: i0 i1"),
        (topi.sign(A), "T_sign: ax0 ax1"),
        (topi.transpose(A), "T_transpose: ax0 ax1"),
        (topi.reshape(A, (32,)), "T_reshape: ax0"),
        (topi.broadcast_to(A, (2, 4, 8)), "T_broadcast_to: ax0 ax1 ax2"),
        (topi.concatenate([A, A]), "T_concat: ax0 ax1"),
        (topi.stack([A, A]), "T_stack: ax0 ax1 ax2"),
        (topi.strided_slice(A, [1], [3], axes=[0]), "T_strided_slice_with_axes: ax0 ax1"),
        (topi.full_like(A, 1.0), "T_full: ax0 ax1"),
        (topi.nn.pad(A, [1, 1], [1, 1]), "PadInput: i0 i1"),
        (topi.sum(A, axis=1), "A_red: ax0 k1"),
        (topi.max(A), "A_red: k0 k1"),
    ],
)
def test_one_stage(result: Any, expected: str) -> None:
    assert computed(A, result) == [expected]


@pytest.mark.parametrize(
    ("inputs", "result", "expected"),
    [
        (
            [A],
            topi.nn.softmax(A),
            ["T_softmax_maxelem: i0 k", "T_softmax_exp: i0 i1", "T_softmax_expsum: i0 k", "T_softmax_norm: i0 i1"],
        ),
        ([A], topi.argmax(A, axis=1), ["A_red_temp: ax0 k1", "A_red: ax0"]),
        ([A], topi.mean(A, axis=1), ["A_red: ax0 k1", "T_divide: ax0"]),
        ([A], topi.split(A, 2, 1), ["T_split_sections: ax0 ax1", "T_split_sections_1: ax0 ax1"]),
        ([A, B], topi.nn.dense(A, B), ["T_matmul_NT: i j k"]),
        ([ROWS, COLUMNS], topi.nn.batch_matmul(ROWS, COLUMNS), ["T_batch_matmul_NT: b i j k"]),
        (
            [IMAGE, WEIGHT],
            topi.nn.conv2d_nchw(IMAGE, WEIGHT, 1, 1, 1),
            ["pad_temp: i0 i1 i2 i3", "conv2d_nchw: nn ff yy xx rc ry rx"],
        ),
        (
            [IMAGE],
            topi.nn.pool2d(IMAGE, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "avg"),
            ["pool_sum: ax0 ax1 ax2 ax3 rv0 rv1", "pool_avg: ax0 ax1 ax2 ax3"],
        ),
    ],
)
def test_several_stages(inputs: list[Any], result: Any, expected: list[str]) -> None:
    assert computed(*inputs, result) == expected


def test_blocks_of_one_name_are_numbered_in_their_order() -> None:
    """Also where the last of them makes the parameter, whose buffer has the name first."""
    first = topi.nn.relu(A)
    assert computed(A, topi.exp(first)) == ["compute: i0 i1", "compute_1: i0 i1"]


def test_a_script_schedules_a_legalized_module_by_its_names() -> None:
    builder = relax.BlockBuilder()
    x, w = (relax.Var(name, R.Tensor(shape, "float32")) for name, shape in (("x", (4, 8)), ("w", (8, 16))))
    with builder.function("main", [x, w]):
        product = builder.emit(relax.op.matmul(x, w))
        total = builder.emit(relax.op.add(product, product))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(total)))
    module = relax.transform.LegalizeOps()(builder.get())
    schedule = Schedule(module)
    for function, block, loops in (("matmul", "matmul", 3), ("add", "T_add", 2), ("relu", "compute", 2)):
        schedule.work_on(function)
        found = schedule.get_loops(schedule.get_block(block))
        assert len(found) == loops
        schedule.parallel(found[0])
    machine = relax.VirtualMachine(relax.build(schedule.mod, "llvm"), baton.cpu())
    a, b = (np.random.RandomState(0).randn(*shape).astype("float32") for shape in ((4, 8), (8, 16)))
    result = machine["main"](baton.nd.array(a), baton.nd.array(b)).numpy()
    np.testing.assert_allclose(result, np.maximum(2 * (a @ b), 0), rtol=1e-5)
