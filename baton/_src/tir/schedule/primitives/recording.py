"""Record the arguments and results of primitives in the schedule's trace.

What is named stands for a handle (`compute_inline("B")` looks block B up first) or for a number (a buffer by name).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from baton._src.support.diagnostics import ScheduleError
from baton._src.tir.expr import IterVar
from baton._src.tir.index_map import IndexMap
from baton._src.tir.operators import convert
from baton._src.tir.schedule.traces.argument_kinds import argument_checker
from baton._src.tir.schedule.traces.instruction_kinds import KINDS
from baton._src.tir.schedule.traces.trace import Instruction, as_tuple

P = ParamSpec("P")
R = TypeVar("R")

_BLOCKS = ("block", "block_or_loop", "scope_block")
_WRITTEN = ("write_buffer_index", "buffer_index")


def recorded(primitive: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A primitive of `Schedule` that is recorded; primitives called by others are not."""
    kind, declared = KINDS[primitive.__name__], inspect.signature(primitive)
    check = argument_checker(primitive)

    def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = declared.bind(self, *args, **kwargs)
        bound.apply_defaults()
        if self.depth:
            return called(self, bound)[0]
        given = (*args, *kwargs.values())
        with self.in_function_of(given, bound.arguments.get("func_name")):
            try:
                self.removed.require_kept(primitive.__name__, given)
                check(args, kwargs)
                result, separators = called(self, bound)
            except ScheduleError as error:
                self.show_in(error, primitive.__name__, given)
                raise
            self.made_here(result)
        inputs, attrs = kind.packed(bound.arguments)
        decision, self.decision = self.decision, None
        self.trace.append(Instruction(kind, inputs, attrs, as_tuple(result)), decision)
        if separators:  # a step of its own, as maps have none
            self.set_axis_separator(bound.arguments["block"], bound.arguments["buffer"], separators)
        return result

    def called(self: Any, bound: inspect.BoundArguments) -> tuple[R, list[int]]:
        separators = _settle(self, bound.arguments)
        self.depth += 1
        try:
            return primitive(*bound.args, **bound.kwargs), separators
        finally:
            self.depth -= 1

    functools.update_wrapper(run, primitive)
    run.is_primitive = True  # type: ignore[attr-defined]  # so that tests can list them
    return run


def _settle(schedule: Any, arguments: dict[str, Any]) -> list[int]:
    """Replace names of blocks and buffers by handles and numbers; gives the separators that stand in a new layout."""
    separators: list[int] = []
    for name, value in arguments.items():
        if name in _BLOCKS and isinstance(value, str):
            arguments[name] = schedule.get_block(value)
        elif name == "consumer_blocks" or (name == "target" and isinstance(value, list | tuple)):
            arguments[name] = [schedule.get_block(b) if isinstance(b, str) else b for b in value or ()]
        elif name == "func_name":
            arguments[name] = schedule.name_to_look_in(value)
        elif name == "buffer":
            arguments[name] = schedule.place_of(arguments["block"], value)
        elif name == "index_map" and callable(value) and not isinstance(value, IndexMap):
            if "buffer" in arguments:
                made, separators = IndexMap.from_func_with_separators(value, _count(schedule, arguments))
            else:
                made = IndexMap.from_func(value, _count(schedule, arguments))
            if separators or _takes_any_number(value):
                arguments[name] = made
        elif name == "gen_new_ranges" and not isinstance(value, IndexMap):
            arguments[name] = _bounds(value, schedule.get(arguments["block"]).iter_vars)
        elif name == "pad_value" and _takes_any_number(value):
            new = arguments["index_map"]
            given = new if isinstance(new, IndexMap) else IndexMap.from_func_with_separators(new)[0]
            arguments[name] = IndexMap.from_func(value, len(given.final_indices))
        elif name == "read_buffer_index" or name in _WRITTEN:
            kind = arguments.get("buf_type") or ("write" if name in _WRITTEN else "read")
            arguments[name] = schedule.number_of(arguments["block"], value, kind)
    return separators


def _bounds(ranges: Callable[..., Any], axes: Sequence[IterVar]) -> IndexMap:
    """A function of a block's axes that gives (begin, end) or an index for each dim, as a map to all of the bounds."""
    variables = [axis.var.copy() for axis in axes]
    pairs = [part if isinstance(part, tuple | list) else (part, part + 1) for part in ranges(*variables)]
    return IndexMap(variables, [convert(end) for pair in pairs for end in pair])


def _takes_any_number(function: Any) -> bool:
    """Whether it is a function of `*indices`: the trace tells how many there are."""
    if isinstance(function, IndexMap) or not callable(function):
        return False
    return any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values())


def _count(schedule: Any, arguments: dict[str, Any]) -> int:
    """How many indices a map is of: a buffer's, or a block's axes."""
    block = arguments["block"]
    if "buffer" in arguments:
        return len(schedule.buffer_at(block, arguments["buffer"]).shape)
    return len(schedule.get(block).iter_vars)
