"""Other parts of `relay.backend`: names of functions in generated code, graph code generation, the interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from baton._src.driver.relay.build import build
from baton._src.driver.relay.build_options import Executor as ExecutorOptions
from baton._src.driver.relay.executable import as_relay_module, build_executable
from baton._src.driver.relay.executors import Executor
from baton._src.driver.stages import Stages
from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.relay.nodes import Function
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.device import CPU, Device
from baton._src.values.tensor import NDArray


def _checked(name: str) -> str:
    if not name:
        raise fail("api", "the name is empty")
    return name


def to_c_function_style(original_name: str) -> str:
    """`hello_world` -> `TVMHelloWorld`; names that begin with TVM already keep that beginning once."""
    parts = re.split(r"[^0-9A-Za-z]+", _checked(original_name).removeprefix("TVM").removeprefix("tvm"))
    return "TVM" + "".join(p[:1].upper() + p[1:] for p in parts)


def to_c_variable_style(original_name: str) -> str:
    """`HelloWorld` -> `tvm_helloworld`: lower case, begins with tvm_."""
    lowered = _checked(original_name).lower()
    return lowered if lowered.startswith("tvm_") else "tvm_" + lowered.removeprefix("tvm")


def to_c_constant_style(original_name: str) -> str:
    """`hello_world` -> `TVM_HELLO_WORLD`."""
    return to_c_variable_style(original_name).upper()


def prefix_name(names: str | Sequence[str]) -> str:
    """Names joined by underscores, behind `TVM`."""
    parts = [names] if isinstance(names, str) else list(names)
    if not parts or not all(parts):
        raise fail("api", "the name segments are empty")
    return "TVM_" + "_".join(parts) if not parts[0].startswith("TVM") else "_".join(parts)


def prefix_generated_name(names: str | Sequence[str]) -> str:
    """The same behind `TVMGen`."""
    parts = [names] if isinstance(names, str) else list(names)
    if not parts or not all(parts):
        raise fail("api", "the name segments are empty")
    return "TVMGen_" + "_".join(parts)


def sanitize_name(original_name: str) -> str:
    """Characters that are no letters, digits or underscores become underscores."""
    return re.sub(r"[^0-9A-Za-z_]", "_", _checked(original_name))


def mangle_module_name(mod_name: str | None) -> str:
    """The prefix of a module's functions: `tvmgen_<name>`."""
    if mod_name == "":
        raise fail("api", "the module's name is empty")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"


def get_executor_from_target(target: Any = None, target_host: Any = None) -> ExecutorOptions:
    """The executor that `relay.build` takes where none is given."""
    return ExecutorOptions("graph")


class Interpreter(Executor):
    """The debug interpreter: `Interpreter(mod, device, target).evaluate(expr)`."""

    def __init__(self, mod: IRModule | None = None, device: Device = CPU, target: Any = None) -> None:
        wire()
        super().__init__("debug", mod if mod is not None else IRModule(), device, target, None)


def _with_main(module: IRModule, function: Function) -> IRModule:
    main = next((v for v in module.functions if v.name_hint == "main"), GlobalVar("main"))
    return module.with_function(main, function)


class GraphExecutorCodegen:
    """The graph, the kernels and the parameters that building makes of a function, without the library around them."""

    def __init__(self, mod: Any = None, target: Any = None) -> None:
        self.target = target

    def codegen(
        self, ir_module: IRModule, func: Function | None = None
    ) -> tuple[str, dict[str, IRModule], dict[str, NDArray]]:
        """(graph as JSON, {target: kernels as they are scheduled from}, parameters)."""
        module = ir_module if func is None else _with_main(ir_module, func)
        made = build(module, self.target)
        stages = Stages(keep=True)
        build_executable(as_relay_module(module), self.target, None, stages)
        lowered = list(stages.modules.values())[-1]
        kernels = IRModule({v.name_hint: f for v, f in lowered.functions.items() if isinstance(f, PrimFunc)})
        return made.get_graph_json(), {str(self.target or "llvm"): kernels}, made.get_params()
