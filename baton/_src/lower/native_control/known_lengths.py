"""Loops that a function of the machine calls: where a cast says how many rows one collects, its call is a kernel's.

    r = loop(go, x, R.const([], (0, 3)))                        r = call_tir(rows, (go, x), ..., tir_vars=[m])
    g = r[1]                                               =>   g = r[1]
    y = R.match_cast(g, R.Tensor((m, 3)))                       y = R.match_cast(g, R.Tensor((m, 3)))

The kernel is that of a function of the call and its casts, which takes the sizes as a shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.native_control.steps import Callee, Collecting
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    Function,
    GlobalVar,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import ShapeStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var as TirVar


@dataclass(frozen=True)
class KnownLoop:
    """The binding of a call, and a function of its arguments and the sizes that returns the same with known sizes."""

    binding: VarBinding
    function: Function

    def replaced(self, function: Function, callee: Callee) -> Function:
        """`function`, which calls the kernel instead."""
        call = callee.call([p for p in self.function.params if is_known(p.struct_info_)])
        whole = Var(self.binding.var.name_hint, call.sinfo_args[0])

        def rule(node: Node) -> Node | None:
            if isinstance(node, VarBinding) and node.var is self.binding.var:
                return VarBinding(whole, call)
            if isinstance(node, TupleGetItem) and node.tuple_value is self.binding.var:
                return TupleGetItem(whole, node.index)
            return None

        found: Function = rewrite(function, rule)
        return found


def known_loops(function: Function, callees: Mapping[str, Callee]) -> list[KnownLoop]:
    """The calls of collecting functions in `function` whose numbers of rows are known before."""
    mentions = [n.tuple_value for n in post_order(function.body) if isinstance(n, TupleGetItem)]
    others = [leaf for n in post_order(function.body) for leaf in _read(n)]
    found = []
    for binding, later, known in _calls(function):
        callee = callees.get(binding.value.op.name_hint)
        if callee is None or callee.collecting is None or binding.var not in mentions or binding.var in others:
            continue
        made = _outlined(binding, later, callee.collecting, known)
        found += [] if made is None else [KnownLoop(binding, made)]
    return found


def _read(node: Node) -> Sequence[Node]:
    """The variables that a node reads as a whole."""
    match node:
        case Call(args=args):
            return args
        case Tuple(fields=fields):
            return fields
        case SeqExpr(body=body):
            return [body]
        case MatchCast(value=value) | VarBinding(value=Var() as value):
            return [value]
        case _:
            return []


def _calls(function: Function) -> Iterator[tuple[VarBinding, list[Binding], set[TirVar]]]:
    """Each call of a function of the module, what follows it in its sequence, and the sizes known before."""
    work = [(function.body, {v for p in function.params for v in definable_tir_vars_in_struct_info(p.struct_info)})]
    while work:
        sequence, known = work.pop()
        bindings = [b for block in getattr(sequence, "blocks", ()) for b in block.bindings]
        for number, binding in enumerate(bindings):
            match binding:
                case MatchCast(struct_info=info):
                    known = known | set(definable_tir_vars_in_struct_info(info))
                case VarBinding(value=If(true_branch=first, false_branch=second)):
                    work += [(first, known), (second, known)]
                case VarBinding(value=Call(op=GlobalVar())):
                    yield binding, bindings[number + 1 :], known
                case _:
                    pass


def _outlined(
    binding: VarBinding, later: Sequence[Binding], collecting: Collecting, known: set[TirVar]
) -> Function | None:
    info, call = binding.var.struct_info_, binding.value
    if not isinstance(info, TupleStructInfo) or len(info.fields) != len(collecting.returned):
        return None
    parts = {b.value.index: b for b in reversed(later) if _takes_from(b, binding.var)}
    names = {b.var: index for index, b in parts.items()}
    casts = {names[b.value]: b for b in reversed(later) if isinstance(b, MatchCast) and b.value in names}
    casts = {index: cast for index, cast in casts.items() if is_known(cast.struct_info)}
    params = list(dict.fromkeys(a for a in call.args if isinstance(a, Var)))
    whole = TupleStructInfo([*(p.struct_info for p in params), *(c.struct_info for c in casts.values())])
    collected = {k for k, place in enumerate(collecting.returned) if place in collecting.collected}
    sizes = tir_vars_in_struct_info(whole)
    if not collected & set(casts) or not known.issuperset(sizes):
        return None
    if not all(isinstance(a, (Var, Constant, ShapeExpr)) for a in call.args):
        return None
    for index, field in enumerate(info.fields):
        parts.setdefault(index, VarBinding(Var(f"part{index}", field), TupleGetItem(binding.var, index)))
    results = Tuple([casts[k].var if k in casts else parts[k].var for k in range(len(info.fields))])
    body = SeqExpr([BindingBlock([binding, *parts.values(), *casts.values()])], results)
    return Function([*params, Var("sizes", ShapeStructInfo(sizes))], body)


def _takes_from(binding: Binding, whole: Var) -> bool:
    value = binding.value
    return isinstance(binding, VarBinding) and isinstance(value, TupleGetItem) and value.tuple_value is whole
