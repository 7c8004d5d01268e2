"""TfIdfVectorizer: counts how often each n-gram of a pool, of numbers or of strings, occurs in a row."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import FLOAT32, INT64
from baton._src.values.meaning import STRING_IDS
from baton._src.values.tensor import AnyArray


def tf_idf_vectorizer(node: OnnxNode) -> Value:
    """(..., length) -> (..., n-grams): counts (TF), weights of the n-grams that occur (IDF), or their products
    (TFIDF).
    """
    g, mode, places = node.graph, str(node.needed("mode")), [int(i) for i in node.needed("ngram_indexes")]
    if min(places, default=0) < 0:
        node.fail(f"its ngram_indexes hold {min(places)}", help="they are places in the result, from 0 on")
    if mode not in ("TF", "IDF", "TFIDF"):
        node.fail(f"mode {mode!r} is not one of TF, IDF and TFIDF")
    x = g.cast(node[0], INT64)
    if x.rank not in (1, 2):
        node.fail(f"it takes a row or a matrix, got {x.rank} axes")
    rows = g.reshape(x, (1, -1)) if x.rank == 1 else x
    counts = _counted(node, rows, _grams(node, len(places)))
    if mode == "IDF":
        counts = g.cast(g.call("greater", counts, g.scalar(0, counts)), FLOAT32)
    weights = node.attr("weights") or [1.0] * len(places)
    if len(weights) != len(places):
        node.fail(f"it has {len(weights)} weights for {len(places)} n-grams")
    # A column for each n-gram's place in the result.
    moves = np.zeros((len(places), max(places) + 1), np.float32)
    moves[np.arange(len(places)), places] = 1.0 if mode == "TF" else np.array(weights, np.float32)
    found = g.call("matmul", counts, g.constant(moves))
    return g.reshape(found, (-1,)) if x.rank == 1 else found


def _grams(node: OnnxNode, count: int) -> list[AnyArray]:
    """(n-grams, length) of one length after the other; as many as there are places for."""
    pool = _pool(node)
    starts = [int(s) for s in node.needed("ngram_counts")]
    found = []
    for length, (start, end) in enumerate(pairwise([*starts, pool.size]), 1):
        if not 0 <= start <= end <= pool.size or (end - start) % length:
            node.fail(f"its pool has no {length}-grams between {start} and {end} of {pool.size} elements")
        found.append(pool[start:end].reshape(-1, length))
    if sum(map(len, found)) != count or not count:
        node.fail(f"it has {count} ngram_indexes for {sum(map(len, found))} n-grams")
    return found


def _pool(node: OnnxNode) -> AnyArray:
    """Numbers, or the numbers of strings if the operand is of strings."""
    strings = node.attr("pool_strings")
    if (node[0].meaning is STRING_IDS) != bool(strings):
        node.fail("its pool and its input must both be numbers or both be strings", code="onnx-dtype")
    found = node.strings(strings).array if strings else np.array(node.attr("pool_int64s") or (), np.int64)
    assert found is not None
    return found


def _counted(node: OnnxNode, rows: Value, grams: list[AnyArray]) -> Value:
    """(rows, n-grams), float32. The elements of an n-gram may stand up to `max_skip_count` elements apart."""
    g = node.graph
    shortest, longest = int(node.needed("min_gram_length")), int(node.needed("max_gram_length"))
    if not 1 <= shortest <= longest:
        node.fail(f"its n-grams have {shortest} to {longest} elements", help="min_gram_length is 1 or more")
    none = min((int(p.min()) for p in grams if p.size), default=0) - 1
    found = []
    for length, pool in enumerate(grams, 1):
        if not len(pool):
            continue
        steps = _steps(node, length, rows.known_shape()[1]) if shortest <= length <= longest else ()
        parts = [_with_step(node, rows, pool, step, none) for step in steps]
        empty = g.broadcast_to(g.constant(np.zeros((1, 1), np.float32)), (rows.known_shape()[0], len(pool)))
        found.append(reduce(lambda a, b: g.call("add", a, b), parts, empty))
    return found[0] if len(found) == 1 else g.call("concat", tuple(found), axis=1)


MOST_SKIPS = 1 << 8
"""Most passes over rows of unknown length."""


def _steps(node: OnnxNode, length: int, extent: Dim) -> Iterable[int]:
    """The possible distances between the elements of n-grams of this length in rows of `extent` elements."""
    skips = int(node.needed("max_skip_count"))
    if skips < 0:
        node.fail(f"its max_skip_count is {skips}", help="it must be 0 or more")
    if length == 1:
        return (1,)
    if isinstance(extent, int):
        skips = min(skips, (extent - 1) // (length - 1) - 1)  # farther apart they do not fit into a row
    elif skips > MOST_SKIPS:
        help = f"give the input a known number of columns, or skip {MOST_SKIPS} elements at most"
        node.fail(f"its max_skip_count is {skips}, for rows of open length", help=help)
    return range(1, skips + 2)


def _with_step(node: OnnxNode, rows: Value, pool: AnyArray, step: int, none: int) -> Value:
    """How often the n-grams occur in rows with each element `step` after the previous one; `none` matches no
    element.
    """
    g, length, shape = node.graph, pool.shape[1], rows.shape
    assert shape is not None
    wide = g.call("nn.pad", rows, pad_width=(0, 0, 0, (length - 1) * step), pad_value=none)
    matches = []
    for k in range(length):
        begin, end = k * step, shape[1] + k * step
        part = g.call("strided_slice", wide, axes=(1,), begin=(begin,), end=(end,), strides=(1,))
        element = g.constant(pool[:, k].reshape(1, 1, -1), INT64)
        matches.append(g.call("equal", g.call("expand_dims", part, axis=(2,)), element))
    whole = reduce(lambda a, b: g.call("logical_and", a, b), matches)
    return g.call("sum", g.cast(whole, FLOAT32), axis=(1,), keepdims=False)


NGRAMS: dict[str, Converter] = {"TfIdfVectorizer": tf_idf_vectorizer}
