"""Layers with parameters (`tvm.relax.frontend.nn`): names, shapes and order of parameters as in TVM and PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
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
        """(..., in_features) -> (..., out_features)."""
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else product + self.bias

    def to(self, dtype: str | None = None) -> None:
        """A bias of the dtype of the result keeps it."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class MultiLinear(Linear):
    """Several linear layers on one input, with their weights concatenated; returns a tuple."""

    def __init__(
        self, in_features: Any, out_features: Sequence[int], bias: bool = True, dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, sum(out_features), bias, dtype, out_dtype)
        self.out_features = out_features

    def forward(self, x: Tensor) -> Any:
        """(..., in_features) -> a tensor (..., features) for each of `out_features`."""
        ends = list(accumulate(self.out_features))[:-1]
        return op.split(super().forward(x), ends, axis=-1)


class Embedding(Module):
    """A lookup table; weight (num, dim)."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None) -> None:
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Any:
        """Integers of any shape -> (*shape, dim)."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, (-1,)), axis=0)
        return op.reshape(rows, (*x.shape, self.dim))


class LayerNorm(Module):
    """Normalisation over the last axis; weight and bias unless `elementwise_affine` is off."""

    def __init__(
        self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True, dtype: str | None = None
    ) -> None:
        self.normalized_shape, self.eps, self.elementwise_affine = normalized_shape, eps, elementwise_affine
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Any:
        """The input, normalised over its last axes, those of `normalized_shape`."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root mean square along axes."""

    def __init__(
        self, hidden_size: int, axes: Any, epsilon: float = 1e-5, bias: bool = True, dtype: str | None = None
    ) -> None:
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Any:
        """The input, divided by its root mean square over `axes`."""
        found = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return found if self.bias is None else found + self.bias


class GroupNorm(Module):
    """Normalisation over groups of channels; weight and bias unless `affine` is off."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: str | None = None
    ) -> None:
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: Any = None) -> Any:
        """The input, normalised over groups of channels and `axes` (all but the first and the channels if left out)."""
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class _Convolution(Module):
    """What convolutions have in common."""

    weight: Parameter
    bias: Parameter | None

    def _describe(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
        groups: int,
    ) -> None:  # fmt: skip
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def _weights(self, shape: tuple[int, ...], bias: bool, dtype: str | None) -> None:
        self.weight = Parameter(shape, dtype)
        self.bias = Parameter((self.out_channels,), dtype) if bias else None


class Conv1D(_Convolution):
    """A one-dimensional convolution; weight (out, in / groups, width)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None,
    ) -> None:  # fmt: skip
        self._describe(in_channels, out_channels, kernel_size, stride, padding, dilation, groups)
        self._weights((out_channels, in_channels // groups, kernel_size), bias, dtype)

    def forward(self, x: Tensor) -> Any:
        """(batch, in_channels, width) -> (batch, out_channels, width')."""
        return op.conv1d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv2D(_Convolution):
    """A two-dimensional convolution; weight (out, in / groups, height, width), whatever the layout of the data."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None, data_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        sizes = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        self._describe(in_channels, out_channels, sizes, stride, padding, dilation, groups)
        self.data_layout = data_layout
        self._weights((out_channels, in_channels // groups, *sizes), bias, dtype)

    def forward(self, x: Tensor) -> Any:
        """(batch, in_channels, height, width) -> (batch, out_channels, height', width'), or in `data_layout`."""
        options = (self.stride, self.padding, self.dilation, self.groups, self.data_layout)
        return op.conv2d(x, self.weight, self.bias, *options)


class Conv3D(_Convolution):
    """A three-dimensional convolution; weight (out, in / groups, depth, height, width), as in `Conv2D`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None, data_layout: str = "NCDHW",
    ) -> None:  # fmt: skip
        sizes = (kernel_size,) * 3 if isinstance(kernel_size, int) else tuple(kernel_size)
        self._describe(in_channels, out_channels, sizes, stride, padding, dilation, groups)
        self.data_layout = data_layout
        self._weights((out_channels, in_channels // groups, *sizes), bias, dtype)

    def forward(self, x: Tensor) -> Any:
        """(batch, in_channels, depth, height, width) -> (batch, out_channels, ...), or in `data_layout`."""
        options = (self.stride, self.padding, self.dilation, self.groups, self.data_layout)
        return op.conv3d(x, self.weight, self.bias, *options)


class ConvTranspose1D(_Convolution):
    """A one-dimensional transposed convolution; weight (in, out / groups, width)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True, dtype: str | None = None,
    ) -> None:  # fmt: skip
        self._describe(in_channels, out_channels, kernel_size, stride, padding, dilation, groups)
        self.output_padding = output_padding
        self.weight = Parameter((in_channels, out_channels // groups, kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Any:
        """(batch, in_channels, width) -> (batch, out_channels, width')."""
        options = (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        return op.conv1d_transpose(x, self.weight, self.bias, *options)


class ReLU(Module):
    """Rectified linear unit: max(x, 0)."""

    def forward(self, x: Tensor) -> Any:
        """max(x, 0)."""
        return op.relu(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Tensor) -> Any:
        """x * sigmoid(x)."""
        return op.silu(x)


class GELU(Module):
    """Gaussian error linear unit: x * P(X <= x) for a standard normal X."""

    def forward(self, x: Tensor) -> Any:
        """x * P(X <= x) for a standard normal X."""
        return op.gelu(x)


class Identity(Module):
    """Returns its input."""

    def forward(self, x: Tensor) -> Tensor:
        """The input itself."""
        return x
