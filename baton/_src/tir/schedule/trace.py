"""What was done to a schedule, step by step: printed, and done again to another one.

trace = sch.trace
print(trace)                                # the Python that does the same
trace.apply_to_schedule(Schedule(func))     # with the decisions that sampling took
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from baton._src.support.diagnostics import ScheduleError, fail
from baton._src.tir.index_map import IndexMap, index_map_from_text, index_map_text
from baton._src.tir.schedule.argument_kinds import argument_checker
from baton._src.tir.text.printer import node_text


class ExprRV(int):
    """A number that sampling chose: an int that remembers in traces where it comes from."""


class InstructionKind(str):
    """The name of a primitive."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name itself."""
        return str(self)


@dataclass(frozen=True, eq=False)
class Instruction:
    """One primitive: its name, what it was given and gave. `decision` is what sampling chose."""

    kind: InstructionKind
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    outputs: tuple[Any, ...]
    decision: Any = None
    declaration: inspect.Signature | None = field(default=None, repr=False)
    """The parameters of the primitive, by which the text names what it was given; None: as it was given."""


@dataclass(repr=False)
class Trace:
    """The instructions of a schedule in order."""

    insts: list[Instruction] = field(default_factory=list)

    @property
    def decisions(self) -> dict[Instruction, Any]:
        """What each sampling chose."""
        return {inst: inst.decision for inst in self.insts if inst.decision is not None}

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool = True) -> Trace:
        """The same steps with another choice."""
        del remove_postproc
        changed = dataclasses.replace(inst, decision=decision)
        return Trace([changed if one is inst else one for one in self.insts])

    def apply_to_schedule(self, sch: Any, remove_postproc: bool = False) -> None:
        """Take the same steps on another schedule of the same function (or one that has such blocks and loops)."""
        del remove_postproc
        known: dict[int, Any] = {}
        for inst in self.insts:
            given = [_mapped(value, known) for value in inst.inputs]
            options = {key: _mapped(value, known) for key, value in inst.options.items()}
            if inst.decision is not None:
                options["decision"] = inst.decision
            result = getattr(sch, inst.kind)(*given, **options)
            for old, new in zip(inst.outputs, _as_tuple(result)):
                known[id(old)] = new

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """The steps as lines of Python, on a schedule `sch`."""
        del remove_postproc
        names: dict[int, str] = {}
        lines = []
        for inst in self.insts:
            given = _arguments(inst, names)
            _name_outputs(inst, names)
            left = ", ".join(names[id(o)] for o in inst.outputs)
            lines.append(f"{left + ' = ' if left else ''}sch.{inst.kind}({', '.join(given)})")
        return lines

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """`[steps, decisions]` as JSON data: steps are [primitive, inputs, options, outputs], decisions [step, choice].

        Handles are written by name (`b0`, `l1`, `v2`), texts in quotes of their own.
        """
        del remove_postproc
        names: dict[int, str] = {}
        steps: list[Any] = []
        decisions: list[Any] = []
        for number, inst in enumerate(self.insts):
            given = [_to_json(v, names) for v in inst.inputs]
            options = {key: _to_json(v, names) for key, v in inst.options.items()}
            _name_outputs(inst, names)
            steps.append([inst.kind, given, options, [names[id(o)] for o in inst.outputs]])
            if inst.decision is not None:
                decisions.append([number, inst.decision])
        return [steps, decisions]

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Any) -> None:
        """Take the steps that `as_json` wrote on a schedule. Error `schedule`: the data is none of it."""
        known: dict[str, Any] = {}
        try:
            steps, decisions = json_obj
            chosen = {int(number): choice for number, choice in decisions}
            rows = [(str(kind), list(given), dict(options), list(outputs)) for kind, given, options, outputs in steps]
        except (TypeError, ValueError):
            raise fail("schedule", "the data is no trace: as_json gives [steps, decisions]") from None
        for number, (kind, given, options, outputs) in enumerate(rows):
            primitive = getattr(type(sch), kind, None)
            if not getattr(primitive, "is_primitive", False):
                raise fail("schedule", f"step {number} of the trace: there is no primitive {kind!r}")
            named = {key: _from_json(v, known) for key, v in options.items()}
            if number in chosen:
                named["decision"] = chosen[number]
            result = getattr(sch, kind)(*[_from_json(v, known) for v in given], **named)
            known.update(zip(outputs, _as_tuple(result)))

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Without steps that only look and whose results nobody uses."""
        del remove_postproc
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self.insts):
            looks = inst.kind.startswith(("get_", "sample_"))
            if looks and not any(id(o) in used for o in inst.outputs):
                continue
            kept.append(inst)
            for value in (*inst.inputs, *inst.options.values()):
                used.update(id(v) for v in _leaves(value))
        return Trace(kept[::-1])

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

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add a step."""
        self.insts.append(inst if decision is None else dataclasses.replace(inst, decision=decision))

    def pop(self) -> Instruction | None:
        """Take the last step away, if there is one."""
        return self.insts.pop() if self.insts else None

    def get_decision(self, inst: Instruction) -> Any:
        """What a sampling chose; None if nothing was decided."""
        return inst.decision


P = ParamSpec("P")
R = TypeVar("R")


def recorded(primitive: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A primitive of `Schedule` that writes itself down; primitives used inside others do not."""
    kind, declaration = InstructionKind(primitive.__name__), inspect.signature(primitive)
    check = argument_checker(primitive)

    def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.depth += 1
        try:
            check(args, kwargs)
            result = primitive(self, *args, **kwargs)
        except ScheduleError as error:
            if self.depth == 1:
                self.show_in(error, kind.name, (*args, *kwargs.values()))
            raise
        finally:
            self.depth -= 1
        if self.depth == 0:
            decision = self.decision
            self.decision = None
            options = {k: v for k, v in kwargs.items() if k != "decision"}
            self.trace.insts.append(Instruction(kind, args, options, _as_tuple(result), decision, declaration))
        return result

    functools.update_wrapper(run, primitive)
    run.is_primitive = True  # type: ignore[attr-defined]  # what `apply_json_to_schedule` may call
    return run


def _as_tuple(result: Any) -> tuple[Any, ...]:
    if result is None:
        return ()
    return tuple(result) if isinstance(result, (list, tuple)) else (result,)


def _leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, (list, tuple)) else [value]


def _mapped(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, known) for item in value)
    return known.get(id(value), value)


def _to_json(value: Any, names: dict[int, str]) -> Any:
    if id(value) in names:
        return names[id(value)]
    if isinstance(value, (list, tuple)):
        return [_to_json(item, names) for item in value]
    if isinstance(value, str):
        return json.dumps(value)
    if _is_map(value):
        return {"index_map": _map_text(value)}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    number = getattr(value, "value", None)
    if isinstance(number, (int, float)):
        return number
    raise fail("schedule", f"{value!r} cannot be written as JSON", help="use handles that the trace has made")


def _from_json(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, str) and value in known:
        return known[value]
    if isinstance(value, str) and not value.startswith('"'):
        raise fail("schedule", f"the trace uses {value!r}, which no step before it has made")
    if isinstance(value, str):
        return json.loads(value)
    if isinstance(value, list):
        found = [_from_json(item, known) for item in value]
        # ("read", 0): which buffer of a block
        return tuple(found) if len(found) == 2 and found[0] in ("read", "write") else found
    if isinstance(value, dict):
        return index_map_from_text(str(value.get("index_map")))
    return value


def _name_outputs(inst: Instruction, names: dict[int, str]) -> None:
    """Name what a step gives: `b0` a block, `l1` a loop, `v2` a number."""
    for output in inst.outputs:
        letter = "v" if isinstance(output, ExprRV) else "b" if type(output).__name__ == "BlockRV" else "l"
        names[id(output)] = f"{letter}{len(names)}"


def _is_map(value: Any) -> bool:
    return isinstance(value, IndexMap) or (callable(value) and not isinstance(value, type))


def _map_text(value: Any) -> str:
    return index_map_text(
        value if isinstance(value, IndexMap) else IndexMap.from_func(value, index_dtype="int32"), node_text
    )


def _shown(value: Any, names: dict[int, str]) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_shown(item, names) for item in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(_shown(item, names) for item in value)}]"
    if isinstance(value, str):
        return json.dumps(value)
    if _is_map(value):
        return _map_text(value)
    return names.get(id(value)) or repr(value)


_OPTIONAL = frozenset({"consumer_blocks", "index_hint"})
"""Parameters that are written only where they are given."""


def _arguments(inst: Instruction, names: dict[int, str]) -> list[str]:
    """All arguments with their names, in the order of the declaration; those that repeat have none."""
    signature = inst.declaration
    if signature is None:
        named = {**inst.options, **({} if inst.decision is None else {"decision": inst.decision})}
        return [*(_shown(v, names) for v in inst.inputs), *(f"{k}={_shown(v, names)}" for k, v in named.items())]
    bound = signature.bind(None, *inst.inputs, **inst.options)
    bound.apply_defaults()
    if inst.decision is not None:
        bound.arguments["decision"] = inst.decision
    shown: list[str] = []
    for name, value in list(bound.arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            shown += [_shown(v, names) for v in value]
        elif name not in _OPTIONAL or value is not None:
            shown.append(f"{name}={_shown(value, names)}")
    return shown
