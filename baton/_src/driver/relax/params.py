"""Bind parameters to constants by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes.relax.interfaces.bind_params import BindParams
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.deduce import constant_info
from baton._src.relax.nodes import Constant, Function, Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.values.convert import snapshot
from baton._src.values.tensor import NDArray


def bind_params(module: IRModule, name: str, params: Mapping[Any, Any]) -> IRModule:
    """`module` with parameters of function `name` replaced by constants; keys are names or the parameters themselves.

    The sizes that a parameter leaves open become those of its constant, in the whole function.
    Raises `DiagnosticError`: `params-unknown` (no parameter of a name, or several), `params-mismatch` (dtype or shape
    that the parameter does not allow), `pass-shape` (two constants that give an open size different numbers).
    """
    var = module.get_global_var(name)
    function = module.functions[var]
    if not isinstance(function, Function):
        raise fail("params-unknown", f"{name} is not a Relax function")
    if not isinstance(params, Mapping):
        raise fail("params-mismatch", f"params maps names to arrays, got a {type(params).__name__}")
    replaced: dict[Var, Constant] = {}
    for key, content in params.items():
        param = key if isinstance(key, Var) else _named(function, name, str(key))
        replaced[param] = _constant(param, content)
    bound: IRModule = BindParams(name, replaced)(module)
    return bound


def _named(function: Function, name: str, key: str) -> Var:
    found = [p for p in function.params if p.name_hint == key]
    if len(found) == 1:
        return found[0]
    problem = f"{name} has {'several parameters' if found else 'no parameter'} {key!r}"
    raise fail("params-unknown", problem, help=f"it has: {', '.join(p.name_hint for p in function.params)}")


def _constant(param: Var, content: Any) -> Constant:
    value = content.data if isinstance(content, Constant) else snapshot(content)
    if not isinstance(value, NDArray):
        raise fail("params-mismatch", f"parameter {param.name_hint} needs a tensor, not a {type(content).__name__}")
    constant = Constant(value)
    info = constant_info(constant)
    wanted = param.struct_info_
    if isinstance(wanted, TensorStructInfo):
        if struct_info_base_check(wanted, info, Analyzer()) < BaseCheckResult.FAIL_L2:
            raise fail(
                "params-mismatch",
                f"parameter {param.name_hint} needs {wanted!r}, got a tensor of shape {value.shape} and {value.dtype}",
            )
    return Constant(value, info)
