"""nn.block_quantised_dense: a dense layer of weights of 2, 4 or 8 bits, with a scale and a zero point for each block.

    y[m, u] = sum over k of x[m, k] * scale[u, k / block] * (number[u, k] - zero[u, k / block])

The zero points are the middle of the numbers' range unless given. `rounded`: so that the products are those of bytes,
x is rounded to 255 numbers in each block of a row, evenly up to the largest element there (see `rounding`). How the
weights lie: see `weights`. MatMulNBits of ONNX is imported as this.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_vdevice
from baton._src.ops.dims import DimMath, known_dim, show_shape
from baton._src.ops.linalg.block_quantised.exact_kernel import PART, exact_kernel
from baton._src.ops.linalg.block_quantised.rounded_kernel import rounded_kernel
from baton._src.ops.linalg.block_quantised.rounding import rounded, rounded_data
from baton._src.ops.linalg.block_quantised.weights import FLOAT, PANEL, WORD_BITS, Weights, out_of_panels, unpacked
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32
from baton._src.values.tensor import AnyArray


@attrs
class BlockDenseAttrs(Attrs):
    """What the numbers are, and what they meet."""

    block: int = attr(32, "inputs that share a scale and a zero point: whole words, and a divisor or multiple of 64")
    bits: int = attr(4, "bits of a number: 2, 4 or 8")
    rounded: bool = attr(False, "whether the data are rounded to bytes in each block")

    def __post_init__(self) -> None:
        set_attr(self, "block", int(self.block))
        set_attr(self, "bits", int(self.bits))
        set_attr(self, "rounded", bool(self.rounded))


def suits(block: int, bits: int) -> bool:
    """Whether the kernel takes blocks of this size."""
    words = bits in (2, 4, 8) and block > 0 and block * bits % WORD_BITS == 0
    return words and (block % PART == 0 or PART % block == 0)


def infer(call: OpCall[BlockDenseAttrs]) -> Info:
    """Rows by units."""
    check_ranks(call, 2, 3, 3, *([3] if len(call.args) > 3 else []))
    _check_dtypes(call)
    x, w, *per_block = (call.tensor(n) for n in range(len(call.args)))
    block, bits, math = call.attrs.block, call.attrs.bits, DimMath(call.prover)
    if not suits(block, bits):
        call.fail(f"blocks of {block} numbers of {bits} bits are not supported", code="op-attribute")
    if x.shape is None or w.shape is None:
        return TensorInfo(None, FLOAT, 2, same_vdevice(call, (x, w)))
    panels, words, lanes = w.shape
    inputs = words * WORD_BITS // bits if isinstance(words, int) else 0
    if lanes != PANEL or not inputs or inputs % block:
        call.fail(f"weight {show_shape(w.shape)} is no panels of {PANEL} units with blocks of {block} inputs")
    given = x.shape[1]
    if not isinstance(given, int) or not inputs - block < given <= inputs:
        call.fail(f"the data {show_shape(x.shape)} has {given} inputs, the weight takes {inputs}")
    wanted = (panels, inputs // block, PANEL)
    for info, operand in zip(per_block, call.op.inputs[2:]):
        if info.shape is not None and any(math.equal(a, b) is False for a, b in zip(info.shape, wanted)):
            call.fail(f"{operand.name} {show_shape(info.shape)} must be {show_shape(wanted)}")
    return TensorInfo((x.shape[0], math.multiply(panels, PANEL)), FLOAT, vdevice=same_vdevice(call, (x, w)))


def _check_dtypes(call: OpCall[BlockDenseAttrs]) -> None:
    check_floats(call, 0, 2)
    weight = call.tensor(1).dtype
    if not weight.is_void and weight != INT32:
        call.fail(f"weight must be words of bytes (int32), got {weight}", code="op-dtype")
    if len(call.args) > 3 and call.attrs.rounded and call.tensor(3).dtype.is_float:
        call.fail("zeros must hold integers where the data are rounded", code="op-dtype")


def compute(inputs: Sequence[k.Tensor], a: BlockDenseAttrs, out: k.Result) -> k.Tensor:
    """Panel by panel."""
    data, *weights = inputs
    inputs_of_row, blocks = known_dim(data.shape[1]), known_dim(weights[1].shape[1])
    met = rounded(data, a.block, blocks) if a.rounded else (data,)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        words, scales, *zeros = ins[len(met) :]
        operands = Weights(words, scales, zeros[0] if zeros else None, a.bits, a.block, blocks)
        if a.rounded:
            numbers, steps, sums = ins[: len(met)]
            return rounded_kernel(numbers, steps, sums, operands, outs[0])
        return exact_kernel(ins[0], inputs_of_row, operands, outs[0])

    return extern(tuple(out.shape), [*met, *weights], body, "block_dense", FLOAT)


def reference(inputs: Sequence[AnyArray], a: BlockDenseAttrs) -> AnyArray:
    """A product with the weights written out."""
    x, words, scales, *zeros = inputs
    numbers = unpacked(words, a.bits).astype("float32")
    zero = _whole(zeros[0], a.block) if zeros else np.float32(1 << (a.bits - 1))
    real = (numbers - zero) * _whole(scales, a.block)
    x = np.pad(x.astype("float32"), ((0, 0), (0, real.shape[1] - x.shape[1])))
    found: AnyArray = ((rounded_data(x, a.block) if a.rounded else x) @ real.T).astype("float32")
    return found


def _whole(per_block: AnyArray, block: int) -> AnyArray:
    return np.repeat(out_of_panels(per_block).astype("float32"), block, axis=1)


def samples() -> tuple[Sample, ...]:
    """Blocks smaller and larger than a part, the last one full or not; rows of less and more than a tile."""

    def sample(
        rows: SampleDim, inputs: int, block: int, bits: int, *, rounded: bool = False, zeros: bool = False
    ) -> Sample:
        blocks = -(-inputs // block)
        words = Arr((2, blocks * block * bits // WORD_BITS, PANEL), "int32", -(2.0**31), 2.0**31 - 1)
        scales, points = Arr((2, blocks, PANEL)), Arr((2, blocks, PANEL), "uint8", 0, 1 << bits)
        operands = (Arr((rows, inputs)), words, scales, *([points] if zeros else []))
        return Sample(operands, BlockDenseAttrs(block=block, bits=bits, rounded=rounded), rtol=1e-4, atol=1e-2)

    exact = (sample(1, 64, 32, 4, zeros=True), sample("m", 128, 16, 2), sample(13, 250, 128, 8, zeros=True))
    return (*exact, sample(1, 90, 32, 4, rounded=True), sample("m", 512, 16, 2, rounded=True, zeros=True),
            sample(13, 256, 128, 8, rounded=True))  # fmt: skip


BLOCK_QUANTISED_DENSE = OpDef(
    "nn.block_quantised_dense",
    BlockDenseAttrs,
    inputs=(
        Input("data"),
        Input("weight", "panels of words"),
        Input("scales"),
        Input("zeros", "the middle of the range", optional=True),
    ),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("weights are numbers of few bits"),
    fusion=Fusion.OPAQUE,
    samples=samples,
    summary="A dense layer of weights of few bits, with a scale and a zero point for each block of inputs.",
)
