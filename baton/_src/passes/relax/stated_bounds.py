"""What a function's attributes say of the sizes it is called with: `tir_var_upper_bound: {"n": 2048}`."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.relax.nodes import Function
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm

LOWER, UPPER = "tir_var_lower_bound", "tir_var_upper_bound"


def stated_bounds(function: Function, attribute: str) -> dict[str, int]:
    """The bounds in an attribute by the names of shape variables.

    Error `pass-bounds`: it is no such mapping, a bound is no whole number or negative, or an upper bound is zero.
    """
    given = function.attrs.get(attribute) or {}
    if not isinstance(given, Mapping):
        raise fail("pass-bounds", f"{attribute} must map names of shape variables to numbers, got {given!r}")
    return {str(name): _number(attribute, name, bound) for name, bound in given.items()}


def _number(attribute: str, name: object, bound: object) -> int:
    number = bound.value if isinstance(bound, IntImm) else bound
    least = 1 if attribute == UPPER else 0
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise fail("pass-bounds", f"{attribute} of {name} must be a whole number from {least} on, got {bound!r}")
    return number
