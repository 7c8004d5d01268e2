"""`tvm.relax.analysis` as scripts call it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.relax.check.well_formed import well_formed as violations
from baton._src.relax.nodes import Function


def well_formed(obj: IRModule | Function, check_struct_info: bool = True) -> bool:
    """Whether a module (or a function alone) is well-formed; what is wrong is given as warnings."""
    found = violations(obj, check_struct_info)
    for diagnostic in found:
        warnings.warn(diagnostic.render(), stacklevel=2)
    return not found


def post_order_visit(expr: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every node, children first."""
    for node in post_order(expr):
        fvisit(node)
