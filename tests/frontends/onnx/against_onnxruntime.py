"""One node against onnxruntime: its model, and what both languages' interpreters make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from baton import relax, relay
from baton._src.relax.interpreter import Interpreter as RelaxInterpreter
from baton._src.relay.interpreter import Interpreter as RelayInterpreter
from baton._src.values.convert import to_numpy
from tests.frontends.onnx.models import weight

Part = Callable[[int, Any], Any]
"""(which output, its array) -> what of it is to be compared."""


def model_of_node(
    name: str,
    operands: Sequence[Any],
    attributes: Any,
    inputs: Sequence[int],
    outputs: Sequence[str],
    domain: str = "com.microsoft",
    opset: int = 17,
    open_axes: int = 0,
    learning_opset: int = 3,
) -> Any:
    """The operands `inputs` are the model's inputs, their first `open_axes` sizes open; the others are weights."""
    names = ["" if o is None else f"i{k}" for k, o in enumerate(operands)]
    node = helper.make_node(name, names, list(outputs), domain=domain, name="the_node", **attributes)
    declared = [
        helper.make_tensor_value_info(
            f"i{k}",
            helper.np_dtype_to_tensor_dtype(operands[k].dtype),
            [f"i{k}_{a}" if a < open_axes else d for a, d in enumerate(operands[k].shape)],
        )
        for k in inputs
    ]
    weights = [weight(f"i{k}", o) for k, o in enumerate(operands) if o is not None and k not in inputs]
    results = [helper.make_empty_tensor_value_info(n) for n in outputs if n]
    graph = helper.make_graph([node], "test", declared, results, weights)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    opsets.append(helper.make_opsetid("ai.onnx.ml", learning_opset))
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def onnxruntime_outputs(model: Any, feed: Any) -> list[Any]:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, feed)
    return found


def in_both_languages(model: Any, feed: Any) -> list[tuple[str, list[Any]]]:
    """The outputs, by the interpreters of Relax and of Relay (which is told the sizes)."""
    through_relax = RelaxInterpreter(relax.frontend.onnx.from_onnx(model))
    through_relay, _ = relay.frontend.from_onnx(model, shape={n: a.shape for n, a in feed.items()})
    main = RelayInterpreter(through_relay).global_value(through_relay.get_global_var("main"))
    found = [("relax", through_relax["main"](*feed.values())), ("relay", main(*feed.values()))]
    return [(language, _arrays(result)) for language, result in found]


def _arrays(result: Any) -> list[Any]:
    parts = list(result) if isinstance(result, (tuple, list)) or not hasattr(result, "dtype") else [result]
    return [p if isinstance(p, np.ndarray) else to_numpy(p) for p in parts]


def assert_as_onnxruntime(found: Sequence[Any], expected: Sequence[Any], part: Part | None = None) -> None:
    """Bytes may differ by one where a number lies halfway between two."""
    assert len(found) == len(expected)
    for k, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        a, b = (part(k, ours), part(k, theirs)) if part else (ours, theirs)
        if b.dtype in (np.uint8, np.int8):
            assert np.abs(a.astype(int) - b.astype(int)).max() <= 1
        else:
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
