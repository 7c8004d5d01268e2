"""`refuse_foreign(step, module)`: passes of Relax are not run on programs of Relay, nor the other way.

They would find nothing that they know and give the module back as if all were well. Modules of kernels alone are fine
for passes of either language, and so are modules that hold functions of both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from baton._src.driver.passes_by_name import passes_named
from baton._src.ir.module import IRModule
from baton._src.passes import relax as relax_passes
from baton._src.passes import relay as relay_passes
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import fail
from baton._src.transform.passes import Pass

_PACKAGES = {"relax": relax_passes, "relay": relay_passes}
_FUNCTIONS: dict[str, type] = {"relax": relax.Function, "relay": relay.Function}
_OTHER = {"relax": "relay", "relay": "relax"}
_TRANSLATED = "; or translate the program first: relax.from_relay(module)"


def refuse_foreign(step: Pass, module: IRModule) -> None:
    """Error `pass-language` if the pass is of one language, and the module's functions are all of the other."""
    made: Any = type(step)
    own = _language(made)
    if own is None:
        return
    functions = module.functions.values()
    other = _OTHER[own]
    if any(isinstance(f, _FUNCTIONS[own]) for f in functions) or not any(
        isinstance(f, _FUNCTIONS[other]) for f in functions
    ):
        return
    there = next(passes_named(_PACKAGES[other], step.name), None)
    way = f"use a pass of {other}.transform" if there is None else f"use {other}.transform.{step.name}"
    raise fail(
        "pass-language",
        f"{step.name} is a pass over {own.capitalize()}, and the module is one of {other.capitalize()}",
        help=way + (_TRANSLATED if own == "relax" else ""),
    )


@cache
def _language(made: type[Any]) -> str | None:
    """The language whose functions a pass changes, by these or by where it is defined."""
    functions = getattr(made, "function_class", None)
    for name, package in _PACKAGES.items():
        if functions is _FUNCTIONS[name] or any(c.__module__.startswith(package.__name__ + ".") for c in made.__mro__):
            return name
    return None
