"""Write the steps of a function as one TIR function, which calls the kernels with addresses in its workspace.

again[0] = 1
while again[0]:
    again[0] = 0
    kernel_a(current(x), workspace + 256)
    if workspace[256]:
        memcpy(result, ...)
    else:
        kernel_b(current(x), next(x)); half[0] ^= 1; again[0] = 1
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.native_control.places import Place, Places, Size, as_expr
from baton._src.lower.native_control.steps import (
    Check,
    Choose,
    Chunk,
    Compute,
    Keep,
    Read,
    Refuse,
    Repeat,
    Return,
    Step,
    Steps,
    Within,
)
from baton._src.lower.relax_to_vm.abstract_values import KernelCall, Value, memory_of
from baton._src.lower.relax_to_vm.cast_conditions import CastCondition
from baton._src.lower.relax_to_vm.kernel_arguments import byte_count, c_arguments
from baton._src.lower.relax_to_vm.kernel_calls import call_statements
from baton._src.passes.tir.lowering.check_indices import INDEX_WITHIN
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.native.interrupts import FIRST_LOOK, POLL_SYMBOL, POLL_WORDS
from baton._src.support.diagnostics import InternalError
from baton._src.support.trampoline import Task, run
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders.extern_calls import call_extern, ptr_add
from baton._src.tir.expr import EQ, LT, NE, BufferLoad, Call, StringImm, Var, literal
from baton._src.tir.kernel_abi import KernelABI
from baton._src.tir.operators import add, multiply, subtract
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, Evaluate, IfThenElse, LetStmt, SeqStmt, Stmt, While
from baton._src.values.dtype import BOOL, HANDLE, INT32, INT64, DataType

HALF, AGAIN, POLL = 0, 1, 2
"""The words at the start of the workspace; from `POLL` on those of `runtime.native.interrupts`."""


def write_kernel(steps: Steps, places: Places) -> PrimFunc:
    """The function: its arguments, then constants, results, the workspace, and the sizes that only shapes tell."""
    return _Writer(steps, places).function()


class _Writer:
    def __init__(self, steps: Steps, places: Places) -> None:
        self.steps = steps
        self.places = places
        self.signatures: dict[PrimFunc, KernelABI] = {}
        self.buffers = {
            "argument": [_buffer(f"a{i}", p.info) for i, p in enumerate(steps.params)],
            "constant": [_buffer(f"c{i}", c.struct_info_) for i, c in enumerate(places.constants)],
            "result": [_buffer(f"r{i}", info) for i, info in enumerate(steps.results)],
        }
        self.workspace = decl_buffer((as_expr(places.total),), "uint8", "workspace")
        self.words = decl_buffer((POLL + POLL_WORDS,), INT64, "words", data=self.workspace.data)

    def function(self) -> PrimFunc:
        body = run(self.sequence(self.steps.steps))
        if self.steps.repeats:
            start = [
                _copy(
                    self._address(Place("current", i)), self._address(Place("argument", i)), self.steps.params[i].info
                )
                for i in self._changing()
            ]
            again = NE(self._word(AGAIN), literal(0, INT64))
            before, after = self._around_chunk()
            loop = While(again, SeqStmt((*self._set(AGAIN, 0), body, *self._poll())))
            first = [(HALF, 0), (AGAIN, 1), (POLL, FIRST_LOOK), (POLL + 1, FIRST_LOOK), (POLL + 2, 0)]
            begin = [s for word, value in first for s in self._set(word, value)]
            body = SeqStmt((*begin, *start, *before, loop, *after))
        buffers = [b for group in self.buffers.values() for b in group] + [self.workspace]
        handles = [Var(f"p{i}", HANDLE) for i in range(len(buffers))]
        attrs = {"tir.is_scheduled": True, "calls_kernels": True}
        return PrimFunc([*handles, *self.steps.sizes], body, None, dict(zip(handles, buffers)), attrs)

    def _around_chunk(self) -> tuple[list[Stmt], list[Stmt]]:
        """What to do before all iterations and after them: where rows are collected, the number of iterations is
        counted, and if the room for their rows is full the state is returned."""
        chunk = self.steps.chunk
        if chunk is None:
            return [], []
        count, full = self.buffers["result"][-2:]
        before: list[Stmt] = [BufferStore(count, literal(0, INT64), ()), BufferStore(full, literal(False, BOOL), ())]
        moves = [
            _copy(self._address(Place("result", k)), self.address(self.steps.params[i]), self.steps.params[i].info)
            for k, i in enumerate(chunk.states)
        ]
        return before, [IfThenElse(BufferLoad(full, ()), SeqStmt(tuple(moves)))]

    def _if_room(self, chunk: Chunk, rows: Sequence[Value], further: list[Stmt]) -> Stmt:
        """Store this iteration's rows behind those before it, and go on; if there is no room for them, note that."""
        count, full = self.buffers["result"][-2:]
        stores = []
        for number, row in enumerate(rows, len(chunk.states)):
            info = self.steps.results[number]
            one = TensorStructInfo(ShapeExpr(info.shape.values[1:]), info.dtype)
            start = ptr_add(self.buffers["result"][number].data, multiply(BufferLoad(count, ()), _bytes(one)))
            stores.append(_copy(start, self.address(row), one))
        counted = BufferStore(count, add(BufferLoad(count, ()), literal(1, INT64)), ())
        has_room = LT(BufferLoad(count, ()), chunk.capacity)
        return IfThenElse(has_room, SeqStmt((*stores, counted, *further)), BufferStore(full, literal(True, BOOL), ()))

    def _poll(self) -> list[Stmt]:
        """Poll for signals at intervals: Ctrl-C ends a loop.

        Its results are then zeros, which later kernels can process safely (as indices, say) until the native call
        returns.
        """
        left = BufferStore(self.words, subtract(self._word(POLL), literal(1, INT64)), (literal(POLL, INT64),))
        asked = call_extern("int64", POLL_SYMBOL, ptr_add(self.workspace.data, literal(8 * POLL, INT64)))
        infos = zip(self.buffers["result"], self.steps.results)
        cleared = [Evaluate(call_extern("handle", "memset", b.data, literal(0, INT32), _bytes(i))) for b, i in infos]
        stop = IfThenElse(NE(asked, literal(0, INT64)), SeqStmt((*self._set(AGAIN, 0), *cleared)))
        return [left, IfThenElse(EQ(self._word(POLL), literal(0, INT64)), stop)]

    # ------------------------------------------------------------------------------------------- steps

    def sequence(self, steps: Sequence[Step]) -> Task[Stmt]:
        """The statements of a sequence."""
        found: list[Stmt] = []
        for number, step in enumerate(steps, 1):
            match step:
                case Compute(call=call):
                    found += self._compute(call)
                case Choose(condition=condition, then_steps=first, else_steps=second):
                    then_case: Stmt = yield self.sequence(first)
                    else_case: Stmt = yield self.sequence(second)
                    found.append(self._choose(condition, then_case, else_case))
                case Keep(value=value, merged=merged):
                    found += self._move(value, self.places.of[merged], merged.info)
                case Repeat():
                    found += self._repeat(step)
                case Read():
                    rest: Stmt = yield self.sequence(steps[number:])
                    found.append(self._with_sizes(step, rest))
                    break
                case Within(size=size, most=most, place=place):
                    found.append(_demand_within(size, most, place))
                case Check(conditions=conditions):
                    found += [_demand(c) for c in conditions]
                case Refuse(reason=reason):
                    found.append(_demand_zero(literal(1, INT64), reason.replace("{", "{{").replace("}", "}}")))
                case Return(values=values):
                    for index, value in enumerate(values):
                        found += self._move(value, Place("result", index), self.steps.results[index])
        return found[0] if len(found) == 1 else SeqStmt(tuple(found))

    def _compute(self, call: KernelCall) -> list[Stmt]:
        arguments = c_arguments(call, self.signatures)
        tensors = [self.address(v) for v in (*call.args, *call.results)]
        operands = [tensors[k] if k >= 0 else arguments.scalars[-k - 1] for k in arguments.order]
        return call_statements(call, operands)

    def _choose(self, condition: Value, then_case: Stmt, else_case: Stmt) -> Stmt:
        pointer = Var("condition", HANDLE)
        flag = decl_buffer((1,), BOOL, "flag", data=pointer)
        test = BufferLoad(flag, (literal(0, INT64),))
        return LetStmt(pointer, self.address(condition), IfThenElse(test, then_case, else_case))

    def _with_sizes(self, read: Read, body: Stmt) -> Stmt:
        """`body`, in which the elements of a tensor have names."""
        pointer = Var("sizes", HANDLE)
        elements = decl_buffer((max(len(read.sizes), 1),), read.dtype, "elements", data=pointer)
        for place, size in reversed(list(enumerate(read.sizes))):
            body = LetStmt(size, as_int64(BufferLoad(elements, (literal(place, INT64),))), body)
        return LetStmt(pointer, self.address(read.tensor), body)

    def _repeat(self, step: Repeat) -> list[Stmt]:
        found: list[Stmt] = []
        for index in self._changing():
            found += self._move(step.values[index], Place("next", index), self.steps.params[index].info)
        found.append(BufferStore(self.words, subtract(literal(1, INT64), self._word(HALF)), (literal(HALF, INT64),)))
        found += self._set(AGAIN, 1)
        return found if self.steps.chunk is None else [self._if_room(self.steps.chunk, step.rows, found)]

    def _move(self, value: Value, place: Place, info: TensorStructInfo) -> list[Stmt]:
        """Copy a value to its destination, unless it was computed there."""
        if self.places.of[memory_of(value)] == place:
            return []
        return [_copy(self._address(place), self.address(value), info)]

    # ------------------------------------------------------------------------------------------- addresses

    def address(self, value: Value) -> PrimExpr:
        """The address of a tensor."""
        return self._address(self.places.of[memory_of(value)])

    def _address(self, place: Place) -> PrimExpr:
        match place:
            case Place(space="workspace", at=at):
                return self._at(at)
            case Place(space="current" | "next" as space, at=int(index)):
                return self._state(index, space == "next")
            case Place(space=space, at=int(index)):
                return self.buffers[space][index].data
            case _:
                pass
        raise InternalError(f"{place} is not a place of a tensor")

    def _state(self, index: int, next_half: bool) -> PrimExpr:
        """The half of parameter `index`'s double buffer that is current, or the other one."""
        start, size = self.places.buffers[index]
        half = self._word(HALF)
        chosen = subtract(literal(1, INT64), half) if next_half else half
        return self._at(add(as_expr(start), multiply(chosen, as_expr(size))))

    def _at(self, offset: Size) -> PrimExpr:
        return ptr_add(self.workspace.data, as_expr(offset))

    def _changing(self) -> list[int]:
        return list(self.places.buffers)

    def _word(self, index: int) -> PrimExpr:
        return BufferLoad(self.words, (literal(index, INT64),))

    def _set(self, index: int, value: int) -> list[Stmt]:
        return [BufferStore(self.words, literal(value, INT64), (literal(index, INT64),))]


def _buffer(name: str, info: TensorStructInfo) -> Buffer:
    return decl_buffer(tuple(info.shape.values), DataType(info.dtype), name)


def _copy(target: PrimExpr, source: PrimExpr, info: TensorStructInfo) -> Stmt:
    return Evaluate(call_extern("handle", "memcpy", target, source, _bytes(info)))


def _demand(condition: CastCondition) -> Stmt:
    """End with an error unless a dim is what it has to be."""
    have, want = (as_int64(e) for e in (condition.found, condition.expected))
    return _demand_zero(subtract(have, want), f"{condition.place} is {{0}} = {have}, expected {want}", have)


def _demand_within(size: PrimExpr, most: PrimExpr, place: str) -> Stmt:
    """End with an error unless a size is at most so large, and not negative."""
    operands = (as_int64(size), add(as_int64(most), literal(1, INT64)), StringImm(f"{place} is {{0}}"), as_int64(size))
    return Evaluate(Call(INT64, INDEX_WITHIN, operands))


def _demand_zero(value: PrimExpr, told: str, shown: PrimExpr | None = None) -> Stmt:
    """End with an error unless `value` is 0; `{0}` in what is told is the number to be shown."""
    operands = (value, literal(1, INT64), StringImm(told), value if shown is None else shown)
    return Evaluate(Call(INT64, INDEX_WITHIN, operands))


def _bytes(info: TensorStructInfo) -> PrimExpr:
    return as_expr(byte_count(info))
