"""The trace of a schedule: its steps, which can be printed and replayed on another schedule.

trace = sch.trace
print(trace)                                # the Python that does the same
trace.apply_to_schedule(Schedule(func))     # with the decisions that sampling took
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.tir.schedule.traces import trace_texts
from baton._src.tir.schedule.traces.instruction_kinds import InstructionKind


@dataclass(frozen=True, eq=False)
class Instruction:
    """One primitive: its kind, its inputs (handles and numbers), its attributes, and its outputs."""

    kind: InstructionKind
    inputs: Sequence[Any]
    attrs: Sequence[Any]
    outputs: Sequence[Any]

    def apply(self, sch: Any, inputs: Sequence[Any], attrs: Sequence[Any], decision: Any) -> tuple[Any, ...]:
        """Apply the step to a schedule; returns its outputs."""
        named = self.kind.unpacked(list(inputs), list(attrs))
        spread = named.pop(self.kind.repeated() or "", ())
        if decision is not None:
            named["decision"] = decision
        return as_tuple(getattr(sch, self.kind.primitive)(*spread, **named))


DecisionProvider = Callable[[Instruction, Sequence[Any], Sequence[Any], Any], Any]


class Trace:
    """The instructions of a schedule in order, and the decisions of its samplings."""

    def __init__(self, insts: Iterable[Instruction] = (), decisions: Mapping[Instruction, Any] | None = None) -> None:
        self.insts: list[Instruction] = list(insts)
        self.decisions: dict[Instruction, Any] = dict(decisions or {})

    def get_decision(self, inst: Instruction) -> Any:
        """What a sampling chose; None if nothing was decided."""
        return self.decisions.get(inst)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add a step."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Remove the last step, if there is one."""
        if not self.insts:
            return None
        self.decisions.pop(self.insts[-1], None)
        return self.insts.pop()

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool = True) -> Trace:
        """The same steps with another decision, without those after `enter_postproc` unless `remove_postproc=False`."""
        return Trace(self._steps(remove_postproc), {**self.decisions, inst: decision})

    def before_postproc(self) -> list[Instruction]:
        """The steps before `enter_postproc`."""
        return self._steps(remove_postproc=True)

    def simplified(self, remove_postproc: bool = True) -> Trace:
        """The trace without steps that change nothing and whose results are not used, and without those after
        `enter_postproc` unless `remove_postproc=False`.
        """
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._steps(remove_postproc)):
            if inst.kind.is_pure and not any(id(output) in used for output in inst.outputs):
                continue
            kept.append(inst)
            used.update(id(leaf) for leaf in _leaves([*inst.inputs, *inst.attrs]))
        return Trace(kept[::-1], {i: self.decisions[i] for i in kept if i in self.decisions})

    def apply_to_schedule(
        self, sch: Any, remove_postproc: bool = False, decision_provider: DecisionProvider | None = None
    ) -> None:
        """Apply the same steps to another schedule of the same function (or one with such blocks and loops).

        `decision_provider(inst, inputs, attrs, decision)` may choose the result of a sampling.
        """
        known: dict[int, Any] = {}
        for inst in self._steps(remove_postproc):
            inputs = [_mapped(value, known) for value in inst.inputs]
            decision = self.get_decision(inst)
            if decision_provider is not None:
                decision = decision_provider(inst, inputs, inst.attrs, decision)
            made = inst.apply(sch, inputs, inst.attrs, decision)
            known.update({id(old): new for old, new in zip(inst.outputs, made) if old is not None})

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """The steps as lines of Python, on a schedule `sch`."""
        names = trace_texts.Names()
        return [trace_texts.as_python(i, self.get_decision(i), names) for i in self._steps(remove_postproc)]

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """`[steps, decisions]` as JSON data: steps are [kind, inputs, attrs, outputs], decisions [step, choice]."""
        names = trace_texts.Names()
        steps = self._steps(remove_postproc)
        decisions = [[n, self.decisions[i]] for n, i in enumerate(steps) if i in self.decisions]
        return [[trace_texts.as_json(inst, names) for inst in steps], decisions]

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Any) -> None:
        """Apply the steps that `as_json` wrote to a schedule. Error `schedule`: the data is not such a trace."""
        known: dict[str, Any] = {"None": None}
        for (kind, inputs, attrs, outputs), decision in trace_texts.steps_of_json(json_obj):
            found = Instruction(InstructionKind.get(kind), trace_texts.from_json(inputs, known), attrs, outputs)
            known.update(zip(outputs, found.apply(sch, found.inputs, attrs, decision)))

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the steps."""
        print(str(self))

    def __str__(self) -> str:
        """A function that takes the steps."""
        lines = self.as_python() or ["pass"]
        return "\n".join(
            ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:", *("  " + n for n in lines)]
        )

    __repr__ = __str__

    def _steps(self, remove_postproc: bool) -> list[Instruction]:
        """The steps, or those before `enter_postproc`."""
        ends = [n for n, inst in enumerate(self.insts) if inst.kind.is_postproc] if remove_postproc else []
        return self.insts[: ends[0]] if ends else self.insts[:]


def as_tuple(result: Any) -> tuple[Any, ...]:
    """The outputs of a primitive as a tuple."""
    if result is None:
        return ()
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, (list, tuple)) else [value]


def _mapped(value: Any, known: Mapping[int, Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, known) for item in value)
    return known.get(id(value), value)
