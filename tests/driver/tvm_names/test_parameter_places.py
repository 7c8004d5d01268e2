"""Parameters and names that scripts give by their place, or by TVM's word for them."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import ir, relay, te, tir
from baton.runtime.vm import VirtualMachine

POOLED = np.array([[[[1, 5], [3, 2]]]], "float32")


def plus_one() -> tuple[te.Tensor, te.Tensor]:
    """A, and A + 1"""
    a = te.placeholder((4,), "float32", "A")
    return a, te.compute((4,), lambda i: a[i] + 1.0, "B")


@pytest.mark.parametrize(("kind", "expected"), [("max", [[0, 1], [0, 0]]), ("avg", [[0.25, 0.25], [0.25, 0.25]])])
def test_gradients_of_pooling_by_place(kind: str, expected: list[list[float]]) -> None:
    """Guards the order of Relay's parameters: the padding was taken for the dilation."""
    x, grad = relay.var("x", shape=(1, 1, 2, 2)), relay.var("grad", shape=(1, 1, 1, 1))
    call = getattr(relay.nn, f"{kind}_pool2d_grad")(grad, x, (2, 2), (2, 2), (0, 0), "NCHW")
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([grad, x], call)), target="llvm")
    assert run.evaluate()(np.ones((1, 1, 1, 1), "float32"), POOLED).numpy()[0, 0].tolist() == expected


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_transposed_convolutions_by_place(rank: int) -> None:
    """Guards the order of Relay's parameters: the groups were taken for the number of channels."""
    x = relay.var("x", shape=(1, 4, *(6,) * rank))
    weight = relay.var("w", shape=(4, 3, *(3,) * rank))
    made = getattr(relay.nn, f"conv{rank}d_transpose")(
        x, weight, (1,) * rank, (0,) * rank, (1,) * rank, 2, 6, (3,) * rank
    )
    assert (made.attrs.groups, made.attrs.channels, tuple(made.attrs.kernel_size)) == (2, 6, (3,) * rank)


def test_words_for_operands_of_relay() -> None:
    x = relay.var("x", shape=(2, 3))
    assert relay.nn.cross_entropy_with_logits(predictions=x, targets=x).args[1].same_as(x)
    assert relay.nn.leaky_relu(x).attrs.alpha == 0.01


def test_kernels_of_tensors_have_tvms_name() -> None:
    """`tvm.build` calls them `default_function` unless it is told a name."""
    a, b = plus_one()
    schedule, found = te.create_schedule(b.op), tvm.nd.empty((4,))
    tvm.build(schedule, [a, b])["default_function"](tvm.nd.array(arr=np.zeros(4, "float32")), found)
    assert found.numpy().tolist() == [1, 1, 1, 1]
    assert "main" in tvm.lower(schedule, [a, b])
    assert tvm.build(schedule, [a, b], name="add").entry_name == "add"


def test_words_for_parameters() -> None:
    """Scripts may name them."""
    schedule = tir.Schedule(te.create_prim_func(plus_one()))
    (loop,) = schedule.get_loops("B")
    assert [block.name for block in schedule.get_child_blocks(block_or_loop=loop)] == ["B"]
    assert ir.structural_hash(node=schedule.mod) == ir.structural_hash(schedule.mod)


def test_what_targets_say_of_threads() -> None:
    """Numbers of GPUs, which a target may carry; of CPUs there is one thread, as in TVM."""
    target = tvm.target.Target("llvm")
    assert (target.max_block_size_x, target.max_block_size_y, target.supports_integer_dot_product) == (1, 1, False)


def test_machines_write_into_tensors_given_before() -> None:
    """`set_outputs` holds for one call, and for as many tensors as there are results."""
    x = relay.var("x", shape=(2,))
    machine = VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm"), tvm.cpu())
    given = tvm.nd.empty((2,))
    machine.set_input("main", np.array([1, 2], "float32"))
    machine.set_outputs("main", given)
    machine.invoke_stateful("main")
    machine.set_input("main", np.array([5, 6], "float32"))
    machine.invoke_stateful("main")
    assert given.numpy().tolist() == [2, 4]
    machine.set_outputs("main", given, given)
    with pytest.raises(tvm.TVMError, match="argument-count"):
        machine.invoke_stateful("main")
