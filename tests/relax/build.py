"""Short names for building StructInfo and programs in tests."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.driver.wiring import wire
from baton._src.ops.builders import RELAX as RELAX
from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.relax import nodes
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.relax.well_formed import well_formed
from baton._src.script.entrance import from_source
from baton._src.script.namespaces import script_roots
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import Var as TirVar
from baton._src.values.dtype import VOID

wire()
ROOTS = script_roots(RELAX_TEXT)
n, m, k = TirVar("n", "int64"), TirVar("m", "int64"), TirVar("k", "int64")
Ob = ObjectStructInfo()


def Ts(shape: Any = None, dtype: object = VOID, ndim: int = -1, vdevice: Any = None) -> TensorStructInfo:
    """A tensor info; unlike the node's own default the dtype is unknown unless given."""
    return TensorStructInfo(shape, dtype, vdevice, ndim)


def Sh(values: Any = None, ndim: int = -1) -> ShapeStructInfo:
    return ShapeStructInfo(values, ndim)


def Pr(dtype: object, value: Any = None) -> PrimStructInfo:
    return PrimStructInfo(dtype, value)


def Tu(*fields: Any) -> TupleStructInfo:
    return TupleStructInfo(fields)


def Fn(params: Any, ret: Any = Ob, purity: bool = True, derive: Any = None) -> FuncStructInfo:
    return FuncStructInfo(params, ret, purity, derive_func=derive)


def load(text: str, **options: Any) -> Any:
    """A module or function from text; nothing of it is run."""
    return from_source(text, ROOTS, **options)


def module(body: str, **options: Any) -> Any:
    """A module from the functions inside its class."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return load(f"@I.ir_module\nclass Module:\n{lines}\n", **options)


def packed(name: str, *args: Any, infos: Any = ()) -> nodes.Call:
    """A call of a packed function."""
    return nodes.Call(nodes.ExternFunc(name), args, None, infos)


def info(expr: Any, strict: bool = False) -> StructInfo:
    """What is deduced of an expression over `n`, `m` and `k`."""
    builder = BlockBuilder(strict=strict)
    with builder.testing_scope([n, m, k]):
        found: StructInfo = builder.normalize(expr).struct_info
        return found


def refuses(expr: Any, code: str = "relax-struct-info", strict: bool = False) -> str:
    """What is said of an expression of which nothing can be deduced."""
    with pytest.raises(DiagnosticError) as error:
        info(expr, strict)
    assert error.value.code == code, error.value
    return str(error.value)


def codes(program: Any, **options: Any) -> list[str]:
    """The codes of what is not well-formed in a module or function."""
    return [d.code for d in well_formed(program, **options)]


def refused(text: str) -> DiagnosticError:
    """The error of reading a script: functions with their decorators, or a whole module."""
    with pytest.raises(DiagnosticError) as error:
        load(text) if text.startswith("@R") else module(text)
    return error.value
