"""The standard's Attention, which is imported by its body: one kernel, whatever masks it has and sizes are open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node

import baton
from tests.frontends.onnx.models import model_of

HEADS, SIZE = 4, 16
KINDS = {"float32": TensorProto.FLOAT, "bool": TensorProto.BOOL}


def wanted(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Queries that see no key get 0."""
    scores = np.einsum("bhid,bhjd->bhij", q, k).astype("float64") / SIZE**0.5
    if mask is not None:
        scores = scores + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    sees = (scores > -np.inf).any(-1, keepdims=True)
    powers = np.where(sees, np.exp(scores - np.where(sees, scores.max(-1, keepdims=True), 0)), 0)
    return np.einsum("bhij,bhjd->bhid", powers / np.where(sees, powers.sum(-1, keepdims=True), 1), v)


def model(kind: str | None, is_open: bool, rows: int, keys: int, three_axes: bool) -> Any:
    m, n, b = ("m", "n", "b") if is_open else (rows, keys, 2)
    attributes = {"q_num_heads": HEADS, "kv_num_heads": HEADS} if three_axes else {}
    inputs: list[Any] = [
        (name, [b, length, HEADS * SIZE] if three_axes else [b, HEADS, length, SIZE])
        for name, length in zip("qkv", (m, n, n))
    ]
    if kind is not None:
        inputs.append(("mask", ([m, n], KINDS[kind])))
    node = make_node("Attention", [name for name, _ in inputs], ["y"], **attributes)
    return model_of([node], inputs, opset=23)


@pytest.mark.parametrize("three_axes", [False, True])
@pytest.mark.parametrize("is_open", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("kind", [None, "float32", "bool"])
def test_one_kernel(kind: str | None, is_open: bool, three_axes: bool) -> None:
    """Guards that what the body does to queries without keys is done where a result is stored: behind a mask, or with
    sizes that are open, all scores were written to memory (8 heads of 64 x 64 with a mask 63 to 43 us, of open sizes
    118 to 51).
    """
    rng = np.random.default_rng(0)
    rows, keys = 9, 21
    q, k, v = (rng.standard_normal((2, HEADS, n, SIZE)).astype("float32") for n in (rows, keys, keys))
    mask: Any = None if kind is None else rng.random((rows, keys)) < 0.7
    if mask is not None:
        mask[3] = False
    feed = {"q": q, "k": k, "v": v}
    if kind == "float32":
        mask = np.where(mask, rng.standard_normal(mask.shape), -np.inf).astype("float32")
    expected = wanted(q, k, v, mask)
    if three_axes:
        feed = {name: x.transpose(0, 2, 1, 3).reshape(2, -1, HEADS * SIZE) for name, x in feed.items()}
        expected = expected.transpose(0, 2, 1, 3).reshape(2, rows, HEADS * SIZE)
    compiled = baton.compile(model(kind, is_open, rows, keys, three_axes))
    (found,) = compiled.run(feed if mask is None else {**feed, "mask": mask})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert [kernel.summary.endswith("; attention") for kernel in compiled.kernels].count(True) == 1
