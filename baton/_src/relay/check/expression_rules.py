"""The typing rule of each kind of expression, given the types of its parts (facts relay-language §1).

The traversal in `infer_type` calls these in order; nothing here walks the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.types import (
    Constructor,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeRelation,
)
from baton._src.relay.check.binding_rules import BindingRules
from baton._src.relay.check.call_site import CallSite, within
from baton._src.relay.check.dim_instances import DimInstance, dim_variables
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.check.exhaustiveness import coverage, show_pattern
from baton._src.relay.check.relations import FunctionRelation, operator_type, relay_inputs
from baton._src.relay.check.show import show_type
from baton._src.relay.check.solver import Solver
from baton._src.relay.nodes import Call, Constant, If, Match, RefRead, RefWrite, TupleGetItem, Var
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.spans import Span
from baton._src.tir.expr import literal
from baton._src.values.dtype import BOOL, DataType

BOOL_SCALAR = TensorType((), BOOL)
UNIT = TupleType()


class ExpressionRules(BindingRules):
    """Types of expressions over one solver. `types` has every expression visited, `constants` known constant values."""

    def __init__(
        self,
        solver: Solver,
        definitions: Mapping[GlobalTypeVar, TypeData],
        relations: Mapping[str, FunctionRelation],
        elaboration: Elaboration,
    ) -> None:
        super().__init__(solver, definitions)
        self.relations = relations
        self.elaboration = elaboration
        self.globals: dict[str, Any] = {}
        self.constants: dict[Any, Any] = {}
        self.uniform: set[Any] = set()
        """Let variables, and names of globals, whose unannotated functions are being inferred: all their uses within
        have one type."""
        self.dims: list[set[Any]] = []
        """Dim variables that the functions around stand for, outermost first."""
        self._dims_of: dict[FuncType, dict[Any, None]] = {}
        self._constant_types: dict[Any, TensorType] = {}

    # ---- leaves

    def constant(self, node: Constant) -> Any:
        data = node.data
        self.constants[node] = data.data
        if node in self.elaboration.literals:
            hole = self.solver.unifier.literal_hole()
            self.solver.literals.append(hole)
            self.elaboration.literals[node] = hole
            return TensorType((), hole)
        key = (data.shape, data.dtype)
        found = self._constant_types.get(key)
        if found is None:
            found = self._constant_types[key] = TensorType(tuple(literal(d) for d in data.shape), DataType(data.dtype))
        return found

    def global_var(self, node: GlobalVar) -> Any:
        found = self.globals.get(node.name_hint)
        if found is None:
            known = ", ".join(f"@{n}" for n in list(self.globals)[:8]) or "none"
            self.solver.report(
                "relay-global", f"@{node.name_hint} is not defined in the module", node.span, f"defined are: {known}"
            )
            return self.solver.unifier.poisoned()
        return found

    def operator(self, node: Op) -> Any:
        if node.definition is None:
            self.solver.report("relay-operator", f"the operator {node.name} has no definition, so no type", node.span)
            return self.solver.unifier.poisoned()
        try:
            return operator_type(node)
        except TypeError as missing:
            message = f"{node.name} cannot be used as a value: {missing}"
            self.solver.report("relay-operator", message, node.span, "write fn(%x) { ... } around a call of it")
            return self.solver.unifier.poisoned()

    def constructor(self, node: Constructor) -> Any:
        data = self.definitions.get(node.belong_to)
        if data is None:
            self.solver.report(
                "relay-adt",
                f"the module does not define {node.belong_to.name_hint}, the type of {node.name_hint}",
                node.span,
            )
            return self.solver.unifier.poisoned()
        return FuncType(node.inputs, TypeCall(node.belong_to, data.type_vars), data.type_vars)

    # ---- compound expressions

    def projection(self, node: TupleGetItem) -> Any:
        tuple_type = self.types[node.tuple_value]
        out = self.solver.unifier.hole()
        relation = FunctionRelation("TupleGetItem", _project)
        at = TypeRelation(relation, (tuple_type, out), 1, node.index)
        self.solver.add(at, (), f"the projection .{node.index}", node.span)
        return self.solver.unifier.find(out)

    def call(self, node: Call) -> Any:
        op = node.op
        args = [self.types[a] for a in node.args]
        if isinstance(op, Op) and op.definition is not None:
            return self._operator_call(node, op, args)
        where = f"the call of {callee_name(op)}"
        callee = self.solver.unifier.find(self.types[op])
        if isinstance(callee, IncompleteType):
            ret = self.solver.unifier.hole()
            self.solver.expect(callee, FuncType(tuple(args), ret), where, node.span, self.recursion_help(op))
            return self.solver.unifier.find(ret)
        if not isinstance(callee, FuncType):
            shown = show_type(self.solver.unifier.resolve(callee))
            self.solver.report("relay-call", f"{where}: {shown} is not a function", node.span)
            return self.solver.unifier.poisoned()
        return self._function_call(node, callee, args, where)

    def _operator_call(self, node: Call, op: Op, args: list[Any]) -> Any:
        where = CallSite(node, args, self.solver.unifier)
        inputs = relay_inputs(op)
        required, allowed = sum(not i.optional for i in inputs), len(inputs)
        if self.solver.rule.custom(op) is None and not required <= len(args) <= allowed:
            wanted = f"{allowed}" if required == allowed else f"{required} to {allowed}"
            help = f"they are: {', '.join(i.named('relay') for i in inputs)}" if inputs else None
            self.solver.report("relay-arity", f"{op.name} takes {wanted} arguments, got {len(args)}", node.span, help)
            return self.solver.unifier.poisoned()
        constants = [self.constants.get(a) for a in node.args]
        try:
            return self.solver.call_operator(op, args, node.attrs, constants, where, node.span)
        except DiagnosticError as error:
            self.solver.errors += [within(d.at(node.span), where) for d in error.diagnostics]
            return self.solver.unifier.poisoned()

    def _function_call(self, node: Call, callee: FuncType, args: list[Any], where: str) -> Any:
        solver = self.solver
        given, allowed = len(node.written_type_args), len(callee.type_params)
        if given > allowed:
            message = f"{where}: {given} type arguments for {allowed} type parameters"
            solver.report("relay-type-args", message, node.span)
            return solver.unifier.poisoned()
        if len(args) != len(callee.arg_types):
            message = f"{where}: {len(args)} arguments for {len(callee.arg_types)} parameters"
            takes = ", ".join(show_type(solver.unifier.resolve(t)) for t in callee.arg_types)
            solver.report("relay-arity", message, node.span, f"it takes: {takes}")
            return solver.unifier.poisoned()
        type_args = [self.written(t, node.span) for t in node.written_type_args]
        instance = DimInstance(callee, self._own_dims(callee, node.op), solver.unifier)
        made, chosen = solver.instantiate(instance.opened, type_args, where, node.span)
        if chosen:
            self.elaboration.type_args[node] = chosen
        help = self.recursion_help(node.op) or "convert the argument, by reshape or astype, or the parameter's type"
        for position, (actual, wanted) in enumerate(zip(args, made.arg_types)):
            if actual is not wanted:
                what = f"{where}: argument {position + 1}"
                solver.expect(actual, wanted, what, place_of(node.args[position], node), help)
        return solver.unifier.find(instance.closed(made.ret_type))

    def _own_dims(self, callee: FuncType, op: Any) -> dict[Any, None]:
        """The dim variables of a function's parameters that it does not share with the functions around it."""
        found = self._dims_of.get(callee)
        if found is None:
            found = self._dims_of[callee] = dict.fromkeys(d for t in callee.arg_types for d in dim_variables(t))
        if not found or isinstance(op, (GlobalVar, Constructor)):
            return found
        return {variable: None for variable in found if not any(variable in scope for scope in self.dims)}

    def recursion_help(self, callee: Any) -> str | None:
        """What to do about a mismatch in the uses of a function within itself."""
        if (callee.name_hint if isinstance(callee, GlobalVar) else callee) not in self.uniform:
            return None
        name = callee_name(callee)
        return (
            f"within its own definition {name} has one type, unless that is declared: "
            "to call it with other types, write down its type parameters and all its types"
        )

    def branch(self, node: If) -> Any:
        condition = self.types[node.cond]
        if node in self.elaboration.conditions:
            whole = FunctionRelation("Condition", self.elaboration.condition_rule(node))
            self.solver.add(TypeRelation(whole, (condition, BOOL_SCALAR), 1), (), "the condition", node.cond.span)
        else:
            help = "it is one bool: compare, or reduce with relay.all or relay.any"
            self.solver.expect(condition, BOOL_SCALAR, "the condition of an if", place_of(node.cond, node), help)
        one, other = self.types[node.true_branch], self.types[node.false_branch]
        help = "an if has one type: make its branches agree, by reshape or astype, or return what both have in common"
        return self.solver.expect(one, other, "the branches of an if differ in type", node.span, help)

    def reference_read(self, node: RefRead) -> Any:
        inner = self.solver.unifier.hole()
        help = "ref(...) makes what ref_read reads"
        self.solver.expect(self.types[node.ref], RelayRefType(inner), "ref_read", node.span, help)
        return self.solver.unifier.find(inner)

    def reference_write(self, node: RefWrite) -> Any:
        written = RelayRefType(self.types[node.value])
        help = "what is written has the type that ref(...) was made with: convert it, by reshape or astype"
        self.solver.expect(self.types[node.ref], written, "ref_write", node.span, help)
        return UNIT

    # ---- match

    def match(self, node: Match) -> Any:
        """The common type of the clauses; every case must be covered if the match says so."""
        if not node.clauses:
            return self._match_of_nothing(node)
        result = self.types[node.clauses[0].rhs]
        what = "the clauses of a match differ in type"
        help = "a match has one type: make its clauses agree, by reshape or astype"
        for clause in node.clauses[1:]:
            result = self.solver.expect(self.types[clause.rhs], result, what, place_of(clause.rhs, node), help)
        covered = coverage([c.lhs for c in node.clauses], self.definitions)
        if node.complete and covered.missing:
            cases = ", ".join(show_pattern(p) for p in covered.missing)
            message = f"this match does not cover {cases}"
            self.solver.report("relay-match", message, node.span, "add clauses, or write match? if that may fail")
        for index in covered.unreachable:
            self.elaboration.unreachable.append((node, index))
        return result

    def _match_of_nothing(self, node: Match) -> Any:
        """A match without clauses has any type; it covers the values of a type that has none."""
        matched = self.solver.unifier.find(self.types[node.data])
        named: Any = matched.func if isinstance(matched, TypeCall) else matched
        data = self.definitions.get(named)
        if node.complete and not isinstance(matched, IncompleteType) and (data is None or data.constructors):
            message = f"this match does not cover {show_type(self.solver.unifier.resolve(matched))}"
            self.solver.report("relay-match", message, node.span, "add clauses, or write match? if that may fail")
        return self.solver.unifier.hole()


def _project(args: tuple[Any, ...], num_inputs: int, index: int, reporter: Any) -> bool:
    found = reporter.known(args[0])
    if isinstance(found, TupleType):
        if not 0 <= index < len(found.fields):
            reporter.fail(f"index {index} of a tuple of {len(found.fields)}")
        reporter.assign(args[1], found.fields[index])
        return True
    if not (isinstance(found, Type) and type(found).__name__ == "IncompleteType"):
        reporter.fail(f"{show_type(found)} is not a tuple")
    return False


def place_of(used: Any, user: Any) -> Span | None:
    """Where `used` stands in `user`. A name's span is that of its definition, so its uses have their users'."""
    span: Span | None = user.span if isinstance(used, (Var, GlobalVar, Constructor, Op)) else used.span or user.span
    return span


def callee_name(op: Any) -> str:
    """How messages name what is called."""
    match op:
        case GlobalVar():
            return f"@{op.name_hint}"
        case Var():
            return f"%{op.name_hint}"
        case Constructor():
            return op.name_hint
        case Op():
            return op.name
        case _:
            return "a function"


__all__ = ["BOOL_SCALAR", "UNIT", "ExpressionRules", "callee_name", "place_of"]
