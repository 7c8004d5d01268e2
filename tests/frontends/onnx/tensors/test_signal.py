"""Fourier transforms of open lengths against NumPy's, for sizes of one program; those of known ones are node cases."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

import baton
from tests.frontends.onnx.models import model_of, weight


@pytest.mark.parametrize(
    ("parts", "attributes"), [(1, {}), (2, {}), (1, {"onesided": 1}), (1, {"inverse": 1}), (2, {"inverse": 1})]
)
def test_open_lengths(parts: int, attributes: dict[str, int]) -> None:
    """The length is that of the input, as it is or named by dft_length."""
    axis = weight("axis", np.array(1))
    lengths = [helper.make_node("Shape", ["x"], ["s"], start=1, end=2), helper.make_node("Squeeze", ["s"], ["n"])]
    for length in ("", "n"):
        nodes = [*(lengths if length else ()), helper.make_node("DFT", ["x", length, "axis"], ["y"], **attributes)]
        program = baton.compile(model_of(nodes, [("x", ["b", "n_1", parts])], weights=[axis], opset=20), num_threads=1)
        for size in (1, 4, 7, 96):
            x = np.random.default_rng(size).uniform(-1, 1, (2, size, parts)).astype(np.float32)
            signal = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
            wanted = np.fft.ifft(signal) if attributes.get("inverse") else np.fft.fft(signal)
            if attributes.get("onesided"):
                wanted = wanted[:, : size // 2 + 1]
            found = np.asarray(program.run({"x": x})[0])
            np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, atol=2e-5)


def test_what_needs_known_lengths() -> None:
    """A transform with other frequencies than its input has elements, and half a spectrum turned back."""
    axis, length = weight("axis", np.array(1)), weight("length", np.array(8))
    for node in (
        helper.make_node("DFT", ["x", "length", "axis"], ["y"], name="the_node"),
        helper.make_node("DFT", ["x", "", "axis"], ["y"], name="the_node", onesided=1, inverse=1),
    ):
        with pytest.raises(baton.DiagnosticError, match="known length") as error:
            baton.compile(model_of([node], [("x", ["b", "n", 2])], weights=[axis, length], opset=20))
        assert "the_node" in str(error.value)
