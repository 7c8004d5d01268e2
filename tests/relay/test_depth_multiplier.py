"""Depthwise convolutions by kernels (channels, multiplier, ...), as TensorFlow has them: against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay

CHANNELS, MULTIPLIER = 4, 3
LAYOUTS = [("NCHW", "OIHW"), ("NHWC", "HWOI"), ("NHWC", "HWIO"), ("NCHW", "OHWI")]
GEOMETRY: dict[str, Any] = {"strides": (2, 1), "padding": (1, 1), "kernel_size": (3, 2)}


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def moved(value: Any, before: str, after: str) -> Any:
    return value.transpose([before.index(letter) for letter in after])


def program(x: Any, w: Any, data_layout: str = "NCHW", kernel_layout: str = "OIHW") -> Any:
    params = [relay.var("x", shape=x.shape), relay.var("w", shape=w.shape)]
    options = {"groups": CHANNELS, "channels": CHANNELS * MULTIPLIER, **GEOMETRY}
    body = relay.nn.conv2d(*params, data_layout=data_layout, kernel_layout=kernel_layout, **options)
    return relay.transform.InferType()(baton.IRModule.from_expr(relay.Function(params, body)))


@pytest.mark.parametrize(("data_layout", "kernel_layout"), LAYOUTS)
def test_values(data_layout: str, kernel_layout: str) -> None:
    torch = pytest.importorskip("torch")
    x, w = numbers(2, CHANNELS, 7, 6), numbers(CHANNELS, MULTIPLIER, 3, 2)
    plain = torch.tensor(w).reshape(-1, 1, 3, 2)
    wanted = torch.conv2d(torch.tensor(x), plain, None, (2, 1), (1, 1), 1, CHANNELS).numpy()
    x, w = moved(x, "NCHW", data_layout), moved(w, "OIHW", kernel_layout)
    module = program(x, w, data_layout, kernel_layout)
    converted = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "HWOI"]})(module)
    for form in (module, converted):
        for kind in ("debug", "graph", "vm"):
            found = relay.create_executor(kind, form).evaluate()(x, w).numpy()
            np.testing.assert_allclose(moved(found, data_layout, "NCHW"), wanted, rtol=1e-4, atol=1e-5)


def test_gradient() -> None:
    torch = pytest.importorskip("torch")
    x, w = numbers(2, CHANNELS, 7, 6), numbers(CHANNELS, MULTIPLIER, 3, 2)
    module = program(x, w)
    gradient = baton.IRModule.from_expr(relay.transform.gradient(module["main"], module))
    _, (to_data, to_kernel) = relay.create_executor("vm", gradient).evaluate()(x, w)
    given = [torch.tensor(v, requires_grad=True) for v in (x, w)]
    torch.conv2d(given[0], given[1].reshape(-1, 1, 3, 2), None, (2, 1), (1, 1), 1, CHANNELS).sum().backward()
    np.testing.assert_allclose(to_data.numpy(), given[0].grad.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_kernel.numpy(), given[1].grad.numpy(), rtol=1e-4, atol=1e-5)


def test_kernels_of_unknown_size() -> None:
    """Guards kernels whose taps are counted when they run only."""
    x, w = numbers(1, CHANNELS, 7, 6), numbers(CHANNELS, MULTIPLIER, 3, 2)
    open_kernel = (CHANNELS, MULTIPLIER, relay.Any(), relay.Any())
    params = [relay.var("x", shape=x.shape), relay.var("w", shape=open_kernel)]
    body = relay.nn.conv2d(*params, groups=CHANNELS, channels=CHANNELS * MULTIPLIER)
    module = baton.IRModule.from_expr(relay.Function(params, body))
    interpreted, compiled = (relay.create_executor(kind, module).evaluate()(x, w).numpy() for kind in ("debug", "vm"))
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-4, atol=1e-5)


def test_other_channels_are_a_mistake() -> None:
    """Guards that only `channels` makes a multiplier of input channels that do not fit the groups."""
    x, w = relay.var("x", shape=(2, CHANNELS, 7, 6)), relay.var("w", shape=(CHANNELS, MULTIPLIER, 3, 2))
    function = relay.Function([x, w], relay.nn.conv2d(x, w, groups=CHANNELS, channels=CHANNELS, kernel_size=(3, 2)))
    with pytest.raises(baton.TVMError, match="the kernel takes 3 in each of 4"):
        relay.transform.InferType()(baton.IRModule.from_expr(function))
