"""The kernel of a loop whose iterations change sizes: these are words of the workspace.

words[6] = first_n
while again:
    again = 0
    let n = words[6]:
        if n + 1 <= capacity:
            memory of the iteration, as large as n says:
                ...
                words[6] = n + 1; again = 1
results = the state; sizes = words[6:]
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.native_control.places import WHERE, WORDS, Place, Places, as_expr
from baton._src.lower.native_control.read_values import info_of
from baton._src.lower.native_control.steps import Repeat, Steps, Stretch
from baton._src.lower.native_control.write_kernel import KernelWriter, byte_size, copy_bytes
from baton._src.lower.relax_to_vm.abstract_values import Longer, Value
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.builders.extern_calls import ptr_add
from baton._src.tir.expr import EQ, NE, Select, literal
from baton._src.tir.stmt import Allocate, BufferStore, IfThenElse, LetStmt, SeqStmt, Stmt
from baton._src.values.dtype import INT64


class StretchWriter(KernelWriter):
    """Its results are the state before the iteration that it leaves to the machine, and the sizes that change."""

    def __init__(self, steps: Steps, places: Places, stretch: Stretch) -> None:
        super().__init__(steps, places)
        self.stretch = stretch

    def begin(self) -> list[Stmt]:
        sizes = [s for k, v in enumerate(self.stretch.starts.values(), WORDS) for s in self.set_word(k, v)]
        params, argument = self.steps.params, self.infos["argument"]
        appended = [
            copy_bytes(self.address(params[i]), self.place_address(Place("argument", i)), argument[i])
            for i in sorted(self.stretch.appended)
        ]
        return [*super().begin(), *sizes, *appended]

    def iteration(self, body: Stmt) -> Stmt:
        memory = Allocate(self.own, "uint8", [as_expr(self.places.iteration)], None, self.with_state(body))
        return self._with_sizes_now(IfThenElse(self.stretch.fits, memory))

    def end(self) -> list[Stmt]:
        """Return the state, which may be there already."""
        params, sizes = self.steps.params, self.buffers["result"][-1]
        moves = [
            copy_bytes(self._result(i), self.address(params[i]), params[i].info)
            for i in self.stretch.states
            if i not in self.stretch.appended
        ]
        stores = [BufferStore(sizes, v, (literal(k, INT64),)) for k, v in enumerate(self.stretch.starts)]
        elsewhere = IfThenElse(NE(self.word(WHERE), literal(2, INT64)), self.with_state(SeqStmt(tuple(moves))))
        return [self._with_sizes_now(SeqStmt((elsewhere, *stores)))]

    def buffer(self, index: int, which: PrimExpr) -> PrimExpr:
        """The second one is the result."""
        first = super().buffer(index, literal(1, INT64))
        return Select(EQ(which, literal(1, INT64)), first, self._result(index))

    def _result(self, index: int) -> PrimExpr:
        return self.place_address(Place("result", self.stretch.states.index(index)))

    def clear(self) -> list[Stmt]:
        """Nothing: a state is always complete."""
        return []

    def repeat(self, step: Repeat) -> list[Stmt]:
        found: list[Stmt] = []
        for index in sorted(self.stretch.appended):
            value = step.values[index]
            found += [self._behind(self.address(value.param), value)] if isinstance(value, Longer) else []
        found += super().repeat(step)
        for number, size in enumerate(self.stretch.starts, WORDS):
            found += self.set_word(number, step.sizes[size]) if size in step.sizes else []
        return found

    def move(self, value: Value, place: Place, info: TensorStructInfo) -> list[Stmt]:
        if not isinstance(value, Longer):
            return super().move(value, place, info)
        start = self.place_address(place)
        return [copy_bytes(start, self.address(value.param), info_of(value.param)), self._behind(start, value)]

    def _behind(self, start: PrimExpr, value: Longer) -> Stmt:
        """Copy a row behind those that begin there."""
        end = ptr_add(start, byte_size(info_of(value.param)))
        return copy_bytes(end, self.address(value.row), info_of(value.row))

    def _with_sizes_now(self, body: Stmt) -> Stmt:
        for number, size in reversed(list(enumerate(self.stretch.starts, WORDS))):
            body = LetStmt(size, self.word(number), body)
        return body
