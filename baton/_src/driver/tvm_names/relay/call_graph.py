"""`tvm.relay.analysis.CallGraph`, and functions that extract parts of modules."""

from __future__ import annotations

from baton._src.analysis.call_graph import call_graph, reachable
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.structural_hash import structural_hash
from baton._src.passes.relay.fuse_ops import FuseOps
from baton._src.passes.relay.operators.simplify_inference import SimplifyInference
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import global_vars, walk
from baton._src.relay.nodes import Call, Function, Tuple, TupleGetItem
from baton._src.support.diagnostics import fail
from baton._src.support.graphs import components
from baton._src.transform.passes import Sequential


class CallGraph:
    """The call graph of a module: which functions refer to which, how often, and which are recursive."""

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._graph = call_graph(module)
        self._counts: dict[str, int] = {v.name_hint: 0 for v in module.functions}
        for callees in self._graph.values():
            for callee in callees:
                self._counts[callee.name_hint] += 1

    def global_call_count(self, var: str | GlobalVar) -> int:
        """The number of functions that `var` refers to."""
        return len(self._graph[self._var(var)])

    def ref_count(self, var: str | GlobalVar) -> int:
        """The number of functions that refer to `var`."""
        return self._counts[self._var(var).name_hint]

    def is_recursive(self, var: str | GlobalVar) -> bool:
        """Whether `var` mentions itself. Functions that only come back through others are none, as in TVM."""
        start = self._var(var)
        return start in self._graph[start]

    def print_var(self, var: str | GlobalVar) -> str:
        """`var`, how many functions mention it, and what it mentions, a line each."""
        start = self._var(var)
        head = f"Call graph node: {start.name_hint},  #refs = {self.ref_count(start)}"
        sites = [f"  call site: <{start.name_hint}> calls {v.name_hint}" for v in self._graph[start]]
        return "\n".join([head, *sites, "", ""])

    def __str__(self) -> str:
        callers_first = [var for group in reversed(components(self._graph)) for var in group]
        return "".join(self.print_var(v) for v in callers_first)

    def _var(self, var: str | GlobalVar) -> GlobalVar:
        if not isinstance(var, (str, GlobalVar)):
            raise fail("api", f"var is a GlobalVar or its name, got {type(var).__name__}", kind=TypeError)
        return self.module.get_global_var(var if isinstance(var, str) else var.name_hint)


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """The functions that FuseOps makes in a module's `main` after SimplifyInference, by structural hash: equal ones
    once."""
    fused = Sequential([SimplifyInference(), FuseOps(3)])(mod)
    made = (n for n in walk(fused["main"]) if isinstance(n, Function) and n.attrs.get("Primitive"))
    return {structural_hash(f): f for f in made}


def extract_intermediate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module whose `main` gives the value of number `expr_id` of the calls, tuples and projections of `main`, in
    post-order. It has the functions that this value calls, too."""
    typed = infer_type(mod)
    seen = [n for n in walk(typed["main"].body) if isinstance(n, (Call, Tuple, TupleGetItem))]
    if not 0 <= expr_id < len(seen):
        raise fail("api", f"main has {len(seen)} expressions, there is no expression {expr_id}")
    found = seen[expr_id]
    called = reachable(call_graph(typed), [typed.get_global_var(v.name_hint) for v in global_vars(found)])
    functions = {var: typed[var] for var in typed.functions if var in called}
    return IRModule({"main": Function(free_vars(found), found), **functions}, mod.type_definitions)
