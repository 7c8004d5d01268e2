"""nn.block_quantised_dense: a dense layer whose weights have four bits, with a scale and an offset for each block.

    y[m, u] = sum over k of x[m, k] * (number(u, k) * scale[u, k / block] + offset[u, k / block])

Units are in panels of 64: weights are (units / 64, inputs / 2, 64) bytes, two inputs in each, the first in the lower
bits; scales and offsets are (units / 64, inputs / block, 64). The kernel writes out what is in a part of a panel as
float32, which stays in the first cache, for all rows before the next part: weights are read once, as the few bytes that
they are. The layout is our own; MatMulNBits of ONNX is imported as this.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_vdevice
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.loop_nests import both, lets, load, local, loop, store, when
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import Var
from baton._src.tir.stmt import For, ForKind, Stmt
from baton._src.values.dtype import DataType

PANEL = 64
"""Units of a panel: four vectors of 512 bits, so that sums of one row do not wait for each other."""
PART = 64
"""Most inputs whose weights are written out together: 16 KB."""
ROWS = 6
"""Rows that share each load of a weight: with four vectors each, 24 sums in registers."""
FLOAT, BYTE = DataType("float32"), DataType("uint8")


@attrs
class BlockDenseAttrs(Attrs):
    """Inputs that share a scale."""

    block: int = attr(32, "inputs that share a scale and an offset; even, and a divisor or multiple of 64")

    def __post_init__(self) -> None:
        set_attr(self, "block", int(self.block))


def suits(block: int, inputs: int) -> bool:
    """Whether the kernel takes blocks of this size."""
    return block >= 2 and inputs % block == 0 and (block % PART == 0 or PART % block == 0)


def infer(call: OpCall[BlockDenseAttrs]) -> Info:
    """Rows by units."""
    x, w, scales, offsets = (call.tensor(n) for n in range(4))
    check_ranks(call, 2, 3, 3, 3)
    check_floats(call, 0, 2, 3)
    block, math = call.attrs.block, DimMath(call.prover)
    if not w.dtype.is_void and w.dtype != BYTE:
        call.fail(f"weight must be bytes (uint8), got {w.dtype}", code="op-dtype")
    if x.shape is None or w.shape is None:
        return TensorInfo(None, FLOAT, 2, same_vdevice(call, (x, w)))
    panels, halves, lanes = w.shape
    if lanes != PANEL or not isinstance(halves, int) or not suits(block, 2 * halves):
        call.fail(f"weight {show_shape(w.shape)} is no panels of {PANEL} units with blocks of {block} inputs")
    if math.equal(x.shape[1], 2 * halves) is False:
        call.fail(f"the data {show_shape(x.shape)} has {x.shape[1]} inputs, the weight takes {2 * halves}")
    wanted = (panels, 2 * halves // block, PANEL)
    for index, info in ((2, scales), (3, offsets)):
        if info.shape is not None and any(math.equal(a, b) is False for a, b in zip(info.shape, wanted)):
            name = call.op.inputs[index].name
            call.fail(f"{name} {show_shape(info.shape)} must be {show_shape(wanted)}")
    return TensorInfo((x.shape[0], math.multiply(panels, PANEL)), FLOAT, vdevice=same_vdevice(call, (x, w)))


def compute(inputs: Any, a: BlockDenseAttrs, out: Any) -> Any:
    """Panel by panel; a single row meets the numbers as they are, several the weights that are written out."""
    data, weight, scales, offsets = inputs
    depth = 2 * int(weight.shape[1])

    def body(ins: Any, outs: Any) -> Stmt:
        (x, w, s, o), (y,) = ins, outs
        rows = k.index(data.shape[0])

        def panel(p: Any) -> Stmt:
            single = _single_row(x, w, s, o, y, p, depth, a.block)
            several = _several_rows(x, w, s, o, y, p, depth, a.block, rows)
            return when(k.tir.EQ(rows, k.index(1)), single, several)

        return loop(weight.shape[0], panel, "panel")

    return extern(tuple(out.shape), [data, weight, scales, offsets], body, "block_dense", FLOAT)


def _single_row(x: Any, w: Any, s: Any, o: Any, y: Any, p: Any, depth: int, block: int) -> Stmt:
    """The sum of each block over numbers, then scale * that + offset * the sum of what they met."""
    zero, real = k.index(0), k.const(0, FLOAT)

    def blocks(total: Buffer, part: Buffer, met: Buffer) -> Stmt:
        def one(b: Any) -> Stmt:
            def pair(n: Any) -> Stmt:
                at = b * k.index(block) + n * k.index(2)

                def lane(first: Any, second: Any, u: Any) -> Stmt:
                    low, high = _halves(load(w, p, b * k.index(block // 2) + n, u))
                    return store(part, (u,), load(part, u) + first * low + second * high)

                def elements(first: Any, second: Any) -> Stmt:
                    more = store(met, (zero,), load(met, zero) + (first + second))
                    return both(_lanes(partial(lane, first, second)), more)

                return lets((("first", load(x, zero, at)), ("second", load(x, zero, at + k.index(1)))), elements)

            def added(u: Any) -> Stmt:
                found = load(s, p, b, u) * load(part, u) + load(o, p, b, u) * load(met, zero)
                return store(total, (u,), load(total, u) + found)

            clear = both(_lanes(lambda u: store(part, (u,), real)), store(met, (zero,), real))
            return both(clear, loop(k.index(block // 2), pair, "pair"), _lanes(added))

        begin = _lanes(lambda u: store(total, (u,), real))
        end = _lanes(lambda u: store(y, (zero, _unit(p, u)), load(total, u)))
        return both(begin, loop(k.index(depth // block), one, "block"), end)

    def with_part(total: Buffer) -> Stmt:
        return local("part", (PANEL,), FLOAT, lambda part: local("met", (1,), FLOAT, partial(blocks, total, part)))

    return local("total", (PANEL,), FLOAT, with_part)


def _several_rows(x: Any, w: Any, s: Any, o: Any, y: Any, p: Any, depth: int, block: int, rows: Any) -> Stmt:
    """Weights of a part of the inputs are written out, and meet all rows, before those of the next."""
    part = min(block, PART)
    clear = loop(rows, lambda m: _lanes(lambda u: store(y, (m, _unit(p, u)), k.const(0, FLOAT))), "m")

    def parts(n: Any) -> Stmt:
        first = n * k.index(part)

        def with_weights(real: Buffer) -> Stmt:
            write = _written_out(real, w, s, o, p, first, part, block)
            many = loop(rows // k.index(ROWS), lambda i: tile(real, i * k.index(ROWS), ROWS), "tile")
            done = rows // k.index(ROWS) * k.index(ROWS)
            rest = loop(rows - done, lambda i: tile(real, done + i, 1), "rest")
            return both(write, many, rest)

        tile = partial(_tile, x, y, p, first, part)
        return local("weights", (part * PANEL,), FLOAT, with_weights)

    return both(clear, loop(k.index(depth // part), parts, "part"))


def _halves(byte: Any) -> tuple[Any, Any]:
    """The two numbers in a byte, the lower bits first."""
    return k.cast(FLOAT, byte & k.const(15, BYTE)), k.cast(FLOAT, byte >> k.const(4, BYTE))


def _lanes(body: Callable[[Any], Stmt]) -> Stmt:
    """The units of a panel, in vectors."""
    unit = Var("u", "int64")
    return For(unit, k.index(0), k.index(PANEL), ForKind.VECTORIZED, body(unit))


def _unit(panel: Any, lane: Any) -> Any:
    return panel * k.index(PANEL) + lane


def _written_out(real: Buffer, w: Any, s: Any, o: Any, p: Any, first: Any, part: int, block: int) -> Stmt:
    """The weights of a part as float32: those of one input after those of another."""

    def pair(n: Any) -> Stmt:
        def lane(u: Any) -> Stmt:
            at, half = first // k.index(block), first // k.index(2) + n

            def both_halves(byte: Any, scale: Any, offset: Any) -> Stmt:
                (low, high), place = _halves(byte), n * k.index(2 * PANEL) + u
                return both(
                    store(real, (place,), low * scale + offset),
                    store(real, (place + k.index(PANEL),), high * scale + offset),
                )

            values = (("byte", load(w, p, half, u)), ("scale", load(s, p, at, u)), ("offset", load(o, p, at, u)))
            return lets(values, both_halves)

        return _lanes(lane)

    return loop(k.index(part // 2), pair, "pair")


def _tile(x: Any, y: Any, p: Any, first: Any, part: int, real: Buffer, begin: Any, rows: int) -> Stmt:
    """Add what a part contributes to `rows` rows from `begin` on."""
    places = [k.index(row * PANEL) for row in range(rows)]

    def sums(acc: Buffer) -> Stmt:
        def each(body: Any) -> Stmt:
            return both(*(_lanes(partial(body, begin + k.index(row), places[row])) for row in range(rows)))

        def read(m: Any, at: Any, u: Any) -> Stmt:
            return store(acc, (at + u,), load(y, m, _unit(p, u)))

        def write(m: Any, at: Any, u: Any) -> Stmt:
            return store(y, (m, _unit(p, u)), load(acc, at + u))

        def step(n: Any) -> Stmt:
            def add(m: Any, at: Any, u: Any) -> Stmt:
                term = load(x, m, first + n) * load(real, n * k.index(PANEL) + u)
                return store(acc, (at + u,), load(acc, at + u) + term)

            return each(add)

        return both(each(read), loop(k.index(part), step, "k"), each(write))

    return local("sums", (rows * PANEL,), FLOAT, sums)


def reference(inputs: Any, a: BlockDenseAttrs) -> Any:
    """A product with the weights written out."""
    x, w, scales, offsets = inputs
    numbers = np.stack([w & 15, w >> 4], axis=2).reshape(w.shape[0], -1, PANEL)
    real = numbers * np.repeat(scales, a.block, axis=1) + np.repeat(offsets, a.block, axis=1)
    return (x @ real.transpose(1, 0, 2).reshape(x.shape[1], -1)).astype("float32")


def samples() -> tuple[Sample, ...]:
    """Blocks smaller and larger than a part, rows of less and more than a tile."""

    def sample(rows: Any, inputs: int, block: int) -> Sample:
        parts = (2, inputs // block, PANEL)
        operands = (Arr((rows, inputs)), Arr((2, inputs // 2, PANEL), "uint8"), Arr(parts), Arr(parts))
        return Sample(operands, BlockDenseAttrs(block=block), rtol=1e-4, atol=1e-4)

    return (sample(1, 64, 32), sample("m", 128, 16), sample(13, 256, 128))


BLOCK_QUANTISED_DENSE: OpDef[Any] = OpDef(
    "nn.block_quantised_dense",
    BlockDenseAttrs,
    inputs=(Input("data"), Input("weight", "panels of bytes"), Input("scales"), Input("offsets")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("weights are numbers of four bits"),
    fusion=Fusion.OPAQUE,
    samples=samples,
    summary="A dense layer of four-bit weights, with a scale and an offset for each block of inputs.",
)
