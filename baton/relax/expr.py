"""Expressions (`tvm.relax.expr`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relax.nodes",
            "Expr Constant Var DataflowVar Tuple TupleGetItem ShapeExpr PrimValue StringImm DataTypeImm Call If",
        ),
        **renamed("relax.nodes", ExprWithOp="Expr"),
        **names("relax.nodes", "Binding VarBinding MatchCast BindingBlock DataflowBlock SeqExpr Function ExternFunc"),
        **names("ir.expr", "GlobalVar"),
        **names("relax.literals", "const"),
        **names("driver.tvm_names.relax.expressions", "extern get_shape_of te_tensor"),
        **renamed("driver.tvm_names.relax.expressions", _update_struct_info="update_struct_info"),
        **names("relax.struct_info", "StructInfo"),
        **names("ir.types", "Type"),
        **names("support.spans", "Span"),
        **renamed("relax.nodes", Id="Var"),
    },
    before=wire,
)
