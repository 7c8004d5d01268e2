"""AppendInPlace: recursive functions that concatenate in each round append to memory that has room.

    def loop(go, x, so_far):                        def loop(go, x, so_far):
        if not go: return x, so_far                     if not go: return x, complete(so_far)
        longer = concat((so_far, f(x)), axis=0)   ->    longer = appended(so_far, f(x))
        return loop(g(x), f(x), longer)                 return loop(g(x), f(x), longer)

Concatenation copies all that was collected before in each round; `vm.builtin.appended` copies a part a few times only.
What is longer shares memory with what it was made from, so the latter is `complete` wherever else it is used. The
longer tensor itself must be used as that argument of the function only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.leaves_of_values import with_leaves
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    ExternFunc,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
    is_call,
)
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

APPENDED, COMPLETE, USED = "vm.builtin.appended", "vm.builtin.complete", "vm.builtin.used"


@dataclass(frozen=True)
class AppendInPlace(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        plans = {v: _plan(v, f) for v, f in module.functions.items() if isinstance(f, Function)}
        found = {v: _Appender(module, v, p).function(_with_results(module, p, v)) for v, p in plans.items() if p.longer}
        return module.with_functions({**module.functions, **found}) if found else module


@dataclass(eq=False, slots=True)
class _Plan:
    """`longer`: by the variable of a concatenation the parameter that it makes longer; `views`: variables that show
    such a parameter, and only a concatenation reads."""

    longer: dict[Var, Var] = field(default_factory=dict)
    views: set[Var] = field(default_factory=set)


def _plan(own: GlobalVar, function: Function) -> _Plan:
    plan = _Plan()
    if not any(_calls(n, own) for n in post_order(function.body)):
        return plan
    sequences = [n for n in post_order(function.body) if isinstance(n, SeqExpr)]
    bindings = [b for seq in sequences for block in seq.blocks for b in block.bindings]
    values = {b.var: b.value for b in bindings}
    readers = _readers(bindings)
    returned = {leaf for seq in sequences for leaf in post_order(seq.body)}
    for var, value in values.items():
        chain = [var, *_chain(value, values)]
        param = chain[-1]
        if param not in function.params or returned & set(chain[:-1]) or param.struct_info.dtype.is_void:
            continue
        place = function.params.index(param)
        only_views = all([b.var for b in readers[seen]] == [user] for user, seen in pairwise(chain[:-1]))
        if only_views and all(_passes(b.value, own, place, var) for b in readers[var]):
            plan.longer[var] = param
            plan.views.update(chain[1:-1])
    return plan


def _calls(value: Node, own: GlobalVar) -> bool:
    return isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op.name_hint == own.name_hint


def _readers(bindings: Sequence[Binding]) -> dict[Var, list[Binding]]:
    """By variable the bindings whose values mention it, once for each mention."""
    found: dict[Var, list[Binding]] = defaultdict(list)
    for binding in bindings:

        def note(var: Var, reader: Binding = binding) -> Var:
            found[var].append(reader)
            return var

        with_leaves(binding.value, note)
    return found


def _chain(value: GraphExpr, values: Mapping[Var, Any]) -> Iterator[Var]:
    """If `value` concatenates two tensors along axis 0: the variable of the pair, if it has one, the first tensor, and
    what this is another shape of, and so on."""
    if not is_call(value, "relax.concat") or value.attrs.axis != 0:
        return
    parts = value.args[0]
    if isinstance(parts, Var):
        yield parts
        parts = values.get(parts)
    seen = parts.fields[0] if isinstance(parts, Tuple) and len(parts.fields) == 2 else None
    while isinstance(seen, Var):
        yield seen
        source: Any = values.get(seen)
        seen = source.args[0] if is_call(source, "relax.reshape") else source


def _passes(value: Any, own: GlobalVar, place: int, var: Var) -> bool:
    """Whether the only use of `var` in a value is as that argument of the function itself."""
    return _calls(value, own) and [k for k, a in enumerate(value.args) if a is var] == [place]


def _with_results(module: IRModule, plan: _Plan, var: GlobalVar) -> Function:
    """The function, in which what is returned of grown parameters is bound to variables, as other readers of them."""
    grown = set(plan.longer.values())

    def bound(node: Any) -> Any:
        if not isinstance(node, SeqExpr) or not grown & set(post_order(node.body)):
            return None
        result = Var("result", node.body.struct_info)
        return SeqExpr([*node.blocks, BindingBlock([VarBinding(result, node.body)])], result)

    function: Function = BlockBuilder(module).normalize(rewrite(module[var], bound))
    return function


class _Appender(BindingRewriter):
    def __init__(self, module: IRModule, own: GlobalVar, plan: _Plan) -> None:
        super().__init__(module)
        self.own, self.plan = own, plan
        self.params: list[Var] = []

    def enter_function(self, function: Function) -> None:
        self.params = list(function.params)

    def visit_binding(self, binding: Binding) -> None:
        if binding.var in self.plan.longer:
            self._append(binding)
        elif binding.var in self.plan.views or isinstance(binding.value, If):
            self.keep(binding)
        else:
            self.keep(binding.with_fields(value=self._with_complete(binding.value)))

    def _append(self, binding: Binding) -> None:
        value: Any = binding.value
        param, rows = self.plan.longer[binding.var], self.resolved(value.args[0]).fields[1]
        if not self.is_visible(rows):
            self.keep(binding)
            return
        info = value.struct_info if param.struct_info.shape is not None else param.struct_info
        found = self.emit(call_growing(APPENDED, [param, rows], info), binding.var.name_hint)
        self.replace(binding.var, found)

    def _with_complete(self, value: Any) -> Any:
        """The value, which reads parameters that no round will append to in place; a call of the function may."""
        made: dict[Var, Var] = {}
        grown = set(self.plan.longer.values())

        def complete(var: Var) -> Var:
            if var in grown and var not in made:
                made[var] = self.emit(call_growing(COMPLETE, [var], var.struct_info), var.name_hint)
            return made.get(var, var)

        if not _calls(value, self.own):
            return with_leaves(value, complete)
        same = [a is p for a, p in zip(value.args, self.params, strict=True)]
        args = [a if s else with_leaves(a, complete) for a, s in zip(value.args, same, strict=True)]
        return value.with_fields(args=tuple(args))


def known_result(call: Call) -> StructInfo | None:
    """What a call of one of them certainly returns; None if it is a call of anything else, or checks its operands."""
    match call.args:
        case (ExternFunc(global_symbol=name), tensor) if name == COMPLETE:
            found: StructInfo = tensor.struct_info
            return found
        case (ExternFunc(global_symbol=name), tensor, ShapeExpr() as shape) if name == USED:
            return TensorStructInfo(shape, tensor.struct_info.dtype)
        case _:
            return None


def call_growing(name: str, args: list[Any], info: TensorStructInfo) -> Call:
    """A call of one of the builtins that make tensors with room."""
    return Call(special_op("call_pure_packed"), [ExternFunc(name), *args], None, (info,))
