"""BindParams and BindSymbolicVars: parameters become constants, shape variables become numbers or expressions.

    BindParams("main", {"w": array})(module)         main(x, w)  ->  main(x), with R.const(array) for w
    BindSymbolicVars({"n": 3})(module)               R.Tensor(("n", 4))  ->  R.Tensor((3, 4))

Binding a parameter also fixes the shape variables that stand alone in its annotation. Whether a value fits that is as
large as others say (`R.Tensor(("n * 2",))`) is known when these are: the function begins with a cast of it. Calls
of the function within the module go on passing the parameters (`calls_within`).
Source: facts passes-vm §2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import rewrite, substitute
from baton._src.passes.relax.interfaces.calls_within import keep_calls_within
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.check.context import Context
from baton._src.relax.check.deduce import info_of
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.check.signatures import function_info
from baton._src.relax.check.variables import defined_symbolic_vars
from baton._src.relax.nodes import (
    BindingBlock,
    Constant,
    DataTypeImm,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
    as_dim,
)
from baton._src.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import BinaryOp, IntImm, literal
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.shape import ShapeTuple

_LEAVES = (ShapeExpr, PrimValue, StringImm, DataTypeImm)


@dataclass(frozen=True)
class BindParams(Pass):
    """Bind parameters of the function `func_name`, by name or variable: to arrays or constants, and those that are no
    tensors to a ShapeExpr (or integers), PrimValue (or a number), StringImm, DataTypeImm or tuple of such values.

    Errors: `pass-parameter` for a name that no parameter (or more than one) has, or a parameter that is bound twice,
    `pass-shape` for a value that does not fit the annotation.
    """

    func_name: str
    params: Mapping[Any, Any]

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        var = module.get_global_var(self.func_name)
        function = module.functions[var]
        if not isinstance(function, Function):
            raise fail("pass-parameter", f"{self.func_name} is a {type(function).__name__}, not a Relax function")
        return keep_calls_within(
            module, module.with_function(var, _renormalized(module, bind_params(function, self.params)))
        )


@dataclass(frozen=True)
class BindSymbolicVars(Pass):
    """Replace shape variables, given by name or as variables, in `func_name` or in every function.

    Error `pass-parameter`: a name or variable that (in the function, or in any) defines no shape.
    """

    binding_map: Mapping[Any, Any]
    func_name: str | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        chosen = [module.get_global_var(self.func_name)] if self.func_name else list(module.functions)
        functions = {v: module.functions[v] for v in chosen if isinstance(module.functions[v], Function)}
        used: set[Any] = set()
        changed = {}
        for var, function in functions.items():
            found = _chosen_symbols(function, self.binding_map, used)
            if found:
                changed[var] = _renormalized(module, bind_symbolic_vars(function, found))
        missing = [key for key in self.binding_map if key not in used]
        if missing:
            where = f"the function {self.func_name}" if self.func_name else "the module"
            raise fail("pass-parameter", f"{where} has no shape variable {_shown(missing[0])}")
        return module.with_functions({**module.functions, **changed}) if changed else module


def bind_params(function: Function, params: Mapping[Any, Any]) -> Function:
    """`function` without the parameters bound, their uses replaced by constants."""
    replaced: dict[Var, Any] = {}
    for key, content in params.items():
        param = _parameter(function, key)
        if param in replaced:
            raise fail("pass-parameter", f"the parameter {param.name_hint} is bound twice", help="leave one out")
        replaced[param] = _value_of(content, param.struct_info, param.name_hint)
    symbols, checks = _sizes(replaced)
    kept = [p for p in function.params if p not in replaced]
    changes: dict[str, Any] = {"params": tuple(kept), "struct_info_": None}
    count = function.attrs.get("num_input")
    if count is not None:
        bound = sum(p in replaced for p in function.params[: int(count)])
        changes["attrs"] = {**function.attrs, "num_input": int(count) - bound}
    found = function.with_fields(**changes)
    if any(isinstance(value, ShapeExpr) for value in replaced.values()):
        found = substitute(found, replaced)  # annotations may refer to them
    else:
        found = found.with_fields(body=substitute(function.body, replaced, notes=False))
    if checks:
        found = found.with_fields(body=SeqExpr([BindingBlock(checks)], found.body))
    return bind_symbolic_vars(found, symbols) if symbols else found


def bind_symbolic_vars(function: Function, values: Mapping[TirVar, Any]) -> Function:
    """`function` with shape variables replaced in annotations and expressions.

    Error `pass-parameter`: a value of another dtype, or one by which a parameter would have a negative size.
    """
    simplify = Analyzer().simplify
    found: Function = substitute(function, {v: _value(v, d) for v, d in values.items()})
    found = rewrite(found, lambda n: simplify(n) if isinstance(n, BinaryOp) else None, notes=True)
    for param in found.params:
        shape = param.struct_info.shape if isinstance(param.struct_info, TensorStructInfo) else None
        if isinstance(shape, ShapeExpr) and any(isinstance(d, IntImm) and d.value < 0 for d in shape.values):
            bound = ", ".join(f"{v.name} = {d}" for v, d in values.items())
            raise fail("pass-parameter", f"no tensor can be the parameter {param.name_hint} of size {shape} ({bound})")
    return found.with_fields(struct_info_=None)


def _value(symbol: TirVar, value: Any) -> Any:
    """The replacement of a variable; numbers get its dtype."""
    dim = as_dim(value)
    if isinstance(dim, IntImm):
        return IntImm(symbol.dtype, dim.value)
    if dim.dtype != symbol.dtype:
        raise fail("pass-parameter", f"{symbol.name} is {symbol.dtype}, {dim} is {dim.dtype}", help="cast it")
    return dim


def _renormalized(module: IRModule, function: Function) -> Function:
    """The function with its StructInfo recomputed where it changed."""
    found: Function = BlockBuilder(module).normalize(function)
    return found if found.struct_info_ is not None else found.with_fields(struct_info_=function_info(found))


def _parameter(function: Function, key: Any) -> Var:
    found = [p for p in function.params if p is key or (isinstance(key, str) and p.name_hint == key)]
    if len(found) != 1:
        known = ", ".join(p.name_hint for p in function.params)
        problem = "has no parameter" if not found else "has several parameters"
        raise fail("pass-parameter", f"the function {problem} {_shown(key)}", help=f"its parameters: {known}")
    return found[0]


def _value_of(content: Any, info: StructInfo, name: str) -> Any:
    """What a parameter is bound to, with its StructInfo."""
    match info, content:
        case TupleStructInfo(fields=fields), list() | tuple() if len(content) == len(fields):
            content = Tuple([_value_of(c, i, f"{name}[{n}]") for n, (c, i) in enumerate(zip(content, fields))])
        case _, ShapeTuple():
            content = ShapeExpr(content)
        case ShapeStructInfo(), list() | tuple():
            content = ShapeExpr(content)
        case PrimStructInfo(dtype=dtype), bool() | int() | float() | np.generic():
            content = PrimValue(literal(content, dtype))
        case _:
            pass  # a constant, or what is made one
    if not isinstance(content, (Constant, Tuple, *_LEAVES)):
        try:
            content = Constant(content)
        except DiagnosticError as wrong:
            raise fail("pass-shape", f"the parameter {name} is {info!r}: {wrong.diagnostics[0].message}") from wrong
    if content.struct_info_ is None:
        content = content.with_fields(struct_info_=info_of(content, Context()))
    return content


def _sizes(bound: Mapping[Var, Any]) -> tuple[dict[TirVar, Any], list[MatchCast]]:
    """The shape variables that the values of parameters fix, and checks of values that depend on what they leave open.

    Error `pass-shape`: a value that does not fit.
    """
    pairs = [(param.struct_info, value.struct_info) for param, value in bound.items()]
    sizes = map_parameters(pairs)
    prover = Analyzer()
    checks = []
    for (param, value), (wanted, given) in zip(bound.items(), pairs):
        expected = substitute_info(wanted, sizes, prover)
        fits = struct_info_base_check(expected, given, prover)
        if fits is BaseCheckResult.FAIL_L0:
            data = value.data if isinstance(value, Constant) else None
            what = f"{given!r}" if data is None else f"a constant of shape {data.shape} and dtype {data.dtype}"
            at = "".join(f", {v.name} = {getattr(d, 'value', d)}" for v, d in sizes.items())
            raise fail("pass-shape", f"{what} does not fit the parameter {param.name_hint}, which is {wanted!r}{at}")
        if fits is not BaseCheckResult.PASS:
            checks.append(MatchCast(None, value, expected))
    return sizes, checks


def _chosen_symbols(function: Function, binding_map: Mapping[Any, Any], used: set[Any]) -> dict[TirVar, Any]:
    found: dict[TirVar, Any] = {}
    for symbol in defined_symbolic_vars(function):
        for key, value in binding_map.items():
            if key is symbol or (isinstance(key, str) and key == symbol.name):
                if symbol in found:
                    raise fail(
                        "pass-parameter", f"the shape variable {symbol.name} is bound twice", help="leave one out"
                    )
                found[symbol] = value
                used.add(key)
    return found


def _shown(key: Any) -> str:
    return repr(key) if isinstance(key, str) else repr(getattr(key, "name_hint", key))
