"""What Python's operators build on Relay and Relax expressions; `driver.wiring` binds them.

A number combined with an expression becomes a constant, of the expression's dtype where that is known.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, PrimExpr
from baton._src.ops.builders import located
from baton._src.ops.call_maker import Maker, R, RelaxMaker, RelayMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.op_builder import Given, Made
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir

_RELAY_NAMES = {"floor_mod": "mod"}
"""`%` in Relay is `mod`, as in TVM; everything else is called as the operator is."""


def build_relay(name: str, *operands: Any) -> Made:
    """The Relay call that an operator means: `build_relay("add", x, 1)`."""
    if name == "cast":
        return located(_cast(RelayMaker, *operands))
    definition = CATALOGUE.get(_RELAY_NAMES.get(name, name))
    return located(RelayMaker(definition, CATALOGUE)(*operands))


def build_relax(name: str, *operands: Any) -> relax.Call:
    """The Relax call that an operator means."""
    if name == "cast":
        return located(_cast(RelaxMaker, *operands))
    return located(RelaxMaker(CATALOGUE.get(name), CATALOGUE)(*operands))


def _cast(maker: type[Maker[R]], operand: Given, dtype: object) -> R:
    return maker(CATALOGUE.get("astype"), CATALOGUE)(operand, dtype=dtype)


def call_global(callee: GlobalVar, args: tuple[Given, ...]) -> relay.Call | relax.Call | tir.Call:
    """A call of a function of the module, in the language of its arguments (Relax if there are none). A kernel that is
    called with scalars is taken to return nothing: `tir.Call` says what another returns.
    """
    if any(isinstance(a, (relay.Expr, TupleWrapper)) for a in args):
        return relay.Call(callee, [a.astuple() if isinstance(a, TupleWrapper) else a for a in args])
    if all(isinstance(a, GraphExpr) for a in args):
        return relax.Call(callee, args)
    if all(isinstance(a, (PrimExpr, int, float)) for a in args):
        return tir.Call("void", callee, args)
    message = f"the arguments of {callee.name_hint} must be expressions of one language, got {args!r}"
    raise fail("op-argument", message, help="Relay's, Relax's, or scalars of TIR")
