"""What is no exported program yet: `fx.GraphModule`s and TorchScript, exported by PyTorch for inputs of given types."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.torchscript import ScriptRun
from baton._src.ir.expr import PrimExpr
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail

_OPEN_SIZE = 64
"""What an open size is while a program is exported: wide enough for what halves images, and no size is fixed by it."""


@dataclass(frozen=True)
class Example:
    """An input to export with: a tensor of zeros, and its axes whose sizes stay open."""

    tensor: Any
    open_axes: tuple[int, ...]


def example(shape: Sequence[Any], dtype: Any) -> Example:
    """An input of this type. `dtype` is `torch.float32`, or its name with or without `torch.`.

    Sizes that are not numbers (`relay.Any()`, variables) are open.
    """
    torch = torch_library()
    found = getattr(torch, str(dtype).removeprefix("torch."), None)
    if not isinstance(found, torch.dtype):
        raise fail("torch-dtype", f"{dtype!r} is not a dtype of PyTorch", help='such as "float32"')
    sizes = [d if isinstance(d, int) else getattr(d, "value", None) for d in shape]
    wrong = [d for d, size in zip(shape, sizes, strict=True) if size is None and not isinstance(d, PrimExpr)]
    if wrong:
        raise fail("torch-input", f"the input shape {tuple(shape)} has {wrong[0]!r}, which is not a size")
    open_axes = tuple(axis for axis, size in enumerate(sizes) if size is None)
    return Example(torch.zeros([_OPEN_SIZE if n is None else n for n in sizes], dtype=found), open_axes)


def exported_module(model: Any, input_info: Sequence[tuple[Sequence[Any], Any]]) -> tuple[Any, bool]:
    """A graph module as an exported program, and whether it returns a tuple."""
    if not hasattr(model, "graph"):
        help = "torch.fx.symbolic_trace(model) makes one of a module"
        raise fail("torch-model", f"a torch.fx.GraphModule is needed, got {type(model).__name__}", help=help)
    (output,) = [n for n in model.graph.nodes if n.op == "output"]
    inputs = [example(*info) for info in input_info]
    exported = export(model, [i.tensor for i in inputs], _open_sizes(inputs))
    return exported, isinstance(output.args[0], (tuple, list))


def exported_script(script: Any, inputs: Sequence[Example]) -> Any:
    """A `torch.jit` module as an exported program; its weights are called `script.NAME`."""
    torch, run = torch_library(), ScriptRun(script)
    run.check_count(len(inputs))

    class Carrier(torch.nn.Module):  # type: ignore[misc, name-defined]  # PyTorch is there only from here on
        """`torch.export` takes modules of Python only."""

        def __init__(self) -> None:
            super().__init__()
            self.script = script

        def forward(self, *given: Any) -> Any:
            return run(*given)

    _name_parameters(script)
    carrier = Carrier()
    carrier.training = bool(getattr(script, "training", False))
    sizes = _open_sizes(inputs)
    return export(carrier, [i.tensor for i in inputs], None if sizes is None else (sizes,))


def _name_parameters(script: Any) -> None:
    """Make the parameters of a module that `torch.jit.load` gave `Parameter`s: `torch.export` takes no others."""
    kind = torch_library().nn.Parameter
    for name, value in list(script.named_parameters()):
        if not isinstance(value, kind):
            *path, own_name = name.split(".")
            setattr(reduce(getattr, path, script), own_name, kind(value.detach(), requires_grad=value.requires_grad))


def _open_sizes(inputs: Sequence[Example]) -> Any:
    """What `torch.export` is told of the sizes: those that are open may not be fixed by the program."""
    if not any(i.open_axes for i in inputs):
        return None
    kind = torch_library().export.Dim.DYNAMIC
    return tuple(dict.fromkeys(i.open_axes, kind) for i in inputs)


def export(module: Any, inputs: Sequence[Any], dynamic_shapes: Any = None) -> Any:
    """`torch.export.export`, without its warnings; what it cannot export is refused with its reason."""
    torch = torch_library()
    with warnings.catch_warnings(), torch.fx.traceback.preserve_node_meta():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(module, tuple(inputs), dynamic_shapes=dynamic_shapes, strict=False)
        except DiagnosticError:
            raise
        except Exception as error:  # PyTorch raises errors of many kinds, RuntimeError and its own
            reason = str(error).strip().split("\n\n")[0]
            raise fail("torch-export", f"PyTorch cannot export the model: {reason}") from error


def weights_of(module: Any, inputs: Sequence[Any]) -> list[Any]:
    """The inputs of a graph of `torch.compile` that are parameters or buffers of the model."""
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    return [g for n, g in zip(placeholders, inputs, strict=True) if _is_weight(n, g)]


def _is_weight(node: Any, given: Any) -> bool:
    parameter = torch_library().nn.Parameter
    return isinstance(given, parameter) or "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})


def with_own_weights(module: Any, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A graph of `torch.compile` with the weights that it takes as inputs as its own, and the other inputs."""
    torch = torch_library()
    own, rest = copy.copy(module), []
    own.graph = copy.deepcopy(module.graph)
    placeholders = [n for n in own.graph.nodes if n.op == "placeholder"]
    for node, given in zip(placeholders, inputs, strict=True):
        if not _is_weight(node, given):
            rest.append(given)
            continue
        name = f"weight_{node.name}"
        kept = isinstance(given, torch.nn.Parameter)
        (own.register_parameter if kept else own.register_buffer)(name, given)
        with own.graph.inserting_before(node):
            node.replace_all_uses_with(own.graph.get_attr(name))
        own.graph.erase_node(node)
    own.recompile()
    return own, rest
