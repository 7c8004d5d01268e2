"""Loops whose iterations change sizes: a kernel runs as many iterations as there is memory for.

    def loop(go, x, cache):                             def loop(go, x, cache):
        if not go: return x, cache                          go, x, room, sizes = loop_steps(go, x, cache)
        longer = concat((cache, f(x)), axis=1)     =>       cache = used(room, (4, sizes[0]))
        return loop(g(x), h(x, longer), longer)             ...  # as before

The kernel stops before an iteration that returns, or for whose results there might be no memory, and hands out the
state of the loop. The machine runs this iteration: it ends the loop, or calls it again with a larger state, for which
there is more memory. So no length need be known, and what is returned may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce

from baton._src.ir.expr import GlobalVar, GraphExpr, Op, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.lower.native_control.parameters import over
from baton._src.lower.native_control.places import in_order, uses
from baton._src.lower.native_control.steps import Callee, Compute, Repeat, Return, Step, Steps, Stretch
from baton._src.lower.relax_to_vm.abstract_values import Longer, memory_of
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.lower.size_polynomial import is_never_negative
from baton._src.passes.relax.bindings.inline_private_functions import inline_functions
from baton._src.passes.relax.operators.append_in_place import USED, call_growing
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import prim_vars, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Function,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.tir import operators as t
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.expr import literal
from baton._src.values.dtype import INT64

LEAST, MOST = 1 << 16, 1 << 26
"""Bytes by which a state can grow in one call of the kernel: as much as it has, within these limits."""


def in_stretches(function: Function, steps: Steps) -> Steps | None:
    """The steps of the kernel; None if the function takes tuples, or does more with what it makes longer than to pass
    it on."""
    if any(isinstance(p.struct_info_, TupleStructInfo) for p in function.params) or not _passes_on(steps):
        return None
    starts = {v: TirVar(f"first_{v.name}", INT64) for r in steps.repeats for v in r.sizes}
    states = tuple(i for i in range(len(steps.params)) if not steps.is_kept(i))
    infos = [p.info for p in steps.params]
    growing = [i for i in states if not starts.keys().isdisjoint(tir_vars_in_struct_info(infos[i]))]
    capacities = {i: TirVar(f"capacity_{i}", INT64) for i in growing}
    appended = frozenset(i for i in growing if _only_grows(steps, i))
    stretch = Stretch(states, starts, capacities, appended, _fits(steps, capacities))
    for sequence, step in list(in_order(steps.steps)):
        if isinstance(step, Return):
            sequence.clear()
    results = (*(stretch.memory(i, infos[i]) for i in states), TensorStructInfo(ShapeExpr([len(starts)]), INT64))
    sizes = (*(starts.get(v, v) for v in steps.sizes), *capacities.values())
    return replace(steps, results=results, sizes=sizes, stretch=stretch)


def _passes_on(steps: Steps) -> bool:
    """Whether nothing but a tail call reads what is made longer, and parameters that stay as they are keep their
    sizes."""
    others = [s for _, s in in_order(steps.steps) if not isinstance(s, Repeat)]
    if any(isinstance(v, Longer) for s in others for v in uses(s)):
        return False
    changed = {v for r in steps.repeats for v in r.sizes}
    kept = [v for i, p in enumerate(steps.params) if steps.is_kept(i) for v in tir_vars_in_struct_info(p.info)]
    return changed.isdisjoint(kept)


def _only_grows(steps: Steps, index: int) -> bool:
    """Whether iterations append rows to a parameter, or leave it as it is."""
    param = steps.params[index]
    return all(isinstance(v := r.values[index], Longer) or memory_of(v) is param for r in steps.repeats)


def _fits(steps: Steps, capacities: dict[int, TirVar]) -> PrimExpr:
    """Whether there is memory for the state after an iteration, and no size in it is negative."""
    known = {v for p in steps.params for v in tir_vars_in_struct_info(p.info)} | set(steps.sizes)
    computed = [d for _, s in in_order(steps.steps) for d in _dims(s) if known.issuperset(prim_vars(d))]
    dims = [*computed, *(d for r in steps.repeats for d in r.sizes.values())]
    tests = [t.greater_equal(d, literal(0, INT64)) for d in dict.fromkeys(dims) if not is_never_negative(d)]
    for repeat in steps.repeats:
        infos = {i: over(steps.params[i].info, repeat.sizes) for i in capacities}
        tests += [t.less_equal(_elements(infos[i]), capacity) for i, capacity in capacities.items()]
    return reduce(t.logical_and, tests)


def _dims(step: Step) -> Iterator[PrimExpr]:
    return (d for info in step.call.outputs for d in info.shape.values) if isinstance(step, Compute) else iter(())


def _elements(info: TensorStructInfo) -> PrimExpr:
    return reduce(t.multiply, info.shape.values, literal(1, INT64))


def usual_capacities(steps: Steps, stretch: Stretch) -> dict[TirVar, PrimExpr]:
    """Elements for each state that grows, in terms of its present size."""
    found: dict[TirVar, PrimExpr] = {}
    for index, capacity in stretch.capacities.items():
        info = steps.params[index].info
        now = _elements(info)
        least, most = (literal(-(-bound // info.dtype.itemsize), INT64) for bound in (LEAST, MOST))
        found[capacity] = t.add(now, t.max(least, t.min(now, most)))
    return found


def resuming(function: Function, own: GlobalVar, callee: Callee, stretch: Stretch) -> Function:
    """The function, which calls its kernel first."""
    bindings: list[VarBinding | MatchCast] = []

    def bound(name: str, value: GraphExpr, said: StructInfo | None) -> Var:
        bindings.append(VarBinding(var := Var(name, said), value))
        return var

    params = [p for p in function.params if is_known(p.struct_info_)]
    call = callee.call(params)
    whole = bound("steps", call, call.sinfo_args[0])
    outputs = [bound(f"out{i}", TupleGetItem(whole, i), o) for i, o in enumerate(call.sinfo_args[0].fields[:-1])]
    later = {v: TirVar(v.name, INT64) for v in stretch.starts}
    said = ShapeStructInfo(list(later.values()))
    found = bound("shape", Call(Op.get("relax.tensor_to_shape"), [outputs[-1]]), ShapeStructInfo(ndim=len(later)))
    bindings.append(MatchCast(Var("sizes", said), found, said))
    now: dict[Var, GraphExpr] = {}
    for index, output in zip(stretch.states, outputs, strict=False):
        info, now[params[index]] = over(params[index].struct_info_, later), output
        if index in stretch.capacities:
            now[params[index]] = bound("state", call_growing(USED, [output, info.shape], info), info)
    iteration = GlobalVar("iteration")
    result = bound("result", Call(iteration, [_argument(p, now, later) for p in function.params]), None)
    builder = BlockBuilder(IRModule({callee.kernel: callee.function, own: function, iteration: function}))
    made = builder.normalize(function.with_fields(body=SeqExpr([BindingBlock(bindings)], result)))
    return inline_functions(made, {iteration: function})


def _argument(param: Var, now: Mapping[Var, GraphExpr], later: dict[TirVar, TirVar]) -> GraphExpr:
    info = param.struct_info_
    if isinstance(info, ShapeStructInfo):
        return ShapeExpr(over(info, later).values)
    return now.get(param, param)
