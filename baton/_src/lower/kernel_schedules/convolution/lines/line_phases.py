"""Convolutions of few channels (channels first) over whole lines: each line is packed once for all its taps.

    Y[n, oc, .., i] = sum over k, r of W[oc, k, r] * X[n, .., i * s + r * d - b]        k: (ic, kh), r: taps of a line

`conv2d` packs the line anew for each tap, which takes as long as six output channels: much, if there are only 32. Here
it is split once into its phases (`line_pieces`), in pieces as many vectors wide as the tiles. A tile has all points of
a piece for a few output channels.

It pays (`conv_costs`) where the points of a line nearly fill their vectors: unlike the panels of `conv2d`, pieces end
with their line.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.convolution.conv2d import roles_of
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan, by_line_phases, count
from baton._src.lower.kernel_schedules.convolution.conv_window import read_windows, with_border_inside
from baton._src.lower.kernel_schedules.convolution.lines.line_pieces import (
    Lines,
    Packed,
    Piece,
    over_lines,
    pack,
    pieces_of,
    sees_every_line,
)
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, tile_shape
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    loop,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc

Vector = Callable[[int, int, PrimExpr, tir.Var], st.Stmt]
"""What is done for a vector of a tile: its row, its number, the place of its lane in the piece, and the lane."""

MOST_TAPS = 8
"""Most taps of a line, which are unrolled."""
MOST_STRIDE = 4
"""Most phases that are split by whole vectors and shuffles."""
MOST_VECTORS = 8
"""Of a tile's width."""
LINES_A_THREAD = 4
"""Lines per thread that balance the threads; with fewer, threads also divide the output channels."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    found = plan(func, target)
    return found if isinstance(found, Declined) else found.make()


def plan(func: PrimFunc, target: Target) -> Plan | Declined:
    """The cost of this rule, and how to apply it."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = _read(inline_elementwise(kernel), target)
    if isinstance(found, Declined):
        return found
    smaller, conv = found
    if Packed.of(conv, _usual_tile(conv, target)[0]).bytes > target.cpu.l2_bytes // 8:
        return Declined("too many channels to keep all they see of a line in cache")

    def make() -> PrimFunc:
        return smaller.rebuilt(surrounded(smaller, conv.origin, _emit(conv, _tile(conv, target), target), target))

    terms, channels = count(conv.anchored.stage.reduce), count((conv.channel,))
    return Plan(by_line_phases(count(conv.outer), terms, channels, conv.points, conv.lanes), make)


# ---------------------------------------------------------------------------------------------------- reading


def _read(kernel: Kernel, target: Target) -> tuple[Kernel, Lines] | Declined:
    found = find_anchor(kernel, lambda s: not isinstance(roles_of(s), Declined))
    if found is None:
        return Declined("no stage is a convolution with channels first")
    roles = roles_of(found.stage)
    assert not isinstance(roles, Declined)
    channel, points, weight, _ = roles
    kernel, stage = with_border_inside(kernel, found.stage)
    anchored = Anchored(stage, found.epilogue)
    value = stage.value
    assert isinstance(value, tir.Mul)
    data = value.b if value.a is weight else value.a
    seen = read_windows(stage, data, points)
    if seen is None or not isinstance(weight, tir.BufferLoad):
        return Declined("the window's borders are none that are known, or a factor is converted")
    load, windows = seen
    lanes = tile_shape(target, stage.buffer.dtype).lanes
    conv = Lines(anchored, anchored, channel, tuple(windows[:-1]), windows[-1], stage.reduce[:-1], load, weight, lanes)
    reason = _reason_against(conv, stage)
    return (kernel, conv) if reason is None else Declined(reason)


def _reason_against(conv: Lines, stage: Stage) -> str | None:
    window, load = conv.window, conv.data
    dtype = stage.buffer.dtype
    if not dtype.is_float or dtype.bits < 32 or load.dtype != dtype or conv.weight.dtype != dtype:
        return "elements are converted"
    if window.tap is not stage.reduce[-1] or not 2 <= window.taps <= MOST_TAPS or window.stride > MOST_STRIDE:
        return "taps of a line share nothing, or are too many"
    if window.axis.size is None or conv.channel.size is None or any(a.size is None for a in conv.inner):
        return "symbolic sizes"
    apart = all(not depends(i, window.axis.var) for i in load.indices[:-1])
    if load.buffer.strides or conv.weight.buffer.strides or not apart:
        return "lines are not contiguous"
    return None


# ----------------------------------------------------------------------------------------------------- tiling


def _tile(conv: Lines, target: Target) -> tuple[int, int]:
    """(vectors, rows) of a tile: the usual ones, or what tuning found better."""
    vectors = -(-conv.points // conv.lanes)
    wide = tuned("piece_vectors", _usual_tile(conv, target)[0], range(1, min(MOST_VECTORS, vectors) + 1))
    return wide, tuned("piece_rows", _rows_for(conv, wide, target), range(1, _most_rows(wide, target) + 1))


def _usual_tile(conv: Lines, target: Target) -> tuple[int, int]:
    """The tile that takes the fewest steps, by arithmetic and by loads."""
    vectors, channels = -(-conv.points // conv.lanes), count((conv.channel,))

    def cost(wide: int) -> float:
        pieces, tiles = -(-vectors // wide), -(-channels // _rows_for(conv, wide, target))
        return pieces * (channels * wide + 0.5 * (channels + tiles * wide))

    best = min(range(1, min(MOST_VECTORS, vectors) + 1), key=lambda n: (cost(n), -n))
    return best, _rows_for(conv, best, target)


def _rows_for(conv: Lines, wide: int, target: Target) -> int:
    """As many as there are registers for, or fewer if that leaves none."""
    most, channels = _most_rows(wide, target), count((conv.channel,))
    return next((rows for rows in range(most, most // 2, -1) if channels % rows == 0), most)


def _most_rows(wide: int, target: Target) -> int:
    return max(1, (target.cpu.vector_registers - 1 - wide) // wide)


# ------------------------------------------------------------------------------------------------------ loops


def _emit(conv: Lines, shape: tuple[int, int], target: Target) -> st.Stmt:
    vectors, rows = shape
    share = _share(conv, rows, target.num_cores)
    parts = []
    for piece in pieces_of(conv.window, vectors * conv.lanes):
        which = index_var("piece")
        start = ops.add(ops.multiply(which, i64(piece.points)), i64(piece.start))
        body = _piece(conv, piece, rows, share, start if piece.repeats > 1 else i64(piece.start))
        parts.append(loop(which, piece.repeats, body) if piece.repeats > 1 else body)
    work = product([a.extent for a in (conv.channel, *conv.anchored.stage.reduce)])
    work = ops.floordiv(ops.multiply(work, i64(-(-conv.points // conv.lanes))), as_int64(share.extent))
    axes = (*conv.outer, share) if share.size != 1 else conv.outer
    return parallel_rows(axes, work, sequence(*parts), target.num_cores)


def _share(conv: Lines, rows: int, threads: int) -> Axis:
    """Parts of the output channels, where lines are too few for all threads: each packs the line for itself."""
    enough = threads <= 1 or count(conv.outer) >= LINES_A_THREAD * threads
    tiles = (conv.channel.size or 0) // rows
    return Axis(index_var("share"), i64(1 if enough else max(1, min(threads, tiles))))


def _piece(conv: Lines, piece: Piece, rows: int, share: Axis, start: PrimExpr) -> st.Stmt:
    """Pack what a piece sees, then its tiles in this share of the channels."""
    vectors = -(-piece.points // conv.lanes)
    packed = Packed.of(conv, vectors)
    channels = conv.channel.size
    assert channels is not None
    parts = [pack(conv, piece, packed, start)]
    full, rest = divmod(channels, rows)
    shares = share.size or 1
    if full:
        tile, limits = index_var("tile"), (share.var, ops.add(share.var, i64(1)))
        begin, end = (ops.floordiv(ops.multiply(n, i64(full)), i64(shares)) for n in limits)
        begin, end = (begin, end) if shares > 1 else (i64(0), i64(full))
        first = ops.multiply(ops.add(begin, tile), i64(rows))
        every = _Tile(conv, piece, packed, rows, first, start).emit()
        parts.append(loop(tile, ops.subtract(end, begin), every))
    if rest:
        last = _Tile(conv, piece, packed, rest, i64(full * rows), start).emit()
        parts.append(last if shares == 1 else st.IfThenElse(tir.EQ(share.var, i64(shares - 1)), last))
    return allocated(packed.buffer, sequence(*parts))


class _Tile:
    """`rows` output channels from `first` on, at all points of a piece that begins at `start`."""

    def __init__(self, conv: Lines, piece: Piece, packed: Packed, rows: int, first: PrimExpr, start: PrimExpr) -> None:
        self.conv, self.piece, self.packed = conv, piece, packed
        self.rows, self.first, self.start = rows, first, start
        self.vectors = -(-piece.points // conv.lanes)
        self.acc = Accumulators.of(rows, self.vectors * conv.lanes, conv.anchored.stage.buffer.dtype)

    def emit(self) -> st.Stmt:
        init = self.conv.anchored.stage.init
        assert init is not None
        value = init

        def zero(row: int, vector: int, at: PrimExpr, lane: tir.Var) -> st.Stmt:
            return st.BufferStore(self.acc.buffer, value, (self.acc.at(row, at),))

        return allocated(self.acc.buffer, sequence(*self._each(zero), self._lines(), *self._each(self._store)))

    def _lines(self) -> st.Stmt:
        """All lines, in one loop if the output line sees all of them."""
        conv = self.conv
        if not sees_every_line(conv):
            return over_lines(conv, lambda line, where: self._line(line))
        line = index_var("line")
        return loop(line, product([a.extent for a in conv.inner]), self._line(line))

    def _line(self, line: PrimExpr) -> st.Stmt:
        taps = range(self.conv.window.taps)
        return sequence(*(part for tap in taps for part in self._each(self._updated_by(tap, line))))

    def _each(self, body: Vector) -> list[st.Stmt]:
        """`body` for every row and vector."""
        parts, lanes = [], self.conv.lanes
        for row in range(self.rows):
            for vector in range(self.vectors):
                lane = index_var("v")
                at = ops.add(i64(vector * lanes), lane)
                parts.append(loop(lane, lanes, body(row, vector, at, lane), VECTORIZED))
        return parts

    def _updated_by(self, tap: int, line: PrimExpr) -> Vector:
        conv, acc = self.conv, self.acc
        shift, phase = divmod(tap * conv.window.dilation, conv.window.stride)

        def one(row: int, vector: int, at: PrimExpr, lane: tir.Var) -> st.Stmt:
            place = ops.add(self.packed.at(line, phase, shift + vector * conv.lanes), lane)
            seen = tir.BufferLoad(self.packed.buffer, (place,))
            term = tir.Mul(_weight(conv, ops.add(self.first, i64(row)), line, tap), seen)
            return st.BufferStore(acc.buffer, tir.Add(acc.load(row, at), term), (acc.at(row, at),))

        return one

    def _store(self, row: int, vector: int, at: PrimExpr, lane: tir.Var) -> st.Stmt:
        conv = self.conv
        where: dict[tir.Var, PrimExpr] = {
            conv.channel.var: ops.add(self.first, i64(row)),
            conv.window.axis.var: ops.add(self.start, at),
        }
        done = conv.anchored.store(self.acc.load(row, at), where)
        left = self.piece.points - vector * conv.lanes
        return done if left >= conv.lanes else st.IfThenElse(tir.LT(lane, i64(left)), done)


def _weight(conv: Lines, channel: PrimExpr, line: PrimExpr, tap: int) -> PrimExpr:
    """The weight of a tap in a line of the window, lines counted over all axes of the sum but the last."""
    lead = len(conv.weight.indices) - len(conv.inner) - 1
    at = ops.add(ops.multiply(line, i64(conv.window.taps)), i64(tap))
    flat = conv.flat_weight
    where = {conv.channel.var: ops.cast(conv.channel.var.dtype, channel)}
    return tir.BufferLoad(flat, (*(substitute_and_fold(i, where) for i in conv.weight.indices[:lead]), at))
