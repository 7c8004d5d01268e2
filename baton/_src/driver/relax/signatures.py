"""Signatures of a module's functions, stored as facts of the executable (`tensor_spec` reads them)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import Function, ShapeExpr
from baton._src.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    untupled,
)
from baton._src.runtime.dim_expr import format_dim
from baton._src.tir.expr import IntImm
from baton._src.values.meaning import PLAIN, Meaning


def signature_facts(module: IRModule) -> dict[str, Any]:
    """For every public function: its inputs and outputs as JSON data."""
    return {
        var.name_hint: {
            "inputs": _with_meanings(function, "input_meanings", _inputs(function)),
            "outputs": _with_meanings(function, "output_meanings", _outputs(function)),
            **({"strings": list(map(str, function.attrs["strings"]))} if "strings" in function.attrs else {}),
        }
        for var, function in module.functions.items()
        if isinstance(function, Function) and "global_symbol" in function.attrs
    }


def _with_meanings(function: Function, attribute: str, specs: list[list[Any]]) -> list[list[Any]]:
    """What stands for something else than itself has its `Meaning` behind it."""
    meanings = [Meaning(*m) for m in function.attrs.get(attribute) or ()]
    meanings += [PLAIN] * (len(specs) - len(meanings))
    return [[*s, list(m)] if m != PLAIN else s for s, m in zip(specs, meanings, strict=True)]


def _inputs(function: Function) -> list[list[Any]]:
    return [_spec(p.name_hint, p.struct_info_) for p in function.params]


def _outputs(function: Function) -> list[list[Any]]:
    """Tuples opened, as a model's results are; shapes and scalars are arrays there."""
    fields = untupled(function.ret_struct_info)
    names = function.attrs.get("output_names") or [f"output_{i}" for i in range(len(fields))]
    return [_output(str(name), field) for name, field in zip(names, fields)]


def _output(name: str, info: StructInfo | None) -> list[Any]:
    match info:
        case ShapeStructInfo(ndim=count):
            return [name, "int64", [count if count >= 0 else "?"]]
        case PrimStructInfo(dtype=dtype):
            return [name, str(dtype), []]
        case _:
            return _spec(name, info)


def _spec(name: str, info: StructInfo | None) -> list[Any]:
    if not isinstance(info, TensorStructInfo):
        return [name, "void", None]
    if isinstance(info.shape, ShapeExpr):
        return [name, str(info.dtype), [_dim(d) for d in info.shape.values]]
    return [name, str(info.dtype), None if info.ndim < 0 else ["?"] * info.ndim]


def _dim(dim: Any) -> int | str:
    if isinstance(dim, IntImm):
        return dim.value
    variables = list(dict.fromkeys(prim_vars(dim)))
    slots = {v: i for i, v in enumerate(variables)}
    return format_dim(to_dim_expr(dim, slots), [v.name for v in variables])
