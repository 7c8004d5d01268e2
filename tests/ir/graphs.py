"""Relay and Relax graphs the tests of this folder build on."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Op
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.tir.expr import Var as TirVar

ADD = Op("add")


def relay_dag(depth: int, param: relay.Var) -> relay.Function:
    """x + x, and that added to itself, `depth` times: `depth` nodes, 2**depth paths."""
    expr: Any = param
    for _ in range(depth):
        expr = relay.Call(ADD, (expr, expr))
    return relay.Function([param], expr)


def let_chain(length: int, param: relay.Var) -> relay.Function:
    """let v0 = x + x; let v1 = v0 + x; ...; the last."""
    names = [relay.Var(f"v{i}") for i in range(length)]
    body: Any = names[-1]
    for i in reversed(range(length)):
        body = relay.Let(names[i], relay.Call(ADD, (names[i - 1] if i else param, param)), body)
    return relay.Function([param], body)


def relax_function(rows: str = "n", columns: str = "m", *, swapped: bool = True) -> relax.Function:
    """f(x: Tensor((n, m))) = t(x, shape((m, n))), with shape variables of these names."""
    n, m = TirVar(rows, "int64"), TirVar(columns, "int64")
    x = relax.Var("x", TensorStructInfo([n, m], "float32"))
    target = relax.ShapeExpr([m, n] if swapped else [n, m])
    y = relax.Var("y", TensorStructInfo([m, n], "float32"))
    block = relax.BindingBlock([relax.VarBinding(y, relax.Call(Op("relax.t"), [x, target]))])
    return relax.Function([x], relax.SeqExpr([block], y))
