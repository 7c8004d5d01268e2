"""Scalar expressions (`tvm.tir.expr`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "tir.expr",
            "Var SizeVar IntImm FloatImm StringImm Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE",
        ),
        **names(
            "tir.expr",
            "And Or Not Select Cast Ramp Broadcast Shuffle Let Call BufferLoad ProducerLoad IterVar CommReducer Reduce",
        ),
        **renamed("tir.expr", Any="AnyDim", BinaryOpExpr="BinaryOp", CmpExpr="CompareOp", LogicalExpr="LogicalOp"),
        **renamed("ir.expr", ExprOp="Operators", PrimExprWithOp="PrimExpr"),
        **names("tir.operators", "convert"),
        **names("driver.tvm_names.tir.scalar_kinds", "ConstExpr CallEffectKind"),
        **names("ir.expr", "PrimExpr"),
    },
    before=wire,
)
