"""Names of parameters that Relay's text cannot express, stored beside it: `l.weight` of PyTorch, `data:0` of
TensorFlow.

Scripts set inputs and bind weights by these names; the text calls such parameters `%l_weight`, and numbers namesakes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from baton._src.ir.module import IRModule
from baton._src.relay.expressions import replace
from baton._src.relay.nodes import Function, Var
from baton._src.support.diagnostics import fail

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def names_beside(module: IRModule) -> dict[str, list[str]]:
    """The parameters' names of every Relay function whose text would change them, by the functions' names."""
    found = {}
    for key, function in _functions(module).items():
        names = [p.name_hint for p in function.params]
        if len(set(names)) < len(names) or not all(_PLAIN.fullmatch(n) for n in names):
            found[key] = names
    return found


def with_names(module: IRModule, named: Mapping[str, Sequence[str]]) -> IRModule:
    """What was read from the text, with the names that lay beside it. `DiagnosticError` (`json-unknown`) where they are
    not those of the text's functions."""
    functions = _functions(module)
    for key, names in named.items():
        function = functions.get(key)
        if function is None or len(function.params) != len(names) or not all(isinstance(n, str) for n in names):
            raise fail("json-unknown", f"the names of the parameters of {key} do not fit it")
        made = with_params(function, [Var(name, p.type_annotation) for p, name in zip(function.params, names)])
        module = module.with_function(module.get_global_var(key), made)
    return module


def with_params(function: Function, params: Sequence[Var]) -> Function:
    """The function with other variables for its parameters, in its body too."""
    body = replace(function.body, dict(zip(function.params, params, strict=True)))
    return function.with_fields(params=tuple(params), body=body)


def _functions(module: IRModule) -> dict[str, Function]:
    return {v.name_hint: f for v, f in module.functions.items() if isinstance(f, Function)}
