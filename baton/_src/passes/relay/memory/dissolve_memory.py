"""DissolveMemory: turn a program with explicit memory back into one over values (the inverse of ManifestAlloc).

    let %storage = memory.alloc_storage(...);
    let %y = memory.alloc_tensor(%storage, ...);
    let %done = vm.invoke_tvm_op(%kernel, (%x,), (%y,));        becomes        let %y = add(%x, 1f);
    let %dead = memory.kill(%storage);

Compilation begins with it: memory is planned in Relax, once the kernels are known. A tensor must be written in the
scope it was allocated in, before anything reads it, and not again once something else may hold it; error `relay-memory`
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import TensorType
from baton._src.ops import builders
from baton._src.passes.relay.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relay.forms.defuse_ops import DefuseOps
from baton._src.passes.relay.forms.to_a_normal_form import ToANormalForm
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.passes.relay.memory.tuple_types import from_tuple_type
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.memory_calls import is_memory_call
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Match, Tuple, TupleGetItem, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.trampoline import Task, run
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType

RELAY: Any = builders.RELAY
Lets = list[tuple[Var, Any]]


@dataclass(frozen=True)
class DissolveMemory(Pass):
    """See the module's docstring. A module without the memory dialect is unchanged."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        functions = [f for f in module.functions.values() if isinstance(f, Function)]
        if not any(is_memory_call(n) for f in functions for n in walk(f)):
            return module
        module = ToANormalForm(inside_kernels=False)(module)
        made = {v: _dissolved(f) if isinstance(f, Function) else f for v, f in module.functions.items()}
        return DeadCodeElimination()(DefuseOps()(module.with_functions(made)))


def _dissolved(function: Function) -> Function:
    return function.with_fields(body=run(_Dissolve().scope(function.body)))


@dataclass
class _Dissolve:
    """Rewrites one function."""

    values: dict[Var, Any] = field(default_factory=dict)
    """For each allocated tensor, its current content (None before it is written)."""
    homes: dict[Var, int] = field(default_factory=dict)
    """The scope each tensor was allocated in."""
    shared: set[Var] = field(default_factory=set)
    """Tensors that may have another reference."""
    storages: set[Var] = field(default_factory=set)
    tuples: dict[Var, tuple[Any, ...]] = field(default_factory=dict)
    on_memory: set[Var] = field(default_factory=set)
    """Variables of tuples with tensors that may not be written yet."""
    shapes: dict[Var, Any] = field(default_factory=dict)
    """Variables that hold the shape of a value."""
    kernels: dict[Var, Function] = field(default_factory=dict)
    called: set[Var] = field(default_factory=set)
    scopes: int = 0

    def scope(self, root: GraphExpr) -> Task[Any]:
        """Rewrite a scope without explicit memory."""
        self.scopes += 1
        here = self.scopes
        lets: Lets = []
        node = root
        while isinstance(node, Let):
            if is_memory_call(node.value):
                self._memory(node.var, node.value, here, lets)
            else:
                yield self._plain(node.var, node.value, lets)
            node = node.body
        node = self._now(node)
        for var, value in reversed(lets):
            node = Let(var, value, node)
        return node

    def _plain(self, var: Var, value: GraphExpr, lets: Lets) -> Task[None]:
        """A let of something else, with the contents of tensors substituted for them."""
        match value:
            case Function() if value.attrs.get("Primitive"):
                self.kernels[var] = value
            case Function():
                value = value.with_fields(body=(yield self.scope(value.body)))
            case If():
                cond, chosen = self._now(value.cond), (yield self.scope(value.true_branch))
                other = yield self.scope(value.false_branch)
                value = value.with_fields(cond=cond, true_branch=chosen, false_branch=other)
            case Match():
                clauses, data = [], self._now(value.data)
                for clause in value.clauses:
                    clauses.append(clause.with_fields(rhs=(yield self.scope(clause.rhs))))
                value = value.with_fields(data=data, clauses=tuple(clauses))
            case Tuple():
                self.tuples[var] = value.fields
                if any(f in self.values or f in self.on_memory for f in value.fields):
                    self.on_memory.add(var)
                    return
            case TupleGetItem() if value.tuple_value in self.on_memory:
                value = self._now(self.tuples[value.tuple_value][value.index])
            case Var():
                value = self._now(value)
            case _:
                reads = isinstance(value, Call) and isinstance(value.op, Op)
                value = with_parts(value, {p: self._now(p, not reads) for p in parts(value)})
        lets.append((var, value))

    # ---- what a variable stands for

    def _now(self, expr: GraphExpr, shares: bool = True) -> Any:
        """The value of an atom at this point. With `shares` it may have another reference from now on."""
        if expr in self.storages:
            raise _misuse(f"%{expr.name_hint} is a storage: tensors are allocated in it, and that is all", expr)
        if expr in self.on_memory:
            return Tuple([self._now(f, shares) for f in self.tuples[expr]])
        if expr not in self.values:
            return expr
        if self.values[expr] is None:
            raise _misuse(f"%{expr.name_hint} is read before anything writes it", expr)
        if shares:
            self.shared.add(expr)
        return self.values[expr]

    def _fields(self, expr: GraphExpr) -> Sequence[Any]:
        """The fields of a known tuple."""
        if isinstance(expr, Tuple):
            return expr.fields
        if expr not in self.tuples:
            raise _misuse("inputs and outputs of a kernel are tuples that are written out", expr)
        return self.tuples[expr]

    # ---- the dialect

    def _memory(self, var: Var, call: Call, here: int, lets: Lets) -> None:
        match call.op.name:
            case "memory.alloc_storage":
                self.storages.add(var)
            case "memory.alloc_tensor":
                self.values[var] = None
                self.homes[var] = here
            case "vm.shape_of":
                data = self._now(call.args[0], shares=False)
                self.shapes[var] = data
                lets.append((var, RELAY.shape_of(data, dtype=str(call.attrs.dtype))))
            case "vm.reshape_tensor":
                lets.append((var, self._reshape(call)))
            case "vm.invoke_tvm_op":
                given = [self._now(a, shares=False) for a in self._fields(call.args[1])]
                results = self._run(call.args[0], given, call, lets)
                self._write(self._fields(call.args[2]), results, here, lets)
            case "vm.shape_func":
                self._shape_func(call, here, lets)
            case _:  # a kill says nothing about values
                return

    def _reshape(self, call: Call) -> Any:
        data, shape = self._now(call.args[0]), call.args[1]
        if isinstance(shape, Constant):
            dims = tuple(int(d) for d in shape.data.data)
            return RELAY.reshape(data, dims, allowzero=0 in dims)
        return RELAY.reshape(data, self._now(shape, shares=False))

    def _run(self, op: Any, given: Iterable[Any], call: Call, lets: Lets) -> list[Any]:
        """The tensors that a kernel computes."""
        function: Any = self.kernels.get(op, op)
        if isinstance(function, Function):
            type_ = function.checked_type.ret_type
            if op in self.called:
                function = fresh_copy(function)  # every variable is bound once
            self.called.add(op)
        else:
            type_ = function.checked_type.ret_type
        result = Call(function, tuple(given), span=call.span)
        if isinstance(type_, TensorType):
            return [result]
        whole = Var("results")
        lets.append((whole, result))
        return from_tuple_type(type_, whole)

    def _shape_func(self, call: Call, here: int, lets: Lets) -> None:
        function = self.kernels.get(call.args[0], call.args[0])
        given = []
        for arg, param, is_input in zip(
            self._fields(call.args[1]), function.checked_type.arg_types, call.attrs.is_inputs
        ):
            if is_input:
                given.append(self._now(arg, shares=False))
            elif arg in self.shapes:
                given.append(self.shapes[arg])
            else:  # any elements will do where only the shape counts
                given.append(RELAY.zeros(self._now(arg, shares=False), str(param.dtype)))
        outputs = self._fields(call.args[2])
        dtypes = [DataType(o.checked_type.dtype) for o in outputs]
        results = self._run(call.args[0], given, call, lets)
        shapes = [RELAY.shape_of(r, dtype=str(d)) for r, d in zip(results, dtypes)]
        self._write(outputs, shapes, here, lets)

    def _write(self, outputs: Sequence[Any], results: Sequence[Any], here: int, lets: Lets) -> None:
        for target, result in zip(outputs, results, strict=True):
            if target not in self.values:
                raise _misuse("a kernel writes into what memory.alloc_tensor did not give", target)
            if self.homes[target] != here:
                raise _misuse(f"%{target.name_hint} is written in another scope than it was allocated in", target)
            if target in self.shared:
                raise _misuse(f"%{target.name_hint} is written after something else may hold it", target)
            bound = target if self.values[target] is None else Var(target.name_hint)
            lets.append((bound, result))
            self.values[target] = bound


def _misuse(message: str, where: Any) -> DiagnosticError:
    help = "the debug interpreter runs it; to compile it, write a tensor once, before its uses (as ManifestAlloc does)"
    return fail("relay-memory", message, span=getattr(where, "span", None), help=help)


__all__ = ["DissolveMemory"]
