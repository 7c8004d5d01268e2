"""Builders of Relay whose signatures are their own: called as TVM's scripts call them, compiled, compared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import baton
from baton import relay

RNG = np.random.default_rng(5)


def run(params: list[Any], body: Any, *args: Any) -> Any:
    module = baton.IRModule.from_expr(relay.Function(params, body))
    found = relay.create_executor("vm", mod=module).evaluate()(*args)
    return [v.numpy() for v in found] if isinstance(found, (list, tuple)) or hasattr(found, "fields") else found.numpy()


def numbers(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype("float32")


def test_sparse_matrices() -> None:
    """Guards triples and objects with data, indices and indptr (SciPy's), on either side."""
    dense = np.zeros((4, 4), "float32")
    dense[[0, 0, 1, 3], [1, 3, 0, 2]] = [1, 2, 3, 4]
    parts = (np.float32([1, 2, 3, 4]), np.int32([1, 3, 0, 2]), np.int32([0, 2, 3, 3, 4]))
    matrix = SimpleNamespace(data=parts[0], indices=parts[1], indptr=parts[2])
    x, data = relay.var("x", shape=(3, 4)), numbers(3, 4)
    np.testing.assert_allclose(run([x], relay.nn.sparse_dense(x, matrix), data), data @ dense.T, rtol=1e-5)
    constants = tuple(relay.const(p) for p in parts)
    left = relay.nn.sparse_dense(x, constants, sparse_lhs=True)
    np.testing.assert_allclose(run([x], left, data), dense @ data.T, rtol=1e-5)
    turned = relay.nn.sparse_transpose(constants)
    back = relay.nn.sparse_dense(x, (turned[0], turned[1], turned[2]))
    np.testing.assert_allclose(run([x], back, data), data @ dense, rtol=1e-5)
    y = relay.var("y", shape=(4, 4))
    np.testing.assert_allclose(run([y], relay.nn.sparse_add(y, matrix), dense), 2 * dense)


def test_boxes_of_all_classes() -> None:
    """Guards numbers as operands, and tuples of two and of three."""
    boxes, scores = relay.var("boxes", shape=(1, 3, 4)), relay.var("scores", shape=(1, 2, 3))
    data = (
        np.float32([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]]),
        np.float32([[[0.9, 0.8, 0.1], [0.2, 0.6, 0.7]]]),
    )
    listed = relay.vision.all_class_non_max_suppression(boxes, scores, 2, 0.5, 0.15)
    rows, total = run([boxes, scores], listed.astuple(), *data)
    assert total.tolist() == [3]
    assert rows[:3].tolist() == [[0, 0, 0], [0, 1, 2], [0, 1, 1]]
    ranked = relay.vision.all_class_non_max_suppression(boxes, scores, 2, 0.5, 0.15, output_format="tensorflow")
    pairs, values, counts = run([boxes, scores], ranked.astuple(), *data)
    assert counts.tolist() == [3]
    assert pairs[0, :3].tolist() == [[0, 0], [1, 2], [1, 1]]
    np.testing.assert_allclose(values[0, :3], [0.9, 0.7, 0.6])


def test_deformable_convolution_without_offsets_is_the_plain_one() -> None:
    """Guards TVM's order of arguments, and the meaning of a zero offset."""
    x, offset = relay.var("x", shape=(1, 4, 6, 6)), relay.var("offset", shape=(1, 36, 6, 6))
    weight = relay.const(numbers(3, 4, 3, 3))
    moved = relay.nn.deformable_conv2d(x, offset, weight, (1, 1), (1, 1), (1, 1), 2, 1, 3, (3, 3))
    plain = relay.nn.conv2d(x, weight, (1, 1), (1, 1))
    data = numbers(1, 4, 6, 6)
    zeros = np.zeros((1, 36, 6, 6), "float32")
    np.testing.assert_allclose(run([x, offset], moved, data, zeros), run([x], plain, data), rtol=1e-4, atol=1e-5)


def test_correlation_of_an_image_with_itself() -> None:
    """Guards the middle displacement: the mean square over channels."""
    x = relay.var("x", shape=(1, 2, 4, 4))
    data = numbers(1, 2, 4, 4)
    options = {"kernel_size": 1, "max_displacement": 1, "stride1": 1, "stride2": 1, "padding": 1, "layout": "NCHW"}
    found = run([x], relay.nn.correlation(x, x, is_multiply=True, **options), data)
    assert found.shape == (1, 9, 4, 4)
    np.testing.assert_allclose(found[:, 4], (data**2).mean(axis=1), rtol=1e-5)


def test_segments_that_a_run_counts() -> None:
    """Guards `segment_sum` without a number of segments (one more than the greatest id): it gave a row for each of the
    data's; and a number that is computed."""
    x, ids, count = (
        relay.var("x", shape=(3, 4)),
        relay.var("ids", shape=(3,), dtype="int32"),
        relay.var("n", shape=(), dtype="int32"),
    )
    data, rows = numbers(3, 4), np.int32([1, 0, 1])
    wanted = np.stack([data[1], data[0] + data[2], np.zeros(4), np.zeros(4)])
    for found, size, more in ((relay.segment_sum(x, ids), 2, ()), (relay.segment_sum(x, ids, count), 4, (count,))):
        module = baton.IRModule.from_expr(relay.Function([x, ids, *more], found))
        given = (data, rows, *(np.int32(size) for _ in more))
        for kind in ("debug", "vm"):
            got = relay.create_executor(kind, module, target="llvm").evaluate()(*given).numpy()
            np.testing.assert_allclose(got, wanted[:size], rtol=1e-5)


def test_compositions() -> None:
    """Guards functions that only compose operators, in their namespaces."""
    x, ids = relay.var("x", shape=(3, 4)), relay.var("ids", shape=(3,), dtype="int32")
    data = 50 * numbers(3, 4)
    for axis, keepdims in ((1, False), (0, True)):
        found = run([x], relay.logsumexp(x, axis=axis, keepdims=keepdims), data)
        wanted = np.log(np.exp(data.astype("float64")).sum(axis=axis, keepdims=keepdims))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    rows = np.int32([1, 0, 1])
    wanted = np.stack([data[1], data[0] + data[2], np.zeros(4)])
    np.testing.assert_allclose(run([x, ids], relay.segment_sum(x, ids, 3), data, rows), wanted, rtol=1e-5)
    np.testing.assert_allclose(run([x, ids], relay.segment_sum(x, ids, 2), data, rows), wanted[:2], rtol=1e-5)
    np.testing.assert_allclose(run([x], relay.segment_sum(x, relay.const(rows)), data), wanted[:2], rtol=1e-5)
    assert run([x], relay.reverse_reshape(x, (3, -1, 0)), data).shape == (3, 1, 4)
    assert run([x], relay.reverse_reshape(x, (-3,)), data).shape == (12,)
    assert run([x], relay.reverse_reshape(x, (-2, 4)), data).shape == (3, 4)
    kept, mask = relay.nn.dropout_raw(x, 0.3)
    np.testing.assert_array_equal(run([x], relay.multiply(kept, mask), data), data)
    pair = relay.random.uniform(relay.random.threefry_key(7), (2, 3))
    assert run([], pair[1]).shape == (2, 3)
