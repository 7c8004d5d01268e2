"""The order in which a module's functions are inferred: callees first, functions that call one another together."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import GlobalVar
from baton._src.relay.nodes import Function
from baton._src.support.graphs import components


def definition_order(
    functions: Mapping[GlobalVar, Function], mentions: Mapping[GlobalVar, list[GlobalVar]]
) -> list[list[GlobalVar]]:
    """The strongly connected components of the call graph, callees first.

    `mentions` has the globals of each function.
    """
    by_name = {var.name_hint: var for var in functions}
    calls: dict[GlobalVar, list[GlobalVar]] = {}
    for var in functions:
        named = [by_name[g.name_hint] for g in mentions[var] if g.name_hint in by_name]
        calls[var] = list(dict.fromkeys(named))
    return components(calls)
