"""`torch_module`: a model of ONNX as a module of PyTorch."""

from __future__ import annotations

from typing import Any

import onnx

from baton._src.tools.benchmark.torch_graph import elementwise, layers, loops, moving, recurrent
from baton._src.tools.benchmark.torch_graph.known import known_values
from baton._src.tools.benchmark.torch_graph.sizes import rule_for_sizes
from baton._src.tools.benchmark.torch_graph.translation import Node, Rule, Translation

RULES: dict[str, Rule] = {
    **elementwise.RULES,
    **moving.RULES,
    **layers.RULES,
    **recurrent.RULES,
    **loops.RULES,
}
"""By operator; what an operator does with tensors of sizes is in `sizes`."""


def torch_module(model: onnx.ModelProto) -> Any:
    """The model as a module in evaluation mode; call it with tensors in the order of the inputs that have no default.

    The module is a `torch.fx.GraphModule`: Python code with a line for each operator, which eager mode runs as it is
    and torch.compile takes as one graph. `DiagnosticError` (`bench-peer`) names an operator, or a form of one, that is
    not covered.
    """
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    translation = Translation(model.graph, _rule, known_values(model), opset)
    for name in model_inputs(model):
        translation.values[name] = translation.recorder.input()
    translation.translate(model.graph.node)
    return translation.module([output.name for output in model.graph.output])


def model_inputs(model: onnx.ModelProto) -> list[str]:
    """The names of the inputs that have no default."""
    defaults = {weight.name for weight in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in defaults]


def open_axes(model: onnx.ModelProto) -> list[list[int]]:
    """For each of those inputs, the axes whose sizes the model leaves open."""
    shapes = {value.name: value.type.tensor_type.shape.dim for value in model.graph.input}
    return [
        [axis for axis, dim in enumerate(shapes[name]) if not dim.HasField("dim_value")] for name in model_inputs(model)
    ]


def _rule(node: Node) -> Rule | None:
    return rule_for_sizes(node) or RULES.get(node.kind)
