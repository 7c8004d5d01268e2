"""The nodes of Relay (seed 004). Names and fields follow `tvm.relay` v0.19; types are in `ir.types`."""

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.types import Constructor
from baton._src.relay.nodes.expressions import (
    Call,
    Constant,
    Expr,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
    as_expr,
)
from baton._src.relay.nodes.functions import Function
from baton._src.relay.nodes.matches import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from baton._src.relay.nodes.variables import tensor_shape, var

__all__ = [
    "Call",
    "Clause",
    "Constant",
    "Constructor",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Match",
    "Op",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "RefCreate",
    "RefRead",
    "RefWrite",
    "TempExpr",
    "Tuple",
    "TupleGetItem",
    "Var",
    "as_expr",
    "tensor_shape",
    "var",
]
