"""`tvm.topi.nn` where its names or the order of its arguments are its own: pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call
from baton._src.driver.tvm_names.topi.tagging import with_tag
from baton._src.driver.tvm_names.topi.tags import ELEMWISE
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
        return with_tag(call(f"nn.{pool_type}_pool{count}d", data, **options), ELEMWISE)

    return function


def pool_grad(
    grads: Tensor,
    data: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "NCHW",
) -> Any:
    """The gradient of a pooling over two axes with respect to its input."""
    options = {"pool_size": kernel, "strides": stride, "padding": padding, "ceil_mode": ceil_mode, "layout": layout}
    if pool_type == "avg":
        options["count_include_pad"] = count_include_pad
    return with_tag(call(f"grad.{pool_type}_pool2d_backward", grads, data, **options), f"pool_grad_{pool_type}")


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Any:
    """The mean or maximum of every channel."""
    return with_tag(call(f"nn.global_{pool_type}_pool{_spatial(layout)}d", data, layout=layout), ELEMWISE)


def _spatial(layout: str) -> int:
    return sum(c in "DHW" for c in layout)


def _adaptive_pool(layout: str) -> Callable[..., Any]:
    """adaptive_pool(data, output_size, pool_type, layout) and its like."""
    default = layout

    def function(data: Tensor, output_size: Any, pool_type: str, layout: str = default) -> Any:
        """Pooling with an output of the given size."""
        name = f"nn.adaptive_{pool_type}_pool{_spatial(layout)}d"
        return with_tag(call(name, data, output_size=output_size, layout=layout), ELEMWISE)

    return function


POOLING: Mapping[str, Callable[..., Any]] = {
    "nn.pool1d": _pool(1, "NCW"),
    "nn.pool2d": _pool(2, "NCHW"),
    "nn.pool3d": _pool(3, "NCDHW"),
    "nn.adaptive_pool": _adaptive_pool("NCHW"),
    "nn.adaptive_pool1d": _adaptive_pool("NCW"),
    "nn.adaptive_pool3d": _adaptive_pool("NCDHW"),
    **{f"nn.{function.__name__}": function for function in (pool_grad, global_pool)},
}
"""Pooling of topi.nn, by the names below `topi`."""
