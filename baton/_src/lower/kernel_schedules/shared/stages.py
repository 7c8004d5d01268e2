"""A kernel as schedule rules see it: a sequence of stages, each with one store per point of its axes.

`read_kernel(func)` recognises what `te.create_prim_func` and fusion produce: a root block with one loop nest per
computation. Anything else (scatter, sort, tuple reductions) becomes an `Opaque` stage and stays unchanged. Rules build
plain loops from stages; values are expressions over the axis variables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import pointer_arguments, viewed_buffers
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.dtype_limits import highest, lowest
from baton._src.tir.packed_calls import PACKED, calls_packed
from baton._src.tir.prim_func import PrimFunc

COMBINERS = (tir.Add, tir.Mul, tir.Max, tir.Min)
"""Associative and commutative updates: terms may be combined in any order."""


@dataclass(frozen=True, eq=False)
class Declined:
    """The reason why a rule does not apply."""

    reason: str


@dataclass(frozen=True, eq=False)
class Axis:
    """A variable that ranges over [0, extent)."""

    var: tir.Var
    extent: PrimExpr

    @property
    def size(self) -> int | None:
        """The extent if it is constant, else None."""
        return self.extent.value if isinstance(self.extent, tir.IntImm) else None


@dataclass(frozen=True, eq=False)
class Stage:
    """`buffer[spatial] = value`, or with reduced axes: `buffer[spatial] = init; buffer[spatial] op= value`.

    Spatial axes are the indices of the buffer, in order.
    """

    buffer: Buffer
    spatial: tuple[Axis, ...]
    value: PrimExpr
    reduce: tuple[Axis, ...] = ()
    combiner: type[tir.BinaryOp] | None = None
    init: PrimExpr | None = None

    @property
    def loads(self) -> list[tir.BufferLoad]:
        """Every load of the value."""
        return [n for n in post_order(self.value) if isinstance(n, tir.BufferLoad)]

    @property
    def reads(self) -> set[Buffer]:
        """The buffers the value loads from."""
        return {load.buffer for load in self.loads}

    @property
    def writes(self) -> set[Buffer]:
        return {self.buffer}

    @property
    def indices(self) -> tuple[PrimExpr, ...]:
        """The place of a point; in a row that is one element, 0."""
        return tuple(axis.var for axis in self.spatial) or (tir.IntImm("int64", 0),) * self.buffer.ndim

    def renamed(self) -> Stage:
        """The same stage with fresh variables."""
        fresh = {a.var: tir.Var(a.var.name, a.var.dtype) for a in (*self.spatial, *self.reduce)}
        return replace(
            self,
            spatial=tuple(Axis(fresh[a.var], a.extent) for a in self.spatial),
            reduce=tuple(Axis(fresh[a.var], a.extent) for a in self.reduce),
            value=substitute_and_fold(self.value, fresh),
        )

    def at(self, indices: tuple[PrimExpr, ...]) -> PrimExpr:
        """The value of an elementwise stage at other indices."""
        found: PrimExpr = substitute_and_fold(self.value, dict(zip((a.var for a in self.spatial), indices)))
        return found


@dataclass(frozen=True, eq=False)
class Opaque:
    """A statement that schedule rules leave unchanged."""

    stmt: st.Stmt
    reads: set[Buffer]
    writes: set[Buffer]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A PrimFunc as a list of stages; `local` are the buffers it allocates."""

    func: PrimFunc
    stages: tuple[Stage | Opaque, ...]
    local: tuple[Buffer, ...]

    def with_stage(self, stage: Stage, reader: Stage) -> Kernel:
        """The kernel with a further stage in front of the one that reads it."""
        place = self.stages.index(reader)
        stages = (*self.stages[:place], stage, *self.stages[place:])
        return replace(self, stages=stages, local=(*self.local, stage.buffer))

    def lasts(self, stage: Stage, reader: Stage) -> bool:
        """Whether nothing from a stage up to another one writes what the first one reads."""
        begin, end = self.stages.index(stage), self.stages.index(reader)
        return begin < end and all(s.writes.isdisjoint(stage.reads) for s in self.stages[begin:end])

    def rebuilt(self, body: st.Stmt, local: tuple[Buffer, ...] | None = None) -> PrimFunc:
        """Return the PrimFunc with another body, under a root block that allocates `local` (default: the buffers the
        body uses).
        """
        if local is None:
            inside = {n.buffer_var for n in post_order(body) if isinstance(n, st.Allocate)}
            used = {buffer.data for buffer in buffers_used(body)} | {*pointer_arguments(body)}
            local = tuple(b for b in self.local if b.data in used and b.data not in inside)
        root = st.Block((), (), (), "root", body, alloc_buffers=local)
        done = st.BlockRealize((), tir.IntImm("bool", 1), root)
        return self.func.with_fields(body=done).with_attr("tir.is_scheduled", True)


def buffers_used(body: st.Stmt) -> set[Buffer]:
    """Every buffer loaded from or stored to, or shown by a view."""
    accessed = {n.buffer for n in post_order(body) if isinstance(n, (tir.BufferLoad, st.BufferStore))}
    return accessed | viewed_buffers(body)


@lru_cache(maxsize=8)  # every rule reads the kernel
def read_kernel(func: PrimFunc) -> Kernel | Declined:
    """Return the stages of `func`, or why it has none; a function that is already scheduled is declined."""
    if func.attrs.get("tir.is_scheduled"):
        return Declined("it is scheduled already")
    root = func.body
    if not isinstance(root, st.BlockRealize) or root.block.iter_vars or root.block.match_buffers:
        return Declined("the body is not a root block")
    body = root.block.body
    stages: list[Stage | Opaque] = []
    sums: list[Buffer] = []
    known = {*func.buffer_map.values(), *root.block.alloc_buffers}
    for part in _flat(body):
        stage = _read_stage(part) or _opaque(part, known)
        if isinstance(stage, Stage) and stage.reduce and not _begins_alike(stage):
            of_terms, stage = _begun_apart(stage)
            stages.append(of_terms)
            sums.append(of_terms.buffer)
        stages.append(stage)
    return Kernel(func, tuple(stages), (*root.block.alloc_buffers, *sums))


def _flat(body: st.Stmt) -> list[st.Stmt]:
    """The statements in order, with nested sequences flattened."""
    found: list[st.Stmt] = []
    stack = [body]
    while stack:
        item = stack.pop()
        if isinstance(item, st.SeqStmt):
            stack += reversed(item.seq)
        else:
            found.append(item)
    return found


def _opaque(stmt: st.Stmt, known: set[Buffer]) -> Opaque:
    nodes = post_order(stmt)
    viewed = viewed_buffers(stmt)
    reads = {n.buffer for n in nodes if isinstance(n, tir.BufferLoad)} | viewed
    writes = {n.buffer for n in nodes if isinstance(n, st.BufferStore)} | viewed
    # Any buffer mentioned in another way (address_of, access_ptr, opaque calls) may be read and written.
    if any(isinstance(n, tir.Call) and not is_plain(n) for n in nodes):
        pointers = {*pointer_arguments(stmt)}
        mentioned = {n for n in nodes if isinstance(n, Buffer)} | {b for b in known if b.data in pointers}
        reads, writes = reads | mentioned, writes | mentioned
    return Opaque(stmt, reads, writes)


_POINTERS = frozenset(("tir.address_of", "tir.tvm_access_ptr", "tir.call_extern", "", *PACKED))


def is_plain(call: tir.Call) -> bool:
    """Whether a call only maps values to a value, so that it touches no buffer except through its argument loads."""
    return getattr(call.op, "name", "") not in _POINTERS


def _read_stage(stmt: st.Stmt) -> Stage | None:
    found = read_block(stmt)
    # Packed functions are called in the order that the program says.
    return None if found is None or calls_packed(found[0].body) else _read_store(*found)


def read_block(stmt: st.Stmt) -> tuple[st.Block, dict[tir.Var, tuple[Axis, str]]] | None:
    """The block inside a nest of plain loops, one per axis, and its axes with their kinds by variable."""
    loops: list[st.For] = []
    item = stmt
    while isinstance(item, st.For):
        if item.kind is not st.ForKind.SERIAL or not _is_zero(item.min) or item.annotations:
            return None
        loops.append(item)
        item = item.body
    if not isinstance(item, st.BlockRealize) or not _is_zero(ops.subtract(1, ops.cast("int32", item.predicate))):
        return None
    block = item.block
    if block.alloc_buffers or block.match_buffers or len(block.iter_vars) != len(loops):
        return None
    by_var = {loop.loop_var: loop for loop in loops}
    axes: dict[tir.Var, tuple[Axis, str]] = {}
    for iter_var, value in zip(block.iter_vars, item.iter_values):
        loop = by_var.pop(value, None) if isinstance(value, tir.Var) else None
        if loop is None or iter_var.dom is None or not _is_zero(iter_var.dom.min):
            return None
        if _is_ragged(iter_var.dom.extent, loops) or not _is_same(loop.extent, iter_var.dom.extent):
            return None
        axes[iter_var.var] = (Axis(iter_var.var, iter_var.dom.extent), iter_var.iter_type)
    return block, axes


def _is_same(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, tir.IntImm) and isinstance(b, tir.IntImm):
        return a.value == b.value
    return structural_equal(a, b) or Analyzer().can_prove_equal(as_int64(a), as_int64(b))


def _is_ragged(extent: PrimExpr, loops: list[st.For]) -> bool:
    """Whether the extent differs between iterations of an outer loop: rules move loops, and compute extents before
    them.
    """
    varying = {loop.loop_var for loop in loops}
    return any(isinstance(n, tir.BufferLoad) or n in varying for n in post_order(extent))


def _read_store(block: st.Block, axes: dict[tir.Var, tuple[Axis, str]]) -> Stage | None:
    store = block.body
    if not isinstance(store, st.BufferStore):
        return None
    spatial: list[Axis] = []
    for index, dim in zip(store.indices, store.buffer.shape):
        if not (isinstance(index, tir.Var) and index in axes and axes[index][1] == "spatial"):
            return None
        axis = axes[index][0]
        if not _is_same(axis.extent, dim):
            return None  # rules take the axes for the dims of the buffer
        spatial.append(axis)
    if len({a.var for a in spatial}) != len(spatial):
        return None
    reduce = tuple(axis for axis, kind in axes.values() if kind == "reduce")
    if len(spatial) + len(reduce) != len(axes):
        return None
    if not reduce:
        if block.init is not None or any(True for _ in _loads(store.value, store.buffer)):
            return None
        return Stage(store.buffer, tuple(spatial), store.value)
    return _read_reduction(block, store, tuple(spatial), reduce)


def _read_reduction(
    block: st.Block, store: st.BufferStore, spatial: tuple[Axis, ...], reduce: tuple[Axis, ...]
) -> Stage | None:
    update, init = store.value, block.init
    if not isinstance(init, st.BufferStore) or init.buffer is not store.buffer or not isinstance(update, COMBINERS):
        return None
    if not all(a is b for a, b in zip(init.indices, store.indices)) or _loads(init.value, store.buffer):
        return None
    first, second = update.a, update.b
    if not _is_self(first, store):
        first, second = second, first
    if not _is_self(first, store) or any(_loads(second, store.buffer)):
        return None
    return Stage(store.buffer, spatial, second, reduce, type(update), init.value)


def _begins_alike(stage: Stage) -> bool:
    """Whether a reduction begins with the same number everywhere."""
    axes = {a.var for a in stage.spatial}
    return not any(isinstance(n, tir.BufferLoad) or n in axes for n in post_order(stage.init))


def _begun_apart(stage: Stage) -> tuple[Stage, Stage]:
    """A reduction that begins with other data: its terms alone, and what they are combined with afterwards."""
    dtype, combiner = stage.buffer.dtype, stage.combiner
    assert stage.init is not None
    assert combiner is not None
    starts = {
        tir.Add: ops.const(0, dtype),
        tir.Mul: ops.const(1, dtype),
        tir.Max: lowest(dtype),
        tir.Min: highest(dtype),
    }
    name = f"{stage.buffer.name}_terms"
    shape = tuple(a.extent for a in stage.spatial)
    buffer = Buffer(tir.Var(name, "handle", pointee=dtype), dtype, shape, name=name)
    terms = replace(stage, buffer=buffer, init=starts[combiner]).renamed()
    value = combiner(stage.init, tir.BufferLoad(buffer, stage.indices))
    return terms, Stage(stage.buffer, stage.spatial, value)


def _is_self(expr: PrimExpr, store: st.BufferStore) -> bool:
    return (
        isinstance(expr, tir.BufferLoad)
        and expr.buffer is store.buffer
        and all(a is b or structural_equal(a, b) for a, b in zip(expr.indices, store.indices))
    )


def _loads(expr: PrimExpr, buffer: Buffer) -> list[tir.BufferLoad]:
    return [n for n in post_order(expr) if isinstance(n, tir.BufferLoad) and n.buffer is buffer]


def _is_zero(expr: PrimExpr) -> bool:
    return isinstance(expr, tir.IntImm) and expr.value == 0
