"""Legalize: replace operators according to registered rules.

A rule `(attrs, args, types) -> expression or None` belongs to an operator's name; `types` are those of the arguments,
then of the result. Rules come from the pass (`rules`) and from the registry, where `register_legalize(name, rule)` puts
them (column `FTVMLegalize`). No rule is built in: this backend needs no legalisation before Relax, whose own
legalisation follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar

from baton._src.ir.expr import Op
from baton._src.ir.module import IRModule
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

Rule = Callable[[Any, tuple[Any, ...], list[Any]], Any]


@dataclass(frozen=True)
class Legalize(RelayFunctionPass):
    """See the module's docstring. `legalize_map_attr_name` names the column the rules come from."""

    opt_level: ClassVar[int] = 1
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    legalize_map_attr_name: str = "FTVMLegalize"
    rules: Mapping[str, Rule] = field(default_factory=dict)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return apply_rules(function, self.rules, self.legalize_map_attr_name)


def apply_rules(function: Function, rules: Mapping[str, Rule], column: str = "") -> Any:
    """`function` with each call replaced for which the operator's rule (or the entry in its `column`) returns
    something.
    """

    def rule(old: Any, new: Any) -> Any:
        if not isinstance(new, Call) or not isinstance(new.op, Op):
            return None
        found = rules.get(new.op.name) or (new.op.columns or {}).get(column, (None,))[0]
        if found is None:
            return None
        types = [a.checked_type for a in old.args]
        return found(new.attrs, new.args, [*types, old.checked_type])

    return rewrite(function, rule)
