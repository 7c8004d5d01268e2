"""Gradients of convolutions towards their kernels: by planes, by products, of any layout, against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton.relax.transform import Gradient

OPERATOR = CATALOGUE.get("nn.conv2d_backward_weight")


def drawn(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def compiled(make: Any, *operands: Any) -> Any:
    params = [relax.Var(f"x{n}", relax.TensorStructInfo(x.shape, str(x.dtype))) for n, x in enumerate(operands)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(make(*params)))
    return np.asarray(baton.compile(builder.get(), num_threads=1)(*operands)[0])


@pytest.mark.parametrize(
    ("grad", "data", "attrs"),
    [
        ((2, 6, 7, 9), (2, 6, 7, 9), {"padding": 1, "groups": 6, "kernel_size": 3}),
        ((2, 12, 4, 5), (2, 6, 8, 9), {"padding": 1, "strides": 2, "groups": 3, "kernel_size": 3}),
        ((1, 4, 4, 3), (1, 4, 13, 11), {"padding": 3, "strides": 3, "dilation": 2, "groups": 2, "kernel_size": 5}),
        ((1, 3, 9, 8), (1, 3, 9, 8), {"padding": 3, "groups": 3, "kernel_size": 7}),
        ((2, 4, 3, 4), (2, 4, 6, 7), {"strides": 2, "groups": 4, "kernel_size": (1, 1)}),
        ((1, 5, 3, 20), (1, 5, 4, 21), {"groups": 5, "kernel_size": 2}),
        ((2, 6, 4, 5), (2, 36, 4, 5), {"padding": 1, "groups": 2, "kernel_size": 3}),
        ((2, 6, 4, 5), (2, 3, 8, 9), {"padding": 1, "strides": 2, "kernel_size": 3}),
    ],
    ids=["depthwise", "strides", "far", "large", "points", "wide", "groups of many", "few"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_against_the_reference(grad: Any, data: Any, attrs: dict[str, Any], dtype: str) -> None:
    """Rows that end within vectors, places of the kernel that meet borders, what strides leave over."""
    slope, x = drawn(grad, dtype), drawn(data, dtype)
    found = compiled(lambda *given: RelaxMaker(OPERATOR, CATALOGUE)(*given, **attrs), slope, x)
    wanted = OPERATOR.reference((slope, x), OPERATOR.attrs(**attrs))  # type: ignore[operator]
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=2e-4 if dtype == "float32" else 1e-10)


def test_images_without_channels_have_no_weights() -> None:
    """The reference laid out as many elements as NumPy could guess of none."""
    attrs = OPERATOR.attrs(dilation=2, groups=4, kernel_size=3)
    found: Any = OPERATOR.reference((drawn((1, 4, 2, 2)), drawn((1, 0, 6, 6))), attrs)  # type: ignore[operator]
    assert found.shape == (4, 0, 3, 3)


def test_borders_are_no_numbers() -> None:
    """What no place of the kernel meets may be infinite."""
    slope, x = drawn((1, 2, 2, 2)), drawn((1, 2, 6, 6))
    x[:, :, 4:] = np.inf
    attrs = {"strides": 2, "groups": 2, "kernel_size": 2}
    found = compiled(lambda *given: RelaxMaker(OPERATOR, CATALOGUE)(*given, **attrs), slope, x)
    wanted = OPERATOR.reference((slope, x), OPERATOR.attrs(**attrs))  # type: ignore[operator]
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=1e-5)


def gradients(layout: str, kernel_layout: str, x: Any, w: Any, **attrs: Any) -> list[Any]:
    """The gradients of the sum of a convolution's squares, in the order of NC.. and OI.."""
    plain = ("NC" + "DHW"[-x.ndim + 2 :], "OI" + "DHW"[-x.ndim + 2 :])
    given = [
        np.ascontiguousarray(v.transpose([order.index(c) for c in wanted]))
        for v, order, wanted in zip((x, w), plain, (layout, kernel_layout))
    ]
    params = [relax.Var(n, relax.TensorStructInfo(v.shape, "float32")) for n, v in zip("xw", given)]
    conv = getattr(relax.op.nn, f"conv{x.ndim - 2}d")
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            y = builder.emit(conv(*params, data_layout=layout, kernel_layout=kernel_layout, **attrs))
            total = builder.emit_output(relax.op.sum(relax.op.multiply(y, y)))
        builder.emit_func_output(total)
    module = Gradient("main")(builder.get())
    program = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())
    _, found = program["main_adjoint"](*(baton.nd.array(v) for v in given))
    turned = zip(found, (layout, kernel_layout), plain)
    return [v.numpy().transpose([order.index(c) for c in wanted]) for v, order, wanted in turned]


@pytest.mark.parametrize(
    ("x", "w", "layouts", "attrs"),
    [
        ((2, 4, 6, 5), (6, 2, 3, 2), ("NHWC", "HWIO"), {"strides": 2, "padding": 1, "groups": 2}),
        ((2, 3, 7), (4, 3, 3), ("NWC", "WIO"), {"padding": 1, "dilation": 2}),
        ((1, 4, 4, 3, 5), (2, 2, 2, 3, 2), ("NDHWC", "DHWIO"), {"padding": (1, 1, 0), "groups": 2}),
    ],
    ids=["2d", "1d", "3d"],
)
def test_layouts_have_the_same_gradients(x: Any, w: Any, layouts: Any, attrs: dict[str, Any]) -> None:
    """Channels last was refused."""
    plain = ("NC" + "DHW"[-len(x) + 2 :], "OI" + "DHW"[-len(x) + 2 :])
    expected = gradients(*plain, drawn(x), drawn(w), **attrs)
    for own, wanted in zip(gradients(*layouts, drawn(x), drawn(w), **attrs), expected, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-4)
