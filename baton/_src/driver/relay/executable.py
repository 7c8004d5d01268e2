"""Build an executable from a Relay module: Relay's passes, lowering to Relax, then the Relax build."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from baton._src.driver.external_code import with_external_code
from baton._src.driver.relax.build import relax_build
from baton._src.driver.relay.external_code import hand_over
from baton._src.driver.stages import Stages
from baton._src.ir.module import IRModule
from baton._src.lower.relay_to_relax.module import lower as lower_relay
from baton._src.passes.relay.bind_params import bind_params_by_name
from baton._src.passes.relay.external.partition_graph import CheckCompilers
from baton._src.passes.relay.first_order.eta_expand import EtaExpand
from baton._src.passes.relay.first_order.specialize import Specialize
from baton._src.passes.relay.memory.dissolve_memory import DissolveMemory
from baton._src.passes.relay.pipeline import optimize
from baton._src.passes.relay.quantize.requantize_config import settle
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.passes.relay.written_types import with_written_types
from baton._src.relax.nodes import Function as RelaxFunction
from baton._src.relay.nodes import Function
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.transform.collector import rarely_collecting
from baton._src.values.convert import snapshot
from baton._src.values.tensor import NDArray


def as_relay_module(mod: IRModule | Function) -> IRModule:
    """The module; a function becomes `main` of a new one. Error `graph-fragment`: a module of Relax."""
    if isinstance(mod, IRModule):
        foreign = next((v for v, f in mod.functions.items() if isinstance(f, RelaxFunction)), None)
        if foreign is not None and not any(isinstance(f, Function) for f in mod.functions.values()):
            says = f"{foreign.name_hint} is not a Relay function"
            raise fail("graph-fragment", says, help="relax.build takes modules of Relax", span=foreign.span)
        return mod
    if isinstance(mod, Function):
        return IRModule({"main": mod})
    raise fail(
        "api", f"cannot build a {type(mod).__name__}", help="give an IRModule or a relay.Function", kind=ValueError
    )


def build_executable(
    module: IRModule,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    stages: Stages | None = None,
    entry: str = "main",
    restrict: Callable[[IRModule], IRModule] | None = None,
) -> tuple[Executable, dict[str, NDArray]]:
    """The executable of a Relay module, and the parameters bound in it as tensors.

    `restrict` makes the module, its parameters bound, one that the executor can run, or refuses it.

    With a function `entry` in the module only what that needs is compiled, else every function that has no type
    parameters.
    """
    noted = stages or Stages()
    with rarely_collecting():
        bound, known = bind_known(settle(module), params or {})
        bound, external = hand_over(bound)
        bound = CheckCompilers()(bound)  # before `restrict`, which would speak of the composites inside
        bound = restrict(bound) if restrict is not None else bound
        noted.note("Relay", bound)
        relay_module = optimized(bound, entry)
        noted.note("Relay, optimised", relay_module)
        relax_module = lower_relay(relay_module)
    executable = relax_build(relax_module, target, stages=noted)
    facts = {**executable.facts, "bound": sorted(known)}
    return with_external_code(replace(executable, facts=facts), external), known


def optimized(module: IRModule, entry: str = "main") -> IRModule:
    """The module after what every compilation needs (calls of known functions at known types only) and after the passes
    of `relay.build` that the current `PassContext` enables."""
    if entry in module:
        module = RemoveUnusedFunctions((entry,))(module)
    module = DissolveMemory()(module)
    module = Specialize()(EtaExpand(expand_constructor=True, expand_operator=False)(module))
    module = with_written_types(module)
    return optimize(entry if entry in module else None)(module)


def bind_known(module: IRModule, params: Mapping[str, Any]) -> tuple[IRModule, dict[str, NDArray]]:
    """The module with the parameters of `main` bound that `params` has, and those as tensors; names that `main` does
    not have are left out with a warning."""
    if not isinstance(params, Mapping):
        raise fail("params-mismatch", f"params maps names to arrays, got a {type(params).__name__}")
    main = {v.name_hint: f for v, f in module.functions.items()}.get("main")
    names = {p.name_hint for p in main.params} if isinstance(main, Function) else set()
    unknown = sorted(str(n) for n in params if str(n) not in names)
    if unknown:
        has = f"it has {', '.join(sorted(names)) or 'none'}"
        warnings.warn(f"main has no parameter {', '.join(unknown)}: ignored; {has}", stacklevel=4)
    known = {str(n): snapshot(v) for n, v in params.items() if str(n) in names}
    if not known or not isinstance(main, Function):
        return module, known
    return module.with_function(module.get_global_var("main"), bind_params_by_name(main, known)), known
