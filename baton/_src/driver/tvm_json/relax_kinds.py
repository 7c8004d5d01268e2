"""Relax's expressions, bindings and struct infos. Struct infos that the document notes are taken over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_json.attributes import attributes, plain
from baton._src.driver.tvm_json.document import Fields, Kind
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.node import set_note
from baton._src.relax import nodes as relax
from baton._src.relax import struct_info as infos

Info = infos.StructInfo


def _call(fields: Fields) -> Any:
    op = fields.part("op", GraphExpr)
    attrs = attributes(fields.ref("attrs"), op)
    return relax.Call(op, fields.items("args", GraphExpr), attrs, fields.items("sinfo_args", Info), fields.span)


def _var(make: Callable[..., Any]) -> Callable[[Fields], Any]:
    return lambda f: make(str(f.ref("vid")), f.ref("struct_info_", Info), f.span)


def _function(fields: Fields) -> Any:
    return relax.Function(
        fields.items("params", relax.Var),
        fields.part("body", GraphExpr),
        fields.ref("ret_struct_info", Info),
        is_pure=fields.literal("is_pure") in ("1", "true", "True"),
        attrs=plain(fields.ref("attrs")) or {},
        span=fields.span,
    )


def _tensor_info(fields: Fields) -> Any:
    shape = fields.ref("shape", GraphExpr)
    rank = fields.int("ndim") if shape is None else -1
    return infos.TensorStructInfo(shape, fields.dtype("dtype"), fields.ref("vdevice"), rank)


def _shape_info(fields: Fields) -> Any:
    values = fields.ref("values", tuple)
    return infos.ShapeStructInfo(values, fields.int("ndim") if values is None else -1)


def _prim_info(fields: Fields) -> Any:
    value = fields.ref("value", PrimExpr)
    return infos.PrimStructInfo(None if value is not None else fields.dtype("dtype"), value)


def _func_info(fields: Fields) -> Any:
    if fields.ref("derive_func") is not None:
        raise fields.fail("struct infos with a derivation function of their own are not read")
    pure = not fields.has("purity") or fields.literal("purity") in ("1", "true", "True")
    return infos.FuncStructInfo(fields.ref("params", tuple), fields.part("ret", Info), purity=pure)


def _noted(refs: str, make: Callable[[Fields], Any]) -> Kind:
    """An expression, with the struct info that the document gives it."""

    def with_info(fields: Fields) -> Any:
        made = make(fields)
        info = fields.ref("struct_info_", Info)
        if info is not None:
            set_note(made, "struct_info_", info)
        return made

    return Kind((*refs.split(), "struct_info_", "span"), with_info)


def _plain(refs: str, make: Callable[[Fields], Any]) -> Kind:
    return Kind((*refs.split(), "span"), make)


RELAX: dict[str, Kind] = {
    "relax.Id": Kind(("name_hint",), lambda f: f.text("name_hint")),
    "relax.expr.Var": _noted("vid", _var(relax.Var)),
    "relax.expr.DataflowVar": _noted("vid", _var(relax.DataflowVar)),
    "relax.expr.Constant": _noted("", lambda f: relax.Constant(f.tensor("data"), f.ref("struct_info_", Info), f.span)),
    "relax.expr.Tuple": _noted("fields", lambda f: relax.Tuple(f.items("fields", GraphExpr), f.span)),
    "relax.expr.TupleGetItem": _noted(
        "tuple_value", lambda f: relax.TupleGetItem(f.part("tuple_value", GraphExpr), f.int("index"), f.span)
    ),
    "relax.expr.ShapeExpr": _noted("values", lambda f: relax.ShapeExpr(f.items("values", PrimExpr), f.span)),
    "relax.expr.PrimValue": _noted("value", lambda f: relax.PrimValue(f.part("value", PrimExpr), f.span)),
    "relax.expr.StringImm": _noted("value", lambda f: relax.StringImm(f.text("value"), f.span)),
    "relax.expr.DataTypeImm": _noted("", lambda f: relax.DataTypeImm(f.dtype("value"), f.span)),
    "relax.expr.ExternFunc": _noted(
        "global_symbol", lambda f: relax.ExternFunc(f.text("global_symbol"), f.ref("struct_info_", Info), f.span)
    ),
    "relax.expr.Call": _noted("op args attrs sinfo_args", _call),
    "relax.expr.If": _noted(
        "cond true_branch false_branch",
        lambda f: relax.If(
            f.part("cond", GraphExpr), f.part("true_branch", GraphExpr), f.part("false_branch", GraphExpr), f.span
        ),
    ),
    "relax.expr.SeqExpr": _noted(
        "blocks body", lambda f: relax.SeqExpr(f.items("blocks", relax.BindingBlock), f.part("body", GraphExpr), f.span)
    ),
    "relax.expr.Function": _noted("params body ret_struct_info attrs", _function),
    "relax.expr.BindingBlock": _plain(
        "bindings", lambda f: relax.BindingBlock(f.items("bindings", relax.Binding), f.span)
    ),
    "relax.expr.DataflowBlock": _plain(
        "bindings", lambda f: relax.DataflowBlock(f.items("bindings", relax.Binding), f.span)
    ),
    "relax.expr.VarBinding": _plain(
        "var value", lambda f: relax.VarBinding(f.part("var", relax.Var), f.part("value", GraphExpr), f.span)
    ),
    "relax.expr.MatchCast": _plain(
        "var value struct_info",
        lambda f: relax.MatchCast(
            f.ref("var", relax.Var), f.part("value", GraphExpr), f.part("struct_info", Info), f.span
        ),
    ),
    "relax.ObjectStructInfo": _plain("", lambda f: infos.ObjectStructInfo()),
    "relax.PrimStructInfo": _plain("value", _prim_info),
    "relax.ShapeStructInfo": _plain("values", _shape_info),
    "relax.TensorStructInfo": _plain("shape vdevice", _tensor_info),
    "relax.TupleStructInfo": _plain("fields", lambda f: infos.TupleStructInfo(f.items("fields", Info))),
    "relax.FuncStructInfo": _plain("params ret derive_func", _func_info),
    **{
        f"relax.{name}": Kind((), lambda f: None)
        for name in ("ShapeType", "DynTensorType", "ObjectType", "PackedFuncType")
    },
}
