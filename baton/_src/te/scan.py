"""`te.scan`: tensors computed along their first axis, each step from the ones before it.

    state = placeholder((m, n))
    first = compute((1, n), lambda _, i: X[0, i])
    step = compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
    sums = scan(first, step, state)                                   # sums[t] = X[0] + .. + X[t]

What `step` reads may itself be computed of the state: such values are a step's own. The axis of steps is a loop that
goes on from what it did: it is neither split nor shared; the axes within a step are scheduled as those of other stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.prim_func import computed_operations
from baton._src.te.shown import shape_text
from baton._src.te.tag import chosen_tag
from baton._src.te.tensor import ComputeOp, PlaceholderOp, ScanOp, Tensor
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IterVar, Var
from baton._src.tir.text.printer import node_text


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> Tensor | list[Tensor]:
    """The tensor whose first steps are `init` and whose step `t` is `update[t]`, where `state_placeholder` stands for
    the tensor itself; for lists of them, as many tensors that go on together.

    Shapes: init (k, ...), update and state (T, ...), result (T, ...); steps k .. T - 1 are computed.
    Error `te-scan`: shapes or dtypes differ, or a step reads its own or later elements of the state.
    """
    outputs = scans(_listed(init), _listed(update), _listed(state_placeholder), inputs, name, tag, attrs)
    return outputs[0] if len(outputs) == 1 else outputs


def scans(
    inits: Sequence[Tensor],
    updates: Sequence[Tensor],
    states: Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, object] | None = None,
) -> list[Tensor]:
    """`scan` of as many tensors as there are states, which come back as a list."""
    if not len(inits) == len(updates) == len(states) > 0:
        raise _refuse(name, f"{len(inits)} starts, {len(updates)} updates and {len(states)} states do not go together")
    for first, step, state in zip(inits, updates, states):
        _check_fit(name, first, step, state)
    _check_go_together(name, inits, updates)
    if len(set(states)) < len(states):
        raise _refuse(name, "a state is given twice", help="each is a te.placeholder of its own")
    begin, end = inits[0].shape[0], updates[0].shape[0]
    axis = IterVar(Range(begin, operators.subtract(end, begin)), Var(f"{name}.idx", end.dtype), "scan")
    steps = _steps(name, updates, states)
    _check_states_are_earlier(name, steps, states, axis)
    read = (tensor for op in steps for tensor in op.input_tensors if tensor.op not in steps and tensor not in states)
    outside = tuple(dict.fromkeys((*(inputs or ()), *read)))
    parts = (tuple(inits), tuple(updates), tuple(states), outside, steps)
    op = ScanOp(name, axis, *parts, chosen_tag(tag), dict(attrs or {}))
    return [op.output(i) for i in range(op.num_outputs)]


def _listed(given: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [given] if isinstance(given, Tensor) else list(given)


def _check_fit(name: str, first: Tensor, step: Tensor, state: Tensor) -> None:
    if not isinstance(state.op, PlaceholderOp):
        raise _refuse(name, f"the state {state.name} is computed", help="the state is a te.placeholder")
    if first.op is state.op:
        raise _refuse(name, f"{state.name} is the state and its own start", help="the start is a tensor of its own")
    if not isinstance(step.op, ComputeOp):
        raise _refuse(name, f"the update {step.name} is not computed", help="the update is a te.compute")
    if not first.dtype == step.dtype == state.dtype:
        raise _refuse(name, f"start, update and state are {first.dtype}, {step.dtype} and {state.dtype}")
    same = _same_sizes(step.shape, state.shape) and _same_sizes(first.shape[1:], state.shape[1:])
    if not same or not state.ndim:
        shapes = ", ".join(map(shape_text, (first, step, state)))
        raise _refuse(name, f"start, update and state have the shapes {shapes}", help="(k, ...), (T, ...), (T, ...)")


def _check_go_together(name: str, inits: Sequence[Tensor], updates: Sequence[Tensor]) -> None:
    for what, tensors in (("start with", inits), ("end after", updates)):
        if not all(_same_sizes(tensors[0].shape[:1], other.shape[:1]) for other in tensors):
            steps = ", ".join(node_text(tensor.shape[0]) for tensor in tensors)
            raise _refuse(name, f"states that go on together {what} as many steps, not {steps}")


def _same_sizes(one: Sequence[PrimExpr], other: Sequence[PrimExpr]) -> bool:
    analyzer = Analyzer()
    return len(one) == len(other) and all(analyzer.can_prove_equal(a, b) for a, b in zip(one, other))


def _steps(name: str, updates: Sequence[Tensor], states: Sequence[Tensor]) -> dict[ComputeOp, int]:
    """What a step computes, producers first, and which of its axes is the step."""
    found: list[ComputeOp] = []
    for op in computed_operations(updates):
        depends = any(t in states or t.op in found for t in op.input_tensors) or any(op is u.op for u in updates)
        if depends and not isinstance(op, ComputeOp):
            raise _refuse(name, f"{op.name} is computed of the state, but not by te.compute")
        if depends and isinstance(op, ComputeOp):
            found.append(op)
    places: dict[ComputeOp, set[int]] = {update.op: {0} for update in updates if isinstance(update.op, ComputeOp)}
    for op in reversed(found):
        step = op.axis[min(places[op])].var
        for load in op.loads:
            read = load.producer.op
            if isinstance(read, ComputeOp) and read in found:
                here = {place for place, index in enumerate(load.indices) if index is step}
                places[read] = places.get(read, here) & here
                if not places[read]:
                    raise _refuse(
                        name,
                        f"{op.name} reads {read.name} of another step than its own",
                        help="what a step computes is kept for itself; read the state at earlier steps",
                    )
    return {op: min(places[op]) for op in found}


def _check_states_are_earlier(name: str, steps: dict[ComputeOp, int], states: Sequence[Tensor], axis: IterVar) -> None:
    assert axis.dom is not None
    for op, place in steps.items():
        step = op.axis[place].var
        analyzer = Analyzer()
        for other in (*op.axis, *op.reduce_axis):
            analyzer.bind(other.var, axis.dom if other.var is step else other.dom)
        for load in op.loads:
            if load.producer in states and not analyzer.can_prove(operators.build("less", load.indices[0], step)):
                raise _refuse(
                    name,
                    f"{op.name} reads {load}, which is not known to be a step before {step.name}",
                    help=f"read {load.producer.name}[{step.name} - 1, ...]",
                )


def _refuse(name: str, message: str, help: str | None = None) -> DiagnosticError:
    return fail("te-scan", f"{name}: {message}", help=help)
