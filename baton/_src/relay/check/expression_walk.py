"""The traversal that types every subexpression: in evaluation order, with an explicit stack.

The type of a node, given the types of its parts, is computed by `expression_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.types import (
    Constructor,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TupleType,
    TypeData,
    TypeRelation,
)
from baton._src.relay.check.dim_instances import dim_variables
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.check.expression_rules import ExpressionRules, place_of
from baton._src.relay.check.relations import FunctionRelation
from baton._src.relay.check.solver import Solver
from baton._src.relay.check.substitute import leaves
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.support.diagnostics import fail


class ExpressionWalk(ExpressionRules):
    """The traversal. `infer(root)` types everything below `root`."""

    def __init__(
        self,
        solver: Solver,
        definitions: Mapping[GlobalTypeVar, TypeData],
        relations: Mapping[str, FunctionRelation],
        elaboration: Elaboration,
    ) -> None:
        super().__init__(solver, definitions, relations, elaboration)
        self._stack: list[tuple[Callable[[Any], None], Any]] = []
        self._free_allowed = False
        self.free: set[Any] = set()
        """Variables that nothing binds: they belong to the caller."""
        self._recursive: dict[Any, Any] = {}

    def infer(self, root: GraphExpr, *, free_allowed: bool = False) -> None:
        self._free_allowed = free_allowed
        stack = self._stack
        stack.append((self._visit, root))
        while stack:
            action, node = stack.pop()
            action(node)

    def _visit(self, node: GraphExpr) -> None:
        if node in self.types:
            return
        handler = _ENTER.get(type(node))
        if handler is None:
            handler = _enter_unknown
        handler(self, node)

    def _then(self, action: Callable[[Any], None], node: Any, parts: Iterable[Any]) -> None:
        """Visit `parts` in order, then do `action`."""
        self._stack.append((action, node))
        self._stack.extend((self._visit, part) for part in reversed(tuple(parts)) if part not in self.types)

    def enter_var(self, node: Var) -> None:
        if not self._free_allowed:
            self.solver.report("relay-unbound", f"%{node.name_hint} is not bound here", node.span, self._unbound(node))
        self.free.add(node)
        self.types[node] = self.written(node.type_annotation, node.span)

    def enclosing(self) -> Any:
        """The expression whose part is being visited: the innermost one that waits for its parts."""
        return next((node for action, node in reversed(self._stack) if action != self._visit), None)

    def _unbound(self, node: Var) -> str:
        """What to do about a variable that nothing binds."""
        bound = [v.name_hint for v in self.types if isinstance(v, Var)]
        name = node.name_hint
        if name in bound:
            return (
                f"there is another %{name}, but each relay.var({name!r}) is a variable of its own: use the one object"
            )
        near = get_close_matches(name, bound, n=1)
        guess = f"did you mean %{near[0]}? Else " if near else ""
        return f"{guess}make it a parameter, relay.Function([..., {name}], body), or bind it with relay.Let"

    def enter_call(self, node: Call) -> None:
        op = node.op
        self._then(
            self._exit_call, node, node.args if type(op) is Op and op.definition is not None else (op, *node.args)
        )

    def _exit_call(self, node: Call) -> None:
        self.types[node] = self.call(node)

    def enter_tuple(self, node: Tuple) -> None:
        self._then(self._exit_tuple, node, node.fields)

    def _exit_tuple(self, node: Tuple) -> None:
        self.types[node] = TupleType(tuple(self.types[f] for f in node.fields))

    def enter_projection(self, node: TupleGetItem) -> None:
        self._then(self._exit_projection, node, (node.tuple_value,))

    def _exit_projection(self, node: TupleGetItem) -> None:
        tuple_type = self.solver.unifier.find(self.types[node.tuple_value])
        if isinstance(tuple_type, TupleType) and 0 <= node.index < len(tuple_type.fields):
            self.types[node] = tuple_type.fields[node.index]
        else:
            self.types[node] = self.projection(node)

    def enter_if(self, node: If) -> None:
        self._then(self._exit_if, node, (node.cond, node.true_branch, node.false_branch))

    def _exit_if(self, node: If) -> None:
        self.types[node] = self.branch(node)

    def enter_ref_create(self, node: RefCreate) -> None:
        self._then(self._exit_ref_create, node, (node.value,))

    def _exit_ref_create(self, node: RefCreate) -> None:
        self.types[node] = RelayRefType(self.types[node.value])

    def enter_ref_read(self, node: RefRead) -> None:
        self._then(self._exit_ref_read, node, (node.ref,))

    def _exit_ref_read(self, node: RefRead) -> None:
        self.types[node] = self.reference_read(node)

    def enter_ref_write(self, node: RefWrite) -> None:
        self._then(self._exit_ref_write, node, (node.ref, node.value))

    def _exit_ref_write(self, node: RefWrite) -> None:
        self.types[node] = self.reference_write(node)

    # ---- binders

    def enter_let(self, node: Let) -> None:
        self._stack.append((self._let_body, node))
        value = node.value
        if isinstance(value, Function) and value not in self.types:
            self.solver.enter()
            var = node.var
            if var.type_annotation is not None:
                self.types[var] = self.written(var.type_annotation, var.span)
            elif is_annotated(value):
                self.types[var] = declared_type(value)
            else:
                self.types[var] = self.solver.unifier.hole()
                self.uniform.add(var)
            self._recursive[node] = self.types[var]
        self._stack.append((self._visit, value))

    def _let_body(self, node: Let) -> None:
        var, value = node.var, node.value
        found = self.types[value]
        if node in self._recursive:
            seen = self._recursive.pop(node)
            self.solver.expect(found, seen, f"let %{var.name_hint}", node.span, self.recursion_help(var))
            self.uniform.discard(var)
            found = self.types[value] = self.solver.generalize(found)
        if var.type_annotation is not None:
            wanted = self.written(var.type_annotation, var.span)
            help = "leave out the type that is written behind the name, or convert the value, by reshape or astype"
            self.solver.expect(found, wanted, f"let %{var.name_hint}", place_of(value, node), help)
            found = wanted
        if value in self.constants and value not in self.elaboration.literals:
            self.constants[var] = self.constants[value]
        self.types[var] = found
        self._then(self._exit_let, node, (node.body,))

    def _exit_let(self, node: Let) -> None:
        self.types[node] = self.types[node.body]

    def enter_function(self, node: Function) -> None:
        for param in node.params:
            self.types[param] = self.written(param.type_annotation, param.span)
        annotations = [p.type_annotation for p in node.params if p.type_annotation is not None]
        self.dims.append({variable for type_ in annotations for variable in dim_variables(type_)})
        self._then(self._exit_function, node, (node.body,))

    def _exit_function(self, node: Function) -> None:
        self.dims.pop()
        params = tuple(self.types[p] for p in node.params)
        body = self.types[node.body]
        if node.ret_annotation is not None:
            wanted = self.written(node.ret_annotation, node.span)
            help = "leave out the type that is written behind ->, or convert the body, by reshape or astype"
            self.solver.expect(body, wanted, "the function's body", place_of(node.body, node), help)
            body = wanted
        for name in node.where:
            relation = self.relations.get(name)
            if relation is None:
                known = ", ".join(self.relations)
                self.solver.report("relay-relation", f"there is no relation {name}", node.span, f"known are {known}")
                continue
            self.solver.add(TypeRelation(relation, (*params, body), len(params)), (), f"where {name}", node.span)
        self.types[node] = FuncType(params, body, node.type_params)

    def enter_match(self, node: Match) -> None:
        self._then(self._match_clauses, node, (node.data,))

    def _match_clauses(self, node: Match) -> None:
        for clause in node.clauses:
            self.bind_pattern(clause.lhs, self.types[node.data])
        self._then(self._exit_match, node, (c.rhs for c in node.clauses))

    def _exit_match(self, node: Match) -> None:
        self.types[node] = self.match(node)

    def enter_leaf(self, node: Any) -> None:
        match node:
            case Constant():
                self.types[node] = self.constant(node)
            case GlobalVar():
                self.types[node] = self.global_var(node)
            case Constructor():
                self.types[node] = self.constructor(node)
            case _:
                self.types[node] = self.operator(node)


def _enter_unknown(walk: ExpressionWalk, node: Any) -> None:
    if isinstance(node, TempExpr):
        message = (
            f"a {type(node).__name__} is left over from a pass: temporary expressions have no meaning of their own"
        )
        raise fail("RELAY-TEMP-1", message, help="the pass that made it has to realize() it before it ends")
    around = walk.enclosing()
    place = f"a part of this {type(around).__name__} is" if around is not None else "this is"
    help = "wrap numbers and arrays: relay.const(...); operators are functions of relay, or relay.op.get(name)"
    if isinstance(getattr(node, "op", None), GlobalVar):
        help = f"@{node.op.name_hint}() without arguments is Relax's call; Relay's is relay.Call(f, [])"
    raise fail(
        "relay-node",
        f"{place} no Relay expression: {node!r}, of class {type(node).__name__}",
        span=getattr(around, "span", None),
        help=help,
    )


_ENTER: dict[type, Callable[[ExpressionWalk, Any], None]] = {
    Var: ExpressionWalk.enter_var,
    Constant: ExpressionWalk.enter_leaf,
    GlobalVar: ExpressionWalk.enter_leaf,
    Constructor: ExpressionWalk.enter_leaf,
    Op: ExpressionWalk.enter_leaf,
    Call: ExpressionWalk.enter_call,
    Tuple: ExpressionWalk.enter_tuple,
    TupleGetItem: ExpressionWalk.enter_projection,
    If: ExpressionWalk.enter_if,
    RefCreate: ExpressionWalk.enter_ref_create,
    RefRead: ExpressionWalk.enter_ref_read,
    RefWrite: ExpressionWalk.enter_ref_write,
    Let: ExpressionWalk.enter_let,
    Function: ExpressionWalk.enter_function,
    Match: ExpressionWalk.enter_match,
}


def is_annotated(function: Function) -> bool:
    """Its type can be read off its signature."""
    types = [*(p.type_annotation for p in function.params), function.ret_annotation]
    return not function.where and all(
        t is not None and not any(isinstance(leaf, IncompleteType) for leaf in leaves(t)) for t in types
    )


def declared_type(function: Function) -> FuncType:
    """The type an annotated function declares."""
    args = tuple(p.type_annotation for p in function.params if p.type_annotation is not None)
    assert function.ret_annotation is not None
    return FuncType(args, function.ret_annotation, function.type_params)
