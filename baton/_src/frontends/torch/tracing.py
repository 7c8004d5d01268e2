"""What is no exported program yet: `fx.GraphModule`s and TorchScript, exported by PyTorch for inputs of given types."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.torchscript import ScriptRun
from baton._src.support.diagnostics import DiagnosticError, fail


def example(shape: Sequence[Any], dtype: Any) -> Any:
    """A tensor of this type, of zeros. `dtype` is `torch.float32`, or its name with or without `torch.`."""
    torch = torch_library()
    found = getattr(torch, str(dtype).removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise fail("torch-dtype", f"{dtype!r} is no dtype of PyTorch", help='such as "float32"')
    sizes = [d if isinstance(d, int) else getattr(d, "value", None) for d in shape]
    if not all(isinstance(d, int) for d in sizes):
        help = "for sizes that stay open, export the model with dynamic_shapes and use from_exported_program"
        raise fail("torch-input", f"the input shape {tuple(shape)} is not known", help=help)
    return torch.zeros(sizes, dtype=found)


def exported_module(model: Any, input_info: Sequence[tuple[Sequence[Any], Any]]) -> tuple[Any, bool]:
    """A graph module as an exported program, and whether it returns a tuple."""
    (output,) = [n for n in model.graph.nodes if n.op == "output"]
    return export(model, [example(*info) for info in input_info]), isinstance(output.args[0], (tuple, list))


def exported_script(script: Any, inputs: Sequence[Any]) -> Any:
    """A `torch.jit` module as an exported program; its weights are called `script.NAME`."""
    torch, run = torch_library(), ScriptRun(script)

    class Carrier(torch.nn.Module):  # type: ignore[misc, name-defined]
        """`torch.export` takes modules of Python only."""

        def __init__(self) -> None:
            super().__init__()
            self.script = script

        def forward(self, *given: Any) -> Any:
            return run(*given)

    carrier = Carrier()
    carrier.training = bool(getattr(script, "training", False))
    return export(carrier, inputs)


def export(module: Any, inputs: Sequence[Any]) -> Any:
    """`torch.export.export`, without its warnings; what it cannot export is refused with its reason."""
    torch = torch_library()
    with warnings.catch_warnings(), torch.fx.traceback.preserve_node_meta():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(module, tuple(inputs), strict=False)
        except DiagnosticError:
            raise
        except Exception as error:  # PyTorch raises errors of many kinds, RuntimeError and its own
            reason = str(error).strip().split("\n\n")[0]
            raise fail("torch-export", f"PyTorch cannot export the model: {reason}") from error


def with_own_weights(module: Any, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A graph of `torch.compile` with the weights that it takes as inputs as its own, and the other inputs."""
    torch = torch_library()
    own, rest = copy.copy(module), []
    own.graph = copy.deepcopy(module.graph)
    placeholders = [n for n in own.graph.nodes if n.op == "placeholder"]
    for node, given in zip(placeholders, inputs, strict=True):
        kept = isinstance(given, torch.nn.Parameter)
        if not kept and "_dynamo_static_input_type" not in node.meta.get("tensor_dict", {}):
            rest.append(given)
            continue
        name = f"weight_{node.name}"
        (own.register_parameter if kept else own.register_buffer)(name, given)
        with own.graph.inserting_before(node):
            node.replace_all_uses_with(own.graph.get_attr(name))
        own.graph.erase_node(node)
    own.recompile()
    return own, rest
