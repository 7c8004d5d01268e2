"""Passes of a script's own over kernels, wherever these are built: the setting `tir.add_lower_pass`.

with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, step)]}):
    relay.build(module, "llvm")

They all see kernels as `tvm.lower` gives them (those of programs: fused, before they are scheduled), in the order of
their phases.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

KEY = "tir.add_lower_pass"


def with_added_passes(kernels: Mapping[str, PrimFunc]) -> dict[str, PrimFunc]:
    """The kernels after the script's passes."""
    added = PassContext.current().setting(KEY) or ()
    if not added or not kernels:
        return dict(kernels)
    module = IRModule(dict(kernels))
    for _, step in sorted(added, key=lambda pair: int(pair[0])):
        module = step(module)
    return {v.name_hint: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}


def with_program_passes(program: IRModule) -> IRModule:
    """A Relax module whose kernels went through the script's passes. Error `pass-kernels`: one of them is gone."""
    if not PassContext.current().setting(KEY):
        return program
    kernels = {v.name_hint: (v, f) for v, f in program.functions.items() if isinstance(f, PrimFunc)}
    made = with_added_passes({name: f for name, (_, f) in kernels.items()})
    gone = [name for name in kernels if name not in made]
    if gone:
        raise fail("pass-kernels", f"a pass of {KEY} removed the kernel {gone[0]}", help="give every kernel back")
    changed = {var: made[name] for name, (var, f) in kernels.items() if made[name] is not f}
    return program.with_functions({**program.functions, **changed}) if changed else program
