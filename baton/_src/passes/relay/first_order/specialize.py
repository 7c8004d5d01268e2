"""Specialize: polymorphic functions become one copy for each choice of types they are called with.

    def @id[t](%x: t) -> t { %x }   def @main() { (@id(1), @id(True)) }
becomes
    def @id_1(%x: int32) -> int32 { %x }   def @id_2(%x: bool) -> bool { %x }   def @main() { (@id_1(1), @id_2(True)) }

The same for let-bound functions, which inference generalises whenever it can; the copies replace the let. Polymorphic
functions used as values are expanded first, so that every use is a call (`value_expansion`). What stays polymorphic are
function values with type parameters and without relations, and functions that recursion calls with ever larger types
(`growing_types`): their types are decided at run time. Operators need known types.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.types import FuncType
from baton._src.passes.relay.first_order.growing_types import growing
from baton._src.passes.relay.first_order.value_expansion import with_values_expanded
from baton._src.passes.relay.type_instances import instance_of, is_polymorphic, with_types
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.expressions import global_vars, replace, rewrite, walk
from baton._src.relay.nodes import Call, Function, Let, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

LONGEST = 20_000
"""Types longer than this as text are assumed to grow without end."""


@dataclass(frozen=True)
class Specialize(Pass):
    """See the module's docstring. `max_copies` bounds the copies. Unless `shared`, recursion at ever larger types is
    refused (`relay-specialize`)."""

    opt_level: ClassVar[int] = 0
    max_copies: int = 1000
    shared: bool = True

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        module = infer_type(module)
        expanded = with_values_expanded(module)
        if expanded is module and not any(_has_polymorphism(f) for f in module.functions.values()):
            return module
        return _Specializer(infer_type(expanded), self.max_copies, self.shared).module()


def _has_polymorphism(function: Any) -> bool:
    return isinstance(function, Function) and any(is_polymorphic(n) for n in walk(function))


class _Specializer:
    """One module; `copies` has the copies made of each global, by the types they are for."""

    def __init__(self, module: IRModule, max_copies: int, shared: bool) -> None:
        self._module = module
        self._max_copies = max_copies
        functions = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, Function)}
        self._growing = growing(functions, shared)
        self._copies: dict[tuple[str, str], GlobalVar] = {}
        self._names = {v.name_hint for v in module.functions}
        self._todo: list[tuple[GlobalVar, Any]] = []

    def module(self) -> IRModule:
        """The monomorphic functions and the entry, the copies made for them, and what is called but stays polymorphic,
        such as an entry without annotations, which is reported later.
        """
        made: dict[GlobalVar, Any] = {}
        for var, function in self._module.functions.items():
            if not is_polymorphic(function) or var.name_hint == "main":
                self._todo.append((var, function))
        while self._todo:
            var, function = self._todo.pop()
            made[var] = self._specialized(function) if isinstance(function, Function) else function
            names = {v.name_hint for v, _ in self._todo} | {v.name_hint for v in made}
            mentioned = (g for g in global_vars(made[var]) if g.name_hint not in names)
            self._todo += [(self._module.get_global_var(g.name_hint), self._module[g]) for g in mentioned]
        first = {v: made.pop(v) for v in self._module.functions if v in made}
        return infer_type(self._module.with_functions({**first, **made}))

    def _specialized(self, function: Function) -> Function:
        """A monomorphic function in which calls of polymorphic lets and globals are replaced by calls of copies."""
        while True:
            made = _Lets(function).function()
            if made is function:
                break
            function = infer_expr(made, self._module)

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if isinstance(old, Call) and isinstance(old.op, GlobalVar):
                copy = self._copy(old)
                return None if copy is None else new.with_fields(op=copy, written_type_args=())
            return None

        specialized: Function = rewrite(function, rule)
        return specialized

    def _copy(self, call: Call) -> GlobalVar | None:
        callee = self._module[call.op]
        if not is_polymorphic(callee) or call.op.name_hint in self._growing:
            return None
        mapping = instance_of(callee.checked_type_, call)
        if mapping is None:
            return None
        key = (call.op.name_hint, _shown(callee.checked_type_, mapping))
        if key not in self._copies:
            if len(self._copies) >= self._max_copies or len(key[1]) > LONGEST:
                message = f"@{key[0]} is called with more and more types: {key[1][:200]}"
                raise fail("relay-specialize", message, span=call.span, help="give its parameters fixed types")
            self._copies[key] = self._named(call.op.name_hint)
            self._todo.append((self._copies[key], infer_expr(with_types(callee, mapping), self._module)))
        return self._copies[key]

    def _named(self, hint: str) -> GlobalVar:
        count = 1
        while f"{hint}_{count}" in self._names:
            count += 1
        self._names.add(f"{hint}_{count}")
        return GlobalVar(f"{hint}_{count}")


class _Lets:
    """The polymorphic lets of one function, one round: calls whose types are known get copies."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._lets = {n.var: n for n in walk(function.body) if isinstance(n, Let) and is_polymorphic(n.value)}
        for var in growing({"": function}) if self._lets else ():
            self._lets.pop(var, None)
        self._copies: dict[Var, dict[str, tuple[Var, Any]]] = {v: {} for v in self._lets}
        self._calls: dict[Call, Var] = {}

    def function(self) -> Function:
        """The function after one round; the same object if there was nothing to do."""
        if not self._lets:
            return self._function
        for node in walk(self._function.body):
            if isinstance(node, Call) and node.op in self._lets:
                self._note(node)
        made: Function = rewrite(self._function, self._rule)
        return made

    def _note(self, call: Call) -> None:
        scheme = self._lets[call.op].value.checked_type_
        mapping = instance_of(scheme, call)
        if mapping is not None:
            copies = self._copies[call.op]
            made = copies.setdefault(_shown(scheme, mapping), (call.op.copy(), mapping))
            self._calls[call] = made[0]

    def _rule(self, old: Any, new: Any) -> Any:
        if old in self._calls:
            return new.with_fields(op=self._calls[old], written_type_args=())
        if not isinstance(old, Let) or old.var not in self._lets:
            return None
        used = any(n is old.var for n in walk(new.body))
        if used and not self._copies[old.var]:
            return None
        body = new if used else new.body
        for var, mapping in self._copies[old.var].values():
            copy = with_types(new.value.with_fields(body=new.value.body), mapping, old.value.checked_type_)
            body = Let(var, replace(copy, {old.var: var}), body, old.span)
        return body


def _shown(scheme: FuncType, mapping: dict[Any, Any]) -> str:
    types = [substitute_types(t, mapping) for t in (*scheme.arg_types, scheme.ret_type)]
    return ", ".join(show_type(t) for t in types)
