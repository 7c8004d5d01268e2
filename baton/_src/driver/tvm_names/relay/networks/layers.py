"""Layers with parameters of their own (`tvm.relay.testing.layers`): weights are variables named after the layer."""

from __future__ import annotations

from typing import Any

from baton._src.ops.builders import RELAY
from baton._src.relay.nodes import Expr, var
from baton._src.support.diagnostics import fail

_OPS: Any = RELAY


def conv2d(data: Any, weight: Any = None, name: str = "conv2d", **options: Any) -> Expr:
    """`nn.conv2d` with `{name}_weight`."""
    found: Expr = _OPS.nn.conv2d(data, weight if weight is not None else var(f"{name}_weight"), **options)
    return found


def conv2d_transpose(data: Any, weight: Any = None, name: str = "conv2d_transpose", **options: Any) -> Expr:
    """`nn.conv2d_transpose` with `{name}_weight`."""
    found: Expr = _OPS.nn.conv2d_transpose(data, weight if weight is not None else var(f"{name}_weight"), **options)
    return found


def conv3d(data: Any, weight: Any = None, name: str = "conv3d", **options: Any) -> Expr:
    """`nn.conv3d` with `{name}_weight`."""
    found: Expr = _OPS.nn.conv3d(data, weight if weight is not None else var(f"{name}_weight"), **options)
    return found


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of kernels that goes with one of data."""
    layouts = {"NCHW": "OIHW", "NCDHW": "OIDHW", "NHWC": "HWOI" if is_depthwise else "HWIO", "NDHWC": "DHWIO"}
    if data_layout not in layouts:
        raise fail("api", f"no layout of kernels is known for {data_layout}", help=f"one of {', '.join(layouts)}")
    return layouts[data_layout]


def batch_norm_infer(
    data: Any,
    gamma: Any = None,
    beta: Any = None,
    moving_mean: Any = None,
    moving_var: Any = None,
    name: str = "bn",
    **options: Any,
) -> Expr:
    """`nn.batch_norm`, by default of parameters `{name}_gamma`, `_beta`, `_moving_mean`, `_moving_var`; the data."""
    given = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    parts = [var(f"{name}_{part}") if value is None else value for part, value in given.items()]
    found: Expr = _OPS.nn.batch_norm(data, *parts, **options)[0]
    return found


def dense_add_bias(data: Any, weight: Any = None, bias: Any = None, units: Any = None, name: str = "fc") -> Expr:
    """`nn.dense` and `nn.bias_add` with `{name}_weight` and `{name}_bias`."""
    product = _OPS.nn.dense(data, weight if weight is not None else var(f"{name}_weight"), units=units)
    found: Expr = _OPS.nn.bias_add(product, bias if bias is not None else var(f"{name}_bias"))
    return found


def classifier(data: Any, num_classes: int, name: str = "fc", layout: str = "NCHW") -> Expr:
    """Average over the picture, dense layer, softmax."""
    flat = _OPS.nn.batch_flatten(_OPS.nn.global_avg_pool2d(data, layout=layout))
    found: Expr = _OPS.nn.softmax(dense_add_bias(flat, units=num_classes, name=name))
    return found
