"""TensorFlow Lite to Relay: `from_tflite`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.relay_graph import RelayGraph, check_rank
from baton._src.frontends.tflite.importer import Importer
from baton._src.frontends.tflite.inputs import input_infos
from baton._src.frontends.tflite.reader import read_model
from baton._src.frontends.tflite.table import CONVERTERS
from baton._src.ir.module import IRModule
from baton._src.relay.nodes import Function, Tuple
from baton._src.values.tensor import NDArray


def from_tflite(
    model: object,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: Mapping[str, object] | None = None,
    op_converter: Any = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import a TensorFlow Lite model (a path, bytes or a `tflite.Model`) as a Relay module with the function `main`,
    and its parameters, of which there are none: weights are constants.

    Inputs have their names in the model, and the sizes that it stores unless `shape_dict` gives others.
    `op_converter` is accepted for scripts written for TVM; there is one way to convert an operator. Errors as for
    `relax.frontend.tflite.from_tflite`.
    """
    del op_converter
    graphs = read_model(model)
    infos = input_infos(graphs[0], shape_dict, dtype_dict, open_sizes=False)
    language = RelayGraph()
    importer = Importer(graphs, language, CONVERTERS, as_stored=not shape_dict)
    outputs = importer.run(infos)
    for place, value in zip(graphs[0].outputs, outputs, strict=True):
        check_rank(f"output {graphs[0].tensors[place].name!r}", value.info)
    exprs = language.guarded([importer.builder.expr(v) for v in outputs])
    body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
    return IRModule({"main": Function(language.params, body)}), {}
