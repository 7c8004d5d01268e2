"""Views of blocks (`match_buffers`): names for boxes of a buffer, under which a block uses its elements.

    A_view = T.match_buffer(A[vi, 0:8], (8,))       A_view[k] is A[vi, k]

Primitives that take a block's statement apart let it use the buffers themselves; others leave its views to it.
"""

from __future__ import annotations

from collections.abc import Iterable

from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import pointer_arguments, through_views
from baton._src.tir.analysis.vector_rows import runs_past_row
from baton._src.tir.buffer import Buffer
from baton._src.tir.schedule.tree import find_block, refuse, replace


def without_views(root: st.Stmt, name: str) -> st.Stmt:
    """`root` with the block `name` using buffers themselves in place of its views of them.

    Error `schedule`: it uses a view as a whole, through its pointer or its strides.
    """
    realize = find_block(root, name)
    block = realize.block
    if not block.match_buffers:
        return root
    init = None if block.init is None else of_buffers(block, block.init)
    made = block.with_fields(match_buffers=(), body=of_buffers(block, block.body), init=init)
    return replace(root, {realize: realize.with_fields(block=made)})


def of_buffers(block: st.Block, part: st.Stmt) -> st.Stmt:
    """The block's body or initialisation, with buffers themselves in place of the block's views. Errors as above."""
    for view in block.match_buffers:
        for node in post_order(part):
            accessed = isinstance(node, tir.BufferLoad | st.BufferStore) and node.buffer is view.buffer
            if accessed and runs_past_row(view.buffer, node.indices):
                raise _used_as_a_whole(block, view.buffer)
    found = through_views(part, block.match_buffers)
    left = set(post_order(found)) if block.match_buffers else set()
    for view in block.match_buffers:
        if not left.isdisjoint((view.buffer, *defined_by(view))):
            raise _used_as_a_whole(block, view.buffer)
    return found


def defined_by(view: st.MatchBufferRegion) -> list[tir.Var]:
    """The pointer of a view, and the variables that stand for its sizes, strides and offset."""
    buffer = view.buffer
    stated = set(post_order(view.source))
    left_open = [part for part in (*buffer.shape, *buffer.strides, buffer.elem_offset) if isinstance(part, tir.Var)]
    return [buffer.data, *(part for part in left_open if part not in stated)]


def _used_as_a_whole(block: st.Block, view: Buffer) -> Exception:
    return refuse(f"block {block.name_hint} uses {view.name}, a view, as a whole: by its pointer, strides or rows")


def require_own_accesses(root: st.Stmt, buffer: Buffer) -> None:
    """Refuse a buffer of which more is used than its elements under its name: views show it, or its pointer is passed
    on.
    """
    if buffer.data in pointer_arguments(root):
        raise refuse(f"the pointer of {buffer.name} is used, which has to stay in memory")
    for view in [v for n in st.statements(root) if isinstance(n, st.Block) for v in n.match_buffers]:
        if buffer in (view.buffer, view.source.buffer):
            raise refuse(f"{view.buffer.name} is a view of {view.source.buffer.name}, which has to stay in memory")


def require_one_name(root: st.Stmt) -> None:
    """Refuse a program in which blocks in a block with views change memory that has two names there: which of them
    depend on which is told by the names.
    """
    blocks = [n for n in st.statements(root) if isinstance(n, st.Block)]
    for block in blocks:
        if block.match_buffers and any(isinstance(n, st.Block) for n in st.statements(block.body)):
            _require_one_name_in(block)


def _require_one_name_in(block: st.Block) -> None:
    shown = {view.buffer: view.source.buffer for view in block.match_buffers}
    written, used = _names(block.body)
    for name in used:
        for other in written:
            if name is not other and _behind(shown, name) is _behind(shown, other):
                raise refuse(f"blocks in block {block.name_hint} use {name.name} as {other.name}, too, and change it")


def _names(body: st.Stmt) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers that blocks inside write, and those that they use; views of their own are what these show."""
    nodes = post_order(body)
    own = {v.buffer: v.source.buffer for n in nodes if isinstance(n, st.Block) for v in n.match_buffers}
    pointers = set(pointer_arguments(body))
    named = {n for n in nodes if isinstance(n, Buffer)}
    written = {n.buffer for n in nodes if isinstance(n, st.BufferStore)} | {b for b in named if b.data in pointers}
    written |= {region.buffer for n in nodes if isinstance(n, st.Block) for region in n.writes}
    return _all_behind(own, written), _all_behind(own, named)


def _all_behind(shown: dict[Buffer, Buffer], buffers: Iterable[Buffer]) -> set[Buffer]:
    return {_behind(shown, buffer) for buffer in buffers}


def _behind(shown: dict[Buffer, Buffer], buffer: Buffer) -> Buffer:
    while buffer in shown:
        buffer = shown[buffer]
    return buffer
