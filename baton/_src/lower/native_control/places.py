"""The memory of the tensors of a function with control flow: its arguments, its results, or its workspace.

The workspace begins with a few words (where the state is at present; whether to iterate again; the state of
`native.interrupts`; sizes that change), followed by two buffers for each parameter that changes between iterations (by
one, if a result can be the other), then computed values, planned by lifetime. In the order of the steps, with the
second branch of a choice after the first, a value lives from its first to its last use. If iterations change sizes,
each has memory of its own for what it computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from baton._src.ir.expr import PrimExpr
from baton._src.lower.memory_plan import ALIGNMENT, Lifetime, plan_memory
from baton._src.lower.native_control.steps import (
    Check,
    Choose,
    Compute,
    Keep,
    Read,
    Refuse,
    Repeat,
    Return,
    Step,
    Steps,
    Within,
)
from baton._src.lower.relax_to_vm.abstract_values import InRegister, Literal, Longer, Pending, Value, memory_of
from baton._src.lower.relax_to_vm.kernel_arguments import byte_count
from baton._src.lower.size_polynomial import is_never_negative, rounded_up, to_polynomial
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.relax.nodes import Constant, ShapeExpr
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.native.interrupts import POLL_WORDS
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import literal
from baton._src.tir.operators import add
from baton._src.tir.operators import max as maximum
from baton._src.values.dtype import INT64

Size = int | PrimExpr
WHERE, AGAIN, POLL = 0, 1, 2
"""The words at the start of the workspace; from `POLL` on those of `runtime.native.interrupts`. The state is in the
arguments (0), or in the first or the second buffers."""
WORDS = POLL + POLL_WORDS
"""Their number; sizes that change follow them."""


@dataclass(frozen=True, slots=True)
class Place:
    """`space`: `argument`, `result`, `constant` (`at` is a number), `workspace` (a byte offset), `iteration` (one
    in the memory of a single iteration), or `current` or `next` (a number: the memory of a parameter that this
    iteration reads or writes).
    """

    space: str
    at: Size


@dataclass(slots=True)
class Places:
    """The place of each value (as given by `memory_of`); the buffers of parameters as (offset, bytes of each); the
    number of words at the start of the workspace; its size, and that of the memory of an iteration.
    """

    of: dict[Value, Place] = field(default_factory=dict)
    buffers: dict[int, tuple[Size, Size]] = field(default_factory=dict)
    constants: list[Constant] = field(default_factory=list)
    words: int = WORDS
    total: Size = 0
    iteration: Size = 0


def find_places(steps: Steps) -> Places:
    """A place for every tensor."""
    stretch = steps.stretch
    places = Places(words=WORDS + (0 if stretch is None else len(stretch.starts)))
    places.total = aligned(8 * places.words)
    for index, param in enumerate(steps.params):
        if steps.is_kept(index):
            places.of[param] = Place("argument", index)
            continue
        if stretch is not None and index in stretch.appended:
            places.of[param] = Place("result", stretch.states.index(index))
            continue
        size = aligned(byte_count(param.info if stretch is None else stretch.memory(index, param.info)))
        places.of[param] = Place("current", index)
        places.buffers[index] = (places.total, size)
        places.total = _sum(places.total, size if stretch is not None else _sum(size, size))
    homes = _homes(steps, places)
    _plan(steps, places, homes)
    return places


def in_order(steps: list[Step]) -> Iterator[tuple[list[Step], Step]]:
    """Every step with the sequence that contains it; the branches of a choice follow it."""
    work = [(steps, iter(steps))]
    while work:
        sequence, rest = work[-1]
        step = next(rest, None)
        if step is None:
            work.pop()
            continue
        yield sequence, step
        if isinstance(step, Choose):
            work.append((step.else_steps, iter(step.else_steps)))
            work.append((step.then_steps, iter(step.then_steps)))


def _homes(steps: Steps, places: Places) -> dict[Value, InRegister]:
    """Results that kernels write directly to their destination: the next iteration's parameter, a result of the
    function, or (given here) the value of a choice. Only those computed in the sequence that passes them on: nothing
    else has written there by then.
    """
    made: dict[Value, list[Step]] = {}
    homes: dict[Value, InRegister] = {}
    taken: set[Value] = set()
    for sequence, step in in_order(steps.steps):
        match step:
            case Compute(call=call):
                made.update(dict.fromkeys(call.results, sequence))
            case Repeat(values=values) | Return(values=values):
                space = "next" if isinstance(step, Repeat) else "result"
                for index, value in enumerate(map(memory_of, values)):
                    if space == "next" and index not in places.buffers:
                        continue
                    if made.get(value) is sequence and value not in taken:
                        places.of[value] = Place(space, index)
                        taken.add(value)
            case Keep(value=value, merged=merged):
                source = memory_of(value)
                if made.get(source) is sequence and source not in taken:
                    homes[source] = merged
                    taken.add(source)
            case Choose() | Read() | Within() | Check() | Refuse():
                pass
    return homes


def _plan(steps: Steps, places: Places, homes: dict[Value, InRegister]) -> None:
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    constants: dict[int, int] = {}

    def touch(value: Value, number: int) -> None:
        found = memory_of(value)
        if isinstance(found, Literal) and isinstance(found.expr, Constant):
            index = constants.setdefault(id(found.expr.data), len(constants))
            if index == len(places.constants):
                places.constants.append(found.expr)
            places.of[found] = Place("constant", index)
            return
        found = homes.get(found, found)
        if found not in places.of:
            first.setdefault(found, number)
            last[found] = number

    for number, (_, step) in enumerate(in_order(steps.steps)):
        for value in uses(step):
            touch(value, number)
    sizes = {v: room_of(steps.room.get(v) or _info(v)) for v in first}
    lifetimes = [Lifetime(_name(v), sizes[v], first[v], last[v]) for v in first]
    plan = plan_memory(lifetimes, steps.sizes)
    for value, offset in zip(first, plan.offsets):
        within = Place("workspace", _sum(places.total, offset))
        places.of[value] = within if steps.stretch is None else Place("iteration", offset)
    places.of.update({value: places.of[home] for value, home in homes.items()})
    if steps.stretch is None:
        places.total = _sum(places.total, plan.total)
    else:
        places.iteration = plan.total


def uses(step: Step) -> list[Value]:
    """The values a step reads or writes."""
    match step:
        case Compute(call=call):
            return [*call.args, *call.results]
        case Choose(condition=condition):
            return [condition]
        case Keep(value=value, merged=merged):
            return [value, merged]
        case Read(tensor=tensor):
            return [tensor]
        case Repeat(values=values, rows=rows):
            return [*(v.row if isinstance(v, Longer) else v for v in values), *rows]
        case Return(values=values):
            return list(values)
        case Within() | Check() | Refuse():
            return []


def room_of(info: TensorStructInfo) -> Size:
    """The bytes for a tensor. A dim may be negative as long as no kernel computes the tensor: in an arm that is not
    taken, say."""
    return byte_count(TensorStructInfo(ShapeExpr([_at_least_zero(d) for d in info.shape.values]), info.dtype))


def _at_least_zero(dim: PrimExpr) -> PrimExpr:
    return dim if is_never_negative(dim) else maximum(as_int64(dim), literal(0, INT64))


def aligned(size: Size) -> Size:
    """Rounded up to the alignment of values."""
    if isinstance(size, int):
        return -(-size // ALIGNMENT) * ALIGNMENT
    return rounded_up(to_polynomial(size), ALIGNMENT)


def as_expr(size: Size) -> PrimExpr:
    """The size as an int64 expression."""
    return literal(size, INT64) if isinstance(size, int) else size


def _sum(a: Size, b: Size) -> Size:
    return a + b if isinstance(a, int) and isinstance(b, int) else add(as_expr(a), as_expr(b))


def _info(value: Value) -> TensorStructInfo:
    assert isinstance(value, (Pending, InRegister))
    return value.info


def _name(value: Value) -> str:
    return value.node.name if isinstance(value, Pending) else "choice"
