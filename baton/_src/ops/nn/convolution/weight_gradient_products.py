"""nn.conv2d_backward_weight as products of matrices: one group, channels first.

    dw[o, c, r] = sum over n, s of grad[n, o, s] * x[n, c, s * stride + r * dilation - begin]

With places (n, s) as rows and channels last, what each place r of the kernel meets is a part of the data, and
dw[:, :, r] a product of matrices. As one loop over all places it had no vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

_WIDE = 64
"""From so many channels on, what all places of the kernel meet is written side by side, for one product: it reads the
gradient once. With fewer channels, rows are so short that copying takes longer than the products."""


def decompose(b: Any, args: Any, a: Any, out: Any) -> Any:
    """The products; None for groups, other layouts, integers, or shapes that are not known one by one."""
    grad, x = args
    given, read = (getattr(arg.struct_info.shape, "values", None) for arg in args)
    plain = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout) == ("NCHW", "OIHW", "NCHW")
    same = grad.struct_info.dtype == x.struct_info.dtype == out.dtype and out.dtype.is_float
    if a.groups != 1 or not plain or not same or given is None or read is None:
        return None
    (images, outputs, *places), channels = given, read[1]
    count = prod(places, start=images)
    slopes = b.op("reshape", b.op("permute_dims", grad, axes=(1, 0, 2, 3)), b.shape((outputs, count)))
    met = [b.op("reshape", part, b.shape((count, channels))) for part in _parts(b, x, a, places)]
    if isinstance(getattr(channels, "value", None), int) and channels.value >= _WIDE:
        found = b.op("matmul", slopes, b.op("concat", b.tuple(*met), axis=1))
    else:
        found = b.op("stack", b.tuple(*(b.op("matmul", slopes, m) for m in met)), axis=1)
    found = b.op("reshape", found, b.shape((outputs, *a.kernel_size, channels)))
    return b.op("permute_dims", found, axes=(0, 3, 1, 2))


def _parts(b: Any, x: Any, a: Any, places: Sequence[Any]) -> list[Any]:
    """What each place of the kernel meets, channels last."""
    top, left, bottom, right = a.padding
    seen = b.op("permute_dims", x, axes=(0, 2, 3, 1))
    if any(a.padding):
        seen = b.op("nn.pad", seen, pad_width=((0, 0), (top, bottom), (left, right), (0, 0)))
    found = []
    for place in np.ndindex(*a.kernel_size):
        begins = [at * d for at, d in zip(place, a.dilation)]
        ends = [begin + (n - 1) * s + 1 for begin, n, s in zip(begins, places, a.strides)]
        found.append(b.op("strided_slice", seen, (1, 2), tuple(begins), tuple(ends), a.strides))
    return found
