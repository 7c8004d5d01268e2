"""Borders, sizes and factors that are tensors: the operators of `dyn` mean what the static ones mean.

Guards builders (which make them of computed operands), types with what is unknown, text, the interpreter, the virtual
machine, DynamicToStatic, and what is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay

IMAGES = np.random.default_rng(0).random((1, 2, 3, 4)).astype("float32")
VOLUMES = np.random.default_rng(1).random((1, 2, 3, 2, 2)).astype("float32")
WIDTHS = [[0, 0], [1, 0], [0, 2], [1, 1]]
BOX = (0.1, 0.0, 1.2, 0.8)
CROPPED: dict[str, Any] = {
    "method": "cubic",
    "coordinate_transformation_mode": "tf_crop_and_resize",
    "cubic_alpha": -0.75,
    "cubic_exclude": 1,
    "extrapolation_value": 9.0,
}
SMOOTH: dict[str, Any] = {"layout": "NHWC", "method": "bilinear", "align_corners": True}

CASES: dict[str, tuple[Callable[..., Any], list[Any], np.ndarray[Any, Any], str]] = {
    "pad": (lambda d, w: relay.nn.pad(d, w, 2.5), [np.array(WIDTHS)], IMAGES, "(?, ?, ?, ?)"),
    "pad, mirrored": (
        lambda d, w: relay.nn.pad(d, w, pad_mode="reflect"),
        [np.array(WIDTHS, "int32")],
        IMAGES,
        "(?, ?, ?, ?)",
    ),
    "upsampling": (relay.nn.upsampling, [np.float32(2), np.float32(1.5)], IMAGES, "(1, 2, ?, ?)"),
    "upsampling, one factor known": (
        lambda d, h: relay.nn.upsampling(d, h, 2, **SMOOTH),
        [np.int32(2)],
        IMAGES,
        "(1, ?, ?, 4)",
    ),
    "upsampling3d": (
        lambda d, *scales: relay.nn.upsampling3d(d, *scales, method="trilinear"),
        [np.float32(2), np.float32(1.5), np.float32(1)],
        VOLUMES,
        "(1, 2, ?, ?, ?)",
    ),
    "resize2d": (relay.image.resize2d, [np.array([5, 6])], IMAGES, "(1, 2, ?, ?)"),
    "resize2d of a box": (
        lambda d, size, box: relay.image.resize2d(d, size, box, **CROPPED),
        [np.array([5, 6], "int32"), np.array(BOX, "float32")],
        IMAGES,
        "(1, 2, ?, ?)",
    ),
}


def _static_call(build: Callable[..., Any], data: Any, numbers: list[Any]) -> Any:
    return build(data, *(n.tolist() for n in numbers))


@pytest.mark.parametrize("name", CASES)
def test_a_computed_operand_means_what_the_number_means(name: str) -> None:
    build, numbers, images, dims = CASES[name]
    data = relay.var("data", shape=images.shape)
    operands = [relay.var(f"n{i}", shape=n.shape, dtype=str(n.dtype)) for i, n in enumerate(numbers)]
    module = relay.transform.InferType()(
        baton.IRModule.from_expr(relay.Function([data, *operands], build(data, *operands)))
    )
    assert module["main"].body.op.name.startswith("dyn.")
    assert f"Tensor[{dims}, float32]" in str(module["main"].ret_type)
    assert baton.ir.structural_equal(relay.parse(module.astext()), module)

    known = baton.IRModule.from_expr(relay.Function([data], _static_call(build, data, numbers)))
    wanted = relay.create_executor("debug", known).evaluate()(images).numpy()
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, module).evaluate()(images, *numbers).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_constants_make_them_static(name: str) -> None:
    """Of builders at once, of what was bound later by DynamicToStatic, which `relay.build` runs."""
    build, numbers, images, _ = CASES[name]
    data = relay.var("data", shape=images.shape)
    constants = [relay.const(n) for n in numbers]
    assert not build(data, *constants).op.name.startswith("dyn.")

    operands = [relay.var(f"n{i}", shape=n.shape, dtype=str(n.dtype)) for i, n in enumerate(numbers)]
    bound = relay.bind(build(data, *operands), dict(zip(operands, constants)))
    module = baton.IRModule.from_expr(relay.Function([data], bound))
    made = relay.transform.InferType()(relay.transform.DynamicToStatic()(module))
    wanted = baton.IRModule.from_expr(relay.Function([data], _static_call(build, data, numbers)))
    assert made["main"].body.op.name == wanted["main"].body.op.name
    assert made["main"].ret_type == relay.transform.InferType()(wanted)["main"].ret_type
    found = relay.create_executor("graph", module).evaluate()(images).numpy()
    np.testing.assert_allclose(
        found, relay.create_executor("debug", wanted).evaluate()(images).numpy(), rtol=1e-5, atol=1e-6
    )


def test_squeeze_of_constant_axes_becomes_static() -> None:
    """Guards DynamicToStatic where operand and attribute are not called alike."""
    data = relay.var("data", shape=(1, 3))
    dynamic = relay.op.dyn.squeeze(data, relay.const(np.array([0])))
    made = relay.transform.DynamicToStatic()(baton.IRModule.from_expr(relay.Function([data], dynamic)))
    assert made["main"].body.op.name == "squeeze"
    assert made["main"].body.attrs.axis == (0,)


def _typed(call: Any) -> None:
    relay.transform.InferType()(baton.IRModule.from_expr(call))


def test_operands_of_the_wrong_shape_or_dtype_are_refused() -> None:
    data = relay.var("data", shape=(1, 2, 3, 4))

    def vector(count: int, dtype: str = "int64") -> Any:
        return relay.var("v", shape=(count,), dtype=dtype)

    with pytest.raises(
        baton.error.DiagnosticError, match=r"dyn.nn.pad: pad_width must have shape \(4, 2\), got \(3, 2"
    ):
        _typed(relay.nn.pad(data, relay.var("w", shape=(3, 2), dtype="int64")))
    with pytest.raises(baton.error.DiagnosticError, match="pad_width must hold integers, got float32"):
        _typed(relay.nn.pad(data, relay.var("w", shape=(4, 2))))
    with pytest.raises(baton.error.DiagnosticError, match=r"size must have shape \(2,\), got \(3,\)"):
        _typed(relay.image.resize2d(data, vector(3)))
    with pytest.raises(baton.error.DiagnosticError, match="size must hold integers, got float32"):
        _typed(relay.image.resize2d(data, vector(2, "float32")))
    with pytest.raises(baton.error.DiagnosticError, match=r"scale_h must have shape \(\), got \(2,\)"):
        _typed(relay.nn.upsampling(data, vector(2)))
    with pytest.raises(baton.error.DiagnosticError, match="method 'sharp' is not one of"):
        _typed(relay.image.resize2d(data, vector(2), method="sharp"))
