"""`tvm.topi.nn`: layers of numbers that are 1 or -1, packed as bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import number_of
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute, reduce_axis
from baton._src.te.reduction import sum as te_sum
from baton._src.te.tensor import Tensor
from baton._src.tir.operators import bitwise_xor, cast, const
from baton._src.tir.scalar_functions import popcount

_BITS = 32


def binarize_pack(data: Tensor, axis: int | None = None, name: str = "PackedInput") -> Any:
    """Whether elements are 0 or more, 32 along an axis (default: the last) to a word, the first in the highest bit."""
    place = data.ndim - 1 if axis is None else axis % data.ndim
    size = number_of(data.shape[place])
    if not isinstance(size, int) or size % _BITS:
        raise fail("topi", f"binarize_pack packs {_BITS} elements to a word: axis {place} of {data.name} has {size}")

    def word(*at: Any) -> Any:
        found = const(0, "uint32")
        for bit in range(_BITS):
            element = data(*(i * _BITS + bit if n == place else i for n, i in enumerate(at)))
            found = found * const(2, "uint32") + cast("uint32", element >= 0)
        return found

    shape = (*data.shape[:place], size // _BITS, *data.shape[place + 1 :])
    return compute(shape, word, name=name, tag="binarize_pack")


def binary_dense(data: Tensor, weight: Tensor) -> Any:
    """data weightᵀ of numbers that are 1 or -1, packed by `binarize_pack`: (m, k) and (n, k) give float32 (m, n)."""
    if not data.dtype == weight.dtype == "uint32" or not data.ndim == weight.ndim == 2:
        raise fail("topi", "binary_dense multiplies matrices of uint32 words", help="binarize_pack makes them")
    k = reduce_axis((0, data.shape[1]), "k")
    shape = (data.shape[0], weight.shape[0])
    differ = compute(shape, lambda i, j: te_sum(popcount(bitwise_xor(data[i, k], weight[j, k])), k), tag="binary_dense")
    bits = data.shape[1] * _BITS
    return compute(shape, lambda i, j: cast("float32", bits) - cast("float32", differ[i, j]) * 2.0, tag="elemwise")


BINARY_LAYERS: Mapping[str, Callable[..., Any]] = {
    "nn.binarize_pack": binarize_pack,
    "nn.binary_dense": binary_dense,
}
"""By names below `topi`."""
