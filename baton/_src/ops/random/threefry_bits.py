"""The random bits of random.*: Threefry-4x64 with 20 rounds, in Python's integers, in TIR and over NumPy.

A key is ten uint64 words: four of key, four of counter, two spare. Source: Salmon et al., "Parallel random numbers: as
easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, let, load, loops, store
from baton._src.ops.vector_loops import side_by_side
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

KEY_WORDS = 10
_PARITY = 0x1BD11BDAA9FC1A22
_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_ROUNDS = 20
_LANES = 8
"""Blocks that are computed side by side."""
WORD = DataType("uint64")
MASK = (1 << 64) - 1


def block(key: Sequence[int], counter: Sequence[int]) -> list[int]:
    """Four random words of four words of key and of counter: the definition, in Python's integers."""
    words = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ _PARITY]
    x = [(c + w) & MASK for c, w in zip(counter, words)]
    for number in range(_ROUNDS):
        for at, (a, b) in enumerate(((0, 1), (2, 3)) if number % 2 == 0 else ((0, 3), (2, 1))):
            turn = _ROTATIONS[number % 8][at]
            x[a] = (x[a] + x[b]) & MASK
            x[b] = (((x[b] << turn) | (x[b] >> (64 - turn))) & MASK) ^ x[a]
        if number % 4 == 3:
            step = number // 4 + 1
            x = [(v + words[(step + i) % 5] + (step if i == 3 else 0)) & MASK for i, v in enumerate(x)]
    return x


def _xor(a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return k.call("bitwise_xor", a, b)


def _rotated(x: k.Scalar, turn: int) -> k.Scalar:
    left, right = (k.call(n, x, k.const(s, WORD)) for n, s in (("shift_left", turn), ("shift_right", 64 - turn)))
    return k.call("bitwise_or", left, right)


def _named(values: k.Indices, body: Callable[[list[k.Scalar]], Stmt], name: str) -> Stmt:
    """`body` of variables that stand for `values`."""
    if not values:
        return body([])
    return let(name, values[0], lambda first: _named(values[1:], lambda rest: body([first, *rest]), name))


def block_statement(key: k.Indices, counter: k.Indices, body: Callable[[list[k.Scalar]], Stmt]) -> Stmt:
    """`block` in TIR: `body` of the four words."""
    parity = _xor(_xor(_xor(key[0], key[1]), _xor(key[2], key[3])), k.const(_PARITY, WORD))

    def rounds(x: list[k.Scalar], words: list[k.Scalar], number: int) -> Stmt:
        if number == _ROUNDS:
            return body(x)
        x = list(x)
        for at, (a, b) in enumerate(((0, 1), (2, 3)) if number % 2 == 0 else ((0, 3), (2, 1))):
            x[a] = x[a] + x[b]
            x[b] = _xor(_rotated(x[b], _ROTATIONS[number % 8][at]), x[a])
        if number % 4 == 3:
            step = number // 4 + 1
            x = [v + words[(step + i) % 5] for i, v in enumerate(x)]
            x[3] = x[3] + k.const(step, WORD)
        return _named(x, lambda named: rounds(named, words, number + 1), "x")

    def start(words: list[k.Scalar]) -> Stmt:
        return _named([c + w for c, w in zip(counter, words)], lambda x: rounds(x, words, 0), "x")

    return _named([*key, parity], start, "w")


def drawn_bits(key: k.Tensor, count: Dim) -> tuple[k.Tensor, k.Tensor]:
    """The key to go on with, and at least `count` random words."""
    blocks = (k.index(count) + k.index(3)) // k.index(4)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        words = [load(ins[0], k.index(i)) for i in range(8)]
        following, bits = outs

        def one(b: k.Scalar) -> Stmt:
            counter = [words[4] + k.cast(WORD, b), *words[5:]]
            place = b * k.index(4)
            return block_statement(
                words[:4], counter, lambda x: both(*(store(bits, [place + k.index(i)], v) for i, v in enumerate(x)))
            )

        copy = loops([KEY_WORDS], lambda i: store(following, [i], load(ins[0], i)))
        advance = store(following, [k.index(4)], words[4] + k.cast(WORD, blocks))
        return both(copy, advance, side_by_side(blocks, _LANES, one))

    found = externs([(k.index(KEY_WORDS),), (blocks * k.index(4),)], [key], body, "threefry", ["uint64", "uint64"])
    return found[0], found[1]


def reference_bits(key: AnyArray, count: int) -> tuple[AnyArray, AnyArray]:
    """The same over NumPy."""
    words = [int(w) for w in key]
    blocks = (count + 3) // 4
    bits = [v for b in range(blocks) for v in block(words[:4], [(words[4] + b) & MASK, *words[5:8]])]
    following = np.array(key)
    following[4] = (words[4] + blocks) & MASK
    return following, np.array(bits[:count], np.uint64)


def threefry_key(seed: int) -> AnyArray:
    """The words of a key made from a seed."""
    words = np.zeros(KEY_WORDS, np.uint64)
    words[0] = seed & MASK
    return words
