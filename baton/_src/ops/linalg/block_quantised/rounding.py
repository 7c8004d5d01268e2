"""Data rounded to bytes in each block of inputs: numbers from -127 to 127, and the step between them.

step[m, b] = largest of |x| in block b / 127          number[m, k] = x[m, k] * (1 / step) to the nearest, ties to even
"""

from __future__ import annotations

import numpy as np

from baton._src.ops import kernel_words as k
from baton._src.ops.dims import known_dim
from baton._src.values.dtype import INT32, DataType
from baton._src.values.tensor import AnyArray

FLOAT = DataType("float32")
GREATEST = 127
LEAST = 4e-37
"""The largest element of a block counts as at least this: 127 divided by it is a float."""


def rounded(data: k.Tensor, block: int, blocks: int) -> tuple[k.Tensor, k.Tensor, k.Tensor]:
    """The numbers (rows, blocks * block) as int8, beyond the inputs 0; (rows, blocks) steps and sums of them."""
    rows, inputs = data.shape[0], known_dim(data.shape[1])
    each, many = k.index(block), (rows, blocks)

    def element(m: k.Scalar, at: k.Scalar) -> k.Scalar:
        if inputs == blocks * block:
            return k.cast(FLOAT, data(m, at))
        return k.if_then_else(at < k.index(inputs), k.cast(FLOAT, data(m, at)), k.const(0, FLOAT))

    def bound(m: k.Scalar, b: k.Scalar) -> k.Scalar:
        return k.maximum(largest(m, b), k.const(LEAST, FLOAT))

    def nearest(m: k.Scalar, at: k.Scalar) -> k.Scalar:
        return k.cast("int8", k.nearbyint(element(m, at) * factors(m, at // each)))

    i, j = k.reduce_axis(block, "i"), k.reduce_axis(block, "j")
    top = k.const(GREATEST, FLOAT)
    largest = k.compute(many, lambda m, b: k.reduce_max(k.fabs(element(m, b * each + i.var)), [i]), "largest")
    factors = k.compute(many, lambda m, b: top / bound(m, b), "factors")
    steps = k.compute(many, lambda m, b: bound(m, b) / top, "steps")
    numbers = k.compute((rows, blocks * block), nearest, "numbers")
    sums = k.compute(many, lambda m, b: k.reduce_sum(k.cast(INT32, numbers(m, b * each + j.var)), [j]), "sums")
    return numbers, steps, sums


def rounded_data(x: AnyArray, block: int) -> AnyArray:
    """Data (rows, whole blocks) as they are after rounding, as float32."""
    blocks = x.astype("float32").reshape(x.shape[0], x.shape[1] // block, block)
    bound = np.maximum(np.abs(blocks).max(axis=2, keepdims=True), np.float32(LEAST))
    numbers = np.rint(blocks * (np.float32(GREATEST) / bound))
    found: AnyArray = (numbers * (bound / np.float32(GREATEST))).reshape(x.shape)
    return found
