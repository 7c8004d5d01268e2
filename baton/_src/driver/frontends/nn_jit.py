"""`nn.Module.jit`: a model written as modules, exported, compiled and ready to be called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.devices import device
from baton._src.frontends.nn import spec as specs
from baton._src.frontends.nn.export import Exporter
from baton._src.frontends.nn.module import Module
from baton._src.frontends.torch.library import torch_library
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import fail
from baton._src.values.device import Device
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


def jit(model: Module, spec: Any, on: Any, pipeline: Any, out_format: str, debug: bool) -> Any:
    """See `Module.jit`. Errors: `ValueError` for another format and for parameters without values."""
    if out_format not in ("torch", "raw"):
        raise fail("nn-jit", f"unknown out_format {out_format!r}", help='"torch" or "raw"', kind=ValueError)
    found = specs.ModuleSpec.from_raw(spec, model)
    module, parameters = Exporter(debug).build(found)
    missing = [name for name, parameter in parameters if parameter.data is None]
    if missing:
        raise fail("nn-jit", f"the parameter {missing[0]} has no value", help="set its data first", kind=ValueError)
    machine = VirtualMachine(relax_build(module, pipeline=pipeline), on if isinstance(on, Device) else device(on))
    values = [parameter.data for _, parameter in parameters]
    return (found, machine, values) if out_format == "raw" else TorchModule(found, machine, values)


class TorchModule:
    """The methods of a compiled model by name, which take and give tensors of PyTorch; whole numbers for `spec.Int`.

    Effects (what prints keep in order) pass from one call to the next.
    """

    def __init__(self, spec: specs.ModuleSpec, vm: VirtualMachine, params: list[Any]) -> None:
        self.spec, self.vm, self.params = spec, vm, params
        self.effects = vm["_initialize_effect"]() if "_initialize_effect" in vm.executable.function_index else None

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        """A method. Errors: `ValueError` for one that the specification does not name."""
        if method_name not in self.spec.method_names:
            raise fail("nn-jit", f"the model has no method {method_name!r}: {self.spec!r}", kind=ValueError)
        method = self.spec.method_specs[self.spec.method_names.index(method_name)]

        def call(*args: Any) -> Any:
            if len(args) != len(method.arg_names):
                message = f"{method_name} takes {len(method.arg_names)} arguments, got {len(args)}"
                raise fail("nn-jit", message, kind=TypeError)
            given = [_given(a, s) for a, s in zip(args, method.arg_specs)]
            effects, params = _passed(self.effects, method.effect_mode), _passed(self.params, method.param_mode)
            result = self.vm[method_name](*given, *effects, *params)
            if effects:
                result, self.effects = result
            return as_torch(result)

        call.__name__ = method_name
        return call


def _given(value: Any, spec: Any) -> Any:
    """An argument as the compiled method takes it."""
    if isinstance(spec, specs.Tuple):
        return tuple(map(_given, value, spec.elements))
    return ShapeTuple([value]) if isinstance(spec, specs.Int) else value


def _passed(values: Sequence[Any] | None, mode: str) -> list[Any]:
    """Effects or parameters as arguments; none if there are none."""
    if not values or mode == "none":
        return []
    return [tuple(values)] if mode == "packed" else list(values)


def as_torch(value: Any) -> Any:
    """Tensors as PyTorch's (the same memory), shapes as lists, containers as lists of these."""
    if isinstance(value, NDArray):
        return torch_library().from_dlpack(value)
    if isinstance(value, ShapeTuple):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [as_torch(item) for item in value]
    return value
