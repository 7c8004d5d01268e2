"""The nodes of the program of a graph executor: the parameters of `main`, then what it calls, in order.

`main` is a native entry, whose kernels are the nodes, or bytecode without control flow. Bytecode calls native entries,
packed functions, which write to tensors made for them, and functions of the module, whose calls count as if they stood
in `main`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from baton._src.runtime.dim_expr import DimExpr
from baton._src.runtime.executable.bytecode import Call, Operand, OperandKind, Ret
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.executable.function_entry import FunctionEntry
from baton._src.runtime.native.native_plan import NativePlan, Place
from baton._src.runtime.value_info import FunctionValue, TensorValue, TupleValue
from baton._src.runtime.vm.builtins.table import BUILTINS
from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import NDArray


class Source(NamedTuple):
    """Where a tensor comes from: the number of a node, and the number of its output."""

    node: int
    output: int


class Made(NamedTuple):
    """A tensor that a node writes; those of equal `storage` lie in the same memory."""

    dtype: str
    dims: Sequence[DimExpr]
    storage: object


class GraphNode(NamedTuple):
    """`function`: the kernel or packed function, "" for parameters. `writes`: which of its tensors it writes."""

    name: str
    function: str
    inputs: Sequence[Source]
    made: Sequence[Made]
    writes: Sequence[int]


@dataclass(slots=True)
class _Fresh:
    """A tensor made for a packed function to write to, and where its content comes from once one did."""

    dtype: str
    dims: Sequence[int]
    source: Source | None = None


def graph_nodes(executable: Executable) -> tuple[list[GraphNode], list[Source]]:
    """The nodes, and where the results come from; constants, which are no nodes, are left out."""
    walk = _Walk(executable)
    number = executable.function_index.get("main")
    if number is None:
        return [], []
    main = executable.functions[number]
    result = walk.called(main, walk.parameters(main), main.name)
    return walk.nodes, [s for s in map(_source, _flat(result)) if s is not None]


class _Walk:
    """Runs `main` on values that say where tensors come from: a `Source`, a `_Fresh` tensor, a list of values for a
    tuple; anything else is a constant."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.nodes: list[GraphNode] = []
        self._entries = 0

    def parameters(self, main: FunctionEntry) -> list[Any]:
        """A node for each parameter; the tensors of a tuple are its outputs."""
        plan = self.executable.natives.get(main.name)
        if plan is not None:
            return [self._parameter(given.name, given.info) for given in plan.inputs]
        infos = (main.info.params or ()) if isinstance(main.info, FunctionValue) else ()
        return [self._parameter(name, info) for name, info in zip(main.params, chain(infos, repeat(None)))]

    def _parameter(self, name: str, info: Any) -> Any:
        node, made = len(self.nodes), list[Made]()

        def value(info: Any) -> Any:
            if isinstance(info, TupleValue):
                return [value(field) for field in info.fields]
            dtype, dims = (info.dtype, info.dims or ()) if isinstance(info, TensorValue) else ("", ())
            made.append(Made(dtype, dims, (node, len(made))))
            return Source(node, len(made) - 1)

        found = value(info)
        self.nodes.append(GraphNode(name, "", (), made, ()))
        return found

    def called(self, function: FunctionEntry, args: Sequence[Any], caller: str) -> Any:
        """The result of a call, whose nodes are added."""
        if function.kind == "native":
            return self._entry(self.executable.natives[function.name], args)
        if function.kind == "vm":
            return self._bytecode(function, args)
        if function.name in BUILTINS:
            return _builtin(function.name.removeprefix("vm.builtin."), args)
        return self._packed(function.name if caller == "main" else caller, function.name, args)

    def _bytecode(self, function: FunctionEntry, args: Sequence[Any]) -> Any:
        registers = dict(enumerate(args))
        for instruction in self.executable.instructions[function.start : function.end]:
            if isinstance(instruction, Ret):
                return registers[instruction.result]
            if isinstance(instruction, Call):
                values = [self._value(operand, registers) for operand in instruction.args]
                callee = self.executable.functions[instruction.function]
                registers[instruction.dst] = self.called(callee, values, function.name)
        return None

    def _value(self, operand: Operand, registers: dict[int, Any]) -> Any:
        if operand.kind is OperandKind.REGISTER:
            return registers.get(operand.value)
        return self.executable.constants[operand.value] if operand.kind is OperandKind.CONSTANT else operand.value

    def _packed(self, name: str, function: str, args: Sequence[Any]) -> None:
        tensors = [a for a in args if isinstance(a, (Source, _Fresh, NDArray))]
        outputs = {place: t for place, t in enumerate(tensors) if isinstance(t, _Fresh) and t.source is None}
        read = [s for s in map(_source, tensors) if s is not None]
        node, made = len(self.nodes), list[Made]()
        for number, fresh in enumerate(outputs.values()):
            fresh.source = Source(node, number)
            made.append(Made(fresh.dtype, fresh.dims, (node, number)))
        self.nodes.append(GraphNode(name, function, read, made, tuple(outputs)))

    def _entry(self, plan: NativePlan, args: Sequence[Any]) -> Any:
        """The kernels of a native entry, which is given its inputs and what else `args` has (sizes)."""
        self._entries += 1
        call, inputs = self._entries, [_source(a) for a in args[: len(plan.inputs)]]
        writers = {("input", str(at)): source for at, source in enumerate(inputs) if source is not None}
        given = {key: self.nodes[s.node].made[s.output].storage for key, s in writers.items()}

        def made(place: Place) -> Made:
            key = place.space, str(place.at)
            return Made(place.dtype, place.dims, given.get(key, (call, *key)))

        for step in plan.steps:
            read = [(p.space, str(p.at)) for index, p in enumerate(step.tensors) if index not in step.writes]
            sources = [writers[key] for key in read if key in writers]
            written = [step.tensors[index] for index in step.writes]
            writers |= {(p.space, str(p.at)): Source(len(self.nodes), n) for n, p in enumerate(written)}
            self.nodes.append(GraphNode(step.name, step.kernel, sources, list(map(made, written)), step.writes))

        def value(result: Any) -> Any:
            match result:
                case int():
                    return writers[("output", str(result))]
                case ["input", number]:
                    return args[number]
                case ["view", source, _]:
                    return value(source)
                case ["tuple", fields]:
                    return [value(field) for field in fields]
                case _:
                    return self.executable.constants[plan.constants[result[1]]]

        return value(plan.result)


def _builtin(name: str, args: Sequence[Any]) -> Any:
    """The result of a builtin: what it forwards, or makes for others to write to."""
    match name, args:
        case "new_tensor", [dims, dtype]:
            return _Fresh(dtype, dims)
        case "alloc_tensor", [_, _, dims, dtype]:
            return _Fresh(dtype, dims)
        case "make_tuple", fields:
            return list(fields)
        case "tuple_getitem", [list() as fields, int() as index]:
            return fields[index]
        case "reshape" | "view" | "copy" | "ensure_zero_offset" | "to_device" | "identity", [value, *_]:
            return value
        case _:
            return None


def _source(value: Any) -> Source | None:
    if isinstance(value, _Fresh):
        return value.source
    return value if isinstance(value, Source) else None


def _flat(value: Any) -> Iterator[Any]:
    if not isinstance(value, list):
        yield value
        return
    for field in value:
        yield from _flat(field)


__all__ = ["GraphNode", "Made", "Source", "graph_nodes"]
