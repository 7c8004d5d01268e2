"""Convert what users give as a target to a `Target` that is supported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.target import Target
from baton._src.support.diagnostics import fail

MACHINE_CODE = ("llvm",)
"""The kinds of targets whose code is run in this process."""
BUILT = ("llvm", "c")
"""Those that `build` functions make code for."""


def built_target(said: Any = None, host: Any = None) -> Target:
    """`chosen_target` for what is built, which may be C code as well."""
    return chosen_target(said, host, BUILT)


def chosen_target(said: Any = None, host: Any = None, kinds: Sequence[str] = MACHINE_CODE) -> Target:
    """A `Target`, a string, a mapping of options, or None for the current target (this machine if there is none).

    TVM's forms for several devices (a dict or list with one CPU target) are accepted. `host` is what calls the kernels
    are made for, by default the target's own host: a CPU, whose options change nothing, because the code that calls
    kernels is compiled with them. Raises `DiagnosticError` for what cannot be compiled for.
    """
    if isinstance(said, (list, tuple)) and len(said) == 1:
        said = said[0]
    if isinstance(said, Mapping) and "kind" not in said and len(said) == 1:
        said = next(iter(said.values()))
    if said is None:
        current = Target.current(allow_none=True)
        target = current if current is not None else Target("llvm")
    else:
        target = said if isinstance(said, Target) else Target(said)
    kind = str(target.kind)
    if kind not in kinds:
        known = " or ".join(f'"{name}"' for name in kinds)
        raise fail("target-kind", f"cannot compile for {kind}", help=f"code is made for CPUs: target {known}")
    caller = target.host_target if host is None else Target(host)
    if caller is not None and str(caller.kind) not in BUILT:
        message = f"cannot compile for the host {caller.kind}"
        raise fail("target-kind", message, help='kernels are called on a CPU: leave the host out, or give "llvm"')
    return target
