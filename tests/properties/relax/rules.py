"""Rewrites by patterns, as passes for random programs: each gives the same values in other words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.relax.literals import const
from baton._src.relax.nodes import Function
from baton.relax import transform
from baton.relax.dpl import PatternContext, is_op, rewrite_bindings, rewrite_call, wildcard
from tests.relax.build import RELAX

X, Y, Z = wildcard(), wildcard(), wildcard()


def op(name: str, *operands: Any) -> Any:
    """The pattern of a call of an operator."""
    return is_op(f"relax.{name}")(*operands)


def like(x: Any, number: float) -> Any:
    """A constant of the operand's dtype."""
    return const(number, x.struct_info.dtype)


@dataclass(frozen=True)
class Rewritten:
    """Each function of a module by itself."""

    rewrite: Callable[[Function], Function]

    def __call__(self, module: IRModule) -> IRModule:
        found = {v: self.rewrite(f) if isinstance(f, Function) else f for v, f in module.functions.items()}
        return module.with_functions(found)


def _calls(pattern: Any, rule: Callable[[Mapping[Any, Any]], Any]) -> Rewritten:
    return Rewritten(lambda function: rewrite_call(pattern, lambda expr, found: rule(found), function))


def _product_for_negative() -> Rewritten:
    """-tanh(x) in a block as tanh(x) * -1."""
    with PatternContext() as context:
        inner, outer = op("tanh", wildcard()), op("negative", wildcard())
        inner.used_by(outer)

    def rewrite(found: Mapping[Any, Any], values: Mapping[Any, Any]) -> Any:
        return {found[outer]: RELAX["multiply"](found[inner], like(found[inner], -1.0))}

    return Rewritten(lambda function: rewrite_bindings(context, rewrite, function))


PATTERNS = [
    ("a.add_tanh", op("add", op("tanh", wildcard()), wildcard())),
    ("a.add", op("add", wildcard(), wildcard())),
    ("b.maximum", op("maximum", wildcard(), wildcard())),
    ("b.tanh", op("tanh", wildcard())),
]
RULES: dict[str, Any] = {
    "relu as maximum": _calls(op("nn.relu", X), lambda f: RELAX["maximum"](f[X], like(f[X], 0.0))),
    "difference as sum": _calls(op("subtract", X, Y), lambda f: RELAX["add"](f[X], RELAX["negative"](f[Y]))),
    "sum of a tanh as difference": _calls(
        op("add", op("tanh", X), Y), lambda f: RELAX["subtract"](RELAX["tanh"](f[X]), RELAX["negative"](f[Y]))
    ),
    "negative twice": _calls(op("negative", op("negative", X)), lambda f: f[X]),
    "twice": _calls(op("add", X, X), lambda f: RELAX["multiply"](f[X], like(f[X], 2.0))),
    "sum of a maximum": _calls(
        op("add", op("maximum", X, Y), Z),
        lambda f: RELAX["maximum"](*(RELAX["subtract"](f[v], RELAX["negative"](f[Z])) for v in (X, Y))),
    ),
    "negative of a tanh in a block": _product_for_negative(),
    "FuseOpsByPattern": transform.FuseOpsByPattern(PATTERNS),
    "FuseOpsByPattern for backends": transform.FuseOpsByPattern(PATTERNS, annotate_codegen=True),
    "TopologicalSort from outputs": transform.TopologicalSort("depth-first", "from-outputs"),
    "EliminateCommonSubexpr of calls": transform.EliminateCommonSubexpr(call_only=True),
}
