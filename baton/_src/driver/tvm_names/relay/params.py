"""Parameters that importers keep separately from their programs."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.values.tensor import NDArray


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """The module without the parameters' values, and the values by function; for `keep_params_in_input=True`."""
    functions, values = {}, {}
    for var, function in mod.functions.items():
        found = getattr(function, "attrs", {}).get("params")
        functions[var] = function if found is None else function.without_attr("params")
        if found is not None:
            values[var.name_hint] = list(found)
    return mod.with_functions(functions), values
