"""TransposeUnevenResizes: the same images by lines that lie across vectors, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.passes.relax.layouts.transpose_uneven_resizes import TransposeUnevenResizes
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, called, dim, program, tensor


def resize(bb: Any, x: Any, size: tuple[Any, ...], **attrs: Any) -> Any:
    return bb.emit(R.image.resize2d(x, size, **{"method": "linear", **attrs}))


def turns(module: Any) -> int:
    return called(TransposeUnevenResizes()(module)).count("permute_dims")


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("size", [(9, 23), (20, 23), (31, 7)])
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
def test_means_the_same(method: str, size: tuple[int, int], mode: str) -> None:
    """Enlarged, reduced, and lines that keep their number; computed by the interpreter and natively."""
    options: dict[str, Any] = {"method": method, "coordinate_transformation_mode": mode, "cubic_exclude": 1}
    before = program([tensor("x", 2, 3, 20, 17)], lambda bb, x: resize(bb, x, size, **options))
    assert turns(before) == 2
    x = np.random.default_rng(1).standard_normal((2, 3, 20, 17)).astype("float32")
    wanted = evaluate(before, "main", x)
    np.testing.assert_allclose(evaluate(TransposeUnevenResizes()(before), "main", x), wanted, rtol=1e-4, atol=1e-5)
    native = VirtualMachine(relax_build(before))["main"](array(x)).numpy()
    np.testing.assert_allclose(native, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "uint8", "float64"])
def test_elements_are_weighed_in_one_dtype(dtype: str) -> None:
    """Guards what lies between the two steps: it is not rounded to elements, nor are those of float64 to float32."""
    before = program([tensor("x", 1, 2, 12, 15, dtype=dtype)], lambda bb, x: resize(bb, x, (19, 22)))
    assert turns(before) == 2
    x = (np.random.default_rng(2).random((1, 2, 12, 15)) * 200).astype(dtype)
    found, wanted = evaluate(TransposeUnevenResizes()(before), "main", x), evaluate(before, "main", x)
    assert found.dtype == wanted.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol={"float16": 1e-3, "uint8": 0, "float64": 1e-12}[dtype])


def test_open_sizes() -> None:
    """Steps that a run tells may be uneven."""
    h, w = dim("h"), dim("w")
    before = program([tensor("x", 1, 3, h, w)], lambda bb, x: resize(bb, x, (h * 2, w * 3)))
    assert turns(before) == 2
    main = VirtualMachine(relax_build(before))["main"]
    for extents in ((5, 7), (1, 1), (16, 33)):
        x = np.random.default_rng(3).standard_normal((1, 3, *extents)).astype("float32")
        wanted = evaluate(before, "main", x)
        np.testing.assert_allclose(main(array(x)).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_left_alone() -> None:
    """Even steps, picked elements, other layouts, boxes, lines that stay, few lines, and lines that shrink much."""
    x = tensor("x", 1, 3, 24, 32)
    kept = (
        program([x], lambda bb, x: resize(bb, x, (48, 64))),
        program([x], lambda bb, x: resize(bb, x, (12, 16))),
        program([x], lambda bb, x: resize(bb, x, (31, 41), method="nearest_neighbor")),
        program([x], lambda bb, x: resize(bb, x, (31, 41), layout="NHWC")),
        program([x], lambda bb, x: resize(bb, x, (31, 41), coordinate_transformation_mode="tf_crop_and_resize")),
        program([x], lambda bb, x: resize(bb, x, (31, 32))),
        program([x], lambda bb, x: resize(bb, x, (5, 41))),
        program([x], lambda bb, x: resize(bb, x, (31, 3))),
    )
    for module in kept:
        assert TransposeUnevenResizes()(module)["main"] is module["main"]
