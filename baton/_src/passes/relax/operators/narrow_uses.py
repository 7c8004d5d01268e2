"""How the variables of a function's dataflow blocks are used: only by ALWAYS operators of mixed precision, or by others
too.

Tuples propagate their uses: for `t = (a, b)`, `a` is wanted as `t[0]` is. Results have the nesting of the variable's
tensors, so that one field of a tuple may be wanted in float16 and another in its own dtype.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from baton._src.ir.expr import GraphExpr
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.operators.mixed_precision_policy import Policy, policy_of
from baton._src.relax.nodes import Call, DataflowBlock, Function, SeqExpr, Tuple, TupleGetItem, Var
from baton._src.relax.struct_info import TupleStructInfo

Wanted: TypeAlias = "bool | tuple[Wanted, ...] | None"
"""None: not read. True: by ALWAYS operators only. False: by others, too. A tuple of these for a tuple."""


def narrow_uses(function: Function) -> NarrowUses:
    """The uses in `function` and its inner functions, collected from the last binding to the first."""
    found = NarrowUses()
    for node in reversed(list(post_order(function))):
        if isinstance(node, SeqExpr):
            found.read(node.body, False)
        elif isinstance(node, DataflowBlock):
            for binding in reversed(node.bindings):
                found.note(binding)
    return found


class NarrowUses:
    """The uses of variables, by `wanted`."""

    def __init__(self) -> None:
        self._wanted: dict[Var, Wanted] = {}

    def wanted(self, var: Var) -> Wanted:
        """How the variable is read, see `Wanted`."""
        return self._wanted.get(var)

    def note(self, binding: Any) -> None:
        """Record what the value of a binding reads; the uses of its variable are recorded already."""
        value = binding.value
        if isinstance(value, Call):
            narrow = policy_of(value) is Policy.ALWAYS
            for arg in value.args:
                self.read(arg, narrow)
        elif isinstance(value, TupleGetItem):
            info = value.tuple_value.struct_info_
            fields = range(len(info.fields) if isinstance(info, TupleStructInfo) else 0)
            self.read(value.tuple_value, tuple(self.wanted(binding.var) if i == value.index else None for i in fields))
        else:
            self.read(value, self.wanted(binding.var) if isinstance(value, Tuple) else False)

    def read(self, expr: GraphExpr, wanted: Wanted) -> None:
        """Record that `expr`, a leaf, is read in this way."""
        if isinstance(expr, Tuple):
            parts = wanted if isinstance(wanted, tuple) else (wanted,) * len(expr.fields)
            for field, part in zip(expr.fields, parts):
                self.read(field, part)
        elif isinstance(expr, Var):
            self._wanted[expr] = _both(self._wanted.get(expr), wanted)


def _both(one: Wanted, other: Wanted) -> Wanted:
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, bool) and isinstance(other, bool):
        return one and other
    size = len(one) if isinstance(one, tuple) else len(other) if isinstance(other, tuple) else 0
    ones, others = (w if isinstance(w, tuple) else (w,) * size for w in (one, other))
    return tuple(_both(a, b) for a, b in zip(ones, others))
