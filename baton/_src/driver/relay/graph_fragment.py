"""Which Relay programs a graph executor can run: first-order, without control flow, of known shapes (RELAY-EXEC-2).

This includes programs that partial evaluation reduces to that form: for example, an LSTM whose cell is a local
function.
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.call_graph import call_graph, reachable
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import FuncType, GlobalTypeVar
from baton._src.passes.relay.memory.dissolve_memory import DissolveMemory
from baton._src.passes.relay.partial_evaluation.partial_evaluate import PartialEvaluate
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function, If, Match, RefCreate, RefRead, RefWrite
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.graphs import components
from baton._src.tir.expr import AnyDim

_REFERENCES = (RefCreate, RefRead, RefWrite)
_WORDS: dict[type, str] = {
    If: "an if",
    Match: "a match",
    RefCreate: "a reference",
    RefRead: "a reference",
    RefWrite: "a reference",
}


def as_graph(module: IRModule, entry: str = "main") -> IRModule:
    """The module as a straight program: as it is if it is one, else with everything evaluated that is known before it
    runs (closures called, data taken apart, branches decided). References are refused whatever they hold
    (RELAY-REF-2).

    Raises `DiagnosticError` (`graph-fragment`) if something is left that a graph cannot say, naming what the program as
    it was written has.
    """
    module = DissolveMemory()(module)
    outside = why_no_graph(module, entry)
    if outside is None:
        return module
    needed = RemoveUnusedFunctions((entry,))(module)
    if any(isinstance(n, _REFERENCES) for f in needed.functions.values() for n in post_order(f)):
        raise outside
    evaluated = RemoveUnusedFunctions((entry,))(PartialEvaluate()(needed))
    if why_no_graph(evaluated, entry) is not None:
        raise outside
    return evaluated


def why_no_graph(module: IRModule, entry: str = "main") -> DiagnosticError | None:
    """Why `entry`, with the functions it reaches, is outside the fragment; None if it is not."""
    typed = infer_type(module)
    main = typed[entry]
    if not isinstance(main, Function):
        return fail("graph-fragment", f"{entry} is not a Relay function", help="relax.build takes modules of Relax")
    what = _outside_of_type(main)
    if what is not None:
        return _outside(what, main.span)
    graph = call_graph(typed)
    reached = reachable(graph, [typed.get_global_var(entry)])
    for var in sorted(reached, key=lambda v: (v.name_hint != entry, v.name_hint)):
        function = typed[var]
        for node in post_order(function.body) if isinstance(function, Function) else ():
            word = _WORDS.get(type(node)) or ("a function inside" if _is_closure(node) else None)
            if word is not None:
                return _outside(f"it contains {word}", getattr(node, "span", None))
    for component in components(graph):
        if reached.issuperset(component) and (len(component) > 1 or component[0] in graph[component[0]]):
            return _outside(f"@{component[0].name_hint} calls itself", typed[component[0]].span)
    return None


def _outside_of_type(function: Function) -> str | None:
    """Describes an input or output that is neither a tensor of known shape nor a tuple of such; None without any."""
    type_ = function.checked_type
    for part in (p for side in (*type_.arg_types, type_.ret_type) for p in post_order(side)):
        match part:
            case AnyDim():
                return "it has shapes unknown until run time (?)"
            case FuncType():
                return "it takes or gives functions"
            case GlobalTypeVar():
                return f"it takes or gives data of the type {part.name_hint}"
            case _:
                pass
    return None


def _is_closure(node: Any) -> bool:
    return isinstance(node, Function) and not (node.attrs and node.attrs.get("Primitive"))


def _outside(why: str, span: Any) -> DiagnosticError:
    return fail(
        "graph-fragment",
        f"the graph executor cannot run this program: {why}",
        span=span,
        help='use relay.vm.compile, or create_executor("vm")',
    )
