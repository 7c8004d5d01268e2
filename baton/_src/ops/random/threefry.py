"""Random numbers from keys, without hidden state: random.threefry_generate, threefry_split, uniform, normal,
multinomial.

A key is ten uint64 words: four of key, four of counter, two spare. Every operator gives the key to go on with first,
then its result; the same key gives the same numbers. Bits come from Threefry-4x64 with 20 rounds (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011). A split runs the generator on two counters no draw uses; its
outputs are the new keys. Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import show_shape
from baton._src.ops.index.scans import scan
from baton._src.ops.loop_nests import both, let, load, loop, loops, store
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32, DataType

KEY_WORDS = 10
_PARITY = 0x1BD11BDAA9FC1A22
_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_ROUNDS = 20
_U64 = DataType("uint64")
FLOAT32 = DataType("float32")
_MASK = (1 << 64) - 1
_LEFT, _RIGHT = 1, 2
"""The last counter word while splitting; draws leave it 0."""
_NO_SLOPE = NotApplicable("random bits are not differentiable")


# -------------------------------------------------------------------------------------------------- the generator


def block(key: Sequence[int], counter: Sequence[int]) -> list[int]:
    """Four random words of four words of key and of counter: the definition, in Python's integers."""
    words = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ _PARITY]
    x = [(c + w) & _MASK for c, w in zip(counter, words)]
    for number in range(_ROUNDS):
        for at, (a, b) in enumerate(((0, 1), (2, 3)) if number % 2 == 0 else ((0, 3), (2, 1))):
            turn = _ROTATIONS[number % 8][at]
            x[a] = (x[a] + x[b]) & _MASK
            x[b] = (((x[b] << turn) | (x[b] >> (64 - turn))) & _MASK) ^ x[a]
        if number % 4 == 3:
            step = number // 4 + 1
            x = [(v + words[(step + i) % 5] + (step if i == 3 else 0)) & _MASK for i, v in enumerate(x)]
    return x


def _xor(a: Any, b: Any) -> Any:
    return k.call("bitwise_xor", a, b)


def _rotated(x: Any, turn: int) -> Any:
    left, right = (k.call(n, x, k.const(s, _U64)) for n, s in (("shift_left", turn), ("shift_right", 64 - turn)))
    return k.call("bitwise_or", left, right)


def _named(values: Sequence[Any], body: Callable[[list[Any]], Stmt], name: str) -> Stmt:
    """`body` of variables that stand for `values`."""
    if not values:
        return body([])
    return let(name, values[0], lambda first: _named(values[1:], lambda rest: body([first, *rest]), name))


def block_statement(key: Sequence[Any], counter: Sequence[Any], body: Callable[[list[Any]], Stmt]) -> Stmt:
    """`block` in TIR: `body` of the four words."""
    parity = _xor(_xor(_xor(key[0], key[1]), _xor(key[2], key[3])), k.const(_PARITY, _U64))

    def rounds(x: list[Any], words: list[Any], number: int) -> Stmt:
        if number == _ROUNDS:
            return body(x)
        x = list(x)
        for at, (a, b) in enumerate(((0, 1), (2, 3)) if number % 2 == 0 else ((0, 3), (2, 1))):
            x[a] = x[a] + x[b]
            x[b] = _xor(_rotated(x[b], _ROTATIONS[number % 8][at]), x[a])
        if number % 4 == 3:
            step = number // 4 + 1
            x = [v + words[(step + i) % 5] for i, v in enumerate(x)]
            x[3] = x[3] + k.const(step, _U64)
        return _named(x, lambda named: rounds(named, words, number + 1), "x")

    def start(words: list[Any]) -> Stmt:
        return _named([c + w for c, w in zip(counter, words)], lambda x: rounds(x, words, 0), "x")

    return _named([*key, parity], start, "w")


def drawn_bits(key: k.Tensor, count: Any) -> tuple[k.Tensor, k.Tensor]:
    """The key to go on with, and at least `count` random words."""
    blocks = (k.index(count) + k.index(3)) // k.index(4)

    def body(ins: Any, outs: Any) -> Stmt:
        words = [load(ins[0], k.index(i)) for i in range(8)]
        following, bits = outs

        def one(b: Any) -> Stmt:
            counter = [words[4] + k.cast(_U64, b), *words[5:]]
            place = b * k.index(4)
            return block_statement(
                words[:4], counter, lambda x: both(*(store(bits, [place + k.index(i)], v) for i, v in enumerate(x)))
            )

        copy = loops([KEY_WORDS], lambda i: store(following, [i], load(ins[0], i)))
        advance = store(following, [k.index(4)], words[4] + k.cast(_U64, blocks))
        return both(copy, advance, loop(blocks, one, "b"))

    found = extern([(k.index(KEY_WORDS),), (blocks * k.index(4),)], [key], body, "threefry", ["uint64", "uint64"])
    return found[0], found[1]


def reference_bits(key: Any, count: int) -> tuple[Any, Any]:
    """The same over NumPy."""
    words = [int(w) for w in key]
    blocks = (count + 3) // 4
    bits = [v for b in range(blocks) for v in block(words[:4], [(words[4] + b) & _MASK, *words[5:8]])]
    following = np.array(key)
    following[4] = (words[4] + blocks) & _MASK
    return following, np.array(bits[:count], np.uint64)


# -------------------------------------------------------------------------------------------------- bits and keys


@attrs
class GenerateAttrs(Attrs):
    """How many."""

    out_shape: Any = attr(doc="shape of the result")

    def __post_init__(self) -> None:
        given = self.out_shape
        set_attr(self, "out_shape", (given,) if isinstance(given, int) else tuple(given))


def _key_info(call: OpCall[Any]) -> TensorInfo:
    key = call.tensor(0)
    if key.ndim not in (-1, 1) or (key.shape is not None and key.shape[0] != KEY_WORDS):
        call.fail(
            f"a key has {KEY_WORDS} words, got {show_shape(key.shape, key.ndim)}", help="random.threefry_key(seed)"
        )
    if not key.dtype.is_void and key.dtype != _U64:
        call.fail(f"a key has dtype uint64, got {key.dtype}", code="op-dtype")
    return TensorInfo((KEY_WORDS,), _U64, vdevice=key.vdevice)


def infer_generate(call: OpCall[GenerateAttrs]) -> Info:
    """A key and words."""
    return TupleInfo((_key_info(call), TensorInfo(call.attrs.out_shape, _U64)))


def _flat(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    found: Any = k.index(0)
    for i, d in zip(indices, shape):
        found = found * k.index(d) + i
    return found


def _size(shape: Sequence[int]) -> int:
    return math.prod(shape)


def compute_generate(inputs: Any, a: GenerateAttrs, out: Any) -> Any:
    """Words in row-major order."""
    following, bits = drawn_bits(inputs[0], _size(a.out_shape))
    return following, k.compute(a.out_shape, lambda *i: bits(_flat(i, a.out_shape)), "random_words")


def reference_generate(inputs: Any, a: GenerateAttrs) -> Any:
    """Words in row-major order."""
    following, bits = reference_bits(inputs[0], _size(a.out_shape))
    return following, bits.reshape(a.out_shape)


KEY = Arr((KEY_WORDS,), "uint64", values=(1, 2, 3, 4, 5, 0, 0, 0, 0, 0))

GENERATE = OpDef(
    "random.threefry_generate",
    GenerateAttrs,
    inputs=(Input("key"),),
    infer=infer_generate,
    compute=compute_generate,
    reference=reference_generate,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    outputs=2,
    relay_builder=lambda make, key, shape: make(key, out_shape=shape),
    samples=lambda: (Sample((KEY,), GenerateAttrs((3, 5))), Sample((KEY,), GenerateAttrs(()))),
    summary="Random uint64 words.",
)


def compute_split(inputs: Any, a: Any, out: Any) -> Any:
    """The words of two counters no draw uses, as keys with fresh counters."""
    (key,) = inputs

    def body(ins: Any, outs: Any) -> Stmt:
        words = [load(ins[0], k.index(i)) for i in range(8)]

        def write(target: Any, mark: int) -> Stmt:
            counter = [*words[4:7], k.const(mark, _U64)]
            blank = loops([KEY_WORDS], lambda i: store(target, [i], k.const(0, _U64)))
            fill = block_statement(
                words[:4], counter, lambda x: both(*(store(target, [k.index(i)], v) for i, v in enumerate(x)))
            )
            return both(blank, fill)

        return both(write(outs[0], _LEFT), write(outs[1], _RIGHT))

    shape = (k.index(KEY_WORDS),)
    return extern([shape, shape], [key], body, "threefry_split", ["uint64", "uint64"])


def reference_split(inputs: Any, a: Any) -> Any:
    """The same over NumPy."""
    words = [int(w) for w in inputs[0]]
    found = []
    for mark in (_LEFT, _RIGHT):
        fresh = np.zeros(KEY_WORDS, np.uint64)
        fresh[:4] = block(words[:4], [*words[4:7], mark])
        found.append(fresh)
    return tuple(found)


SPLIT_KEY: OpDef[Any] = OpDef(
    "random.threefry_split",
    inputs=(Input("key"),),
    infer=lambda call: TupleInfo((_key_info(call),) * 2),
    compute=compute_split,
    reference=reference_split,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    outputs=2,
    samples=lambda: (Sample((KEY,)),),
    summary="Two independent keys from one.",
)


# -------------------------------------------------------------------------------------------------- distributions


@attrs
class DrawAttrs(Attrs):
    """How many, of which dtype."""

    out_shape: Any = attr(doc="shape of the result")
    out_dtype: Any = attr("float32", "dtype of the numbers")

    def __post_init__(self) -> None:
        given = self.out_shape
        set_attr(self, "out_shape", (given,) if isinstance(given, int) else tuple(given))
        set_attr(self, "out_dtype", DataType(self.out_dtype))


def infer_draw(call: OpCall[DrawAttrs]) -> Info:
    """A key and numbers."""
    if not call.attrs.out_dtype.is_float:
        call.fail(f"draws floating-point numbers, got dtype {call.attrs.out_dtype}", code="op-dtype")
    for position in (1, 2):
        scalar = call.tensor(position)
        if scalar.ndim > 0:
            call.fail(f"{call.op.inputs[position].name} must be a scalar, got {show_shape(scalar.shape, scalar.ndim)}")
    return TupleInfo((_key_info(call), TensorInfo(call.attrs.out_shape, call.attrs.out_dtype)))


def _digits(dtype: DataType) -> int:
    """How many random bits a uniform number of this dtype takes: as many as its significand has."""
    return {"float64": 53, "float32": 24, "float16": 11}.get(str(dtype), 8)


def unit(word: Any, dtype: DataType) -> Any:
    """A word as a number in [0, 1), in the dtype it is computed in."""
    kept, digits = accumulator(dtype), _digits(dtype)
    high = k.call("shift_right", word, k.const(64 - digits, _U64))
    return k.cast(kept, k.cast("int64", high)) * k.const(2.0**-digits, kept)


def _np_unit(words: Any, dtype: DataType) -> Any:
    kept, digits = accumulator(dtype).numpy, _digits(dtype)
    return (words >> np.uint64(64 - digits)).astype(kept) * np.asarray(2.0**-digits, kept)


def _uniform(unit_of: Callable[[int], Any], low: Any, high: Any) -> Any:
    return low + unit_of(0) * (high - low)


def _te_normal(unit_of: Callable[[int], Any], mean: Any, scale: Any) -> Any:
    one, minus_two = k.const(1.0, mean.dtype), k.const(-2.0, mean.dtype)
    radius = k.sqrt(minus_two * k.log(one - unit_of(0)))
    return mean + scale * radius * k.cos(k.const(2 * math.pi, mean.dtype) * unit_of(1))


def _np_normal(unit_of: Callable[[int], Any], mean: Any, scale: Any) -> Any:
    radius = np.sqrt(-2 * np.log(1 - unit_of(0)))
    return mean + scale * radius * np.cos(np.asarray(2 * math.pi, mean.dtype) * unit_of(1))


def _distribution(
    name: str, names: tuple[str, str], defaults: tuple[float, float], words: int, te: Any, numpy: Any, doc: str
) -> OpDef[Any]:
    """`words` words a number: the first of all numbers, then the second of all."""

    def compute(inputs: Any, a: DrawAttrs, out: Any) -> Any:
        key, first, second = inputs
        size = _size(a.out_shape)
        following, bits = drawn_bits(key, size * words)
        kept = accumulator(a.out_dtype)

        def body(*i: Any) -> Any:
            at = _flat(i, a.out_shape)
            values = (k.cast(kept, first()), k.cast(kept, second()))
            return k.cast(a.out_dtype, te(lambda n: unit(bits(at + k.index(n * size)), a.out_dtype), *values))

        return following, k.compute(a.out_shape, body, f"random_{name}")

    def reference(inputs: Any, a: DrawAttrs) -> Any:
        key, first, second = inputs
        size = _size(a.out_shape)
        following, bits = reference_bits(key, size * words)
        kept = accumulator(a.out_dtype).numpy
        units = [_np_unit(bits[n * size : (n + 1) * size], a.out_dtype) for n in range(words)]
        found = numpy(units.__getitem__, np.asarray(first).astype(kept), np.asarray(second).astype(kept))
        return following, np.asarray(found).reshape(a.out_shape).astype(a.out_dtype.numpy)

    def relay(make: Any, key: Any, shape: Any, dtype: Any = "float32", *given: Any, **named: Any) -> Any:
        values = dict(zip(names, defaults)) | dict(zip(names, given)) | named
        scalars = [v if hasattr(v, "checked_type_") else make.const(v, dtype) for v in (values[n] for n in names)]
        return make(key, *scalars, out_shape=shape, out_dtype=dtype)

    return OpDef(
        f"random.{name}",
        DrawAttrs,
        inputs=(Input("key"), Input(names[0], "a scalar tensor"), Input(names[1], "a scalar tensor")),
        infer=infer_draw,
        compute=compute,
        reference=reference,
        gradient=_NO_SLOPE,
        fusion=Fusion.OPAQUE,
        in_relax=False,
        outputs=2,
        relay_builder=relay,
        samples=lambda: (
            Sample((KEY, Arr((), low=-1, high=0), Arr((), low=1)), DrawAttrs((3, 5)), rtol=1e-4, atol=1e-4),
            Sample((KEY, Arr((), low=-1, high=0), Arr((), low=1)), DrawAttrs((7,), "float64"), rtol=1e-4, atol=1e-4),
        ),
        summary=doc,
    )


UNIFORM = _distribution(
    "uniform", ("low", "high"), (0.0, 1.0), 1, _uniform, _uniform, "Numbers drawn evenly from [low, high)."
)
NORMAL = _distribution(
    "normal", ("mean", "scale"), (0.0, 1.0), 2, _te_normal, _np_normal, "Numbers drawn from a normal distribution."
)


@attrs
class MultinomialAttrs(Attrs):
    """How many draws a row."""

    num_samples: int = attr(1, "draws a row")


def infer_multinomial(call: OpCall[MultinomialAttrs]) -> Info:
    """A key and positions: the rows of the probabilities, a draw each."""
    probs = call.tensor(1)
    if probs.ndim not in (-1, 1, 2):
        call.fail(f"probabilities must have rank 1 or 2, got {show_shape(probs.shape, probs.ndim)}")
    shape = None if probs.shape is None else (*probs.shape[:-1], call.attrs.num_samples)
    return TupleInfo((_key_info(call), TensorInfo(shape, INT32, probs.ndim)))


def compute_multinomial(inputs: Any, a: MultinomialAttrs, out: Any) -> Any:
    """How many cumulative sums a uniform number of the total reaches."""
    key, probs = inputs
    shape = out.fields[1].shape
    size: Any = k.index(1)
    for dim in shape:
        size = size * k.index(dim)
    following, bits = drawn_bits(key, size)
    sums = scan(probs, probs.ndim - 1, False, 0, k.tir.Add, FLOAT32)
    classes = k.index(probs.shape[-1])

    def body(*i: Any) -> Any:
        draw = k.cast("float32", unit(bits(_flat(i, shape)), FLOAT32)) * sums(*i[:-1], classes - k.index(1))
        axis = k.reduce_axis(classes - k.index(1), "c")
        return k.reduce_sum(k.cast("int32", k.tir.LE(sums(*i[:-1], axis.var), draw)), [axis])

    return following, k.compute(shape, body, "multinomial")


def reference_multinomial(inputs: Any, a: MultinomialAttrs) -> Any:
    """A search in the cumulative sums."""
    key, probs = inputs
    shape = (*probs.shape[:-1], a.num_samples)
    following, bits = reference_bits(key, _size(shape))
    sums = np.cumsum(probs.astype(np.float32), axis=-1, dtype=np.float32)
    draws = _np_unit(bits, FLOAT32).reshape(shape) * sums[..., -1:]
    return following, np.sum(sums[..., None, :-1] <= draws[..., None], axis=-1).astype(np.int32)


MULTINOMIAL = OpDef(
    "random.multinomial",
    MultinomialAttrs,
    inputs=(Input("key"), Input("probs", "not negative; they need not add up to one")),
    infer=infer_multinomial,
    compute=compute_multinomial,
    reference=reference_multinomial,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    in_relax=False,
    outputs=2,
    samples=lambda: (
        Sample((KEY, Arr(("n", 5), low=0.1, high=1)), MultinomialAttrs(4)),
        Sample((KEY, Arr((5,), low=0.1, high=1)), MultinomialAttrs(3)),
    ),
    summary="Positions drawn with given probabilities.",
)

THREEFRY: tuple[OpDef[Any], ...] = (GENERATE, SPLIT_KEY, UNIFORM, NORMAL, MULTINOMIAL)


def threefry_key(seed: int) -> Any:
    """The words of a key made from a seed."""
    words = np.zeros(KEY_WORDS, np.uint64)
    words[0] = seed & _MASK
    return words
