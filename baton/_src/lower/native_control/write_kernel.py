"""Write the steps of a function as one TIR function, which calls the kernels with addresses in its workspace.

where = 0; again = 1
while again:
    again = 0
    let current = (argument, workspace + 64, workspace + 128)[where], next = ...:
        kernel_a(current, workspace + 256)
        if workspace[256]:
            memcpy(result, ...)
        else:
            kernel_b(current, next); where = where == 1 ? 2 : 1; again = 1
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.native_control.parameters import over
from baton._src.lower.native_control.places import AGAIN, POLL, WHERE, Place, Places, Size, as_expr
from baton._src.lower.native_control.steps import (
    Check,
    Choose,
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
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.runtime.native.interrupts import FIRST_LOOK, POLL_SYMBOL
from baton._src.support.diagnostics import InternalError
from baton._src.support.trampoline import Task, run
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders.extern_calls import call_extern, ptr_add
from baton._src.tir.expr import EQ, NE, BufferLoad, Call, Select, StringImm, Var, literal
from baton._src.tir.kernel_abi import KernelABI
from baton._src.tir.operators import add, multiply, subtract
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore, Evaluate, IfThenElse, LetStmt, SeqStmt, Stmt, While
from baton._src.values.dtype import BOOL, HANDLE, INT32, INT64, DataType


class KernelWriter:
    """Writes the function: its arguments, then constants, results, the workspace, and the sizes that only shapes
    tell."""

    def __init__(self, steps: Steps, places: Places) -> None:
        self.steps = steps
        self.places = places
        self.signatures: dict[PrimFunc, KernelABI] = {}
        self.infos = {
            "argument": [steps.at_start(p.info) for p in steps.params],
            "constant": [c.struct_info_ for c in places.constants],
            "result": list(steps.results),
        }
        self.buffers = {
            space: [_buffer(f"{space[0]}{number}", info) for number, info in enumerate(infos)]
            for space, infos in self.infos.items()
        }
        self.workspace = decl_buffer((as_expr(places.total),), "uint8", "workspace")
        spaces = ("current", "next")
        self.states = {space: {i: Var(f"{space}_{i}", HANDLE) for i in places.buffers} for space in spaces}
        self.following = Var("following", INT64)
        """Where the state of the next iteration is."""
        self.own = Var("iteration", HANDLE)
        """The memory of one iteration, if it has memory of its own."""
        self.words = decl_buffer((places.words,), INT64, "words", data=self.workspace.data)

    def function(self) -> PrimFunc:
        body = run(self.sequence(self.steps.steps))
        if self.steps.repeats:
            again = NE(self.word(AGAIN), literal(0, INT64))
            loop = While(again, SeqStmt((*self.set_word(AGAIN, 0), self.iteration(body), *self.poll())))
            body = SeqStmt((*self.begin(), loop, *self.end()))
        buffers = [b for group in self.buffers.values() for b in group] + [self.workspace]
        handles = [Var(f"p{i}", HANDLE) for i in range(len(buffers))]
        attrs = {"tir.is_scheduled": True, "calls_kernels": True}
        return PrimFunc([*handles, *self.steps.sizes], body, None, dict(zip(handles, buffers)), attrs)

    def begin(self) -> list[Stmt]:
        """What to do before all iterations."""
        first = [(WHERE, 0), (AGAIN, 1), (POLL, FIRST_LOOK), (POLL + 1, FIRST_LOOK), (POLL + 2, 0)]
        return [s for word, value in first for s in self.set_word(word, value)]

    def iteration(self, body: Stmt) -> Stmt:
        """What is repeated."""
        return self.with_state(body)

    def with_state(self, body: Stmt) -> Stmt:
        """`body`, in which the memory of parameters that change has names."""
        where = self.word(WHERE)
        for index in self.places.buffers:
            argument = self.place_address(Place("argument", index))
            now = Select(EQ(where, literal(0, INT64)), argument, self.buffer(index, where))
            body = LetStmt(self.states["next"][index], self.buffer(index, self.following), body)
            body = LetStmt(self.states["current"][index], now, body)
        one = literal(1, INT64)
        return LetStmt(self.following, Select(EQ(where, one), literal(2, INT64), one), body)

    def buffer(self, index: int, which: PrimExpr) -> PrimExpr:
        """The address of the first or the second buffer of a parameter."""
        start, size = self.places.buffers[index]
        return self._at(add(as_expr(start), multiply(subtract(which, literal(1, INT64)), as_expr(size))))

    def end(self) -> list[Stmt]:
        """What to do after all iterations."""
        return []

    def poll(self) -> list[Stmt]:
        """Poll for signals at intervals: Ctrl-C ends a loop.

        Its results are then zeros, which later kernels can process safely (as indices, say) until the native call
        returns.
        """
        left = self.set_word(POLL, subtract(self.word(POLL), literal(1, INT64)))
        asked = call_extern("int64", POLL_SYMBOL, ptr_add(self.workspace.data, literal(8 * POLL, INT64)))
        stop = IfThenElse(NE(asked, literal(0, INT64)), SeqStmt((*self.set_word(AGAIN, 0), *self.clear())))
        return [*left, IfThenElse(EQ(self.word(POLL), literal(0, INT64)), stop)]

    def clear(self) -> list[Stmt]:
        """Fill the results with zeros."""
        infos = zip(self.buffers["result"], self.steps.results)
        return [Evaluate(call_extern("handle", "memset", b.data, literal(0, INT32), byte_size(i))) for b, i in infos]

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
                    found += self.move(value, self.places.of[merged], merged.info)
                case Repeat():
                    found += self.repeat(step)
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
                        found += self.move(value, Place("result", index), self.steps.results[index])
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

    def repeat(self, step: Repeat) -> list[Stmt]:
        """Hand the state over to the next iteration."""
        found: list[Stmt] = []
        for index in self.places.buffers:
            info = over(self.steps.params[index].info, step.sizes)
            found += self.move(step.values[index], Place("next", index), info)
        return [*found, *self.set_word(WHERE, self.following), *self.set_word(AGAIN, 1)]

    def move(self, value: Value, place: Place, info: TensorStructInfo) -> list[Stmt]:
        """Copy a value to its destination, unless it was computed there."""
        if self.places.of[memory_of(value)] == place:
            return []
        return [copy_bytes(self.place_address(place), self.address(value), info)]

    # ------------------------------------------------------------------------------------------- addresses

    def address(self, value: Value) -> PrimExpr:
        """The address of a tensor."""
        return self.place_address(self.places.of[memory_of(value)])

    def place_address(self, place: Place) -> PrimExpr:
        """The address of a place."""
        match place:
            case Place(space="workspace", at=at):
                return self._at(at)
            case Place(space="iteration", at=at):
                return ptr_add(self.own, as_expr(at))
            case Place(space="current" | "next" as space, at=int(index)):
                return self.states[space][index]
            case Place(space=space, at=int(index)):
                return self.buffers[space][index].data
            case _:
                pass
        raise InternalError(f"{place} is not a place of a tensor")

    def _at(self, offset: Size) -> PrimExpr:
        return ptr_add(self.workspace.data, as_expr(offset))

    def word(self, index: int) -> PrimExpr:
        """A word at the start of the workspace."""
        return BufferLoad(self.words, (literal(index, INT64),))

    def set_word(self, index: int, value: int | PrimExpr) -> list[Stmt]:
        """Store a word."""
        return [BufferStore(self.words, as_expr(value), (literal(index, INT64),))]


def _buffer(name: str, info: TensorStructInfo) -> Buffer:
    return decl_buffer(tuple(info.shape.values), DataType(info.dtype), name)


def copy_bytes(target: PrimExpr, source: PrimExpr, info: TensorStructInfo) -> Stmt:
    """Copy a tensor from one address to another."""
    return Evaluate(call_extern("handle", "memcpy", target, source, byte_size(info)))


def _demand(condition: CastCondition) -> Stmt:
    """End with an error unless a dim is what it has to be."""
    have, want = (as_int64(e) for e in (condition.found, condition.expected))
    return _demand_zero(subtract(have, want), f"{condition.place} is {{0}} = {have}, expected {want}", have)


def _demand_within(size: PrimExpr, most: PrimExpr | None, place: str) -> Stmt:
    """End with an error unless a size is at most so large, and not negative."""
    limit = literal(INT64.int_range[1], INT64) if most is None else add(as_int64(most), literal(1, INT64))
    operands = (as_int64(size), limit, StringImm(f"{place} is {{0}}"), as_int64(size))
    return Evaluate(Call(INT64, INDEX_WITHIN, operands))


def _demand_zero(value: PrimExpr, told: str, shown: PrimExpr | None = None) -> Stmt:
    """End with an error unless `value` is 0; `{0}` in what is told is the number to be shown."""
    operands = (value, literal(1, INT64), StringImm(told), value if shown is None else shown)
    return Evaluate(Call(INT64, INDEX_WITHIN, operands))


def byte_size(info: TensorStructInfo) -> PrimExpr:
    """The bytes of a tensor."""
    return as_expr(byte_count(info))
