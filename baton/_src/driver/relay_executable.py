"""From a Relay module to an executable: lowered to Relax, then the one way there is."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton._src.driver.relax_build import Stages, relax_build
from baton._src.ir.module import IRModule
from baton._src.lower.relay_to_relax.module import lower as lower_relay
from baton._src.relax.nodes import Function as RelaxFunction
from baton._src.relay.nodes import Function
from baton._src.runtime.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host
from baton._src.values.tensor import NDArray


def as_relay_module(mod: IRModule | Function) -> IRModule:
    """The module; a function becomes `main` of a new one."""
    if isinstance(mod, IRModule):
        return mod
    if isinstance(mod, Function):
        return IRModule({"main": mod})
    raise fail("api", f"cannot build a {type(mod).__name__}", help="give an IRModule or a relay.Function")


def build_executable(
    module: IRModule, target: Any = None, params: Mapping[str, Any] | None = None, stages: Stages | None = None
) -> tuple[Executable, dict[str, NDArray]]:
    """The executable of a Relay module, and the parameters bound in it as tensors."""
    relax_module = lower_relay(module)
    known = _known_params(relax_module, params or {})
    executable = relax_build(relax_module, target, known, stages=stages)
    facts = {**executable.facts, "bound": sorted(known)}
    return replace(executable, facts=facts), known


def _known_params(module: IRModule, params: Mapping[str, Any]) -> dict[str, NDArray]:
    """The parameters that `main` has, as tensors; others are left out with a warning."""
    main = module["main"]
    names = {p.name_hint for p in main.params} if isinstance(main, RelaxFunction) else set()
    unknown = sorted(str(n) for n in params if str(n) not in names)
    if unknown:
        warnings.warn(f"main has no parameter {', '.join(unknown)}: ignored", stacklevel=4)
    return {str(n): from_host(v) for n, v in params.items() if str(n) in names}
