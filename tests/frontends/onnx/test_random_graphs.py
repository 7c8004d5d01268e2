"""Random graphs compute what onnxruntime computes, node for node, at several sizes of their open dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.frontends.onnx.node import DynamicValueError
from baton.frontend.onnx import backend
from tests.at_length import SEED, at_length
from tests.frontends.onnx.random_graphs import Draw, grown, model_of_scope
from tests.frontends.onnx.random_nodes import DRAWS
from tests.frontends.onnx.random_quantised_nodes import QUANTISED
from tests.frontends.onnx.random_rare_nodes import RARE

LENGTH = 12
"""How many nodes a graph has, about."""


def _program(model: Any) -> Any:
    """One program for all sizes; where ranks depend on operands that are inputs, one for each value of them."""
    try:
        return baton.compile(model, num_threads=1)
    except DynamicValueError:
        return backend.prepare(model, num_threads=1)


def _through_relay(model: Any) -> Any:
    module, _ = relay.frontend.from_onnx(model)
    return baton.compile(module, num_threads=1)


def check(seed: int, draws: Sequence[Draw] = DRAWS, compiled: Callable[[Any], Any] = _program) -> None:
    model, feeds, outputs = model_of_scope(grown(np.random.default_rng(seed), draws, LENGTH))
    program = compiled(model)
    for k, feed in enumerate(feeds):
        for wanted, found in zip(outputs, map(np.asarray, program.run(feed)), strict=True):
            expected = wanted.arrays[k]
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), f"run {k}: {wanted.name}"
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3, err_msg=f"run {k}: {wanted.name}")


@pytest.mark.parametrize("seed", range(8))
def test_as_onnxruntime(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(6))
def test_quantised_as_onnxruntime(seed: int) -> None:
    """Guards integer kernels in the place of real products, and where each of them rounds."""
    check(seed, QUANTISED)


@pytest.mark.parametrize("seed", range(4))
def test_rare_as_onnxruntime(seed: int) -> None:
    """Guards recurrences among other operators, of open batches and lengths."""
    check(seed, RARE)


@pytest.mark.parametrize("seed", [0, 2, 3, 4])  # 1 has the steps of a Slice as an input
def test_relay_as_onnxruntime(seed: int) -> None:
    """Guards what is read of shapes and elements in the place of names, which Relay's types do not have."""
    check(seed, compiled=_through_relay)


@pytest.mark.fuzz
@pytest.mark.parametrize("draws", [DRAWS, QUANTISED, RARE], ids=["usual", "quantised", "rare"])
@pytest.mark.parametrize("number", range(at_length(600)))
def test_many_as_onnxruntime(number: int, draws: Sequence[Draw]) -> None:
    """What is refused is not wrong: ranks that the data decide, and open sizes of which one is 1 in a run."""
    try:
        check(SEED + number, draws)
    except DynamicValueError as refused:
        pytest.skip(str(refused))
    except baton.DiagnosticError as refused:
        if "a size of 1 is broadcast only if known at compile time" not in str(refused):
            raise
        pytest.skip(str(refused))
