"""The kernel of a loop that collects rows: it stops when the memory for them is full."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.lower.native_control.places import Place, Places
from baton._src.lower.native_control.steps import Chunk, Repeat, Steps
from baton._src.lower.native_control.write_kernel import KernelWriter, byte_size, copy_bytes
from baton._src.lower.relax_to_vm.abstract_values import Value
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.builders.extern_calls import ptr_add
from baton._src.tir.expr import LT, BufferLoad, literal
from baton._src.tir.operators import add, multiply
from baton._src.tir.stmt import BufferStore, IfThenElse, SeqStmt, Stmt
from baton._src.values.dtype import BOOL, INT64


class ChunkWriter(KernelWriter):
    """Its last results are the number of iterations, and whether there was no room for the row of one more."""

    def __init__(self, steps: Steps, places: Places, chunk: Chunk) -> None:
        super().__init__(steps, places)
        self.chunk = chunk
        self.count, self.full = self.buffers["result"][-2:]

    def begin(self) -> list[Stmt]:
        none, no = BufferStore(self.count, literal(0, INT64), ()), BufferStore(self.full, literal(False, BOOL), ())
        return [*super().begin(), none, no]

    def end(self) -> list[Stmt]:
        """If the room for rows is full, return the state."""
        params = self.steps.params
        moves = [
            copy_bytes(self.place_address(Place("result", k)), self.address(params[i]), params[i].info)
            for k, i in enumerate(self.chunk.states)
        ]
        return [IfThenElse(BufferLoad(self.full, ()), self.with_state(SeqStmt(tuple(moves))))]

    def repeat(self, step: Repeat) -> list[Stmt]:
        """Store this iteration's rows behind those before it, and go on; if there is no room for them, note that."""
        stores = self._stores(step.rows)
        counted = BufferStore(self.count, add(BufferLoad(self.count, ()), literal(1, INT64)), ())
        has_room = LT(BufferLoad(self.count, ()), self.chunk.capacity)
        further = SeqStmt((*stores, counted, *super().repeat(step)))
        return [IfThenElse(has_room, further, BufferStore(self.full, literal(True, BOOL), ()))]

    def _stores(self, rows: Sequence[Value]) -> list[Stmt]:
        stores = []
        for number, row in enumerate(rows, len(self.chunk.states)):
            info = self.steps.results[number]
            one = TensorStructInfo(ShapeExpr(info.shape.values[1:]), info.dtype)
            start = ptr_add(self.buffers["result"][number].data, multiply(BufferLoad(self.count, ()), byte_size(one)))
            stores.append(copy_bytes(start, self.address(row), one))
        return stores
