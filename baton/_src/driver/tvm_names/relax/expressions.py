"""Functions of `tvm.relax` on expressions and programs that need several layers: shapes, te tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from baton._src.ir.node import set_note
from baton._src.ir.traverse import substitute
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.call_te import call_te_arguments
from baton._src.relax.nodes import Call, ExternFunc, ShapeExpr
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.te.computation import placeholder
from baton._src.te.tensor import Tensor
from baton._src.tir.prim_func import PrimFunc


def extern(name: str, struct_info: StructInfo | None = None, span: Span | None = None) -> ExternFunc:
    """A packed function by name."""
    return ExternFunc(name, struct_info, span)


def update_struct_info(expr: Any, struct_info: StructInfo | None) -> None:
    """Note what is known of an expression, such as of a GlobalVar whose function a pass has changed."""
    set_note(expr, "struct_info_", struct_info)


def get_shape_of(expr: Any) -> Any:
    """The shape of an expression: its static shape if known, else a call of `shape_of`."""
    info = expr.struct_info_ if expr.struct_info_ is not None else BlockBuilder().normalize(expr).struct_info
    if isinstance(info, TensorStructInfo):
        return info.shape if info.shape is not None else Call(special_op("shape_of"), [expr])
    if isinstance(info, ShapeStructInfo) and info.values is not None:
        return ShapeExpr(info.values)
    raise fail("relax-api", f"an expression of struct info {info} has no shape")


def te_tensor(value: Any, tir_var_map: Any = None, name: str = "rxplaceholder") -> Tensor:
    """A te tensor like `value`, shape variables replaced by `tir_var_map`."""
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr) or info.dtype.is_void:
        raise fail("relax-api", f"a te tensor has a known shape and dtype; this is {info}")
    dims = [substitute(d, dict(tir_var_map or {})) for d in info.shape.values]
    return placeholder(dims, info.dtype, name)


def gen_call_tir_inputs(
    func: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[PrimFunc, list[Any], list[Any], ShapeExpr | None]:
    """What `call_tir` takes to compute a te function: the kernel, its arguments, what the results are, and the shape
    variables that no tensor shows (`primfunc_attrs`: attributes of the kernel)."""
    made = call_te_arguments(BlockBuilder().normalize, func, args, kwargs)
    infos = made.outputs.fields if isinstance(made.outputs, TupleStructInfo) else (made.outputs,)
    return made.function, list(made.args), list(infos), ShapeExpr(made.integers) if made.integers else None


_METADATA = "metadata = tvm.ir.load_json("


def metadata_partitioner(rx_txt: str) -> list[str]:
    """A printed program and the JSON of its metadata section, apart. ValueError: there is no such section."""
    lines = rx_txt.splitlines(keepends=True)
    found = next((line for line in lines if line.strip().startswith(_METADATA)), None)
    if found is None:
        raise ValueError("The metadata section was not found.")
    literal = found.strip().removeprefix(_METADATA).removesuffix(")")
    return ["".join(line for line in lines if line is not found), str(ast.literal_eval(literal))]
