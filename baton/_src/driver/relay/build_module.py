"""`relay.build_module.BuildModule`: builds a module, and returns each part of the result by its own method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.driver.relay.build import GraphExecutorFactory, build
from baton._src.driver.relay.executable import as_relay_module, bind_known, optimized
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.relay.nodes import Function
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.values.convert import snapshot
from baton._src.values.tensor import NDArray


class BuildModule:
    """Builds a Relay module under the current `PassContext`, or only runs Relay's passes over it.

    `graph, code, params = builder.build(module, target, params=params)`; afterwards `get_graph_json()`, `get_module()`,
    `get_params()` give the parts again.
    """

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._optimized: IRModule | None = None
        self._bound: dict[str, NDArray] = {}
        self._factory: GraphExecutorFactory | None = None
        self._source: tuple[IRModule, dict[str, Any]] | None = None

    def set_params(self, params: Mapping[str, Any] | None) -> None:
        """Parameters of `main` to bind in what is built from now on, by name."""
        self._params = {str(name): snapshot(value) for name, value in (params or {}).items()}

    def optimize(
        self,
        mod: IRModule | Function,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, NDArray]]:
        """The Relay module after the passes of `relay.build`, and the parameters it still has to be given: none, since
        those in `params` are bound. `relay.optimize` fuses operators, too."""
        wire()
        module, self._bound = bind_known(as_relay_module(mod), self._given(params))
        self._optimized = optimized(module)
        return self._optimized, {}

    def build(
        self,
        mod: IRModule | Function,
        target: Any = None,
        target_host: Any = None,
        executor: Any = "graph",
        runtime: Any = None,
        workspace_memory_pools: Any = None,
        constant_memory_pools: Any = None,
        params: Mapping[str, Any] | None = None,
        mod_name: str = "default",
    ) -> tuple[str, GraphExecutorFactory, dict[str, NDArray]]:
        """Compile; returns `(graph as JSON, library, bound parameters)`. The options are those of `relay.build`."""
        module = as_relay_module(mod)
        given = self._given(params)
        name = mod_name or "default"
        self._factory = build(module, target, target_host, executor, runtime, params=given, mod_name=name)
        self._optimized, self._bound = None, self._factory.get_params()
        self._source = module, given
        return self.get_graph_json(), self._factory, self.get_params()

    def _given(self, params: Mapping[str, Any] | None) -> dict[str, Any]:
        return {**self._params, **(params or {})}

    def _built(self) -> GraphExecutorFactory:
        if self._factory is None:
            raise fail("api", "nothing is built yet", help="BuildModule.build(module, target) comes first")
        return self._factory

    def get_graph_json(self) -> str:
        """The kernels of what was built and how they are connected."""
        return self._built().get_graph_json()

    def get_module(self) -> GraphExecutorFactory:
        """The compiled factory: `module["default"](device)` is an instance to run."""
        return self._built()

    def get_lib(self) -> Executable:
        """The code itself."""
        return self._built().get_lib()

    def get_params(self) -> dict[str, NDArray]:
        """The parameters that are bound, by name."""
        return dict(self._bound)

    def get_irmodule(self) -> IRModule:
        """The Relay module after the passes that the current `PassContext` enables: of `optimize`, or of what was
        built."""
        if self._optimized is None:
            if self._source is None:
                raise fail("api", "nothing is built yet", help="BuildModule.build or BuildModule.optimize comes first")
            module, given = self._source
            self.optimize(module, params=given)
        assert self._optimized is not None
        return self._optimized

    def get_devices(self) -> list[str]:
        """The devices code runs on."""
        self._built()
        return ["cpu"]

    def get_function_metadata(self) -> dict[str, list[str]]:
        """The functions that can be called, with the names of their parameters."""
        executable = self._built().executable
        return {f.name: list(executable.entry(f.name).params) for f in executable.functions if f.public}
