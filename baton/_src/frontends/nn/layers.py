"""Layers with parameters (`tvm.relax.frontend.nn`): names, shapes and order of parameters as in TVM and PyTorch."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.nn import op
from baton._src.frontends.nn.module import Module
from baton._src.frontends.nn.tensor import Parameter, Tensor


class Linear(Module):
    """x @ weight.T + bias; weight (out_features, in_features)."""

    def __init__(
        self, in_features: Any, out_features: Any, bias: bool = True, dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.in_features, self.out_features, self.out_dtype = in_features, out_features, out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), dtype if out_dtype is None else out_dtype) if bias else None

    def forward(self, x: Tensor) -> Any:
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias


class Embedding(Module):
    """Rows of a table; weight (num, dim)."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None) -> None:
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Any:
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, (-1,)), axis=0)
        return op.reshape(rows, (*x.shape, self.dim))


class LayerNorm(Module):
    """Normalisation over the last axis; weight and bias unless `elementwise_affine` is off."""

    def __init__(
        self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True, dtype: str | None = None
    ) -> None:
        self.normalized_shape, self.eps = normalized_shape, eps
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Any:
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root of the mean of squares along axes."""

    def __init__(
        self, hidden_size: int, axes: Any, epsilon: float = 1e-5, bias: bool = True, dtype: str | None = None
    ) -> None:
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Any:
        found = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return found if self.bias is None else found + self.bias


class Conv2D(Module):
    """A two-dimensional convolution; weight (out, in / groups, height, width)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None, data_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        inner = in_channels // groups
        self.options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        self.data_layout = data_layout
        shape = (out_channels, inner, *sizes) if data_layout == "NCHW" else (out_channels, *sizes, inner)
        self.weight = Parameter(shape, dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Any:
        return op.conv2d(x, self.weight, self.bias, data_layout=self.data_layout, **self.options)


class ReLU(Module):
    def forward(self, x: Tensor) -> Any:
        return op.relu(x)


class SiLU(Module):
    def forward(self, x: Tensor) -> Any:
        return op.silu(x)


class GELU(Module):
    def forward(self, x: Tensor) -> Any:
        return op.gelu(x)


class Identity(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x
