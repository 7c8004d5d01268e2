"""The reference interpreter (TVM's debug executor): Relay's meaning over NumPy, small and independent of the compiler.

Operators are evaluated by `OpDef.reference`. A machine with two stacks (what is left to do, values) runs the program,
so calls nest as deep as memory allows, and a call in tail position leaves nothing behind: a loop of a million
iterations runs in constant space. A node that is used several times is evaluated at most once in each run of the
smallest scope around its uses (`scopes`), and only when it is needed.

Values: NDArray, tuple, ADT, RefCell, `FunctionValue`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
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
from baton._src.relay.reference_calls import call_reference
from baton._src.relay.running_values import Activation, FunctionValue, bind, brief, to_value
from baton._src.relay.scopes import Scope, Scopes
from baton._src.relay.stopping import stop_at
from baton._src.support.diagnostics import fail
from baton._src.values.adt import ADT, RefCell
from baton._src.values.own_tensors import with_own_tensors


class Interpreter:
    """Evaluates expressions over a module's functions. `evaluate(expr)` gives a value; functions are callable."""

    def __init__(self, module: IRModule | None = None) -> None:
        self.module = module if module is not None else IRModule()
        self._globals: dict[str, FunctionValue] = {}
        self._todo: list[tuple[Callable[..., None], Any, Any]] = []
        self._values: list[Any] = []

    def evaluate(self, expr: Any, arguments: Any = None) -> Any:
        """The value of `expr`; its free variables are taken from the mapping `arguments` (by variable or name)."""
        if isinstance(expr, GlobalVar):
            return self.global_value(expr)
        scopes = Scopes(expr)
        outermost = Activation(None, 0)
        for key, value in (arguments or {}).items():
            outermost.values[key] = to_value(value)
        return with_own_tensors(self._run(lambda: self._eval_in(scopes, expr, outermost)))

    def apply(self, function: FunctionValue, args: Sequence[Any]) -> Any:
        """Call a function value."""
        return with_own_tensors(self._run(lambda: self._enter(function, list(args), None)))

    def _run(self, start: Callable[[], None]) -> Any:
        todo, values = self._todo, self._values
        floor, base = len(todo), len(values)
        try:
            start()
            while len(todo) > floor:
                action, node, act = todo.pop()
                action(node, act)
            return values.pop()
        finally:
            del todo[floor:]
            del values[base:]

    def global_value(self, var: GlobalVar) -> FunctionValue:
        """The function with a global's name."""
        found = self._globals.get(var.name_hint)
        if found is None:
            function = self.module[var]
            if not isinstance(function, Function):
                raise fail("relay-run", f"@{var.name_hint} is not a Relay function", span=var.span)
            scopes = Scopes(function)
            found = FunctionValue(self, function, Activation(None, 0), scopes)
            self._globals[var.name_hint] = found
        return found

    # ---- evaluation

    def _eval_in(self, scopes: Scopes, expr: Any, act: Activation) -> None:
        self._todo.append((self._eval, (scopes, expr), act))

    def _eval(self, job: tuple[Scopes, Any], act: Activation) -> None:
        scopes, node = job
        kind = type(node)
        if kind is Var:
            self._values.append(self._lookup(scopes, node, act))
            return
        if kind is Constant:
            self._values.append(node.data)
            return
        if scopes.uses.get(node, 0) > 1 and kind not in _NAMES:
            depth = scopes.of[node].depth
            while act.depth > depth:
                assert act.parent is not None
                act = act.parent
            if node in act.values:
                self._values.append(act.values[node])
                return
            self._todo.append((self._remember, node, act))
        handler = _EVAL.get(kind)
        if handler is None:
            raise _not_an_expression(node)
        handler(self, scopes, node, act)

    def _remember(self, node: Any, act: Activation) -> None:
        act.values[node] = self._values[-1]

    def _lookup(self, scopes: Scopes, var: Var, act: Any) -> Any:
        while act is not None:
            values = act.values
            if var in values:
                return values[var]
            if act.parent is None and var.name_hint in values:
                return values[var.name_hint]
            act = act.parent
        raise fail("relay-unbound", f"%{var.name_hint} has no value here", span=var.span, help="give it as an argument")

    def _push_all(self, scopes: Scopes, exprs: Sequence[Any], act: Activation) -> bool:
        """Evaluate left to right; variables and constants immediately. Returns whether nothing remains to be done."""
        for position, expr in enumerate(exprs):
            kind = type(expr)
            if kind is Var:
                self._values.append(self._lookup(scopes, expr, act))
            elif kind is Constant:
                self._values.append(expr.data)
            else:
                self._todo.extend([(self._eval, (scopes, e), act) for e in reversed(exprs[position:])])
                return False
        return True

    def _looked_up(self, scopes: Scopes, exprs: Sequence[Any], act: Activation) -> list[Any] | None:
        """The values of variables and constants; None if anything else is among them."""
        found = []
        for expr in exprs:
            kind = type(expr)
            if kind is Var:
                found.append(act.values[expr] if expr in act.values else self._lookup(scopes, expr, act))
            elif kind is Constant:
                found.append(expr.data)
            else:
                return None
        return found

    def _then(
        self, action: Callable[..., None], node: Any, scopes: Scopes, exprs: Sequence[Any], act: Activation
    ) -> None:
        """`action` once `exprs` have values, which is now if they only have to be looked up."""
        todo = self._todo
        position = len(todo)
        if self._push_all(scopes, exprs, act):
            action(node, act)
        else:
            todo.insert(position, (action, node, act))

    def eval_global(self, scopes: Scopes, node: GlobalVar, act: Activation) -> None:
        self._values.append(self.global_value(node))

    def eval_bare(self, scopes: Scopes, node: Any, act: Activation) -> None:
        """An operator or a constructor as a value."""
        self._values.append(FunctionValue(self, node, None, None))

    def eval_function(self, scopes: Scopes, node: Function, act: Activation) -> None:
        self._values.append(FunctionValue(self, node, act, scopes))

    def eval_tuple(self, scopes: Scopes, node: Tuple, act: Activation) -> None:
        self._then(self._make_tuple, len(node.fields), scopes, node.fields, act)

    def _make_tuple(self, count: int, act: Activation) -> None:
        self._values.append(tuple(self._pop(count)))

    def _pop(self, count: int) -> list[Any]:
        if count == 0:
            return []
        found = self._values[-count:]
        del self._values[-count:]
        return found

    def eval_projection(self, scopes: Scopes, node: TupleGetItem, act: Activation) -> None:
        self._then(self._project, node, scopes, (node.tuple_value,), act)

    def _project(self, node: TupleGetItem, act: Activation) -> None:
        self._values.append(self._values.pop()[node.index])

    def eval_let(self, scopes: Scopes, node: Let, act: Activation) -> None:
        self._then(self._bind, (scopes, node), scopes, (node.value,), act)

    def _bind(self, job: tuple[Scopes, Let], act: Activation) -> None:
        scopes, node = job
        act.values[node.var] = self._values.pop()
        self._todo.append((self._eval, (scopes, node.body), act))

    def eval_if(self, scopes: Scopes, node: If, act: Activation) -> None:
        self._then(self._branch, (scopes, node), scopes, (node.cond,), act)

    def _branch(self, job: tuple[Scopes, If], act: Activation) -> None:
        scopes, node = job
        chosen = bool(self._values.pop().data)
        body = node.true_branch if chosen else node.false_branch
        self._eval_in(scopes, body, Activation(act, scopes.inner[(node, 1 if chosen else 2)].depth))

    def eval_match(self, scopes: Scopes, node: Match, act: Activation) -> None:
        self._then(self._choose, (scopes, node), scopes, (node.data,), act)

    def _choose(self, job: tuple[Scopes, Match], act: Activation) -> None:
        scopes, node = job
        value = self._values.pop()
        for position, clause in enumerate(node.clauses):
            inner = Activation(act, scopes.inner[(node, position + 1)].depth)
            if bind(clause.lhs, value, inner.values):
                self._eval_in(scopes, clause.rhs, inner)
                return
        raise fail("match-failed", f"no clause of this match fits {brief(value)}", span=node.span)

    def eval_ref_create(self, scopes: Scopes, node: RefCreate, act: Activation) -> None:
        self._then(self._make_ref, None, scopes, (node.value,), act)

    def _make_ref(self, node: None, act: Activation) -> None:
        self._values.append(RefCell(self._values.pop()))

    def eval_ref_read(self, scopes: Scopes, node: RefRead, act: Activation) -> None:
        self._then(self._read, None, scopes, (node.ref,), act)

    def _read(self, node: None, act: Activation) -> None:
        self._values.append(self._values.pop().value)

    def eval_ref_write(self, scopes: Scopes, node: RefWrite, act: Activation) -> None:
        self._then(self._write, None, scopes, (node.ref, node.value), act)

    def _write(self, node: None, act: Activation) -> None:
        cell, value = self._pop(2)
        cell.value = value
        self._values.append(())

    # ---- calls

    def eval_call(self, scopes: Scopes, node: Call, act: Activation) -> None:
        op = node.op
        kind = type(op)
        if kind in _NAMES:
            args = self._looked_up(scopes, node.args, act)
            if args is not None:
                if kind is GlobalVar:
                    self._enter(self.global_value(op), args, node)
                else:
                    self._primitive(op, args, node, act)
                return
            self._then(self._apply_named, node, scopes, node.args, act)
        else:
            self._then(self._apply_value, node, scopes, (op, *node.args), act)

    def _apply_named(self, node: Call, act: Activation) -> None:
        args = self._pop(len(node.args))
        if type(node.op) is GlobalVar:
            self._enter(self.global_value(node.op), args, node)
        else:
            self._primitive(node.op, args, node, act)

    def _apply_value(self, node: Call, act: Activation) -> None:
        callee, *args = self._pop(len(node.args) + 1)
        self._enter(callee, args, node)

    def _enter(self, callee: Any, args: list[Any], node: Call | None) -> None:
        """Run a function's body, in place of what called it."""
        span = node.span if node is not None else None
        if not isinstance(callee, FunctionValue):
            raise fail("relay-run", f"{brief(callee)} is not a function", span=span)
        function = callee.function
        if not isinstance(function, Function):
            self._primitive(function, args, node)
            return
        if len(args) != len(function.params):
            message = f"{len(args)} arguments for {len(function.params)} parameters"
            raise fail("api", message, span=span, help=f"it takes {', '.join(p.name_hint for p in function.params)}")
        scopes = callee.scopes
        assert scopes is not None
        inner: Scope = scopes.inner[(function, 0)]
        act = Activation(callee.activation, inner.depth)
        act.values.update(zip(function.params, args))
        self._todo.append((self._eval, (scopes, function.body), act))

    def _primitive(self, op: Any, args: list[Any], node: Call | None, act: Activation | None = None) -> None:
        if isinstance(op, Constructor):
            self._values.append(ADT(op.tag, tuple(args), op))
        else:
            if node is not None and op.name == "debug":
                stop_at(node, act.visible() if act is not None else [])
            self._values.append(call_reference(op, args, node))


_NAMES = (Op, GlobalVar, Constructor)

_EVAL: dict[type, Callable[[Interpreter, Scopes, Any, Activation], None]] = {
    Call: Interpreter.eval_call,
    Function: Interpreter.eval_function,
    Tuple: Interpreter.eval_tuple,
    TupleGetItem: Interpreter.eval_projection,
    Let: Interpreter.eval_let,
    If: Interpreter.eval_if,
    Match: Interpreter.eval_match,
    RefCreate: Interpreter.eval_ref_create,
    RefRead: Interpreter.eval_ref_read,
    RefWrite: Interpreter.eval_ref_write,
    GlobalVar: Interpreter.eval_global,
    Op: Interpreter.eval_bare,
    Constructor: Interpreter.eval_bare,
}


def _not_an_expression(node: Any) -> Exception:
    if isinstance(node, TempExpr):
        message = f"a {type(node).__name__} has no value: temporary expressions never leave their pass"
        return fail("RELAY-TEMP-1", message)
    return fail("relay-node", f"a {type(node).__name__} is not a Relay expression")
