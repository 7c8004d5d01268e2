"""The kernels of a KV cache in pages, which are compiled with the program that creates it.

`runtime/vm/builtins/paged_arithmetic` calls them. Keys and values of a layer are tensors (key heads, slots, size); a
table says in which slot each token of a sequence is. Angles of rotary embeddings are given as cosines and sines.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    VECTORIZED,
    i64,
    index_var,
    loop,
    sequence,
)
from baton._src.ops import kernel_words as k
from baton._src.ops.reduce.folds import fold_compute
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import placeholder, var
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import FLOAT32

KEPT = FLOAT32
"""What scores are computed in."""
TOKENS_WORTH_A_THREAD = 16

Element = Callable[[PrimExpr], PrimExpr]
"""An element of a head by its number."""


@dataclass(frozen=True)
class Heads:
    """`queries` heads, of which groups share the keys and values of one of `keys` heads; `rotated` elements of each are
    embedded, in pairs of neighbours or of one element from each half.
    """

    queries: int
    keys: int
    size: int
    dtype: str
    rotated: int
    neighbours: bool


def cache_kernels(heads: Heads) -> dict[str, PrimFunc]:
    """The kernels by name, in the order of `Arithmetic`."""
    makers = {"paged_append": append_kernel, "paged_rotate": rotate_kernel, "paged_attention": attention_kernel}
    return {name: make(heads) for name, make in makers.items()}


def append_kernel(heads: Heads) -> PrimFunc:
    """(fused, cos, sin, slots, rotates_keys, queries, keys, values): rotates the queries of new tokens, and stores
    their keys, rotated if `rotates_keys` is not 0, and their values in the slots given.

    fused (tokens, heads, size) has queries, keys, values; cos and sin are (tokens, pairs).
    """
    tokens, every, rotates = var("tokens", "int64"), var("every", "int64"), tir.Var("rotates_keys", "int64")
    fused = _tensor("fused", (tokens, heads.queries + 2 * heads.keys, heads.size), heads.dtype)
    angles = _angles(heads, tokens)
    slots = _tensor("slots", (tokens,), "int32")
    queries = _tensor("queries", (tokens, heads.queries, heads.size), heads.dtype)
    stored = [_tensor(name, (heads.keys, every, heads.size), heads.dtype) for name in ("keys", "values")]
    token = index_var("token")
    slot = tir.Var("slot", "int64")

    def part(first: int, count: int, body: Callable[[PrimExpr, Element], st.Stmt]) -> st.Stmt:
        head = index_var("head")
        return loop(head, count, body(head, lambda d: tir.BufferLoad(fused, (token, ops.add(head, i64(first)), d))))

    def rotated(given: Element, out: Buffer, *place: PrimExpr) -> st.Stmt:
        return _rotated(heads, given, lambda d, x: st.BufferStore(out, x, (*place, d)), angles, token)

    keys, values = stored
    stores_keys = part(
        heads.queries,
        heads.keys,
        lambda head, given: st.IfThenElse(
            tir.NE(rotates, i64(0)), rotated(given, keys, head, slot), _copied(heads, given, keys, head, slot)
        ),
    )
    body = sequence(
        part(0, heads.queries, lambda head, given: rotated(given, queries, token, head)),
        stores_keys,
        part(heads.queries + heads.keys, heads.keys, lambda head, x: _copied(heads, x, values, head, slot)),
    )
    body = st.LetStmt(slot, ops.cast("int64", tir.BufferLoad(slots, (token,))), body)
    shared = loop(token, tokens, body, PARALLEL, grain=TOKENS_WORTH_A_THREAD)
    return _kernel("paged_append", [fused, *angles, slots, rotates, queries, keys, values], shared)


def rotate_kernel(heads: Heads) -> PrimFunc:
    """(keys, cos, sin, slots, count, rotated): the first `count` keys of a sequence, rotated, in the same slots of
    another tensor. For caches whose tokens change their positions.
    """
    every, room, count = var("every", "int64"), var("room", "int64"), tir.Var("count", "int64")
    places = var("places", "int64")
    keys, out = (_tensor(name, (heads.keys, every, heads.size), heads.dtype) for name in ("keys", "rotated"))
    angles = _angles(heads, places)
    slots = _tensor("slots", (room,), "int32")
    token, head, slot = index_var("token"), index_var("head"), tir.Var("slot", "int64")
    body = _rotated(
        heads,
        lambda d: tir.BufferLoad(keys, (head, slot, d)),
        lambda d, x: st.BufferStore(out, x, (head, slot, d)),
        angles,
        token,
    )
    body = st.LetStmt(slot, ops.cast("int64", tir.BufferLoad(slots, (token,))), loop(head, heads.keys, body))
    shared = loop(token, count, body, PARALLEL, grain=TOKENS_WORTH_A_THREAD)
    return _kernel("paged_rotate", [keys, *angles, slots, count, out], shared)


def attention_kernel(heads: Heads) -> PrimFunc:
    """(queries, keys, values, slots, count, scale, out): attention of the last tokens of a sequence of `count` tokens,
    each to those before it and to itself; queries and out (tokens, heads, size).
    """
    new, every, room = var("new", "int64"), var("every", "int64"), var("room", "int64")
    count, scale = var("count", "int64"), var("scale", KEPT)
    queries = placeholder((new, heads.queries, heads.size), heads.dtype, "queries")
    keys, values = (placeholder((heads.keys, every, heads.size), heads.dtype, name) for name in ("keys", "values"))
    slots = placeholder((room,), "int32", "slots")
    d, j = k.reduce_axis(heads.size, "d"), k.reduce_axis(count, "j")
    group = heads.queries // heads.keys

    def stored(x: k.Tensor, h: PrimExpr, j: PrimExpr, e: PrimExpr) -> PrimExpr:
        return k.cast(KEPT, x(h if group == 1 else h // group, slots(j), e))

    def dot(h: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return k.reduce_sum(k.cast(KEPT, queries(i, h, d.var)) * stored(keys, h, j, d.var), [d])

    scores = k.compute((heads.queries, new, count), dot, "scores")

    def seen(h: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return k.select(j <= i + (count - new), scores(h, i, j) * scale, k.lowest(KEPT))

    masked = k.compute((heads.queries, new, count), seen, "masked_scores")
    top = fold_compute(masked, (2,), False, k.reduce_max, "top")
    powers = k.compute(masked.shape, lambda h, i, j: k.exp(masked(h, i, j) - top(h, i)), "powers")
    total = fold_compute(powers, (2,), False, k.reduce_sum, "total")

    def weigh(i: PrimExpr, h: PrimExpr, e: PrimExpr) -> PrimExpr:
        return k.reduce_sum(powers(h, i, j.var) * stored(values, h, j.var, e), [j])

    weighed = k.compute(queries.shape, weigh, "weighed")
    out = k.compute(queries.shape, lambda i, h, e: k.cast(heads.dtype, weighed(i, h, e) / total(h, i)), "out")
    found = create_prim_func([queries, keys, values, slots, count, scale, out], name="paged_attention")
    return found.without_attr("global_symbol")


def _rotated(
    heads: Heads, given: Element, store: Callable[[PrimExpr, PrimExpr], st.Stmt], angles: tuple[Buffer, Buffer],
    token: PrimExpr,
) -> st.Stmt:  # fmt: skip
    """One head, every pair (x, y) of it turned: x cos - y sin, y cos + x sin; the elements behind them as they are."""
    half, lane = heads.rotated // 2, index_var("lane")
    parts = []
    if half:
        first = ops.multiply(lane, i64(2)) if heads.neighbours else lane
        second = ops.add(first, i64(1 if heads.neighbours else half))
        x, y = (ops.cast(KEPT, given(d)) for d in (first, second))
        c, s = (tir.BufferLoad(angle, (token, lane)) for angle in angles)
        named = [tir.Var(name, KEPT) for name in "xycs"]
        a, b, p, q = named
        turned = sequence(
            store(first, ops.cast(heads.dtype, tir.Sub(tir.Mul(a, p), tir.Mul(b, q)))),
            store(second, ops.cast(heads.dtype, tir.Add(tir.Mul(b, p), tir.Mul(a, q)))),
        )
        for name, value in zip(reversed(named), (s, c, y, x), strict=True):
            turned = st.LetStmt(name, value, turned)
        parts.append(loop(lane, half, turned, VECTORIZED))
    if heads.rotated < heads.size:
        over = index_var("lane")
        at = ops.add(over, i64(heads.rotated))
        parts.append(loop(over, heads.size - heads.rotated, store(at, given(at)), VECTORIZED))
    return sequence(*parts)


def _copied(heads: Heads, given: Element, out: Buffer, *place: PrimExpr) -> st.Stmt:
    lane = index_var("lane")
    return loop(lane, heads.size, st.BufferStore(out, given(lane), (*place, lane)), VECTORIZED)


def _angles(heads: Heads, tokens: PrimExpr) -> tuple[Buffer, Buffer]:
    """Cosines and sines of every pair of elements."""
    shape = (tokens, max(heads.rotated // 2, 1))
    return _tensor("cos", shape, KEPT), _tensor("sin", shape, KEPT)


def _tensor(name: str, shape: tuple[PrimExpr | int, ...], dtype: str) -> Buffer:
    return decl_buffer([dim if isinstance(dim, PrimExpr) else i64(dim) for dim in shape], dtype, name)


def _kernel(name: str, params: list[Buffer | tir.Var], body: st.Stmt) -> PrimFunc:
    """A kernel whose loops are to stay as they are."""
    handles = [tir.Var(f"var_{p.name}", "handle") if isinstance(p, Buffer) else p for p in params]
    buffers = {handle: p for handle, p in zip(handles, params, strict=True) if isinstance(p, Buffer)}
    root = st.Block((), (), (), "root", body)
    found = PrimFunc(handles, st.BlockRealize((), tir.IntImm("bool", 1), root), buffer_map=buffers)
    return found.with_attr("tir.noalias", True).with_attr("tir.is_scheduled", True)
