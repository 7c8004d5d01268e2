"""`nn.Module`: parameters and submodules as attributes, and methods that become functions of an IRModule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from baton._src.frontends.nn.effects import Effect
from baton._src.frontends.nn.export import Exporter, exported_effects, note_failure
from baton._src.frontends.nn.spec import ModuleSpec
from baton._src.frontends.nn.subroutine import SubroutineMixin
from baton._src.frontends.nn.tensor import Parameter
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError, fail


class Module(SubroutineMixin):
    """The base of models: define `__init__` and `forward`; then `export_tvm`.

    If a class sets `define_subroutine = True`, its `forward` becomes a private function that is called at each use.
    """

    compiled: ClassVar[Callable[..., Any]]
    """The implementation of `jit`, provided by the driver."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise NotImplementedError(f"{type(self).__name__} has no forward")
        try:
            return forward(*args, **kwargs)
        except DiagnosticError as error:
            note_failure(error, self)
            raise

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Submodules, parameters and effects directly inside, in the order of definition."""
        return ((n, v) for n, v in vars(self).items() if isinstance(v, (Module, Parameter, Effect)))

    def named_of(self, kind: type, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """All members of a class, with their paths, which begin with `prefix`; shared ones are named once."""
        seen: set[int] = set()
        pending: list[tuple[str, Any]] = [(prefix, self)]
        while pending:
            path, found = pending.pop()
            if id(found) in seen:
                continue
            seen.add(id(found))
            if isinstance(found, kind):
                yield path, found
            elif isinstance(found, Module):
                before = "" if found is self else "."
                pending.extend(reversed([(f"{path}{before}{n}", v) for n, v in found.named_children()]))

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its path, which begins with `prefix`; one that is shared is named once."""
        return self.named_of(Parameter, prefix)

    def parameters(self) -> Iterator[Parameter]:
        """The parameters of the module and of all modules inside it."""
        return (p for _, p in self.named_parameters())

    def effects(self) -> list[Effect]:
        """The effects of the module and of all modules inside it; the one that orders prints, if any, comes first."""
        return [*exported_effects(), *(effect for _, effect in self.named_of(Effect))]

    def state_dict(self, *, prefix: str = "", destination: dict[str, Any] | None = None) -> dict[str, Parameter]:
        """The parameters by path."""
        found = {} if destination is None else destination
        found.update(self.named_parameters(prefix))
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Set values (parameters or tensors) by path; returns the missing and the unknown paths."""
        own = dict(self.named_parameters())
        missing, unknown = sorted(own.keys() - state_dict.keys()), sorted(state_dict.keys() - own.keys())
        if strict and (missing or unknown):
            raise KeyError(f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}")
        for name, content in state_dict.items():
            if name not in own:
                continue
            value = content.data if isinstance(content, Parameter) else content
            if value is None:
                raise fail("nn-state", f"the parameter {name} has no value", kind=ValueError)
            own[name].data = value
        return missing, unknown

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of every parameter and effect, and of layers with a dtype of their own."""
        for _, inside in self.named_children():
            inside.to(dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def export_tvm(
        self, spec: Any, debug: bool = False, allow_extern: bool = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]] | tuple[IRModule, list[tuple[str, Parameter]], list[Any]]:
        """The methods that `spec` names as functions of a module, and the parameters in the order functions take them.

        `spec` is `{"forward": {"x": nn.spec.Tensor((1, "n"), "float32")}}`. With `debug`, functions have a further
        input and result that keep prints in order; with `allow_extern` the third result is the list of external modules
        (`nn.add_extern`). Errors: `ValueError` for external modules without it.
        """
        exporter = Exporter(debug)
        module, parameters = exporter.build(ModuleSpec.from_raw(spec, self))
        if allow_extern:
            return module, parameters, exporter.extern_modules
        if exporter.extern_modules:
            raise fail("nn-export", "the model has external modules", help="allow_extern=True", kind=ValueError)
        return module, parameters

    def jit(
        self, spec: Any, device: Any = "cpu", pipeline: Any = "default_build", out_format: str = "torch",
        debug: bool = False,
    ) -> Any:  # fmt: skip
        """Compile the model: with `out_format="torch"` returns functions by name over PyTorch tensors, with `"raw"` the
        specification, the virtual machine, and the parameters' values.
        """
        return self.compiled(self, spec, device, pipeline, out_format, debug)


class ModuleList(Module):
    """Modules in order, as a list."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = list(modules)

    def named_children(self) -> Iterator[tuple[str, Any]]:
        return ((str(i), m) for i, m in enumerate(self.modules))

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)

    def __getitem__(self, index: int) -> Module:
        return self.modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self.modules[index] = module

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.modules.append(module)

    def forward(self, x: Any) -> Any:
        """Apply the modules one after the other."""
        for module in self.modules:
            x = module(x)
        return x
