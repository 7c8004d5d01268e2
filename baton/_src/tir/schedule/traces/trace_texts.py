"""Instructions of traces as Python and as JSON.

    b0 = sch.get_block(name="C", func_name="main")           ["GetBlock", [], ["C", "main"], ["b0"]]
    l1, l2 = sch.get_loops(block=b0)                         ["GetLoops", ["b0"], [], ["l1", "l2"]]

Results are named by their kind and number: `b0` a block, `l1` a loop, `v2` a number. Texts among the inputs are quoted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from baton._src.support.diagnostics import fail
from baton._src.tir.index_map import IndexMap, index_map_text
from baton._src.tir.index_map_from_text import index_map_from_text, index_map_of
from baton._src.tir.schedule.handles import BlockRV, LoopRV
from baton._src.tir.schedule.traces.instruction_kinds import GIVING_LISTS, InstructionKind
from baton._src.tir.text.printer import node_text

Step = tuple[str, list[Any], list[Any], list[str]]


class Recorded(Protocol):
    """The record of a step in a trace."""

    @property
    def kind(self) -> InstructionKind: ...
    @property
    def inputs(self) -> Sequence[Any]: ...
    @property
    def attrs(self) -> Sequence[Any]: ...
    @property
    def outputs(self) -> Sequence[Any]: ...


class Names:
    """The outputs of the steps so far, by name."""

    def __init__(self) -> None:
        self._of: dict[int, str] = {}
        self._named: list[Any] = []
        """Keeps what was named alive: ids are of living objects."""

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._of

    def __getitem__(self, value: Any) -> str:
        return self._of[id(value)]

    def name(self, outputs: Any) -> list[str]:
        """Names for what a step gives."""
        for output in outputs:
            kind = "b" if isinstance(output, BlockRV) else "v" if isinstance(output, int) else "l"
            self._of[id(output)] = f"{kind}{len(self._named)}"
            self._named.append(output)
        return [self._of[id(output)] for output in outputs]


# ------------------------------------------------------------------------------------------------------------- Python

_LEFT_OUT: Mapping[str, Any] = {"consumer_blocks": []}
"""Arguments that are only written if they differ from the default."""

_BY_PLACE = frozenset(["get_child_blocks"])
"""Primitives whose arguments are written without their names, as TVM writes them."""


def as_python(inst: Recorded, decision: Any, names: Names) -> str:
    """The step as a line of Python, on a schedule `sch`."""
    named = inst.kind.unpacked(list(inst.inputs), list(inst.attrs))
    shown = [_shown(value, names) for value in named.pop(inst.kind.repeated() or "", ())]
    if inst.kind.primitive in _BY_PLACE:
        shown += [_shown(value, names) for value in named.values()]
        named = {}
    if "gen_new_ranges" in named:
        shown += [f"{key}={_shown(named.pop(key), names)}" for key in list(named)[:-1]]
        shown.append(f"gen_new_ranges={_ranges_text(named.pop('gen_new_ranges'))}")
    shown += [f"{key}={_shown(v, names)}" for key, v in named.items() if key not in _LEFT_OUT or v != _LEFT_OUT[key]]
    if decision is not None:
        shown.append(f"decision={_shown(decision, names)}")
    left = ", ".join(names.name(inst.outputs))
    if len(inst.outputs) == 1 and inst.kind.primitive in GIVING_LISTS:
        left += ","
    return f"{left + ' = ' if left else ''}sch.{inst.kind.primitive}({', '.join(shown)})"


def _shown(value: Any, names: Names) -> str:
    if value is not None and value in names:
        return names[value]
    if isinstance(value, tuple):
        return f"({', '.join(_shown(item, names) for item in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(_shown(item, names) for item in value)}]"
    if isinstance(value, str):
        return json.dumps(value)
    if _is_map(value):
        return _map_text(value)
    return repr(value)


def _is_map(value: Any) -> bool:
    return isinstance(value, IndexMap) or (callable(value) and not isinstance(value, type))


def _map_text(value: Any) -> str:
    """`lambda i, j: (j, i,)`, with plain numbers: where the map is used says of which dtype they are."""
    found = value if isinstance(value, IndexMap) else IndexMap.from_func(value, index_dtype="int32")
    found = index_map_of(found, len(found.initial_indices), "int32", node_text)
    text = index_map_text(found, node_text).removeprefix("T.index_map(").removesuffix("))").removesuffix(",")
    return f"{text},)"


def _ranges_text(bounds: IndexMap) -> str:
    """`lambda i, j: [(i, i + 1,), (0, 8,)]`: what a map gives, two by two."""
    start, ends = bounds.initial_indices, bounds.final_indices
    pairs = [_map_text(IndexMap(start, ends[n : n + 2])) for n in range(0, len(ends), 2)]
    head = f"lambda {', '.join(var.name for var in start)}"
    return f"{head}: [{', '.join(pair.split(': ', 1)[1] for pair in pairs)}]"


# --------------------------------------------------------------------------------------------------------------- JSON


def as_json(inst: Recorded, names: Names) -> list[Any]:
    """The step as `[kind, inputs, attrs, outputs]`."""
    inputs = [_input_to_json(value, names) for value in inst.inputs]
    return [inst.kind.name, inputs, [_attr_to_json(value) for value in inst.attrs], names.name(inst.outputs)]


def _input_to_json(value: Any, names: Names) -> Any:
    if value is None:
        return "None"
    if value in names:
        return names[value]
    if isinstance(value, (list, tuple)):
        return [_input_to_json(item, names) for item in value]
    if isinstance(value, str) or _is_map(value):
        return f'"{_attr_to_json(value)}"'
    if isinstance(value, (BlockRV, LoopRV)):
        raise fail("schedule", f"{value!r} cannot be written as JSON", help="use handles created in the trace")
    return _attr_to_json(value)


def _attr_to_json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_attr_to_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _attr_to_json(item) for key, item in value.items()}
    if _is_map(value):
        return _map_text(value)
    number = getattr(value, "value", None)
    if isinstance(number, (int, float)):
        return number
    raise fail("schedule", f"{value!r} cannot be written as JSON")


def steps_of_json(data: Any) -> Iterator[tuple[Step, Any]]:
    """The steps of `[steps, decisions]`, each with its decision. Error `schedule`: the data is none of it."""
    try:
        steps, decisions = data
        chosen = {int(number): choice for number, choice in decisions}
        rows = [(str(kind), list(given), list(attrs), list(outputs)) for kind, given, attrs, outputs in steps]
    except (TypeError, ValueError):
        raise fail("schedule", "the data is not a trace: as_json gives [steps, decisions]") from None
    for number, (kind, given, attrs, outputs) in enumerate(rows):
        yield (kind, given, [attr_from_json(value) for value in attrs], outputs), chosen.get(number)


def from_json(value: Any, known: Mapping[str, Any]) -> Any:
    """An input of a step, of the handles that steps before it gave."""
    if isinstance(value, list):
        return [from_json(item, known) for item in value]
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value.startswith('"') and value.endswith('"'):
        return attr_from_json(value[1:-1])
    if value not in known:
        raise fail("schedule", f"the trace uses {value!r}, which no step before it has made")
    return known[value]


def attr_from_json(value: Any) -> Any:
    """What is no handle: texts of maps are maps."""
    is_map = isinstance(value, str) and value.startswith("lambda ")
    return index_map_from_text(f"T.index_map({value})") if is_map else value
