"""ONNX to Relay: `from_onnx`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.relay_graph import RelayGraph, check_rank
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import read_model, save_named
from baton._src.frontends.onnx.importer import Importer
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relay.nodes import Function, Tuple
from baton._src.values.tensor import NDArray, array


def _tensors(value: Value) -> Iterator[Value]:
    """A tensor, or those of a sequence."""
    if value.items is None:
        yield value
    else:
        yield from (tensor for item in value.items for tensor in _tensors(item))


def _result(value: Value, exprs: Iterator[Any]) -> Any:
    """The next of `exprs`, or a tuple of them for a sequence."""
    return next(exprs) if value.items is None else Tuple([_result(item, exprs) for item in value.items])


def from_onnx(
    model: object,
    shape: Mapping[str, Sequence[Any]] | None = None,
    dtype: Mapping[str, object] | str | None = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Any = None,
    export_node_renamed_model_path: str | None = None,
    values: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import an ONNX model (`ModelProto`, bytes or path) as a Relay module with a function `main`, and its parameters.

    With `freeze_params` weights are constants of the module and the parameters are empty; otherwise those that are used
    are arguments behind the inputs, by their names in the model, but for those that decide what the program is (shapes,
    axes, bounds). `dtype` gives dtypes by name (one for all changes
    nothing: the model says them). `convert_config` is accepted for scripts written for TVM; there is one way to convert
    an operator. `export_node_renamed_model_path`: where the model is saved with a name for every node.
    Errors as for `relax.frontend.onnx.from_onnx`.
    """
    proto, folder = read_model(model)
    language = RelayGraph()
    importer = Importer(proto, folder, language, shape, dtype, opset, values)
    inputs, outputs, weights = importer.run(keep_weights=not freeze_params)
    for name, value in outputs:
        for tensor in _tensors(value):
            check_rank(f"output {name!r}", tensor.info)
    tensors = iter(language.guarded([importer.builder.expr(t) for _, value in outputs for t in _tensors(value)]))
    exprs = [_result(value, tensors) for _, value in outputs]
    body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
    used = {id(node) for node in post_order(body)}
    params = [v for k, v in enumerate(language.params) if k < len(inputs) or id(v) in used]
    module = IRModule({"main": Function(params, body)})
    if export_node_renamed_model_path is not None:
        save_named(proto, export_node_renamed_model_path)
    return module, {} if freeze_params else {name: array(content) for name, content in weights.items()}
