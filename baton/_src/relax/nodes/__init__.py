"""The nodes of Relax (seed 001, Grammar). Names and fields follow `tvm.relax` v0.19."""

from baton._src.ir.expr import GlobalVar, Op
from baton._src.relax.nodes.bindings import Binding, BindingBlock, DataflowBlock, MatchCast, SeqExpr, VarBinding
from baton._src.relax.nodes.expressions import (
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    Expr,
    If,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    as_dim,
    definition_of,
    is_call,
)
from baton._src.relax.nodes.functions import ExternFunc, Function

__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "Op",
    "PrimValue",
    "SeqExpr",
    "ShapeExpr",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "Var",
    "VarBinding",
    "as_dim",
    "definition_of",
    "is_call",
]
