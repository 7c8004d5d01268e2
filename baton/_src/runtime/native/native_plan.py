"""The plan of a native function (a function compiled to one native entry): everything its caller has to provide.

The entry is a C function of one argument: the address of a table of 64-bit words. In order: a pointer for each input, a
pointer for each output, the pointer to the arena (only if the plan has one), an i64 for each variable, and a pointer
for each constant. Variables are the shape variables: the first ones are given by the caller as scalars, the others are
read from the inputs' shapes, and the last ones are counted by kernels, which write them into outputs (their words mean
nothing).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from baton._src.runtime.dim_expr import DimExpr
from baton._src.runtime.value_info import TensorValue, info_from_data, info_to_data
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor of the plan: `space` is `input`, `output`, `constant` (then `at` is an index) or `arena` (a byte
    offset)."""

    space: str
    at: DimExpr
    dtype: str
    dims: tuple[DimExpr, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel call of the entry: its C arguments are the addresses of `tensors` and then the values of `scalars`.

    `order` says how they interleave: entry k >= 0 is `tensors[k]`, entry k < 0 is `scalars[-k - 1]`.
    """

    kernel: str
    name: str
    tensors: tuple[Place, ...]
    scalars: tuple[DimExpr, ...] = ()
    order: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    """Which of the tensors the kernel writes."""


@dataclass(frozen=True, slots=True)
class NativeInput:
    """A tensor parameter."""

    name: str
    info: TensorValue


@dataclass(frozen=True, slots=True)
class NativeOutput:
    """A tensor the entry writes; allocated by the caller."""

    dtype: str
    dims: tuple[DimExpr, ...]


@dataclass(frozen=True, slots=True)
class DimCondition:
    """Two dims that have to be equal: what remains of a `match_cast` of a value whose dims are known as expressions."""

    place: str
    found: DimExpr
    expected: DimExpr


@dataclass(frozen=True, slots=True)
class Count:
    """A variable that is element `at` of an output, of int64, once the entry ran; `most` is a limit known before."""

    slot: int
    output: int
    at: int
    most: DimExpr


@dataclass(frozen=True)
class NativePlan:
    """See the module's docstring.

    `result` is the returned value: an output's index, ``["input", i]``, ``["const", i]`` (a fresh copy), ``["view",
    source, dims]`` (the same under another shape, copied if the source is given out as well), or ``["tuple", [...]]``
    of such.
    """

    name: str
    symbol: str
    inputs: tuple[NativeInput, ...]
    outputs: tuple[NativeOutput, ...]
    result: Any
    variables: tuple[str, ...] = ()
    scalars: int = 0
    """How many of the variables, from the first on, the caller passes."""
    constants: tuple[int, ...] = ()
    """Indices into the executable's constants."""
    arena_bytes: DimExpr = 0
    steps: tuple[Step, ...] = field(default=(), repr=False)
    conditions: tuple[DimCondition, ...] = ()
    """Checked once for each combination of input shapes, before anything runs."""
    counts: tuple[Count, ...] = ()
    """Outputs need room for the limits of these; what is used of them comes first."""
    hidden: int = 0
    """How many outputs, the last ones, are not part of the result."""

    @property
    def is_single(self) -> bool:
        """Whether the result is just output 0."""
        return bool(self.result == 0)

    @property
    def is_flat(self) -> bool:
        """Whether the result is a tuple of the outputs in order."""
        return bool(self.result == ["tuple", list(range(len(self.outputs) - self.hidden))])


def written_inputs(plan: NativePlan) -> set[int]:
    """The inputs that kernels write to: arguments of calls in place."""
    used = (step.tensors[number] for step in plan.steps for number in step.writes)
    return {place.at for place in used if place.space == "input" and isinstance(place.at, int)}


def plan_to_data(plan: NativePlan) -> dict[str, Any]:
    """The plan as JSON data."""
    return {
        "name": plan.name,
        "symbol": plan.symbol,
        "inputs": [[i.name, info_to_data(i.info)] for i in plan.inputs],
        "outputs": [[o.dtype, list(o.dims)] for o in plan.outputs],
        "result": plan.result,
        "variables": list(plan.variables),
        "scalars": plan.scalars,
        "constants": list(plan.constants),
        "arena_bytes": plan.arena_bytes,
        "steps": [_step_to_data(s) for s in plan.steps],
        "conditions": [[c.place, c.found, c.expected] for c in plan.conditions],
        "counts": [[c.slot, c.output, c.at, c.most] for c in plan.counts],
        "hidden": plan.hidden,
    }


def _step_to_data(step: Step) -> list[Any]:
    tensors = [[p.space, p.at, p.dtype, list(p.dims)] for p in step.tensors]
    return [step.kernel, step.name, tensors, list(step.scalars), list(step.order), list(step.writes)]


def plan_from_data(data: Any) -> NativePlan:
    """The inverse of `plan_to_data`; `DiagnosticError` (`executable-corrupt`) on anything malformed."""
    try:
        return NativePlan(
            data["name"],
            data["symbol"],
            tuple(_input(entry) for entry in data["inputs"]),
            tuple(NativeOutput(dtype, tuple(dims)) for dtype, dims in data["outputs"]),
            data["result"],
            tuple(data["variables"]),
            int(data["scalars"]),
            tuple(int(i) for i in data["constants"]),
            data["arena_bytes"],
            tuple(_step_from_data(s) for s in data["steps"]),
            tuple(DimCondition(place, found, expected) for place, found, expected in data["conditions"]),
            tuple(Count(int(slot), int(output), int(at), most) for slot, output, at, most in data["counts"]),
            int(data["hidden"]),
        )
    except (LookupError, TypeError, ValueError) as error:
        raise fail("executable-corrupt", f"the plan of a native function is malformed: {error!r}") from error


def _input(entry: Any) -> NativeInput:
    info = info_from_data(entry[1])
    if not isinstance(info, TensorValue):
        raise TypeError(f"input {entry[0]} is not a tensor")
    return NativeInput(entry[0], info)


def _step_from_data(data: Any) -> Step:
    kernel, name, tensors, scalars, order, writes = data
    places = tuple(Place(space, at, dtype, tuple(dims)) for space, at, dtype, dims in tensors)
    return Step(kernel, name, places, tuple(scalars), tuple(order), tuple(writes))
