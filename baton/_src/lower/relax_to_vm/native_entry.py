"""A run of kernel calls as one native entry: its plan for the runtime, and the TIR function that calls the kernels.

The entry takes the address of a table of words (see `runtime.native.native_plan`):

    call kernel_a(words[0], words[2] + 0,  ...)      # input 0 -> arena
    call kernel_b(words[2] + 0, words[1], ...)       # arena -> output 0
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.lower.memory_plan import Lifetime, MemoryPlan, plan_memory
from baton._src.lower.relax_to_vm.abstract_values import (
    InRegister,
    KernelCall,
    Literal,
    Pending,
    Value,
    memory_of,
    resolve,
)
from baton._src.lower.relax_to_vm.cast_conditions import CastCondition
from baton._src.lower.relax_to_vm.counted_sizes import CountedSize, at_most, positions
from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.lower.relax_to_vm.entry_words import EntryWords
from baton._src.lower.relax_to_vm.kernel_arguments import byte_count, c_arguments
from baton._src.lower.relax_to_vm.kernel_calls import call_statements, is_known
from baton._src.lower.relax_to_vm.reused_operands import ReusedOperands, reused_operands
from baton._src.lower.relax_to_vm.shared_memory import without_moves
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import Constant
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.dim_expr import DimExpr
from baton._src.runtime.native.native_plan import (
    Count,
    DimCondition,
    NativeInput,
    NativeOutput,
    NativePlan,
    Place,
    Step,
)
from baton._src.runtime.value_info import TensorValue
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import InternalError
from baton._src.tir.builders.extern_calls import call_extern
from baton._src.tir.expr import Var, literal
from baton._src.tir.kernel_abi import KernelABI
from baton._src.tir.operators import add
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Evaluate, SeqStmt, Stmt
from baton._src.values.dtype import INT32, INT64


@dataclass(frozen=True)
class Entry:
    """`plan` for the runtime (its `constants` still refer to `constants` here), `function` for code generation.

    `inputs` are the registers to pass, `scalars` the shape variables to pass after them.
    """

    plan: NativePlan
    function: PrimFunc
    inputs: tuple[InRegister, ...]
    scalars: tuple[Var, ...]
    variables: tuple[Var, ...]
    """All shape variables, by slot; the first ones are the scalars."""
    constants: tuple[Constant, ...]
    memory: MemoryPlan
    overwrites: dict[GlobalVar, set[tuple[int, int]]]
    """By kernel, the parameters that share memory in some call: see `kernel_schedules.overwriting`."""


def live_calls(calls: Sequence[KernelCall], outputs: Sequence[Pending]) -> list[KernelCall]:
    """The calls that the outputs depend on (and those that write into other values' memory), in order."""
    needed = {p.node for p in outputs} | {c for c in calls if any(i >= 0 for i in c.inplace)}
    for call in reversed(calls):
        if call in needed:
            sources = map(memory_of, call.args)
            needed.update(a.node for a in sources if isinstance(a, Pending))
    return [c for c in calls if c in needed]


def written_into(output: Pending) -> Value:
    """The value whose memory an output occupies: itself, or the argument that its kernel (or an earlier one) writes
    into.
    """
    found: Value = output
    while isinstance(found, Pending):
        place = found.node.inplace[found.index]
        if place < 0:
            return found
        found = resolve(found.node.args[place])
    return found


class EntryBuilder:
    """Collects what one entry needs. `inputs` may be given beforehand, in an order of the caller's.

    `counted` are the sizes that kernels of the entry count; the tensors of counts are outputs, those that nobody asked
    for the last ones.

    `spoils` (for checked builds): the outputs of a kernel are filled with NaN, or -1, before it runs, so that reads of
    unwritten elements become visible.
    """

    def __init__(
        self,
        name: str,
        calls: Sequence[KernelCall],
        outputs: Sequence[Pending],
        inputs: Sequence[tuple[str, InRegister]] = (),
        spoils: bool = False,
        counted: Sequence[CountedSize] = (),
    ) -> None:
        self.name = name
        self.spoils = spoils
        self.counted = counted
        self.outputs = list(dict.fromkeys((*outputs, *(c.value for c in counted))))
        self.hidden = len(self.outputs) - len(outputs)
        self.shown: dict[Pending, TensorStructInfo] = {}
        """Outputs that are given out under another shape."""
        self.calls, self.aliases = without_moves(calls, self.outputs)
        self.inputs: dict[int, tuple[str, InRegister]] = {v.register: (n, v) for n, v in inputs}
        self.constants: dict[int, Constant] = {}
        self.conditions: Sequence[CastCondition] = ()
        for call in self.calls:
            for arg, info in zip(map(memory_of, call.args), call.arg_infos):
                if isinstance(arg, InRegister) and arg.register not in self.inputs:
                    known = arg if is_known(arg.info) else InRegister(arg.register, info)
                    self.inputs[arg.register] = (f"arg{len(self.inputs)}", known)
                elif isinstance(arg, Literal) and isinstance(arg.expr, Constant):
                    self.constants.setdefault(id(arg.expr.data), arg.expr)
        self.roots = self._find_roots()
        self.reused = ReusedOperands()
        self.reused = reused_operands(self.calls, {self._root(o) for o in self.outputs}, self._located)

    def build(self) -> Entry:
        """Plan the memory, then return the plan and the function."""
        self._constant_numbers = {key: number for number, key in enumerate(self.constants)}
        self._input_numbers = {register: number for number, register in enumerate(self.inputs)}
        scalars, variables = self._variables()
        memory, arena = self._plan(scalars)
        slots = {v: i for i, v in enumerate((*scalars, *variables))}
        arena_bytes = _bytes(memory.total, slots)
        numbers = {output: number for number, output in enumerate(self.outputs)}
        counted = positions(self.counted, numbers)
        words = EntryWords(len(self.inputs), len(self.outputs), arena_bytes != 0, slots, len(self.constants), counted)
        steps, body = self._steps(self._places(memory, arena), words, slots)
        plan = NativePlan(
            self.name,
            self.name,
            tuple(NativeInput(n, _tensor_value(v.info, slots)) for n, v in self.inputs.values()),
            tuple(NativeOutput(str(p.info.dtype), _dims(self.shown.get(p, p.info), slots)) for p in self.outputs),
            0 if len(self.outputs) == 1 else ["tuple", list(range(len(self.outputs) - self.hidden))],
            tuple(v.name for v in slots),
            len(scalars),
            tuple(range(len(self.constants))),
            arena_bytes,
            tuple(steps),
            tuple(
                DimCondition(c.place, to_dim_expr(c.found, slots), to_dim_expr(c.expected, slots))
                for c in self.conditions
            ),
            tuple(Count(slots[c.var], *counted[c.var], to_dim_expr(c.most, slots)) for c in self.counted),
            self.hidden,
        )
        whole = words.with_definitions(SeqStmt(tuple(body)))
        function = PrimFunc([words.table], whole, attrs={"global_symbol": self.name})
        registers = tuple(v for _, v in self.inputs.values())
        constants = tuple(self.constants.values())
        return Entry(plan, function, registers, scalars, tuple(slots), constants, memory, self.reused.pairs)

    def _steps(
        self, places: dict[Value, tuple[str, int | PrimExpr]], words: EntryWords, slots: dict[Var, int]
    ) -> tuple[list[Step], list[Stmt]]:
        """The calls of the kernels: as data for the plan, and as statements of the function."""
        signatures: dict[PrimFunc, KernelABI] = {}
        steps: list[Step] = []
        body: list[Stmt] = []
        for call in self.calls:
            c_args = c_arguments(call, signatures)
            tensors = [self._place_of(v, places) for v in self._tensors(call)]
            operands = [
                words.address(*tensors[k]) if k >= 0 else words.integer(c_args.scalars[-k - 1]) for k in c_args.order
            ]
            if self.spoils:
                body += self._spoiled(call, [words.address(*t) for t in tensors], words)
            body += call_statements(call, operands)
            steps.append(self._step(call, tensors, c_args.scalars, c_args.order, slots))
        return steps, body

    # -------------------------------------------------------------------------------------------- memory

    def _find_roots(self) -> dict[Pending, Value]:
        """Determine whose memory each result occupies: its own, or that of the argument its kernel writes into."""
        roots: dict[Pending, Value] = {}
        for call in self.calls:
            for result, place in zip(call.results, call.inplace):
                target = memory_of(call.args[place]) if place >= 0 else result
                roots[result] = roots.get(target, target) if isinstance(target, Pending) else target
        return roots

    def _root(self, value: Value) -> Value:
        return self._located(value)[0]

    def _located(self, value: Value) -> tuple[Value, int]:
        """The memory that holds a value, and the byte offset in it."""
        found, start = memory_of(value), 0
        while isinstance(found, Pending) and found in self.aliases:
            target, offset = self.aliases[found]
            found, start = memory_of(target), start + offset
        root = self.roots.get(found, found) if isinstance(found, Pending) else found
        return (self.reused.home(root) if isinstance(root, Pending) else root), start

    def _tensors(self, call: KernelCall) -> list[Value]:
        """What is passed: the arguments, then the outputs with fresh memory."""
        fresh = [r for r, place in zip(call.results, call.inplace) if place < 0]
        return [resolve(a) for a in call.args] + list(fresh)

    def _spoiled(self, call: KernelCall, addresses: Sequence[PrimExpr], words: EntryWords) -> list[Stmt]:
        """Fill the memory of results, except where the kernel also reads it."""
        read = {self._root(a) for a in map(memory_of, call.args)}
        values = self._tensors(call)[len(call.args) :]
        found: list[Stmt] = []
        for value, place in zip(values, addresses[len(call.args) :]):
            if isinstance(value, Pending) and self._root(value) not in read:
                size = byte_count(value.info)
                count = literal(size, INT64) if isinstance(size, int) else words.integer(size)
                found.append(Evaluate(call_extern("handle", "memset", place, literal(255, INT32), count)))
        return found

    def _plan(self, scalars: Sequence[Var]) -> tuple[MemoryPlan, dict[Value, int]]:
        """Lifetimes of what lives in the arena, and which number each has in the plan. `scalars` are the variables that
        are no dims of inputs.
        """
        kept = {self._root(o) for o in self.outputs}
        first: dict[Value, int] = {}
        last: dict[Value, int] = {}
        for number, call in enumerate(self.calls):
            for value in self._tensors(call):
                root = self._root(value)
                if isinstance(root, Pending) and root not in kept:
                    first.setdefault(root, number)
                    last[root] = number
        chosen = [v for v in first if isinstance(v, Pending)]
        sizes = [at_most(byte_count(v.info), self.counted) for v in chosen]
        lifetimes = [Lifetime(v.node.name, size, first[v], last[v]) for v, size in zip(chosen, sizes)]
        return plan_memory(lifetimes, scalars), {v: i for i, v in enumerate(chosen)}

    def _places(self, memory: MemoryPlan, arena: dict[Value, int]) -> dict[Value, tuple[str, int | PrimExpr]]:
        places: dict[Value, tuple[str, int | PrimExpr]] = {
            value: ("arena", memory.offsets[number]) for value, number in arena.items()
        }
        for index, output in enumerate(self.outputs):
            places.setdefault(self._root(output), ("output", index))
        for index, (_, value) in enumerate(self.inputs.values()):
            places[value] = ("input", index)
        return places

    def _place_of(self, value: Value, places: dict[Value, tuple[str, int | PrimExpr]]) -> tuple[str, int | PrimExpr]:
        root, start = self._located(value)
        if isinstance(root, Literal) and isinstance(root.expr, Constant):
            return "constant", self._constant_numbers[id(root.expr.data)]
        if isinstance(root, InRegister):
            return "input", self._input_numbers[root.register]
        space, at = places[root]
        if start and space != "arena":  # elsewhere `at` is a number, not an address
            raise InternalError(f"the {space} number {at} has no parts")
        return space, (at + start if isinstance(at, int) else add(at, literal(start, INT64))) if start else at

    # ----------------------------------------------------------------------------------------- variables

    def _variables(self) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
        """The shape variables used: those the caller has to pass, and those that inputs show or kernels count."""
        shown: dict[Var, None] = {}
        used: dict[Var, None] = {}
        for _, value in self.inputs.values():
            for dim in value.info.shape.values:
                used.update(dict.fromkeys(prim_vars(dim)))
                if isinstance(dim, Var):
                    shown[dim] = None
        for call in self.calls:
            dims = [d for info in (*call.arg_infos, *call.outputs) for d in info.shape.values]
            for dim in (*dims, *call.scalars):
                used.update(dict.fromkeys(prim_vars(dim)))
        for condition in self.conditions:
            used.update(dict.fromkeys((*prim_vars(condition.found), *prim_vars(condition.expected))))
        shown.update((c.var, None) for c in self.counted)
        return tuple(v for v in used if v not in shown), tuple(shown)

    def _step(
        self,
        call: KernelCall,
        tensors: Sequence[tuple[str, int | PrimExpr]],
        scalars: Sequence[PrimExpr],
        order: tuple[int, ...],
        slots: dict[Var, int],
    ) -> Step:
        fresh = [o for o, place in zip(call.outputs, call.inplace) if place < 0]
        infos = [*call.arg_infos, *fresh]
        places = tuple(
            Place(space, _bytes(at, slots), str(info.dtype), _dims(info, slots))
            for (space, at), info in zip(tensors, infos)
        )
        numbers = tuple(to_dim_expr(s, slots) for s in scalars)
        count = len(call.args)
        writes = (*[i for i in call.inplace if i >= 0], *range(count, count + len(fresh)))
        return Step(call.kernel.name_hint, call.name, places, numbers, order, writes)


def _tensor_value(info: TensorStructInfo, slots: dict[Var, int]) -> TensorValue:
    return TensorValue(str(info.dtype), info.ndim, _dims(info, slots))


def _dims(info: TensorStructInfo, slots: dict[Var, int]) -> tuple[DimExpr, ...]:
    return tuple(to_dim_expr(d, slots) for d in info.shape.values)


def _bytes(at: int | PrimExpr, slots: dict[Var, int]) -> DimExpr:
    return at if isinstance(at, int) else to_dim_expr(at, slots)
