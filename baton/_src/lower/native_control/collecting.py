"""Loops that collect rows become kernels that run many iterations, and return the rows of these.

    def loop(go, x, rows):                        def loop(go, x, rows):
        if not go: return x, complete(rows)           go, x, more, count, again = loop_steps(go, x)
        y = ...                              =>       longer = appended(rows, more, count)
        longer = appended(rows, y)                    if again: return loop(go, x, longer)
        return loop(less(y, 9), y, longer)            return x, complete(longer)

The kernel stops in the iteration for whose row there is no memory. `again` says that this is why, so a loop's length
need not be known; a caller that knows it gives memory for as many rows, and needs one call (`collector_calls`). The
function must return parameters only, and append one row in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from baton._src.ir.expr import GlobalVar, GraphExpr, PrimExpr
from baton._src.ir.module import IRModule
from baton._src.lower.native_control.places import in_order, uses
from baton._src.lower.native_control.read_values import info_of
from baton._src.lower.native_control.steps import (
    Callee,
    Check,
    Chunk,
    Collecting,
    Compute,
    Read,
    Repeat,
    Return,
    Step,
    Steps,
    Within,
)
from baton._src.lower.relax_to_vm.abstract_values import InRegister, Longer, Value, memory_of, resolve
from baton._src.lower.relax_to_vm.kernel_arguments import byte_count, known_dims
from baton._src.lower.relax_to_vm.kernel_calls import is_known
from baton._src.passes.relax.operators.append_in_place import APPENDED, COMPLETE, call_growing
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.variables import prim_vars, tir_vars_in_struct_info
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir import operators as t
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.expr import literal
from baton._src.values.dtype import BOOL, INT64

LONGEST = 256
"""Most iterations of one call of the kernel: what surrounds a call takes the time of about 50 small ones."""
MEMORY = 1 << 20
"""Bytes for the rows of one call, unless a single row is larger."""


@dataclass(frozen=True, slots=True)
class Chunked:
    """`steps`: those of the kernel. `collecting`: which of the function's parameters they are about."""

    steps: Steps
    collecting: Collecting


def in_chunks(function: Function, steps: Steps) -> Chunked | None:
    """The steps of the kernel; None if the function does more with what it collects than to append to it, or takes
    tuples."""
    if any(isinstance(p.struct_info_, TupleStructInfo) for p in function.params):
        return None
    collected = tuple(
        i for i in range(len(steps.params)) if any(isinstance(r.values[i], Longer) for r in steps.repeats)
    )
    leaves = [s for _, s in in_order(steps.steps) if isinstance(s, Return)]
    returned = {tuple(_place(v, steps) for v in leaf.values) for leaf in leaves}
    if len(returned) != 1 or -1 in (places := returned.pop()) or not _only_appends(steps, collected):
        return None
    changing = tuple(i for i in range(len(steps.params)) if i not in collected and not steps.is_kept(i))
    _rewrite(steps, changing)
    rows, capacity = [steps.params[i].info for i in collected], TirVar("capacity", INT64)
    results = (
        *(steps.params[i].info for i in changing),
        *(TensorStructInfo(ShapeExpr([capacity, *r.shape.values[1:]]), r.dtype) for r in rows),
        TensorStructInfo(ShapeExpr([]), INT64),
        TensorStructInfo(ShapeExpr([]), BOOL),
    )
    params = tuple(p for i, p in enumerate(steps.params) if i not in collected)
    chunk = Chunk(tuple(params.index(steps.params[i]) for i in changing), len(rows), capacity)
    inner = replace(steps, params=params, results=results, sizes=(*steps.sizes, capacity), chunk=chunk)
    return Chunked(inner, Collecting(collected, changing, places, capacity, _capacity(rows)))


def _place(value: Value, steps: Steps) -> int:
    """The number of the parameter that a value is, -1 if it is none."""
    found = resolve(value)
    return steps.params.index(found) if isinstance(found, InRegister) and found in steps.params else -1


def _only_appends(steps: Steps, collected: tuple[int, ...]) -> bool:
    """Whether nothing else reads what is collected, or depends on its size, and every iteration appends one row to it,
    and changes no other sizes."""
    known = {v for i, p in enumerate(steps.params) if i not in collected for v in tir_vars_in_struct_info(p.info)}
    known.update(steps.sizes)
    known.update(v for _, step in in_order(steps.steps) if isinstance(step, Read) for v in step.sizes)
    rows = {v for i in collected for d in steps.params[i].info.shape.values[1:] for v in prim_vars(d)}
    grown = {steps.params[i] for i in collected}
    lengths = {steps.params[i].info.shape.values[0] for i in collected}
    if not rows <= known or not all(lengths.issuperset(r.sizes) for r in steps.repeats):
        return False
    for _, step in in_order(steps.steps):
        if isinstance(step, Return):
            continue
        read = uses(step)
        if isinstance(step, Repeat):
            if not all(_is_one_row_more(step.values[i]) for i in collected):
                return False
            read = [v.row if isinstance(v, Longer) and i in collected else v for i, v in enumerate(step.values)]
        if any(isinstance(v, Longer) or memory_of(v) in grown for v in read) or not _sizes(step) <= known:
            return False
    return True


def _is_one_row_more(value: Value) -> bool:
    return isinstance(value, Longer) and known_dims(info_of(value.row).shape.values[:1]) == (1,)


def _sizes(step: Step) -> set[object]:
    """The shape variables that a step needs."""
    match step:
        case Compute(call=call):
            dims = [d for info in (*call.arg_infos, *call.outputs) for d in info.shape.values]
            return {v for d in (*dims, *call.scalars) for v in prim_vars(d)}
        case Within(size=size, most=most):
            return {v for d in (size, most) if d is not None for v in prim_vars(d)}
        case Check(conditions=conditions):
            return {v for c in conditions for d in (c.found, c.expected) for v in prim_vars(d)}
        case _:
            return set()


def _rewrite(steps: Steps, changing: tuple[int, ...]) -> None:
    """Let iterations store rows instead of passing on what is collected, and returns give the other parameters."""
    for _, step in list(in_order(steps.steps)):
        if isinstance(step, Return):
            step.values = tuple(steps.params[i] for i in changing)
        elif isinstance(step, Repeat):
            step.rows = tuple(v.row for v in step.values if isinstance(v, Longer))
            step.values = tuple(v for v in step.values if not isinstance(v, Longer))


def _capacity(rows: list[TensorStructInfo]) -> PrimExpr:
    """How many rows of each kind one call makes at most."""
    size: PrimExpr = literal(0, INT64)
    for row in rows:
        size = t.add(size, byte_count(TensorStructInfo(ShapeExpr(row.shape.values[1:]), row.dtype)))
    fitting = t.floordiv(literal(MEMORY, INT64), t.max(size, literal(1, INT64)))
    return t.max(literal(1, INT64), t.min(literal(LONGEST, INT64), fitting))


def chunk_caller(function: Function, own: GlobalVar, callee: Callee, chunked: Collecting) -> Function:
    """The function as a loop of calls of its kernel."""
    params, bindings = [p for p in function.params if is_known(p.struct_info_)], []

    def bound(name: str, value: GraphExpr, said: StructInfo | None) -> Var:
        var = Var(name, said)
        bindings.append(VarBinding(var, value))
        return var

    call = callee.call([p for i, p in enumerate(params) if i not in chunked.collected])
    info = call.sinfo_args[0]
    whole = bound("steps", call, info)
    *outputs, count, again = [bound(f"out{i}", TupleGetItem(whole, i), o) for i, o in enumerate(info.fields[:-1])]
    state: dict[int, Var] = {**dict(enumerate(params)), **dict(zip(chunked.changing, outputs, strict=False))}
    for place, rows in zip(chunked.collected, outputs[len(chunked.changing) :], strict=True):
        said = TensorStructInfo(dtype=rows.struct_info.dtype, ndim=rows.struct_info.ndim)
        state[place] = bound("longer", call_growing(APPENDED, [params[place], rows, count], said), said)
    now = dict(zip(params, state.values(), strict=True))
    branch = If(again, _again(own, [now.get(p, p) for p in function.params]), _result(function, state, chunked))
    result = bound("result", branch, None)
    builder = BlockBuilder(IRModule({callee.kernel: callee.function, own: function}))
    found: Function = builder.normalize(function.with_fields(body=SeqExpr([BindingBlock(bindings)], result)))
    return found


def _again(own: GlobalVar, state: list[Var]) -> SeqExpr:
    var = Var("later")
    return SeqExpr([BindingBlock([VarBinding(var, Call(own, state))])], var)


def _result(function: Function, state: dict[int, Var], chunked: Collecting) -> SeqExpr:
    """The parameters that the function returns, as they are now."""
    bindings = []
    done = dict(state)
    for place in chunked.collected:
        info = state[place].struct_info
        done[place] = Var("rows", info)
        bindings.append(VarBinding(done[place], call_growing(COMPLETE, [state[place]], info)))
    var = Var("found")
    leaves = iter([done[i] for i in chunked.returned])
    bindings.append(VarBinding(var, nested_tuple(function.body.struct_info_, leaves)))
    return SeqExpr([BindingBlock(bindings)], var)


def nested_tuple(info: StructInfo, leaves: Iterator[Var]) -> GraphExpr:
    """Leaves in the shape of a struct info."""
    if isinstance(info, TupleStructInfo):
        return Tuple([nested_tuple(f, leaves) for f in info.fields])
    return next(leaves)
