"""Check the kinds of arguments of a schedule's primitives against their declarations: loops, blocks, numbers or
strings.

sch.vectorize(block)     ->  vectorize takes a loop as `loop`, not the block 'C'
sch.split(i, 4)          ->  split takes several as `factors`, not 4
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsIndex

from baton._src.support.diagnostics import ScheduleError
from baton._src.tir.expr import IntImm
from baton._src.tir.schedule.handles import BlockRV, LoopRV
from baton._src.tir.schedule.tree import refuse

_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "LoopRV": ((LoopRV,), "a loop"),
    "BlockRV": ((BlockRV,), "a block"),
    "str": ((str,), "a text"),
    "int": ((SupportsIndex, IntImm), "a number"),
    "None": ((type(None),), "None"),
}
_SEVERAL = ((Iterable,), "several")
_SOURCES = "loops come from get_loops, split and fuse; blocks from get_block, or they are named"


def argument_checker(primitive: Callable[..., Any]) -> Callable[[tuple[Any, ...], Mapping[str, Any]], None]:
    """A function of the arguments of `primitive` (without the schedule) that raises `ScheduleError` for wrong kinds.

    Parameters that may be anything, and arguments that do not fit the declaration, are left to the call.
    """
    declared = inspect.signature(primitive)
    rules = {name: _rule(str(parameter.annotation)) for name, parameter in declared.parameters.items()}

    def check(given: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        try:
            bound = declared.bind(None, *given, **options)
        except TypeError:
            return
        for name, value in bound.arguments.items():
            rule = rules[name]
            if rule is None:
                continue
            repeated = declared.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            for one in value if repeated else (value,):
                if not isinstance(one, rule[0]) or (rule == _SEVERAL and isinstance(one, str)):
                    raise _refusal(primitive.__name__, name, one, rule[1])

    return check


def _rule(annotation: str) -> tuple[tuple[type, ...], str] | None:
    """The classes that an annotation allows, and their name; None: no rule."""
    if annotation.startswith("Sequence[") and annotation.endswith("]"):
        return _SEVERAL
    words = annotation.split(" | ")
    if any(word not in _KINDS for word in words):
        return None
    shown = [_KINDS[word][1] for word in words if word != "None" and (word != "str" or len(words) == 1)]
    return tuple(kind for word in words for kind in _KINDS[word][0]), " or ".join(shown)


def _refusal(primitive: str, name: str, value: Any, taken: str) -> ScheduleError:
    match value:
        case LoopRV(var=var):
            shown = f"the loop over {var.name}"
        case BlockRV(name=block):
            shown = f"the block {block!r}"
        case _:
            shown = repr(value)
    help_text = _SOURCES if "a loop" in taken or "a block" in taken else None
    return refuse(f"{primitive} takes {taken} as `{name}`, not {shown}", help=help_text)
