"""The constraint solver: a unifier, and relations that wait in a work queue until enough is known.

A relation that cannot decide yet watches the holes among its types and is asked again when one is bound; success is
when none is left waiting. `generalize` ends a let- or def-bound function literal: what its body left open becomes type
parameters and the relations that wait on them become constraints, which every call instantiates (contradictions B-21).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.types import FuncType, IncompleteType, Type, TypeKind, TypeRelation, TypeVar
from baton._src.relay.check.call_site import within
from baton._src.relay.check.operator_rule import OperatorRule
from baton._src.relay.check.relations import OperatorRelation
from baton._src.relay.check.show import relation_name, show_type
from baton._src.relay.check.substitute import leaves, substitute_types
from baton._src.relay.check.unify import Mismatch, Unifier
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.support.spans import Span
from baton._src.values.dtype import INT32


class Waiting:
    """A relation that is not decided yet, and where it came from."""

    __slots__ = ("constants", "done", "level", "queued", "relation", "span", "where")

    def __init__(self, relation: TypeRelation, constants: Sequence[Any], where: Any, span: Span | None) -> None:
        self.relation = relation
        self.constants = tuple(constants)
        self.where = where
        self.span = span
        self.done = False
        self.queued = False
        self.level = 0


class Solver:
    """One inference: the types found so far and the relations still open."""

    def __init__(self) -> None:
        self.unifier = Unifier(self._bound, self.instantiate_value)
        self.rule = OperatorRule(self.unifier)
        self.errors: list[Diagnostic] = []
        self.literals: list[IncompleteType] = []
        self._watchers: dict[Any, list[Waiting]] = {}
        self._queue: deque[Waiting] = deque()
        self._pending: list[list[Waiting]] = [[]]
        self._running = False

    # ---- errors

    def report(self, code: str, message: str, span: Span | None, help: str | None = None) -> None:
        """Record a finding; checking continues."""
        self.errors.append(Diagnostic(code, message, span=span, help=help))

    def expect(self, actual: Any, expected: Any, what: str, span: Span | None, help: str | None = None) -> Any:
        """Unify both types and return the result; if they do not unify, report a finding about `what`."""
        try:
            return self.unifier.unify(actual, expected)
        except Mismatch as mismatch:
            self.report("relay-type", f"{what}: {mismatch}", span, help)
            return self.unifier.poisoned()
        finally:
            self.run()

    # ---- relations

    def _bound(self, hole: Any) -> None:
        for waiting in self._watchers.pop(hole, ()):
            if not waiting.done and not waiting.queued:
                waiting.queued = True
                self._queue.append(waiting)

    def add(self, relation: TypeRelation, constants: Sequence[Any], where: Any, span: Span | None) -> None:
        """Take on a relation: decided now if possible, else when its holes are bound."""
        waiting = Waiting(relation, constants, where, span)
        waiting.level = self.unifier.level
        self._attempt(waiting)
        if not waiting.done:
            self._pending[self.unifier.level].append(waiting)
        self.run()

    def run(self) -> None:
        """Evaluate the relations whose holes were bound."""
        if self._running:
            return
        self._running = True
        try:
            while self._queue:
                waiting = self._queue.popleft()
                waiting.queued = False
                if not waiting.done:
                    self._attempt(waiting)
        finally:
            self._running = False

    def _attempt(self, waiting: Waiting) -> None:
        relation = waiting.relation
        holes = [h for t in relation.args for h in self.unifier.open_holes(t)]
        inputs = relation.args[: relation.num_inputs]
        if any(h in self.unifier.poison for t in inputs for h in self.unifier.open_holes(t)):
            waiting.done = True
            self.unifier.poison.update(self.unifier.open_holes(relation.args[-1]))
            return
        try:
            waiting.done = self._decide(relation, waiting)
        except Mismatch as mismatch:
            self._fail(waiting, f"{relation_name(relation.func)}: {mismatch}")
        except DiagnosticError as error:
            self._fail_with(waiting, error)
        if not waiting.done:
            for hole in holes:
                if hole in self.unifier.bindings:
                    if not waiting.queued:
                        waiting.queued = True
                        self._queue.append(waiting)
                else:
                    self._watchers.setdefault(hole, []).append(waiting)

    def _decide(self, relation: TypeRelation, waiting: Waiting) -> bool:
        if isinstance(relation.func, OperatorRelation):
            out = self.rule.apply(relation.func.op, relation.args[:-1], relation.attrs, waiting.constants, waiting.span)
            if out is None:
                return False
            self.unifier.unify(relation.args[-1], out)
            return True
        return bool(relation.func(relation.args, relation.num_inputs, relation.attrs, _Reporter(self)))

    def _fail(self, waiting: Waiting, message: str) -> None:
        self._fail_with(waiting, DiagnosticError(Diagnostic("relay-type", message)))

    def _fail_with(self, waiting: Waiting, error: DiagnosticError) -> None:
        waiting.done = True
        for found in error.diagnostics:
            self.errors.append(within(found.at(waiting.span), waiting.where))
        self.unifier.poison.update(self.unifier.open_holes(waiting.relation.args[-1]))

    # ---- operators, without a relation object where nothing is open

    def call_operator(
        self, op: Op, args: Sequence[Any], attrs: Any, constants: Sequence[Any], where: Any, span: Span | None
    ) -> Any:
        """The type of a call of `op`: at once if the arguments are known, else a hole under a waiting relation."""
        found = self.rule.quick(op, args, attrs, constants, span)
        if found is not None:
            return found
        out = self.unifier.hole()
        types = (*args, out)
        func = self.rule.custom(op) or OperatorRelation(op)
        self.add(TypeRelation(func, types, len(args), attrs), constants, where, span)
        return self.unifier.find(out)

    # ---- polymorphism

    def instantiate(
        self, type_: FuncType, type_args: Sequence[Any], where: Any, span: Span | None
    ) -> tuple[FuncType, tuple[Any, ...]]:
        """`type_` with fresh holes (or `type_args`) for its parameters, its constraints taken on; and those holes."""
        if not type_.type_params:
            for constraint in type_.type_constraints:
                self._take_on(constraint, where, span)
            return type_, ()
        chosen: list[Any] = list(type_args)
        chosen += [self.unifier.hole(p.kind) for p in type_.type_params[len(chosen) :]]
        mapping = dict(zip(type_.type_params, chosen))
        made = substitute_types(self.unifier.resolve(type_), mapping)  # a hole may have been found to be a parameter
        for constraint in made.type_constraints:
            self._take_on(constraint, where, span)
        return FuncType(made.arg_types, made.ret_type), tuple(chosen)

    def instantiate_value(self, type_: FuncType) -> FuncType:
        """For a polymorphic function used as a value of a particular type."""
        return self.instantiate(type_, (), "a function used as a value", None)[0]

    def _take_on(self, constraint: Any, where: Any, span: Span | None) -> None:
        if isinstance(constraint, TypeRelation):
            self.add(constraint, (), where, span)

    def enter(self) -> None:
        """Enter a let-bound function literal."""
        self.unifier.level += 1
        self._pending.append([])

    def generalize(self, type_: Type) -> Any:
        """It ends: `type_` with the holes of this level as type parameters and the waiting relations as constraints."""
        return self.generalize_group([type_])[0]

    def generalize_group(self, types: Sequence[Any]) -> list[Any]:
        """Functions that call one another end together: they share the parameters made of their open places.

        Within the group a function has one type, so a relation waiting in one constrains the calls of all. Only a
        relation about type parameters that some function declares belongs to that function alone.
        """
        unifier = self.unifier
        waiting = [w for w in self._pending.pop() if not w.done]
        unifier.level -= 1
        self._lower_determined(waiting)
        found = [unifier.resolve(t) for t in types]
        declared = {p for t in found if isinstance(t, FuncType) for p in t.type_params}
        params: dict[Any, None] = dict.fromkeys(declared)
        for type_ in found:
            if isinstance(type_, FuncType):
                for hole in self._open(type_):
                    self._parameterize(hole, params)
        shares: list[list[TypeRelation]] = [[] for _ in found]
        for entry in waiting:
            takers = self._takers(entry.relation, found, declared) if self._mentions(entry.relation, params) else []
            for hole in self._open(entry.relation) if takers else ():
                self._parameterize(hole, params)
            for taker in takers:
                shares[taker].append(entry.relation)
            entry.done = bool(takers)
            if not takers:
                self._pending[-1].append(entry)
        made_here = [p for p in params if p not in declared]
        return [self._general(t, share, made_here) for t, share in zip(found, shares)]

    def _takers(self, relation: TypeRelation, types: Sequence[Any], declared: set[Any]) -> list[int]:
        """Which of the functions of a group `relation` constrains."""
        functions = [i for i, t in enumerate(types) if isinstance(t, FuncType)]
        if len(functions) == 1:
            return functions
        named = declared.intersection(leaves(self.unifier.resolve(relation)))
        if named:
            return [i for i in functions if named <= set(types[i].type_params)]
        return [i for i in functions if any(isinstance(leaf, IncompleteType) for leaf in leaves(types[i]))]

    def _general(self, type_: Type, share: Sequence[TypeRelation], made: Sequence[TypeVar]) -> Any:
        """`type_` under the constraints `share`, its parameters those of `made` that it or they mention."""
        if not isinstance(type_, FuncType):
            return type_
        resolve = self.unifier.resolve
        whole = resolve(type_)
        constraints = (*whole.type_constraints, *(resolve(relation) for relation in share))
        mentioned = {leaf for part in (whole, *constraints) for leaf in leaves(part)}
        params = (*type_.type_params, *(p for p in made if p in mentioned))
        return FuncType(whole.arg_types, whole.ret_type, params, constraints)

    def _open(self, type_: Type) -> list[IncompleteType]:
        """Holes of the level that just ended."""
        unifier = self.unifier
        return [
            h for h in unifier.open_holes(type_) if unifier.levels.get(h, 0) > unifier.level and h not in unifier.poison
        ]

    def _parameterize(self, hole: IncompleteType, params: dict[Any, None]) -> None:
        if hole in self.unifier.bindings:
            return
        made = TypeVar(_NAMES[hole.kind] + (str(len(params)) if params else ""), hole.kind)
        params[made] = None
        self.unifier.bindings[hole] = made

    def _mentions(self, relation: TypeRelation, params: dict[Any, None]) -> bool:
        if self._open(relation):
            return True
        return any(leaf in params for leaf in leaves(self.unifier.resolve(relation)))

    def _lower_determined(self, waiting: list[Waiting]) -> None:
        """Results that outer types alone determine belong to the outer level (a graph node shared with outside)."""
        unifier, changed = self.unifier, True
        while changed:
            changed = False
            for entry in waiting:
                relation = entry.relation
                inputs, outputs = relation.args[: relation.num_inputs], relation.args[relation.num_inputs :]
                if any(self._open(t) or _has_variable(unifier.resolve(t)) for t in inputs):
                    continue
                for hole in (h for t in outputs for h in self._open(t)):
                    unifier.levels[hole] = unifier.level
                    changed = True

    # ---- the end

    def finish(self) -> None:
        """Undecided literals become int32; relations that still wait are errors."""
        self.run()
        self.default_literals()
        for waiting in self._pending[0]:
            if waiting.done:
                continue
            waiting.done = True
            shown = ", ".join(
                show_type(self.unifier.resolve(t)) for t in waiting.relation.args[: waiting.relation.num_inputs]
            )
            self.report(
                "relay-infer",
                f"unable to infer the types of {waiting.where}: its arguments are ({shown})",
                waiting.span,
                help="annotate a parameter or a let",
            )
            self.unifier.poison.update(h for t in waiting.relation.args for h in self.unifier.open_holes(t))

    def default_literals(self) -> None:
        """Literals without a decided dtype are int32 (contradictions B-02)."""
        for hole in self.literals:
            root = self.unifier.find(hole)
            if isinstance(root, IncompleteType):
                self.unifier.unify_dtypes(root, INT32)
                self.run()


def _has_variable(type_: Type) -> bool:
    return any(isinstance(leaf, TypeVar) for leaf in leaves(type_))


class _Reporter:
    """See `relations.Reporter`."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver

    def assign(self, target: Any, source: Any) -> None:
        self._solver.unifier.unify(target, source)

    def known(self, type_: Type) -> Any:
        return self._solver.unifier.resolve(self._solver.unifier.find(type_))

    def fail(self, message: str) -> None:
        raise Mismatch(message)


_NAMES = {TypeKind.Type: "t", TypeKind.Shape: "s", TypeKind.BaseType: "bt", TypeKind.ShapeVar: "d"}
