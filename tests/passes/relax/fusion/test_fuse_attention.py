"""FuseAttention: what moves operands and result becomes part of the kernel; what does not fit is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.fusion.fuse_attention import FuseAttention
from baton._src.relax.interpreter import Interpreter
from baton._src.transform.passes import Sequential
from baton._src.values.tensor import array
from tests.passes.relax.programs import R, arrays, called, check, const, dim, program, tensor
from tests.relax.build import load

FUSED = Sequential([FuseAttention(), DeadCodeElimination()])
ORDER = [0, 2, 1, 3]


def heads_last(b: Any, q: Any, k: Any, v: Any, bias: Any, axis: int = -1) -> Any:
    """As exporters write it, operands (batch, length, heads, size)."""
    query, value = (b.emit(R.permute_dims(x, ORDER)) for x in (q, v))
    keys = b.emit(R.permute_dims(k, [0, 2, 3, 1]))
    scores = b.emit(R.divide(b.emit(R.matmul(query, keys)), const(4.0)))
    weights = b.emit(R.nn.softmax(b.emit(R.add(scores, bias)), axis=axis))
    return R.permute_dims(b.emit(R.matmul(weights, value)), ORDER)


@pytest.mark.parametrize("symbolic", [False, True])
def test_transposes_are_part_of_the_kernel(symbolic: bool) -> None:
    m, n = (dim(), dim()) if symbolic else (5, 7)
    params = [tensor("q", 2, m, 3, 4), tensor("k", 2, n, 3, 4), tensor("v", 2, n, 3, 6), tensor("bias", 2, 1, 1, n)]
    before = program(params, heads_last)
    shapes = ((2, 5, 3, 4), (2, 7, 3, 4), (2, 7, 3, 6), (2, 1, 1, 7))
    after = check(FUSED, before, *arrays(*shapes), rtol=1e-4)
    assert called(after) == ["attention"]


def test_keys_repeated_for_groups_of_heads() -> None:
    n = dim()

    def repeated(b: Any, x: Any) -> Any:
        wide = b.emit(R.broadcast_to(b.emit(R.expand_dims(x, 2)), (1, 2, 3, n, 4)))
        return b.emit(R.reshape(wide, (1, 6, n, 4)))

    def build(b: Any, q: Any, k: Any, v: Any) -> Any:
        keys = b.emit(R.permute_dims(repeated(b, k), [0, 1, 3, 2]))
        scores = b.emit(R.multiply(const(0.5), b.emit(R.matmul(q, keys))))
        return R.matmul(b.emit(R.nn.softmax(scores, axis=3)), repeated(b, v))

    before = program([tensor("q", 1, 6, 5, 4), tensor("k", 1, 2, n, 4), tensor("v", 1, 2, n, 4)], build)
    after = check(FUSED, before, *arrays((1, 6, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4)), rtol=1e-4)
    assert len(called(after)) == 1, called(after)


@pytest.mark.parametrize("swapped", [False, True])
def test_sides_of_differences_and_quotients(swapped: bool) -> None:
    """Guards that `bias - scores` is not `scores - bias`."""

    def build(b: Any, q: Any, k: Any, v: Any, bias: Any) -> Any:
        scores = b.emit(R.matmul(q, b.emit(R.permute_dims(k, [0, 2, 1]))))
        masked = b.emit(R.subtract(bias, scores) if swapped else R.subtract(scores, bias))
        return R.matmul(b.emit(R.nn.softmax(masked, axis=-1)), v)

    params = [tensor("q", 2, 5, 4), tensor("k", 2, 7, 4), tensor("v", 2, 7, 3), tensor("bias", 5, 7)]
    after = check(FUSED, program(params, build), *arrays((2, 5, 4), (2, 7, 4), (2, 7, 3), (5, 7)), rtol=1e-4)
    assert len(called(after)) == 1, called(after)


def test_weights_used_elsewhere_stay() -> None:
    """Guards a matrix of weights that the program also gives back."""

    def build(b: Any, q: Any, k: Any, v: Any) -> Any:
        weights = b.emit(R.nn.softmax(b.emit(R.matmul(q, k)), axis=-1))
        return R.add(b.emit(R.matmul(weights, v)), b.emit(R.sum(weights, axis=[2], keepdims=True)))

    before = program([tensor("q", 2, 5, 4), tensor("k", 2, 4, 7), tensor("v", 2, 7, 3)], build)
    assert FuseAttention()(before) is before


def test_other_axes_and_broadcast_batches_stay() -> None:
    """Guards softmax over queries, and keys that one batch of queries shares by broadcasting."""

    def build(b: Any, q: Any, k: Any, v: Any) -> Any:
        weights = b.emit(R.nn.softmax(b.emit(R.matmul(q, k)), axis=1))
        return R.matmul(weights, v)

    wrong_axis = program([tensor("q", 2, 5, 4), tensor("k", 2, 4, 7), tensor("v", 2, 7, 3)], build)
    assert FuseAttention()(wrong_axis) is wrong_axis

    def shared(b: Any, q: Any, k: Any, v: Any) -> Any:
        return R.matmul(b.emit(R.nn.softmax(b.emit(R.matmul(q, k)), axis=2)), v)

    broadcast = program([tensor("q", 2, 5, 4), tensor("k", 1, 4, 7), tensor("v", 1, 7, 3)], shared)
    assert FuseAttention()(broadcast) is broadcast


def test_a_bias_that_enlarges_the_scores_stays() -> None:
    def build(b: Any, q: Any, k: Any, v: Any, bias: Any) -> Any:
        scores = b.emit(R.add(b.emit(R.matmul(q, k)), bias))
        return R.matmul(b.emit(R.nn.softmax(scores, axis=-1)), v)

    params = [tensor("q", 1, 5, 4), tensor("k", 1, 4, 7), tensor("v", 2, 7, 3), tensor("bias", 2, 1, 7)]
    before = program(params, build)
    assert FuseAttention()(before) is before
    given = arrays((1, 5, 4), (1, 4, 7), (2, 7, 3), (2, 1, 7))
    assert all(np.isfinite(a).all() for a in given)


@pytest.mark.parametrize("zero", [[0.0], np.zeros((2, 3, 5, 7))], ids=["one", "many"])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_as_onnx_defines_it(masked: bool, zero: Any) -> None:
    """Guards that queries and keys multiplied by numbers, a bias of zeros, and weights of 0 for queries without keys do
    not keep attention from being one kernel (a step with 4 query heads to each key head took 15 ms, now 0.7). A zero
    for every weight was an error: results were chosen from it.
    """

    def build(b: Any, q: Any, k: Any, v: Any, empty: Any) -> Any:
        half = const([0.5])
        keys = b.emit(R.multiply(b.emit(R.permute_dims(k, [0, 1, 3, 2])), half))
        scores = b.emit(R.matmul(b.emit(R.multiply(q, half)), keys))
        weights = b.emit(R.nn.softmax(b.emit(R.add(scores, const([[0.0] * 7]))), axis=3))
        chosen = empty if masked else const(np.zeros((5, 1), "bool"), "bool")
        return R.matmul(b.emit(R.where(chosen, const(zero), weights)), v)

    params = [
        *(tensor(name, 2, 3, size, 4) for name, size in (("q", 5), ("k", 7), ("v", 7))),
        tensor("e", 5, 1, dtype="bool"),
    ]
    given = arrays((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4))
    after = check(FUSED, program(params, build), *given, np.arange(5)[:, None] % 2 == 0, rtol=1e-4)
    assert called(after) == (["attention", "where"] if masked else ["attention"])


IN_AN_ARM = """
from baton.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function
    def main(
        c: R.Tensor((), "bool"), q: R.Tensor((2, 5, 4), "float32"), k: R.Tensor((2, 7, 4), "float32")
    ) -> R.Tensor((2, 5, 4), "float32"):
        if c:
            scores = R.matmul(q, R.permute_dims(k, [0, 2, 1]))
            r = R.matmul(R.nn.softmax(scores, axis=-1), k)
        else:
            r = q
        return r
"""


def test_an_attention_in_an_arm() -> None:
    """Guards loops and branches: what stands in an arm counted as used twice, there and by the branch."""
    module = load(IN_AN_ARM)
    fused = FUSED(module)
    assert any(v.name_hint == "attention" for v in fused.functions)
    rng = np.random.default_rng(0)
    operands = [array(rng.standard_normal(shape).astype("float32")) for shape in ((2, 5, 4), (2, 7, 4))]
    found, wanted = (Interpreter(m, {})["main"](array(np.array(True)), *operands) for m in (fused, module))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
