"""Constants that are bound after an executable was loaded, so that large weights can live in a separate file.

    executable, taken = without_large_constants(executable, 256)      # {"const_0": weight, ...}
    executable = with_late_constants(executable, taken)

A removed constant is replaced by a `LateConstant`, which is saved with the executable and describes what must be bound.
An executable that still has any refuses to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton._src.runtime.executable.constants import LateConstant
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.convert import from_host
from baton._src.values.tensor import NDArray


def late_constants(executable: Executable) -> list[LateConstant]:
    """The placeholders that are still unbound."""
    return [c for c in executable.constants if isinstance(c, LateConstant)]


def without_large_constants(executable: Executable, byte_limit: int) -> tuple[Executable, dict[str, NDArray]]:
    """The executable without its constants of `byte_limit` bytes or more, and those by name.

    Error `late-constants`: some were taken before.
    """
    if late_constants(executable):
        raise fail("late-constants", "the constants of this executable were already moved out", help="load them first")
    taken: dict[str, NDArray] = {}
    kept: list[Any] = []
    tensors = 0
    for constant in executable.constants:
        found = constant
        if isinstance(constant, NDArray):
            if constant.data.nbytes >= byte_limit:
                found = LateConstant(f"const_{tensors}", constant.shape, constant.dtype)
                taken[found.name] = constant
            tensors += 1
        kept.append(found)
    return replace(executable, constants=tuple(kept)), taken


def with_late_constants(executable: Executable, given: Mapping[str, Any]) -> Executable:
    """The executable with the tensors that were taken from it, by name.

    Error `late-constants`: one is missing, unknown, or of another shape or dtype.
    """
    tensors = {str(name): from_host(value) for name, value in given.items()}
    bound = tuple(_bound(c, tensors) if isinstance(c, LateConstant) else c for c in executable.constants)
    unknown = sorted(set(tensors) - {late.name for late in late_constants(executable)})
    if unknown:
        raise fail("late-constants", f"the executable does not wait for constants {', '.join(unknown)}")
    return replace(executable, constants=bound)


def _bound(late: LateConstant, tensors: Mapping[str, Any]) -> NDArray:
    found = tensors.get(late.name)
    if found is None:
        raise fail("late-constants", f"constant {late.name!r} is missing", help=f"it is a {late}")
    if not isinstance(found, NDArray) or found.shape != late.shape or found.dtype != late.dtype:
        shown = f"{found.shape} of {found.dtype}" if isinstance(found, NDArray) else type(found).__name__
        raise fail(
            "late-constants", f"constant {late.name!r} is {shown}", help=f"the executable was made with a {late}"
        )
    return found


def unbound_constants_error(executable: Executable) -> DiagnosticError | None:
    """The error (`late-constants`) of running an executable whose constants are not all there; None if they are."""
    names = ", ".join(late.name for late in late_constants(executable))
    if not names:
        return None
    help = "call load_late_bound_consts(path) or load_late_bound_consts_from_map(...) on the executable first"
    return fail("late-constants", f"the constants {names} are not loaded yet", help=help)
