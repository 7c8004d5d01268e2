"""Calls within a module of a function that a pass gave other parameters or results, for its host: they go on as before.

    main(x, w)                       ->  main(x, fget_param)      what the pass made of it
    other(x, w): calls main(x, w)        main1(x, w)              main as it was, private
                                         other(x, w): calls main1(x, w)

Such a caller has no function to fetch weights with, and passes the weights that it means.
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.call_graph import call_graph, reachable
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import Function
from baton._src.relax.own_variables import copy_with_new_vars

_OF_ENTRIES = ("global_symbol", "num_input")
"""The attributes of functions that a host calls."""


def keep_calls_within(before: IRModule, after: IRModule) -> IRModule:
    """`after`, where functions that mention one whose signature is not that of `before` mention a private one that is
    as it was.
    """
    if after is before:
        return after
    changed = {v for v, f in before.functions.items() if isinstance(f, Function) and _differs(f, after.functions[v])}
    old, new = call_graph(before), call_graph(after)
    kept = reachable(old, {callee for callees in new.values() for callee in callees if callee in changed})
    taken = {v.name_hint for v in after.functions}
    names = {}
    for var in old:
        if var in changed and var in kept:
            names[var] = var.with_fields(name_hint=free_name(var.name_hint, taken))
            taken.add(names[var].name_hint)
    private = {name: _private(before.functions[var]) for var, name in names.items()}
    functions = {**after.functions, **private}
    return after.with_functions({v: substitute(f, names, notes=False) for v, f in functions.items()})


def _differs(old: Function, new: Any) -> bool:
    return new is not old and not structural_equal(function_info(old), function_info(new), map_free_vars=True)


def _private(function: Function) -> Function:
    attrs = {name: value for name, value in function.attrs.items() if name not in _OF_ENTRIES}
    return copy_with_new_vars(function).with_fields(attrs=attrs)
