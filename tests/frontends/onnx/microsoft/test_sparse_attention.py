"""SparseAttention of `com.microsoft`: against onnxruntime, and of rows of unlike lengths against each row alone.

(onnxruntime's kernel mixes such rows up: a row's result changes with the lengths of the others.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node

RANDOM = np.random.default_rng(0)
ATTRIBUTES = {"num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16}
ROWS = np.array([[0, 1, 3, 5, 8], [0, 1, 3, 6, 9]], "int32")
COLUMNS = np.array([[0, 0, 1, 1, 2, 1, 2, 3, -1], [0, 0, 1, 0, 1, 2, 0, 2, 3]], "int32")
"""Of two layouts of four by four blocks, as the operator's documentation has them."""


def _real(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype("float32")


ANGLES = (_real(64, 8), _real(64, 8))


def _operands(new: int, lengths: list[int]) -> list[Any]:
    """Query, key, value, a past of 64 places, layouts, the longest row, the length of each."""
    batch = len(lengths)
    past = (_real(batch, 2, 64, 16), _real(batch, 2, 64, 16))
    tokens = (_real(batch, new, 64), _real(batch, new, 32), _real(batch, new, 32))
    return [*tokens, *past, ROWS, COLUMNS, np.array([max(lengths)], "int32"), np.array(lengths, "int32")]


def _model(operands: list[Any], attributes: Any) -> tuple[Any, dict[str, Any]]:
    inputs = [k for k in (0, 1, 2, 3, 4, 8) if operands[k] is not None]
    model = model_of_node("SparseAttention", operands, {**ATTRIBUTES, **attributes}, inputs, ["y", "k", "v"])
    return model, {f"i{k}": operands[k] for k in inputs}


def _by_onnxruntime(model: Any, feed: dict[str, Any]) -> list[Any]:
    """Its present is written into the buffers of its past."""
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = {name: ort.OrtValue.ortvalue_from_numpy(array.copy()) for name, array in feed.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y")
    binding.bind_ortvalue_output("k", values["i3"])
    binding.bind_ortvalue_output("v", values["i4"])
    session.run_with_iobinding(binding)
    found: list[Any] = binding.copy_outputs_to_cpu()
    return found


@pytest.mark.parametrize(("new", "length", "attributes"), [
    (64, 64, {}),
    (40, 40, {}),
    (1, 50, {}),
    (1, 64, {"do_rotary": 1}),
    (20, 20, {"do_rotary": 1, "rotary_interleaved": 1, "scale": 0.3}),
])  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_as_onnxruntime(new: int, length: int, attributes: Any, packed: bool) -> None:
    operands = _operands(new, [length, length])
    if packed:
        operands[:3] = [np.concatenate(operands[:3], axis=2), None, None]
    model, feed = _model([*operands, *(ANGLES if attributes else ())], attributes)
    expected = _by_onnxruntime(model, feed)
    for _, (out, *present) in in_both_languages(model, feed):
        np.testing.assert_allclose(out, expected[0], rtol=1e-3, atol=1e-4)
        for ours, theirs in zip(present, expected[1:], strict=True):  # what lies behind the keys means nothing
            np.testing.assert_allclose(ours[:, :, :length], theirs[:, :, :length], rtol=1e-4, atol=1e-5)


def test_rows_of_unlike_lengths_are_as_each_alone() -> None:
    operands = _operands(1, [50, 33])
    model, feed = _model(operands, {})
    for language, (out, *_) in in_both_languages(model, feed):
        for row, length in enumerate((50, 33)):
            one = [v[row : row + 1] for v in operands[:5]]
            alone, part = _model([*one, ROWS, COLUMNS, *[np.array([length], "int32")] * 2], {})
            expected = _by_onnxruntime(alone, part)[0]
            np.testing.assert_allclose(out[row : row + 1], expected, rtol=1e-3, atol=1e-4, err_msg=language)
