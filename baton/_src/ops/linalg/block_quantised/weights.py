"""How weights of few bits lie: in panels of 64 units, in words of four bytes that hold numbers of consecutive inputs.

    weights (panels, inputs * bits / 32, 64) int32          scales, zeros (panels, inputs / block, 64)

Of 4 bits a word holds those of eight inputs: the first four in the lower halves of its bytes, the others in the upper.
What two shifts and masks take out of a word are then words of four bytes, which dot products of bytes take. The layout
is our own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import load, when
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.stmt import For, ForKind, Stmt
from baton._src.values.dtype import INT32, DataType
from baton._src.values.tensor import AnyArray

PANEL = 64
"""Units of a panel: four vectors of 512 bits."""
FLOAT = DataType("float32")
WORD_BITS = 32


@dataclass(frozen=True)
class Weights:
    """The operands of a layer in a kernel: numbers of `bits` bits, `blocks` blocks of `block` of them for each unit.

    `zeros` None stands for the middle of the range.
    """

    words: Buffer
    scales: Buffer
    zeros: Buffer | None
    bits: int
    block: int
    blocks: int

    @property
    def in_word(self) -> int:
        """Numbers in a word."""
        return WORD_BITS // self.bits

    @property
    def words_in_block(self) -> int:
        return self.block // self.in_word

    def bytes_of(self, word: k.Scalar, place: int) -> k.Scalar:
        """The numbers at a place in each of a word's bytes, as a word of bytes."""
        if self.bits == 8:
            return word
        return _shifted(word, place * self.bits) & k.const(self._mask() * 0x01010101, INT32)

    def number(self, word: k.Scalar, place: int) -> k.Scalar:
        """One of a word's numbers, as a float."""
        shift = place // 4 * self.bits + place % 4 * 8
        return k.cast(FLOAT, _shifted(word, shift) & k.const(self._mask(), INT32))

    def scale(self, *at: k.Scalar) -> k.Scalar:
        """The scale of a panel's block and unit."""
        return k.cast(FLOAT, load(self.scales, *at))

    def zero(self, dtype: object, *at: k.Scalar) -> k.Scalar:
        """The zero point of a panel's block and unit."""
        middle = k.const(1 << (self.bits - 1), dtype)
        return middle if self.zeros is None else k.cast(dtype, load(self.zeros, *at))

    def _mask(self) -> int:
        return (1 << self.bits) - 1


def _shifted(word: k.Scalar, bits: int) -> k.Scalar:
    return k.call("shift_right", word, k.const(bits, INT32)) if bits else word


def with_wide_vectors(wide: Stmt, narrow: Stmt) -> Stmt:
    """`wide` where vectors have 512 bits (and there are 32 of them), `narrow` elsewhere: tiles that fit registers."""
    bits = k.tir.Call(INT32, k.intrinsic("vector_bits"), ())
    return when(k.tir.EQ(bits, k.const(512, INT32)), wide, narrow)


def over_panels(count: Dim, work: k.Scalar, body: Callable[[k.Scalar], Stmt]) -> Stmt:
    """`body` of every panel, in parallel; each meets `work` inputs, those of all rows."""
    panel = Var("panel", "int64")
    notes = {"grain": k.maximum(k.index(1), k.index(_WORTH_A_THREAD) // k.maximum(work, k.index(1)))}
    return For(panel, k.index(0), k.index(count), ForKind.PARALLEL, body(panel), annotations=notes)


_WORTH_A_THREAD = 1 << 14
"""Inputs of a panel that are worth a thread."""


def unit(panel: k.Scalar, lane: k.Scalar) -> k.Scalar:
    """The number of a unit, of its place in a panel."""
    return panel * k.index(PANEL) + lane


# ------------------------------------------------------------------------------------------ in NumPy


def packed(numbers: AnyArray, bits: int) -> AnyArray:
    """(units, inputs) uint8, inputs of whole words, as panels of words; missing units are zeros."""
    units, inputs = numbers.shape
    places = 8 // bits
    parts = numbers.reshape(units, inputs // (4 * places), places, 4)
    found = np.zeros(parts[:, :, 0].shape, "uint8")
    for place in range(places):
        found |= parts[:, :, place] << np.uint8(place * bits)
    return in_panels(found.view("<i4")[..., 0])


def in_panels(rows: AnyArray) -> AnyArray:
    """(units, n) as (panels, n, 64); missing units are zeros."""
    missing = -rows.shape[0] % PANEL
    whole = np.pad(rows, ((0, missing), (0, 0)))
    return np.ascontiguousarray(whole.reshape(len(whole) // PANEL, PANEL, rows.shape[1]).transpose(0, 2, 1))


def unpacked(words: AnyArray, bits: int) -> AnyArray:
    """The numbers in panels of words, as (units, inputs)."""
    each = np.ascontiguousarray(out_of_panels(words)[..., None], "<i4").view("uint8")
    numbers = [each >> np.uint8(shift) & np.uint8((1 << bits) - 1) for shift in range(0, 8, bits)]
    whole = np.stack(numbers, axis=2)
    return whole.reshape(len(whole), math.prod(whole.shape[1:]))


def out_of_panels(panels: AnyArray) -> AnyArray:
    """(panels, n, 64) as (units, n)."""
    return panels.transpose(0, 2, 1).reshape(len(panels) * panels.shape[2], panels.shape[1])
