"""`relax.testing.ast_printer`: programs as the tree of their nodes, for looking at how they are put together.

dump_ast(relax.Tuple([x, y]), include_struct_info_annotations=False)
->
Tuple(fields=[
    Var(name_hint="x"),
    Var(name_hint="y")
])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.relax import nodes as rx
from baton._src.relax.functors import ExprFunctor
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import IntImm


def _quoted(text: Any) -> str:
    return f'"{text}"'


class ASTPrinter(ExprFunctor):
    """A text for every node: `Name(field=..., field=...)`, a field a line where there are several."""

    def __init__(
        self,
        indent_str: str = "    ",
        include_struct_info_annotations: bool = True,
        include_call_attrs: bool = True,
    ) -> None:
        self.indent_str = indent_str
        self.include_struct_info_annotations = include_struct_info_annotations
        self.include_call_attrs = include_call_attrs

    # ------------------------------------------------------------------------------------------------- layout

    def build_list(
        self, members: Iterable[str], open_tok: str = "[", close_tok: str = "]", force_newline: bool = False
    ) -> str:
        """The members between brackets: a line each, unless there is one that fits."""
        texts = list(members)
        if not texts or (len(texts) == 1 and not force_newline and "\n" not in texts[0]):
            return f"{open_tok}{''.join(texts)}{close_tok}"
        lines = ",\n".join(self.indent_str + text.replace("\n", f"\n{self.indent_str}") for text in texts)
        return f"{open_tok}\n{lines}\n{close_tok}"

    def build_ast_node(self, nodename: str, force_newline: bool = False, **fields: str) -> str:
        """`nodename` and its fields."""
        return self.build_list((f"{k}={v}" for k, v in fields.items()), f"{nodename}(", ")", force_newline)

    def build_expr(self, node: Any, nodename: str, force_newline: bool = False, **fields: str) -> str:
        """The same with the expression's struct info, where that is included."""
        if self.include_struct_info_annotations and node.struct_info_ is not None:
            fields["struct_info"] = self.visit_struct_info_(node.struct_info_)
        return self.build_ast_node(nodename, force_newline, **fields)

    def _list_of(self, nodes: Iterable[Any]) -> str:
        return self.build_list(map(self.visit_expr, nodes))

    def _prims(self, values: Iterable[Any]) -> str:
        return self.build_list(map(self.visit_prim_expr_, values))

    def _attrs(self, items: Iterable[tuple[str, Any]]) -> str:
        return self.build_list((f"{_quoted(k)}: {v}" for k, v in items), "{", "}")

    # -------------------------------------------------------------------------------------------- expressions

    def visit_expr(self, expr: Any) -> str:
        """Any expression, binding or block."""
        match expr:
            case rx.BindingBlock():
                return self.visit_binding_block_(expr)
            case rx.MatchCast():
                return self.visit_match_cast_(expr)
            case rx.VarBinding():
                return self.visit_var_binding_(expr)
            case _:
                text: str = super().visit_expr(expr)
                return text

    def visit_constant_(self, op: rx.Constant) -> str:
        return self.build_expr(op, "Constant", bool(op.data.shape), data=str(op.data))

    def visit_tuple_(self, op: rx.Tuple) -> str:
        return self.build_expr(op, "Tuple", fields=self._list_of(op.fields))

    def visit_dataflow_var_(self, op: rx.DataflowVar) -> str:
        return self.build_expr(op, "DataflowVar", name_hint=_quoted(op.name_hint))

    def visit_var_(self, op: rx.Var) -> str:
        return self.build_expr(op, "Var", name_hint=_quoted(op.name_hint))

    def visit_shape_expr_(self, op: rx.ShapeExpr) -> str:
        return self.build_expr(op, "ShapeExpr", values=self._prims(op.values))

    def visit_extern_func_(self, op: rx.ExternFunc) -> str:
        return self.build_expr(op, "ExternFunc", global_symbol=_quoted(op.global_symbol))

    def visit_global_var_(self, op: GlobalVar) -> str:
        return self.build_expr(op, "GlobalVar", name_hint=_quoted(op.name_hint))

    def visit_op_(self, op: Op) -> str:
        return self.build_ast_node("Op", name=_quoted(op.name))

    def visit_function_(self, op: rx.Function) -> str:
        fields: dict[str, Any] = {"params": self._list_of(op.params), "body": self.visit_expr(op.body)}
        if op.ret_struct_info is not None:
            fields["ret_struct_info"] = self.visit_struct_info_(op.ret_struct_info)
        fields["is_pure"] = str(op.is_pure)
        if op.attrs:
            fields["attrs"] = self._attrs((k, _quoted(v)) for k, v in op.attrs.items())
        return self.build_expr(op, "Function", **fields)

    def visit_call_(self, op: rx.Call) -> str:
        fields: dict[str, Any] = {"op": self.visit_expr(op.op), "args": self._list_of(op.args)}
        if op.sinfo_args:
            fields["sinfo_args"] = self.build_list(map(self.visit_struct_info_, op.sinfo_args))
        if op.attrs and self.include_call_attrs:
            fields["attrs"] = self._attrs((k, _attribute(op.attrs[k])) for k in op.attrs.keys())  # noqa: SIM118
        return self.build_expr(op, "Call", **fields)

    def visit_seq_expr_(self, op: rx.SeqExpr) -> str:
        return self.build_expr(op, "SeqExpr", blocks=self._list_of(op.blocks), body=self.visit_expr(op.body))

    def visit_if_(self, op: rx.If) -> str:
        branches: dict[str, Any] = {
            name: self.visit_expr(getattr(op, name)) for name in ("cond", "true_branch", "false_branch")
        }
        return self.build_expr(op, "If", **branches)

    def visit_prim_value_(self, op: rx.PrimValue) -> str:
        return self.build_expr(op, "PrimValue", value=self.visit_prim_expr_(op.value))

    def visit_string_imm_(self, op: rx.StringImm) -> str:
        return self.build_expr(op, "StringImm", value=_quoted(op.value))

    def visit_data_type_imm_(self, op: rx.DataTypeImm) -> str:
        return self.build_expr(op, "DataTypeImm", value=str(op.value))

    def visit_tuple_getitem_(self, op: rx.TupleGetItem) -> str:
        tuple_value = self.visit_expr(op.tuple_value)
        return self.build_expr(op, "TupleGetItem", tuple_value=tuple_value, index=str(op.index))

    def visit_prim_expr_(self, prim_expr: PrimExpr) -> str:
        """A scalar expression, as it is written."""
        return self.build_ast_node("PrimExpr", value=f"`{prim_expr}`")

    # --------------------------------------------------------------------------------- bindings, struct info

    def visit_binding_block_(self, block: rx.BindingBlock) -> str:
        """A block, of either kind."""
        bindings = self.build_list(map(self.visit_expr, block.bindings), force_newline=True)
        return self.build_ast_node(type(block).__name__, bindings=bindings)

    def visit_match_cast_(self, match_cast: rx.MatchCast) -> str:
        """A binding that casts."""
        var, value = self.visit_expr(match_cast.var), self.visit_expr(match_cast.value)
        info = self.visit_struct_info_(match_cast.struct_info)
        return self.build_ast_node("MatchCast", var=var, value=value, struct_info=info)

    def visit_var_binding_(self, var_binding: rx.VarBinding) -> str:
        """Any other binding."""
        var, value = self.visit_expr(var_binding.var), self.visit_expr(var_binding.value)
        return self.build_ast_node("VarBinding", var=var, value=value)

    def visit_struct_info_(self, struct_info_node: StructInfo) -> str:
        """Visit the StructInfo of a value."""
        infos = self.visit_struct_info_
        fields: dict[str, Any] = {}
        match struct_info_node:
            case TensorStructInfo(shape=shape, dtype=dtype, ndim=ndim):
                fields = {"dtype": str(dtype)}
                fields |= {"ndim": str(ndim)} if shape is None else {"shape": self.visit_expr(shape)}
            case ShapeStructInfo(values=values, ndim=ndim):
                fields = {"ndim": str(ndim)} | ({} if values is None else {"values": self._prims(values)})
            case PrimStructInfo(dtype=dtype):
                fields = {"dtype": str(dtype)}
            case TupleStructInfo(fields=parts):
                fields = {"fields": self.build_list(map(infos, parts))}
            case FuncStructInfo(params=params, ret=ret, purity=purity):
                fields = {} if params is None else {"params": self.build_list(map(infos, params))}
                fields |= {"ret": infos(ret), "purity": str(purity)}
            case _:
                pass
        return self.build_ast_node(type(struct_info_node).__name__, **fields)


def _attribute(value: Any) -> str:
    """The value of an attribute of a call."""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, IntImm):
        return str(bool(value.value) if value.dtype == "bool" else value.value)
    return str(value)


def dump_ast(
    exp: Any,
    indent_str: str = "    ",
    include_struct_info_annotations: bool = True,
    include_call_attrs: bool = True,
) -> str:
    """The tree of an expression, with or without struct info and attributes."""
    return ASTPrinter(indent_str, include_struct_info_annotations, include_call_attrs).visit_expr(exp)
