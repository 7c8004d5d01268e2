"""`relay.build`: compiles Relay modules, lowered to Relax, under TVM's interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar

from baton._src.driver.relay.build_options import check_kinds
from baton._src.driver.relay.executable import as_relay_module, bind_known, build_executable, optimized
from baton._src.driver.relay.graph_fragment import as_graph
from baton._src.driver.targets import built_target
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.relay.nodes import Function
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.graph.graph_executor import GraphRuntime
from baton._src.runtime.graph.graph_json import graph_json
from baton._src.runtime.module_face import ModuleFace
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Sequential
from baton._src.values.device import CPU, Device
from baton._src.values.tensor import NDArray


@dataclass(frozen=True)
class GraphExecutorFactory(ModuleFace):
    """The result of `relay.build`: ``lib["default"](device)`` is an instance to run."""

    type_key: ClassVar[str] = "GraphExecutorFactory"

    executable: Executable
    params: dict[str, NDArray] = field(default_factory=dict)
    mod_name: str = "default"
    ir_mod: IRModule | None = None
    """What was built; None if it was loaded from a file."""
    target: Any = None
    executor: Any = "graph"

    def __getitem__(self, name: str) -> Any:
        if name in ("default", self.mod_name):
            return self.create
        if name == "debug_create":
            return lambda mod_name, *devices: self.create(*devices)
        if name == "get_params":
            return self.get_params
        if name == "get_graph_json":
            return self.get_graph_json
        there = f"it has: {self.mod_name!r}"
        raise fail("function-missing", f"the library has no {name!r}", help=there, kind=AttributeError)

    def create(self, device: Device = CPU, *more: Device) -> GraphRuntime:
        """An instance with inputs and outputs of its own."""
        return GraphRuntime(self.executable, device)

    def get_params(self) -> dict[str, NDArray]:
        """The parameters given to `build`; they are constants of the code already."""
        return dict(self.params)

    def get_graph_json(self) -> str:
        """The kernels and how they are connected, as JSON."""
        return graph_json(self.executable)

    def get_executor_config(self) -> str:
        """The graph as JSON, which TVM's graph executors take."""
        return self.get_graph_json()

    def get_lib(self) -> Executable:
        """The code itself."""
        return self.executable

    lib = module = property(get_lib)

    def get_source(self, fmt: str = "") -> str:
        """The kernels as text (`Executable.get_source`)."""
        return self.executable.get_source(fmt)

    graph_json = graph_json_str = property(get_graph_json)

    @property
    def libmod_name(self) -> str:
        """The name under which instances are requested."""
        return self.mod_name

    @property
    def function_metadata(self) -> dict[str, Any]:
        """Workspace sizes by function, as in TVM. Empty: memory is planned for the whole program here."""
        return {}

    def export_library(self, file_name: str | Path, *args: Any, **kwargs: Any) -> None:
        """Write everything to one file; `runtime.load_module` reads it. Further arguments are those of
        `Executable.export_library`."""
        facts = {**self.executable.facts, "mod_name": self.mod_name, "kind": "graph"}
        replace(self.executable, facts=facts).export_library(file_name, *args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        """``graph, lib, params = relay.build(...)``"""
        return iter((self.get_graph_json(), self, self.get_params()))


def build(
    ir_mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    executor: Any = "graph",
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> GraphExecutorFactory:
    """Compile a Relay module or function under the current `PassContext`.

    `params` binds parameters of `main` by name to constants. `target_host` must be a CPU, whatever its options.
    `executor` ("graph", "aot" or a `backend.Executor`), `runtime` ("cpp", "crt") and the memory pools are accepted for
    scripts written for TVM: the code is the same. Raises `DiagnosticError`: ill-typed programs, unknown targets,
    `params-mismatch`; for programs outside the graph fragment (control flow, closures, `?` dims): `relay.vm.compile`.
    """
    wire()
    check_kinds(executor, runtime)
    module = as_relay_module(ir_mod)
    found = built_target(target, target_host)
    executable, bound = build_executable(module, found, params, restrict=as_graph)
    return GraphExecutorFactory(executable, bound, mod_name, module, target, executor)


def optimize(
    mod: IRModule | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """The Relay module after the passes of `build`, its operators fused into functions, and the parameters it still has
    to be given: none, since those in `params` are bound."""
    wire()
    module, _ = bind_known(as_relay_module(mod), params or {})
    return Sequential([FuseOps()])(optimized(module)), {}


def build_config(
    opt_level: int = 2, required_pass: Any = None, disabled_pass: Any = None, trace: Any = None
) -> PassContext:
    """TVM's old spelling of `transform.PassContext`."""
    return PassContext(opt_level=opt_level, required_pass=required_pass or (), disabled_pass=disabled_pass or ())


__all__ = ["GraphExecutorFactory", "build", "build_config", "optimize"]
