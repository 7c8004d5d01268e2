"""`build` as users call it: modules of any of the languages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.codegen.llvm.module import compile_module
from baton._src.driver.relax_build import relax_build
from baton._src.driver.relay_build import build as relay_build
from baton._src.driver.targets import chosen_target
from baton._src.driver.wiring import is_relay, wire
from baton._src.ir.module import IRModule
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.lower.relax_to_vm.kernel_arguments import kernel_signature
from baton._src.relax.nodes import Function as RelaxFunction
from baton._src.relay.nodes import Function as RelayFunction
from baton._src.runtime.executable import Executable
from baton._src.runtime.function_entry import FunctionEntry
from baton._src.runtime.vm import VirtualMachine
from baton._src.support.diagnostics import fail
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc


class KernelModule:
    """Compiled PrimFuncs by name: ``module["add_one"](a, b)``; calling it calls the only (or main) function."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self._machine = VirtualMachine(executable)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._machine[name]

    @property
    def entry_name(self) -> str:
        names = [f.name for f in self.executable.functions]
        return "main" if "main" in names else names[0]

    def __call__(self, *args: Any) -> Any:
        return self[self.entry_name](*args)

    def export_library(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the code to a file; `runtime.load_module` reads it."""
        self.executable.save(path)


def build(
    inputs: Any,
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    runtime: Any = None,
    name: str = "main",
    binds: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """Compile PrimFuncs (`KernelModule`), a Relax module (`Executable`) or a Relay module (a factory).

    `inputs` is a PrimFunc, a list of te tensors, an IRModule or a function. (In TVM the second argument may also be the
    target.)
    """
    wire()
    if args is not None and target is None and not isinstance(args, (list, tuple)):
        target = args
    if isinstance(inputs, RelayFunction) or (isinstance(inputs, IRModule) and is_relay(inputs)):
        return relay_build(inputs, target, target_host, params=params)
    has_relax = isinstance(inputs, IRModule) and any(isinstance(f, RelaxFunction) for f in inputs.functions.values())
    if isinstance(inputs, RelaxFunction) or has_relax:
        return relax_build(inputs, target, params)
    return build_kernels(lower(inputs, args, name), target)


def lower(inputs: Any, args: Any = None, name: str = "main", binds: Any = None, simple_mode: bool = False) -> IRModule:
    """A module of PrimFuncs: from a module, a PrimFunc, or te tensors (inputs, then outputs)."""
    if isinstance(inputs, IRModule):
        return inputs
    if isinstance(inputs, PrimFunc):
        return IRModule({str(inputs.attrs.get("global_symbol", name)): inputs})
    tensors = args if isinstance(args, (list, tuple)) else inputs
    if isinstance(tensors, (list, tuple)):
        return IRModule({name: create_prim_func(tensors, name)})
    raise fail("api", f"cannot build a {type(inputs).__name__}", help="give a PrimFunc, te tensors, or an IRModule")


def build_kernels(module: IRModule, target: Any = None) -> KernelModule:
    """Compile every PrimFunc of `module` as a function on tensors."""
    found = chosen_target(target)
    kernels = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}
    if not kernels:
        raise fail("api", "the module has no PrimFunc")
    code = compile_module({n: schedule(f, found) for n, f in kernels.items()}, found)
    signatures = {n: kernel_signature(n, f) for n, f in kernels.items()}
    entries = tuple(FunctionEntry("kernel", n, s.names, public=True) for n, s in signatures.items())
    return KernelModule(Executable(entries, kernels=signatures, object_code=code, facts={"target": str(found)}))
