"""ManifestLifetimes: storages and tensors are killed right after their last use.

    let %done = vm.invoke_tvm_op(%kernel, %inputs, %outputs);
    let %dead = memory.kill(%storage);

A use of any value that may hold a tensor counts as a use of it: views, tuples, closures that capture it, results of
functions it was passed to. A tensor that leaves its scope, or may have been stored in a reference, is not killed. Runs
on the output of ManifestAlloc; existing kills are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.types import Constructor, TupleType
from baton._src.ops import builders
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.relay.check.infer_type import counts_as_inferred, infer_type
from baton._src.relay.expressions import parts, pattern_vars, walk
from baton._src.relay.memory_calls import is_memory_call
from baton._src.relay.nodes import Call, Function, If, Let, Match, RefWrite, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task, run
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

RELAY: Any = builders.RELAY
_NOTHING = TupleType(())
MOST = 256
"""Most storages and tensors that a value may hold: beyond it they are not tracked, and not killed."""

_ALLOCATIONS = ("memory.alloc_storage", "memory.alloc_tensor")

Held = frozenset[Var]
NOTHING: Held = frozenset()


@dataclass(frozen=True)
class ManifestLifetimes(Pass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        if not _with_memory(module):
            return module
        module = infer_type(ToANormalForm(inside_kernels=False)(module))
        nodes = [n for f in module.functions.values() if isinstance(f, Function) for n in walk(f)]
        writes = any(isinstance(n, RefWrite) for n in nodes)
        changed = {}
        for var, function in _with_memory(module).items():
            body, _ = run(_Lifetimes(writes).scope(function.body))
            changed[var] = function.with_fields(body=body)
            counts_as_inferred(changed[var], function)
        return module.with_functions({**module.functions, **changed})


def _with_memory(module: IRModule) -> dict[Any, Function]:
    """The functions that use the memory dialect."""
    functions = {v: f for v, f in module.functions.items() if isinstance(f, Function)}
    return {v: f for v, f in functions.items() if any(is_memory_call(n) for n in walk(f))}


@dataclass
class _Lifetimes:
    """Rewrites one function. `held` has, for each variable, the storages and tensors its value may hold."""

    writes: bool
    """Whether references are written anywhere, so that a function may keep its arguments."""
    held: dict[Var, Held] = field(default_factory=dict)
    escaped: set[Var] = field(default_factory=set)
    count: int = 0

    def scope(self, root: GraphExpr) -> Task[tuple[Any, set[Var]]]:
        """The scope with kills, and the variables it uses that hold memory."""
        lets: list[tuple[Var, Any]] = []
        last: dict[Var, int] = {}
        seen: set[Var] = set()
        node = root
        while isinstance(node, Let):
            if is_memory_call(node.value, "memory.kill"):
                node = node.body
                continue
            value, mentioned = yield self._value(node.value)
            seen |= mentioned
            used = self._union(mentioned)
            for resource in used:
                last[resource] = len(lets)
            if is_memory_call(value, *_ALLOCATIONS):
                last[node.var] = len(lets)
            self._note(node.var, value, used)
            lets.append((node.var, value))
            node = node.body
        if isinstance(node, Var):
            seen.add(node)
            self.escaped |= self.held.get(node, NOTHING)
        return self._with_kills(lets, last, node), {v for v in seen if self.held.get(v)}

    def _value(self, value: GraphExpr) -> Task[tuple[Any, set[Var]]]:
        """The value of a let with its inner scopes rewritten, and the variables it uses."""
        match value:
            case Function() if not value.attrs.get("Primitive"):
                body, mentioned = yield self.scope(value.body)
                return value.with_fields(body=body), mentioned
            case If():
                chosen, first = yield self.scope(value.true_branch)
                other, second = yield self.scope(value.false_branch)
                mentioned = {v for v in (value.cond,) if isinstance(v, Var)} | first | second
                return value.with_fields(true_branch=chosen, false_branch=other), mentioned
            case Match():
                mentioned = {v for v in (value.data,) if isinstance(v, Var)}
                clauses = []
                for clause in value.clauses:
                    self.held.update(dict.fromkeys(pattern_vars(clause.lhs), self._union(mentioned)))
                    body, inner = yield self.scope(clause.rhs)
                    mentioned |= inner
                    clauses.append(clause.with_fields(rhs=body))
                return value.with_fields(clauses=tuple(clauses)), mentioned
            case Var():
                return value, {value}
            case _:
                return value, {p for p in parts(value) if isinstance(p, Var)}

    def _union(self, mentioned: Iterable[Var]) -> Held:
        found: Held = NOTHING
        for var in mentioned:
            held = self.held.get(var, NOTHING)
            found = held if not found else found if held <= found else found | held
        return found

    def _note(self, var: Var, value: Any, used: Held) -> None:
        """Record what `var` holds, given its value, whose parts hold `used`."""
        if isinstance(value, RefWrite):
            self.escaped |= used
        elif is_memory_call(value):
            of = value.args[:1] if value.op.name in ("memory.alloc_tensor", "vm.reshape_tensor") else ()
            used = self._union(a for a in of if isinstance(a, Var))
            if value.op.name in _ALLOCATIONS:
                used |= {var}
        elif isinstance(value, Call) and not isinstance(value.op, (Op, Constructor)) and self.writes:
            self.escaped |= used
        if len(used) > MOST:
            self.escaped |= used
            used = NOTHING
        if used:
            self.held[var] = used

    def _with_kills(self, lets: list[tuple[Var, Any]], last: dict[Var, int], result: Any) -> Any:
        own = {v for v, value in lets if is_memory_call(value, *_ALLOCATIONS)}
        dead: dict[int, list[Var]] = {}
        for var, at in last.items():
            if var in own and var not in self.escaped:
                dead.setdefault(at, []).append(var)
        placed: list[tuple[Var, Any]] = []
        for at, let in enumerate(lets):
            placed.append(let)
            placed += [(self._fresh(), _unit(RELAY.memory.kill(var))) for var in dead.get(at, ())]
        type_ = result.checked_type_
        for var, value in reversed(placed):
            result = Let(var, value, result)
            set_note(result, "checked_type_", type_)
        return result

    def _fresh(self) -> Var:
        self.count += 1
        dead: Var = _unit(Var(f"dead_{self.count - 1}"))
        return dead


def _unit(made: Any) -> Any:
    """A new expression with the unit type: a kill returns nothing."""
    set_note(made, "checked_type_", _NOTHING)
    return made


__all__ = ["ManifestLifetimes"]
