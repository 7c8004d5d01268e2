"""What was done to a schedule, step by step: printed, and done again to another one.

trace = sch.trace
print(trace)                                # the Python that does the same
trace.apply_to_schedule(Schedule(func))     # with the decisions that sampling took
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar


class ExprRV(int):
    """A number that sampling chose: an int that remembers in traces where it comes from."""


@dataclass(frozen=True, eq=False)
class Instruction:
    """One primitive: its name, what it was given and gave. `decision` is what sampling chose."""

    kind: str
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    outputs: tuple[Any, ...]
    decision: Any = None


@dataclass
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
        changed = Instruction(inst.kind, inst.inputs, inst.options, inst.outputs, decision)
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

    def as_python(self) -> list[str]:
        """The steps as lines of Python, on a schedule `sch`."""
        names: dict[int, str] = {}
        lines = []
        for inst in self.insts:
            given = [_shown(v, names) for v in inst.inputs]
            given += [f"{key}={_shown(v, names)}" for key, v in inst.options.items()]
            if inst.decision is not None:
                given.append(f"decision={inst.decision!r}")
            for output in inst.outputs:
                names[id(output)] = f"v{len(names)}" if isinstance(output, ExprRV) else f"{_letter(output)}{len(names)}"
            left = ", ".join(names[id(o)] for o in inst.outputs)
            lines.append(f"{left + ' = ' if left else ''}sch.{inst.kind}({', '.join(given)})")
        return lines

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """Without steps that only look and whose results nobody uses."""
        del remove_postproc
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self.insts):
            looks = inst.kind.startswith("get_") or inst.decision is not None
            if looks and not any(id(o) in used for o in inst.outputs):
                continue
            kept.insert(0, inst)
            for value in (*inst.inputs, *inst.options.values()):
                used.update(id(v) for v in _leaves(value))
        return Trace(kept)

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the steps."""
        print("\n".join(self.as_python()))

    def __str__(self) -> str:
        return "\n".join(self.as_python())


P = ParamSpec("P")
R = TypeVar("R")


def recorded(primitive: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A primitive of `Schedule` that writes itself down; primitives used inside others do not."""

    def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.depth += 1
        try:
            result = primitive(self, *args, **kwargs)
        finally:
            self.depth -= 1
        if self.depth == 0:
            decision = self.decision
            self.decision = None
            options = {k: v for k, v in kwargs.items() if k != "decision"}
            self.trace.insts.append(Instruction(primitive.__name__, args, options, _as_tuple(result), decision))
        return result

    functools.update_wrapper(run, primitive)
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


def _letter(output: Any) -> str:
    return "b" if type(output).__name__ == "BlockRV" else "l"


def _shown(value: Any, names: dict[int, str]) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(item, names) for item in value)}]"
    return names.get(id(value)) or repr(value)
