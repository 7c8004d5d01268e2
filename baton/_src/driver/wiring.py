"""What binds the layers together: operator overloads, calls of global names, printers.

Builders and printers live in later layers than the nodes they serve; this is the one place where they meet. `wire()` is
called by the public face; calling it again does nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ops.syntax import build_relax, build_relay, call_global
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay


@cache
def wire() -> None:
    """Give expressions their operators, and `GlobalVar` its calls."""
    owners: tuple[tuple[Any, Any], ...] = ((relay.Expr, build_relay), (relax.Expr, build_relax))
    for owner, build in owners:
        owner.build = staticmethod(build)
    # A plain function set on the class becomes a method: the callee is its first argument.
    GlobalVar.call = staticmethod(call_global)
