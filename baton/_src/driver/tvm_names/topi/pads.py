"""`topi.nn.utils`: paddings as numbers for each side, and what stages of a convolution tell of them.

A padding is a number for all sides, one for both sides of each axis, one for each side, "VALID" (none) or "SAME".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.topi.shapes import get_const_int
from baton._src.support.diagnostics import fail
from baton._src.te.tensor import Tensor

Sides = tuple[list[Any], list[Any]]


def get_pad_tuple_generic(padding: Any, kernel: Sequence[Any]) -> Sides:
    """Paddings before and after each axis of `kernel`; error `topi` for what is no padding of so many axes."""
    rank = len(kernel)
    if isinstance(padding, (tuple, list)) and len(padding) == 2 * rank:
        return list(padding[:rank]), list(padding[rank:])
    if isinstance(padding, (tuple, list)) and len(padding) == rank:
        whole = [2 * p for p in padding]
    elif isinstance(padding, int):
        whole = [2 * padding] * rank
    elif padding == "VALID":
        whole = [0] * rank
    elif padding == "SAME":
        whole = [size - 1 for size in kernel]
    else:
        wanted = f"a number, {rank} or {2 * rank} of them, VALID or SAME"
        raise fail("topi", f"{padding!r} is no padding of {rank} axes", help=wanted, kind=ValueError)
    before = [(p + 1) // 2 for p in whole]
    return before, [p - b for p, b in zip(whole, before)]


def get_pad_tuple1d(padding: Any, kernel: Sequence[Any] | Any) -> tuple[Any, ...]:
    """(left, right)."""
    return _flat(padding, kernel, 1)


def get_pad_tuple(padding: Any, kernel: Sequence[Any]) -> tuple[Any, ...]:
    """(top, left, bottom, right)."""
    return _flat(padding, kernel, 2)


def get_pad_tuple3d(padding: Any, kernel: Sequence[Any]) -> tuple[Any, ...]:
    """(front, top, left, back, bottom, right)."""
    return _flat(padding, kernel, 3)


def _flat(padding: Any, kernel: Any, rank: int) -> tuple[Any, ...]:
    """All sides in a row. Of a kernel only the sizes of its first `rank` axes count, and those only for SAME."""
    sizes = tuple(kernel)[:rank] if padding == "SAME" else (0,) * rank
    before, after = get_pad_tuple_generic(padding, sizes)
    return (*before, *after)


def infer_pad(data: Tensor, data_pad: Tensor | None) -> tuple[int, int]:
    """The paddings (of each side) of the height and width by which `data` of layout NCHW became `data_pad`."""
    if data_pad is None:
        return 0, 0
    height, width = (get_const_int((t - i) // 2) for t, i in zip(data_pad.shape[2:], data.shape[2:]))
    return height, width


def infer_pad3d(data: Tensor, data_pad: Tensor | None, layout: str) -> tuple[int, int, int]:
    """The total padding (of both sides) of the depth, height and width of `data` in layout NCDHW or NDHWC."""
    if data_pad is None:
        return 0, 0, 0
    if layout not in ("NCDHW", "NDHWC"):
        raise fail("topi", f"layout {layout!r} is not supported", help="NCDHW or NDHWC", kind=ValueError)
    first = layout.index("D")
    spatial = slice(first, first + 3)
    depth, height, width = (get_const_int(t - i) for t, i in zip(data_pad.shape[spatial], data.shape[spatial]))
    return depth, height, width


def infer_stride(data: Tensor, kernel: Tensor, out: Tensor) -> tuple[int, int]:
    """The strides of the height and width of a convolution of (padded) `data` of layout NCHW to `out`."""
    height, width = (_stride(*sizes) for sizes in zip(data.shape[2:], kernel.shape[2:], out.shape[2:]))
    return height, width


def _stride(*sizes: Any) -> int:
    """Steps between the outputs; where there is one output only, the smallest that leads beyond it."""
    data, kernel, out = map(get_const_int, sizes)
    return (data - kernel) // max(out - 1, 1) + (out == 1)
