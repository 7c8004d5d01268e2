"""Lower the expressions of one Relay function to Relax bindings, in evaluation order.

Each scope (a function's body, a branch, a clause) becomes a SeqExpr. A node used in several scopes is bound in the
smallest one around its uses, before the first if, match or closure that needs it (`relay.scopes`). Nested scopes are
tasks and each scope is walked with a stack of its own, so programs may be as deep and long as memory allows.

    fn (%x) { let %y = exp(%x); if (%c) { add(%y, %x) } else { %y } }
        lv = relax.exp(x);  gv = If(c, {lv1 = relax.add(lv, x); lv1}, {lv});  gv
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.ir.types import Constructor, FuncType
from baton._src.lower.relay_to_relax.binding_emitter import BindingEmitter, Bindings
from baton._src.lower.relay_to_relax.calls import Calls
from baton._src.lower.relay_to_relax.match_lowering import MatchLowering
from baton._src.relax import nodes as rx
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
from baton._src.relay.scopes import Scopes
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task


class ScopeLowering:
    """Lowers the body of one function."""

    def __init__(self, root: Function, emitter: BindingEmitter) -> None:
        self.emitter = emitter
        self.values = emitter.values
        self.functions = emitter.functions
        self.types = emitter.types
        self.scopes = Scopes(root)
        self.calls = Calls(emitter)
        self.matches = MatchLowering(emitter, self)

    # ---- scopes

    def body(self, root: GraphExpr, bindings: Bindings) -> Task[rx.SeqExpr]:
        """The scope whose value is `root`, as a SeqExpr; `bindings` holds the bindings that precede it."""
        result = yield self.into(root, bindings)
        blocks = [rx.BindingBlock(bindings)] if bindings else []
        return rx.SeqExpr(blocks, result)

    def into(self, root: GraphExpr, bindings: Bindings) -> Task[GraphExpr]:
        """Lower `root` and its operands at the end of `bindings`; returns the leaf that holds its value."""
        values = self.values
        stack: list[tuple[str, Any]] = [("visit", root)]
        while stack:
            action, node = stack.pop()
            if action == "visit":
                if node not in values:
                    self._visit(node, stack)
            elif action == "bind":
                self._bind_let(node)
                stack += [("alias", node), ("visit", node.body)]
            elif action == "alias":
                values[node] = values[node.body]
            elif action == "inline":
                self._enter_inline(node)
                stack += [("result", node), ("visit", node.op.body)]
            elif action == "result":
                values[node] = values[node.op.body]
            elif node not in values:
                found = yield self._lower(node, bindings)
                values[node] = found
        return values[root]

    def _visit(self, node: GraphExpr, stack: list[tuple[str, Any]]) -> None:
        match node:
            case Constant():
                self.values[node] = rx.Constant(node.data)
            case Var():
                raise fail("relay-unbound", f"%{node.name_hint} is not bound here", span=node.span)
            case Let():
                stack += [("bind", node), ("visit", node.value)]
            case Call() if isinstance(node.op, Function) and not self.scopes.shared(node.op):
                stack.append(("inline", node))
                stack.extend(("visit", p) for p in reversed([*self._below(node.op), *node.args]))
            case _:
                stack.append(("lower", node))
                stack.extend(("visit", p) for p in reversed(self._below(node)))

    def _below(self, node: GraphExpr) -> list[GraphExpr]:
        """The expressions that must be bound before `node`, in order."""
        if isinstance(node, Call):
            return [*self.calls.callee_parts(node), *node.args]
        return self.scopes.evaluated_before(node)

    def _bind_let(self, node: Let) -> None:
        self.values[node.var] = self.values[node.value]
        known = self.functions.get(node.value)
        if known is not None:
            self.functions[node.var] = known

    def _enter_inline(self, node: Call) -> None:
        """Inline a function literal that is called directly: its parameters are the arguments."""
        for param, arg in zip(node.op.params, node.args):
            self.values[param] = self.values[arg]
            if arg in self.functions:
                self.functions[param] = self.functions[arg]

    # ---- expressions

    def _lower(self, node: GraphExpr, bindings: Bindings) -> Task[GraphExpr]:
        inner = self._inner(node, bindings)
        if inner is None:
            return self._leaf(node, bindings)
        found: GraphExpr = yield inner
        return found

    def _inner(self, node: GraphExpr, bindings: Bindings) -> Task[GraphExpr] | None:
        """The lowering of an expression that has scopes in it; None if it has none."""
        match node:
            case If():
                return self._if(node, bindings)
            case Match():
                return self.matches.lower(node, bindings)
            case Function():
                return self._closure(node, bindings, None)
            case Op() | Constructor():
                return self._closure(self.calls.as_function(node), bindings, None)
            case _:
                return None

    def _leaf(self, node: GraphExpr, bindings: Bindings) -> GraphExpr:
        values = self.values
        match node:
            case Call():
                return self.calls.lower(node, bindings)
            case Tuple():
                return self.emitter.emit(bindings, rx.Tuple([values[f] for f in node.fields]), node)
            case TupleGetItem():
                return self.emitter.emit(bindings, rx.TupleGetItem(values[node.tuple_value], node.index), node)
            case GlobalVar():
                return self.emitter.globals[node.name_hint]
            case RefCreate():
                return self.emitter.builtin(bindings, "ref_create", [values[node.value]], None, node)
            case RefRead():
                info = self.types.known(node.checked_type)
                return self.emitter.builtin(bindings, "ref_read", [values[node.ref]], info, node)
            case RefWrite():
                args = [values[node.ref], values[node.value]]
                return self.emitter.builtin(bindings, "ref_write", args, self.types.known(node.checked_type), node)
            case TempExpr():
                raise fail("RELAY-TEMP-1", f"a {type(node).__name__} cannot be compiled: its pass left it behind")
            case _:
                raise fail("relay-node", f"a {type(node).__name__} is not a Relay expression")

    def _if(self, node: If, bindings: Bindings) -> Task[GraphExpr]:
        chosen = yield self.body(node.true_branch, [])
        other = yield self.body(node.false_branch, [])
        return self.emitter.emit(bindings, rx.If(self.values[node.cond], chosen, other), node, "gv")

    def _closure(self, node: Function, bindings: Bindings, var: rx.Var | None) -> Task[rx.Var]:
        """Lower a function literal; it may use the variable it is bound to."""
        type_ = node.checked_type
        name = var or rx.Var(self.emitter.fresh("func"), span=node.span)
        set_note(name, "struct_info_", self.types.function(type_, self.emitter.pure))
        self.functions[node] = type_
        for owner in self.scopes.let_names.get(node, ()):
            self.values[owner] = name
            self.functions[owner] = type_
        function = yield self.function(node, type_)
        bindings.append(rx.VarBinding(name, function, node.span))
        return name

    def function(self, node: Function, type_: FuncType) -> Task[rx.Function]:
        """Lower a function (literal or global) with its parameters. What FuseOps made a group is an ordinary function:
        Relax takes a primitive one for kernels already, and fuses again.
        """
        params = []
        for param, declared in zip(node.params, type_.arg_types):
            made = rx.Var(param.name_hint, self.types.param(declared), param.span)
            self.values[param] = made
            params.append(made)
        body = yield self.body(node.body, [])
        result = self.types.known(type_.ret_type)
        attrs = {k: v for k, v in node.attrs.items() if isinstance(v, (str, int, float, tuple)) and k != "Primitive"}
        return rx.Function(params, body, result, self.emitter.pure, attrs, node.span)
