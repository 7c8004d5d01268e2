"""Random numbers from keys, without hidden state: random.threefry_generate, random.threefry_split.

Every operator gives the key to go on with first, then its result; the same key gives the same numbers (what a key is,
and where bits come from: `threefry_bits`). A split runs the generator on two counters no draw uses; its outputs are
the new keys. Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, NoAttrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, as_dims, known_dim, show_shape
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.random.threefry_bits import KEY_WORDS, WORD, block, block_statement, drawn_bits, reference_bits
from baton._src.ops.row_major import element_count, flat_index
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import externs
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray

_LEFT, _RIGHT = 1, 2
"""The last counter word while splitting; draws leave it 0."""
NO_SLOPE = NotApplicable("random bits are not differentiable")


def key_info(call: OpCall[Attrs]) -> TensorInfo:
    """The key to go on with; the first operand must be a key."""
    key = call.tensor(0)
    words = KEY_WORDS if key.shape is None or key.ndim != 1 else key.shape[0]
    if key.ndim not in (-1, 1) or DimMath(call.prover).equal(words, KEY_WORDS) is False:
        call.fail(
            f"a key has {KEY_WORDS} words, got {show_shape(key.shape, key.ndim)}", help="random.threefry_key(seed)"
        )
    if not key.dtype.is_void and key.dtype != WORD:
        call.fail(f"a key has dtype uint64, got {key.dtype}", code="op-dtype")
    return TensorInfo((KEY_WORDS,), WORD, vdevice=key.vdevice)


def as_shape(given: Dim | Iterable[Dim]) -> tuple[Dim, ...]:
    """A shape; one number is that of a vector."""
    return as_dims(given if isinstance(given, Iterable) else (given,))


@attrs
class GenerateAttrs(Attrs):
    """How many."""

    out_shape: tuple[Dim, ...] = attr(doc="shape of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_shape", as_shape(self.out_shape))


def infer_generate(call: OpCall[GenerateAttrs]) -> Info:
    """A key and words."""
    return TupleInfo((key_info(call), TensorInfo(call.attrs.out_shape, WORD)))


def compute_generate(inputs: Sequence[k.Tensor], a: GenerateAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """Words in row-major order."""
    following, bits = drawn_bits(inputs[0], element_count(a.out_shape))
    return following, k.compute(a.out_shape, lambda *i: bits(flat_index(i, a.out_shape)), "random_words")


def reference_generate(inputs: Sequence[AnyArray], a: GenerateAttrs) -> tuple[AnyArray, ...]:
    """Words in row-major order."""
    shape = tuple(map(known_dim, a.out_shape))
    following, bits = reference_bits(inputs[0], math.prod(shape))
    return following, bits.reshape(shape)


KEY = Arr((KEY_WORDS,), "uint64", values=(1, 2, 3, 4, 5, 0, 0, 0, 0, 0))

GENERATE = OpDef(
    "random.threefry_generate",
    GenerateAttrs,
    inputs=(Input("key"),),
    infer=infer_generate,
    compute=compute_generate,
    reference=reference_generate,
    gradient=NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    outputs=2,
    relay_builder=lambda make, key, shape: make(key, out_shape=shape),
    samples=lambda: (Sample((KEY,), GenerateAttrs((3, 5))), Sample((KEY,), GenerateAttrs(()))),
    summary="Random uint64 words.",
)


def compute_split(inputs: Sequence[k.Tensor], a: NoAttrs, out: k.Result) -> tuple[k.Tensor, ...]:
    """The words of two counters no draw uses, as keys with fresh counters."""
    (key,) = inputs

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        words = [load(ins[0], k.index(i)) for i in range(8)]

        def write(target: Buffer, mark: int) -> Stmt:
            counter = [*words[4:7], k.const(mark, WORD)]
            blank = loops([KEY_WORDS], lambda i: store(target, [i], k.const(0, WORD)))
            fill = block_statement(
                words[:4], counter, lambda x: both(*(store(target, [k.index(i)], v) for i, v in enumerate(x)))
            )
            return both(blank, fill)

        return both(write(outs[0], _LEFT), write(outs[1], _RIGHT))

    shape = (k.index(KEY_WORDS),)
    return externs([shape, shape], [key], body, "threefry_split", ["uint64", "uint64"])


def reference_split(inputs: Sequence[AnyArray], a: NoAttrs) -> tuple[AnyArray, ...]:
    """The same over NumPy."""
    words = [int(w) for w in inputs[0]]
    found = []
    for mark in (_LEFT, _RIGHT):
        fresh = np.zeros(KEY_WORDS, np.uint64)
        fresh[:4] = block(words[:4], [*words[4:7], mark])
        found.append(fresh)
    return tuple(found)


SPLIT_KEY = OpDef(
    "random.threefry_split",
    inputs=(Input("key"),),
    infer=lambda call: TupleInfo((key_info(call),) * 2),
    compute=compute_split,
    reference=reference_split,
    gradient=NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    outputs=2,
    samples=lambda: (Sample((KEY,)),),
    summary="Split a key into two independent keys.",
)


THREEFRY: tuple[Definition, ...] = (GENERATE, SPLIT_KEY)
