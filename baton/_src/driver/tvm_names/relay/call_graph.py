"""`tvm.relay.analysis.CallGraph`, and functions that take parts out of modules."""

from __future__ import annotations

from typing import Any

from baton._src.analysis.call_graph import call_graph, reachable
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural_hash import structural_hash
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Function, Tuple, TupleGetItem
from baton._src.support.diagnostics import fail


class CallGraph:
    """Which functions of a module mention which, how often, and which of them come back to themselves."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._graph = call_graph(module)
        self._counts: dict[str, int] = {v.name_hint: 0 for v in module.functions}
        for callees in self._graph.values():
            for callee in callees:
                self._counts[callee.name_hint] += 1

    def global_call_count(self, var: str | GlobalVar) -> int:
        """How many functions `var` mentions."""
        return len(self._graph[self._var(var)])

    def ref_count(self, var: str | GlobalVar) -> int:
        """How many functions mention `var`."""
        return self._counts[self._var(var).name_hint]

    def is_recursive(self, var: str | GlobalVar) -> bool:
        """Whether `var` comes back to itself, directly or through others."""
        start = self._var(var)
        return start in reachable(self._graph, self._graph[start])

    def print_var(self, var: str | GlobalVar) -> str:
        """`var` and what it mentions, a line each."""
        start = self._var(var)
        callees = [f"  @{v.name_hint}" for v in self._graph[start]]
        return "\n".join([f"@{start.name_hint}, mentioned by {self.ref_count(start)} functions, mentions", *callees])

    def __str__(self) -> str:
        return "\n".join(self.print_var(v) for v in self._graph)

    def _var(self, var: str | GlobalVar) -> GlobalVar:
        return self.module.get_global_var(var if isinstance(var, str) else var.name_hint)


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """The functions that FuseOps made in a module, by structural hash: equal ones once."""
    made = (n for f in mod.functions.values() for n in walk(f) if isinstance(n, Function))
    return {structural_hash(f): f for f in made if f.attrs and f.attrs.get("Primitive")}


def extract_intermediate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module whose `main` gives the value of number `expr_id` of the operator calls, tuples and projections of
    `main`, in post-order."""
    main = infer_type(mod)["main"]
    seen = [n for n in walk(main.body) if isinstance(n, (Tuple, TupleGetItem)) or _calls_operator(n)]
    if not 0 <= expr_id < len(seen):
        raise fail("api", f"main has {len(seen)} expressions, there is no number {expr_id}")
    found = seen[expr_id]
    return IRModule({"main": Function(free_vars(found), found)}, mod.type_definitions)


def _calls_operator(node: Any) -> bool:
    return isinstance(node, Call) and isinstance(node.op, Op)
