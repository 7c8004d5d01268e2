"""A PrimFunc seen as stages: loop nests that each write one buffer, one element at a time (what `te` makes).

    for i, j: block B: B[i, j] = exp(A[i, j])        Stage(buffer=B, indices=(v_i, v_j), value=exp(A[v_i, v_j]))

Passes that merge kernels look at these instead of at loops; a statement of any other form is no stage.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.operators import is_const
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, Stmt, stmt_list


@dataclass(frozen=True, slots=True)
class Stage:
    """`buffer[indices] = value` for all `variables` (block axes, spatial and reduced), after `init` if it reduces."""

    statement: Stmt
    block: Block
    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    value: PrimExpr
    variables: tuple[Var, ...]
    reduces: bool

    @property
    def covers_buffer(self) -> bool:
        """Whether each element of the buffer is written exactly once: the indices are the axes, over the shape."""
        axes = self.block.iter_vars
        if self.reduces or len(axes) != len(self.indices) or len(set(self.indices)) != len(self.indices):
            return False
        extents = {axis.var: axis.dom for axis in axes}
        for index, dim in zip(self.indices, self.buffer.shape):
            dom = extents.get(index) if isinstance(index, Var) else None
            if dom is None or not is_const(dom.min, 0) or not (dom.extent is dim or structural_equal(dom.extent, dim)):
                return False
        return True


def root_block(function: PrimFunc) -> Block | None:
    """The block around the whole body (it allocates the intermediate buffers), if there is one."""
    body = function.body
    if isinstance(body, BlockRealize) and not body.block.iter_vars and not body.block.match_buffers:
        return body.block
    return None


def kernel_stages(function: PrimFunc) -> list[Stage]:
    """The stages of a PrimFunc in order; empty if anything in it is no stage."""
    root = root_block(function)
    if root is None or root.init is not None:
        return []
    found = [read_stage(s) for s in stmt_list(root.body)]
    return [s for s in found if s is not None] if None not in found else []


def read_stage(statement: Stmt) -> Stage | None:
    """A loop nest as a stage, or None if it is of another form."""
    loops: list[Var] = []
    at = statement
    while isinstance(at, For):
        if at.kind is not ForKind.SERIAL or at.annotations or at.thread_binding is not None or not is_const(at.min, 0):
            return None
        loops.append(at.loop_var)
        at = at.body
    if not isinstance(at, BlockRealize) or not is_const(at.predicate, 1):
        return None
    block = at.block
    plain = len(at.iter_values) == len(loops) and all(v is loop for v, loop in zip(at.iter_values, loops))
    if not plain or block.alloc_buffers or block.match_buffers or not isinstance(block.body, BufferStore):
        return None
    store = block.body
    axes = tuple(axis.var for axis in block.iter_vars)
    reduces = block.init is not None or any(axis.iter_type != "spatial" for axis in block.iter_vars)
    return Stage(statement, block, store.buffer, store.indices, store.value, axes, reduces)
