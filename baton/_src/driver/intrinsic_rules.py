"""Custom lowering rules of scripts for TIR intrinsics, as in TVM's operator registry.

    tvm.ir.register_intrin_lowering("tir.exp", "llvm", lambda op: tir.call_pure_extern("float32", "expf", op.args[0]))
    tvm.ir.register_op_attr("tir.mylog", "llvm.FLowerIntrinsic", rule)

A rule takes a call and returns its replacement, for all kernels compiled from then on. Registering something for an
unknown intrinsic creates it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.filled_columns import FILLED
from baton._src.ir.traverse import post_order, rewrite
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Call
from baton._src.tir.intrinsics import OWN_INTRINSICS, own_intrinsic
from baton._src.tir.prim_func import PrimFunc

Rule = Callable[[Call], PrimExpr | None]
KEYS = ("llvm.FLowerIntrinsic", "default.FLowerIntrinsic")
"""The columns of rules, those for the target before those for all."""
_LONGEST = 32
"""Most rules applied one after another to a call."""


def register_intrin_lowering(op_name: str, target: str, *, f: Rule | None = None, level: int = 10) -> Any:
    """Register a rule for an intrinsic; without `f`, a decorator. Rules for other targets than "llvm" and "default" are
    kept and never used."""
    return register_intrinsic_attr(op_name, f"{target}.FLowerIntrinsic", f, level)


def register_intrinsic_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Fill a column of the registry for an intrinsic (`tir.exp`); without `value`, a decorator."""

    def put(content: Any) -> Any:
        own_intrinsic(op_name).set_attr(attr_key, content, level)
        return content

    return put if value is None else put(value)


def with_own_intrinsics(functions: Mapping[str, PrimFunc]) -> dict[str, PrimFunc]:
    """The kernels after applying the registered rules.

    Error `tir-intrinsic`: a script's own intrinsic has no rule, or a rule does not terminate.
    """
    if FILLED.isdisjoint(KEYS) and not OWN_INTRINSICS:
        return dict(functions)
    return {name: rewrite(func, _lowered) for name, func in functions.items()}


def _lowered(node: Any, nested: int = 0) -> Any:
    """The replacement of a node, in which calls are replaced as well (there are `nested` replacements around it); None
    if it stays.
    """
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return None
    rule = _rule(node)
    if rule is None:
        if node.op.name in OWN_INTRINSICS:
            help = f"register_intrin_lowering({node.op.name!r}, 'llvm', f=rule)"
            raise fail("tir-intrinsic", f"the intrinsic {node.op.name} has no lowering rule", span=node.span, help=help)
        return None
    made: Any = rule(node)
    if made is None or made is node:  # the rule leaves this call alone
        return None
    name = node.op.name
    if not isinstance(made, PrimExpr):
        message = f"the lowering rule of {name} returned {made!r}, not an expression"
        raise fail("tir-intrinsic", message, kind=TypeError)
    if nested == _LONGEST:
        message = f"the lowering rule of {name} does not terminate: it returns a call of {name}"
        raise fail("tir-intrinsic", message, span=node.span)
    known = set(post_order(node))  # operands are lowered
    return rewrite(made, lambda part: None if part in known else _lowered(part, nested + 1))


def _rule(node: Any) -> Rule | None:
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return None
    rules = (node.op.get_attr(key) for key in KEYS if node.op.has_attr(key))
    return next(rules, None)
