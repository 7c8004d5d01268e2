"""`tvm.topi.nn` where its names or the order of its arguments are its own: pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call
from baton._src.te.tensor import Tensor


def _pool(count: int, layout: str) -> Callable[..., Any]:
    """pool2d(data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout, count_include_pad)"""
    default = layout

    def function(
        data: Tensor,
        kernel: Any,
        stride: Any,
        dilation: Any,
        padding: Any,
        pool_type: str,
        ceil_mode: bool = False,
        layout: str = default,
        count_include_pad: bool = True,
    ) -> Any:
        """The mean (`pool_type` avg) or maximum (max) of each window."""
        options = {"pool_size": kernel, "strides": stride, "dilation": dilation, "padding": padding}
        options |= {"ceil_mode": ceil_mode, "layout": layout, "count_include_pad": count_include_pad}
        return call(f"nn.{pool_type}_pool{count}d", data, **options)

    return function


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
) -> Any:
    """The gradient of a pooling over two axes with respect to its input."""
    options = {"pool_size": kernel, "strides": stride, "padding": padding, "ceil_mode": ceil_mode, "layout": layout}
    if pool_type == "avg":
        options["count_include_pad"] = count_include_pad
    return call(f"grad.{pool_type}_pool2d_backward", grads, data, **options)


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Any:
    """The mean or maximum of every channel."""
    return call(f"nn.global_{pool_type}_pool{_spatial(layout)}d", data, layout=layout)


def _spatial(layout: str) -> int:
    return sum(c in "DHW" for c in layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Pooling with an output of the given size."""
    return call(f"nn.adaptive_{pool_type}_pool{_spatial(layout)}d", data, output_size=output_size, layout=layout)


POOLING: Mapping[str, Callable[..., Any]] = {
    "nn.pool1d": _pool(1, "NCW"),
    "nn.pool2d": _pool(2, "NCHW"),
    "nn.pool3d": _pool(3, "NCDHW"),
    "nn.adaptive_pool1d": partial(adaptive_pool, layout="NCW"),
    "nn.adaptive_pool3d": partial(adaptive_pool, layout="NCDHW"),
    **{f"nn.{function.__name__}": function for function in (pool_grad, global_pool, adaptive_pool)},
}
"""Pooling of topi.nn, by the names below `topi`."""
