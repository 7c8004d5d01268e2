"""The contents of `I`, `R` and `T`. Higher layers supply the operators of `R` and the functions of `T`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.global_info import DummyGlobalInfo, VDevice
from baton._src.relax.call_builders import emit_with_sinfo
from baton._src.relax.special_builders import SPECIAL_BUILDERS
from baton._src.script.decorators import FUNCTION, IR_MODULE, MACRO, PRIM_FUNC, TIR_MACRO
from baton._src.script.environment import ScriptNamespace
from baton._src.script.infos import INFO_KINDS
from baton._src.script.markers import MODULE_MARKERS, RELAX_MARKERS
from baton._src.script.scalars import SCALARS


def vdevice(target: Any = "llvm", vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """A virtual device of the module (`I.vdevice`)."""
    return VDevice(target, int(vdevice_id), memory_scope)


def ir_entries() -> dict[str, Any]:
    """The contents of `I`."""
    return {"ir_module": IR_MODULE, "vdevice": vdevice, "dummy_global_info": DummyGlobalInfo, **MODULE_MARKERS}


def relax_entries(operators: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of `R`, by dotted name. `operators` are the builders of the catalogue, by dotted name."""
    return {
        **operators,
        **SPECIAL_BUILDERS,
        **RELAX_MARKERS,
        **INFO_KINDS,
        "function": FUNCTION,
        "emit_with_sinfo": emit_with_sinfo,
        "macro": MACRO,
    }


def script_roots(operators: Mapping[str, Any], scalars: Mapping[str, Any] | None = None) -> dict[str, ScriptNamespace]:
    """The roots of a script: `operators` as for `relax_entries`; `scalars` adds words to `T`.

    (The words inside a PrimFunc are read by TIR's own reader.)
    """
    return {
        "I": ScriptNamespace(ir_entries(), "I"),
        "R": ScriptNamespace(relax_entries(operators), "R"),
        "T": ScriptNamespace({**(scalars or {}), **SCALARS, "prim_func": PRIM_FUNC, "macro": TIR_MACRO}, "T"),
    }
