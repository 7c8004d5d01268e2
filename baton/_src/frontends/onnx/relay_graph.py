"""ONNX to Relay: `from_onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.relay_graph import RelayGraph
from baton._src.frontends.onnx.importer import Importer
from baton._src.frontends.onnx.reader import read_model
from baton._src.ir.module import IRModule
from baton._src.relay.nodes import Function, Tuple
from baton._src.values.tensor import NDArray, array


def from_onnx(
    model: object,
    shape: Mapping[str, Sequence[Any]] | None = None,
    dtype: Mapping[str, object] | object = None,
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Any = None,
    values: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import an ONNX model (`ModelProto`, bytes or path) as a Relay module with a function `main`, and its parameters.

    With `freeze_params` weights are constants of the module and the parameters are empty; otherwise they are arguments
    behind the inputs, by their names in the model. `convert_config` is accepted for scripts written for TVM; there is
    one way to convert an operator. Errors as for `relax.frontend.onnx.from_onnx`.
    """
    proto, folder = read_model(model)
    language = RelayGraph()
    importer = Importer(proto, folder, language, shape, dtype, opset, values)
    _, outputs, weights = importer.run(keep_weights=not freeze_params)
    exprs = [importer.builder.expr(value) for _, value in outputs]
    body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
    module = IRModule({"main": Function(language.params, body)})
    return module, {} if freeze_params else {name: array(content) for name, content in weights.items()}
