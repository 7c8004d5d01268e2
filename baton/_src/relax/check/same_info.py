"""Whether two StructInfos of one function say exactly the same."""

from __future__ import annotations

from typing import Any

from baton._src.ir.structural import structural_equal
from baton._src.relax.check.variables import shape_holders, tir_vars_in_struct_info


def same_info(a: Any, b: Any) -> bool:
    """Equal with the same variables in the same places (`structural_equal` alone pairs `n` with `m`)."""
    if a is b:
        return True
    if a is None or b is None or not structural_equal(a, b):
        return False
    ours = [*tir_vars_in_struct_info(a), *shape_holders(a)]
    theirs = [*tir_vars_in_struct_info(b), *shape_holders(b)]
    return len(ours) == len(theirs) and all(x is y for x, y in zip(ours, theirs))
