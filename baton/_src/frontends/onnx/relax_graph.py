"""ONNX to Relax: `from_onnx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.relax_graph import RelaxGraph
from baton._src.frontends.onnx.importer import Importer
from baton._src.frontends.onnx.reader import read_model
from baton._src.ir.module import IRModule
from baton._src.values.tensor import array

CONTROL_FLOW = {"If", "Loop", "Scan", "NonMaxSuppression"}
"""Operators that become branches or loops, which no dataflow block may hold."""


def from_onnx(
    model: object,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: Mapping[str, object] | object = None,
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
    values: Mapping[str, Any] | None = None,
) -> IRModule:
    """Import an ONNX model (`ModelProto`, bytes or path) as a Relax module with the function `main`.

    `shape_dict` gives input shapes (ints, or names of symbolic dims) where the model leaves them open; `values` makes
    inputs constants: axes, pads and sizes that the model takes as inputs must be known when importing. Weights become
    constants, or parameters behind the inputs with `keep_params_in_input` (their values are in the function's attribute
    `params`). Raises `DiagnosticError`: every unsupported operator at once (`onnx-unsupported-op`), damaged files
    (`onnx-file`), and whatever is wrong with a node, naming it.
    """
    proto, folder = read_model(model)
    bodies = [proto.graph, *proto.functions]
    control = any(n.op_type in CONTROL_FLOW for body in bodies for n in body.node)
    with RelaxGraph(dataflow=not control) as language:
        importer = Importer(proto, folder, language, shape_dict, dtype_dict, opset, values)
        inputs, outputs, weights = importer.run(keep_weights=keep_params_in_input)
        builder = importer.builder
        module = language.finish([builder.expr(v) for _, v in outputs], len(inputs))
    main = module.get_global_var("main")
    function = module[main].with_attr("output_names", tuple(name for name, _ in outputs))
    if keep_params_in_input:
        function = function.with_attr("params", tuple(array(w) for w in weights.values()))
    return module.with_function(main, function)
