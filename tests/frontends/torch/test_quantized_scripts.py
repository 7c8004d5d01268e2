"""Quantised models of TorchScript give PyTorch's own numbers: eager mode, traced and scripted, static and dynamic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.ao.quantization as quantization
from torch import nn

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.modules import seeded

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


class Images(nn.Module):
    """What convolutional networks are quantised as: fused activations, sums, pools, a last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.begin, self.end = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.relu = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU()
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.sum, self.pool, self.last = nn.quantized.FloatFunctional(), nn.MaxPool2d(2), nn.Linear(32, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.first(self.begin(x)))
        x = self.pool(self.sum.add_relu(x, self.second(x)))
        return self.end(self.last(x.flatten(1)))


class Signals(nn.Module):
    """Activations, products with numbers and means, each with its own rule for the scale."""

    def __init__(self) -> None:
        super().__init__()
        self.begin, self.end = quantization.QuantStub(), quantization.DeQuantStub()
        self.first = nn.Conv1d(3, 4, 3, stride=2, padding=1)
        self.swish, self.leaky, self.norm, self.six = nn.Hardswish(), nn.LeakyReLU(0.1), nn.LayerNorm(6), nn.ReLU6()
        self.product, self.joined, self.numbers = (nn.quantized.FloatFunctional() for _ in range(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.first(self.begin(x))
        y = self.swish(x)
        z = self.joined.cat([self.product.mul(y, torch.sigmoid(x)), self.leaky(y)], 1)
        w = self.numbers.add_scalar(self.numbers.mul_scalar(z, -2.0), 1.5)
        moved = w.transpose(1, 2).reshape(2, -1)[:, 1:].chunk(2, 1)[1]
        return tuple(self.end(t) for t in (z, w, self.six(w), w.mean(2), self.norm(z), moved, torch.tanh(z)))


def quantised(kind: Any, x: torch.Tensor) -> Any:
    module = seeded(kind).eval()
    module.qconfig = quantization.get_default_qconfig("fbgemm")
    if kind is Images:
        quantization.fuse_modules(module, [["first", "relu"]], inplace=True)
    prepared = quantization.prepare(module)
    prepared(x)
    return quantization.convert(prepared)


def run(script: Any, x: torch.Tensor, **options: Any) -> list[Any]:
    module, params = from_pytorch(script, [("x", tuple(x.shape))], **options)
    found = baton.compile(module, params=params)(x.numpy())
    return [np.asarray(a) for a in (found if isinstance(found, (tuple, list)) else [found])]


@pytest.mark.parametrize("make", [lambda q, x: torch.jit.trace(q, x), lambda q, x: torch.jit.script(q)])
def test_convolutional_network(make: Any) -> None:
    """Sums in int32 are exact; what is rounded is rounded as PyTorch does it."""
    x = floats(2, 3, 8, 8)
    module = quantised(Images, x)
    (found,) = run(make(module, x), x)
    np.testing.assert_allclose(found, module(x).numpy(), 0, module.last.scale * 1.01)


def test_scales_of_functions() -> None:
    x = floats(2, 3, 12)
    module = quantised(Signals, x)
    for place, (got, wanted) in enumerate(zip(run(torch.jit.trace(module, x), x), module(x), strict=True)):
        step = np.diff(np.unique(wanted)).min()  # the scale, or a multiple of it
        np.testing.assert_allclose(got, wanted, 0, step * 1.01, err_msg=f"result {place}")
        assert np.mean(got == wanted.numpy()) > 0.9, place


class Layers(nn.Module):
    """Layers one after another, between whole numbers."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.begin, self.layers, self.end = quantization.QuantStub(), nn.Sequential(*layers), quantization.DeQuantStub()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.end(self.layers(self.begin(x)))


def test_scripted_layers_with_scales_of_their_own() -> None:
    """Traced, scales are constants; scripted, they are tensors of the modules, which are known when importing."""
    layers = Layers(
        nn.Conv2d(3, 4, 3), nn.Hardswish(), nn.GroupNorm(2, 4), nn.LeakyReLU(0.1), nn.ELU(0.7), nn.BatchNorm2d(4),
        nn.InstanceNorm2d(4, affine=True), nn.Threshold(0.1, 0.2), nn.ZeroPad2d(1), nn.ChannelShuffle(2), nn.Sigmoid(),
    )  # fmt: skip
    x = floats(2, 3, 8, 8)
    module = quantised(lambda: layers, x)
    (found,) = run(torch.jit.script(module), x)
    np.testing.assert_allclose(found, module(x).numpy(), 0, 1.01 / 256)
    assert np.mean(found == module(x).numpy()) > 0.95


def test_averages_and_inputs_halfway_between_two() -> None:
    """They are rounded after the zero point is added, which decides for an odd one."""

    class Averages(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            q = torch.quantize_per_tensor(x, 0.5, 3, torch.quint8)
            pool, wide = nn.functional.avg_pool2d, nn.functional.interpolate(q, scale_factor=2.0, mode="bilinear")
            return q.dequantize(), pool(q, 2, padding=1).dequantize(), wide.dequantize(), q.mean((2, 3)).dequantize()

    x = (torch.arange(128.0).view(1, 2, 8, 8).remainder(37) - 6) / 4  # some below the zero point
    traced = torch.jit.trace(Averages(), x, check_trace=False)
    for got, wanted in zip(run(traced, x), Averages()(x), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_transposed_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums are those of the numbers, as in PyTorch's engine fbgemm (other engines differ)."""
    engines = torch.backends.quantized.supported_engines
    if "fbgemm" not in engines:
        pytest.skip("PyTorch has no fbgemm here")
    monkeypatch.setattr(torch.backends.quantized, "engine", "fbgemm")
    layers = Layers(nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), nn.ReLU())
    layers.qconfig = quantization.QConfig(quantization.default_observer, quantization.default_weight_observer)
    x = floats(2, 4, 5, 6)
    prepared = quantization.prepare(layers.eval())
    prepared(x)
    module = quantization.convert(prepared)
    (found,) = run(torch.jit.script(module), x)
    np.testing.assert_allclose(found, module(x).numpy(), 0, module.layers[0].scale * 1.01)


def test_tables() -> None:
    """Rows of bytes, each with a scale."""

    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.bags = nn.Embedding(10, 6), nn.EmbeddingBag(10, 6, mode="sum", include_last_offset=True)

        def forward(self, words: torch.Tensor, starts: torch.Tensor) -> Any:
            return self.rows(words), self.bags(words, starts)

    module = seeded(Words).eval()
    module.qconfig = quantization.float_qparams_weight_only_qconfig
    converted = quantization.convert(quantization.prepare(module))
    words, starts = torch.tensor([1, 9, 3, 3, 0]), torch.tensor([0, 2, 5])
    inputs = [("words", ((5,), "int64")), ("starts", ((3,), "int64"))]
    relay, params = from_pytorch(torch.jit.script(converted), inputs)
    found = baton.compile(relay, params=params)(words.numpy(), starts.numpy())
    for got, wanted in zip(found, converted(words, starts), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)


def test_dynamic_layers() -> None:
    """Real numbers whose scale every call finds."""
    layers = seeded(lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))).eval()
    module = quantization.quantize_dynamic(layers, {nn.Linear})
    x = floats(5, 4)
    (found,) = run(torch.jit.trace(module, x), x)
    np.testing.assert_allclose(found, module(x).numpy(), 0, 0.01)


def test_what_is_not_known_of_quantised_tensors() -> None:
    class Strange(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cumsum(torch.quantize_per_tensor(x, 0.1, 3, torch.quint8).dequantize(), 0), torch.sort(
                torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)
            )[0]

    with pytest.raises(DiagnosticError, match=r"aten::sort of quantised tensors is not supported"):
        run(torch.jit.trace(Strange(), floats(3, 4), check_trace=False), floats(3, 4))
