"""Specifications of the inputs of exported methods (`tvm.relax.frontend.nn.spec`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.frontends.nn.tensor import Tensor as Placeholder
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var

MODES = ("plain", "packed", "none")
"""How parameters and effects are passed: individually, as one tuple, or not at all."""


class Int:
    """An integer given at run time, passed as a shape of one dim; `forward` sees the dim."""

    def __repr__(self) -> str:
        return "int"


class Tensor:
    """A tensor; a string as a dim is a variable, the same for all inputs of the method."""

    def __init__(self, shape: Sequence[Any], dtype: str) -> None:
        self.shape = list(shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(str(d) for d in self.shape)}], '{self.dtype}')"


class Object:
    """Any other value; `forward` sees `object_type(_expr=..., _name=...)`."""

    def __init__(self, object_type: type) -> None:
        self.object_type = object_type

    def __repr__(self) -> str:
        return "object"


class Tuple:
    """Several inputs as one tuple."""

    def __init__(self, name: str, elements: Sequence[Any]) -> None:
        if not isinstance(elements, (list, tuple)):
            message = f"elements are a list or tuple, got {type(elements).__name__}"
            raise fail("nn-export", message, kind=TypeError)
        self.name = name
        self.elements = elements

    def __repr__(self) -> str:
        return repr(self.elements)


class MethodSpec:
    """The inputs of one method, and how its parameters and effects are passed."""

    def __init__(
        self, method: Callable[..., Any], arg_names: Sequence[str], arg_specs: Sequence[Any], param_mode: str,
        effect_mode: str,
    ) -> None:  # fmt: skip
        for what, mode in (("param_mode", param_mode), ("effect_mode", effect_mode)):
            if mode not in MODES:
                raise fail("nn-export", f"{what} is one of {', '.join(MODES)}, got {mode!r}", kind=ValueError)
        self.method = method
        self.arg_names = list(arg_names)
        self.arg_specs = list(arg_specs)
        self.param_mode = param_mode
        self.effect_mode = effect_mode

    def __repr__(self) -> str:
        return self.described("MethodSpec")

    def described(self, name: str) -> str:
        """`name(x: Tensor([...], ...), ...)`."""
        return f"{name}({', '.join(f'{n}: {s}' for n, s in zip(self.arg_names, self.arg_specs))})"

    @staticmethod
    def from_raw(spec: Any, method: Callable[..., Any]) -> MethodSpec:
        """From a dictionary of inputs by name; `"$"` says the modes of parameters and effects."""
        if isinstance(spec, MethodSpec):
            return spec
        options: Mapping[str, Any] = spec.get("$", {})
        parameters = inspect.signature(method).parameters
        names = [name for name in parameters if name in spec]
        missing = [
            n for n, p in parameters.items() if n not in spec and p.default is p.empty and p.kind is not p.VAR_KEYWORD
        ]
        if missing:
            title = getattr(method, "__name__", "the method")
            raise fail(
                "nn-export", f"the spec of {title} lacks {', '.join(missing)}", help=f"it has: {', '.join(spec)}"
            )
        found = [_argument_spec(name, spec[name]) for name in names]
        return MethodSpec(method, names, found, options.get("param_mode", "plain"), options.get("effect_mode", "plain"))

    @staticmethod
    def from_torch(args: Sequence[Any], method: Callable[..., Any]) -> MethodSpec:
        """From example inputs in their order: tensors of PyTorch (or of anything with shape and dtype) and numbers."""
        names = list(inspect.signature(method).parameters)
        if len(names) != len(args):
            message = f"the method takes {len(names)} arguments ({', '.join(names)}), got {len(args)}"
            raise fail("nn-export", message, kind=TypeError)
        return MethodSpec(method, names, [*map(_example_spec, names, args)], "plain", "plain")

    def as_inputs(self) -> list[Any]:
        """Variables for the inputs, as the method sees them: equal names of dims are one dim."""
        dims: dict[str, Var] = {}

        def dim(size: Any) -> Any:
            return dims.setdefault(size, Var(size, "int64")) if isinstance(size, str) else size

        def made(name: str, spec: Any) -> Any:
            if isinstance(spec, Tuple):
                return type(spec.elements)([made(f"{name}_{i}", one) for i, one in enumerate(spec.elements)])
            if isinstance(spec, Tensor):
                return Placeholder.placeholder([dim(size) for size in spec.shape], spec.dtype, name)
            if isinstance(spec, Int):
                return dim(name)
            raise fail("nn-export", f"{name} is an object: only a function has variables for these")

        return [made(name, spec) for name, spec in zip(self.arg_names, self.arg_specs)]


def _example_spec(name: str, example: Any) -> Any:
    if isinstance(example, int):
        return Int()
    if not hasattr(example, "shape") or not hasattr(example, "dtype"):
        message = f"{name}: a {type(example).__name__} is neither a tensor nor a whole number"
        raise fail("nn-export", message, kind=TypeError)
    return Tensor([int(size) for size in example.shape], str(example.dtype).removeprefix("torch."))


def _argument_spec(name: str, said: Any) -> Any:
    if said is int or said is Int or (isinstance(said, str) and said == "int"):
        return Int()
    if isinstance(said, (Int, Tensor, Object)):
        return said
    if isinstance(said, Tuple):
        return Tuple(name, type(said.elements)([_argument_spec(f"{name}_{i}", e) for i, e in enumerate(said.elements)]))
    if isinstance(said, (list, tuple)):
        return Tuple(name, type(said)([_argument_spec(f"{name}_{i}", e) for i, e in enumerate(said)]))
    raise fail(
        "nn-export", f"{said!r} does not describe the argument {name}", help="nn.spec.Tensor((1, 'n'), 'float32')",
        kind=TypeError,
    )  # fmt: skip


class ModuleSpec:
    """The methods of a module that become functions."""

    def __init__(self, module: Any, method_names: Sequence[str], method_specs: Sequence[MethodSpec]) -> None:
        self.module = module
        self.method_names = list(method_names)
        self.method_specs = list(method_specs)

    @staticmethod
    def from_raw(spec: Any, module: Any) -> ModuleSpec:
        """From a dictionary of methods' specs by name."""
        if isinstance(spec, ModuleSpec):
            return spec
        found = []
        for name, inputs in dict(spec).items():
            method = getattr(module, name, None)
            if method is None:
                raise fail("nn-export", f"{type(module).__name__} has no method {name!r}")
            found.append(MethodSpec.from_raw(inputs, method))
        return ModuleSpec(module, list(spec), found)

    def __repr__(self) -> str:
        lines = [f"  {s.described(n)}" for n, s in zip(self.method_names, self.method_specs)]
        return "ModuleSpec:\n" + "\n".join(lines)
