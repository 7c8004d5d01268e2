"""Kernels and references of operators mean the same where they once did not: numbers that a dtype cannot hold, long
sums of short floats, NaN among them, integers that no float32 holds, boxes without samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.ir.attrs import NO_ATTRS
from baton._src.ir.tensor_info import TupleInfo
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import DiagnosticError
from tests.ops.inferred import infer, rejects, t
from tests.ops.sampled_calls import SampledCall, assert_close

LARGE = ((16777217, 16777219), (3, 5))
"""Integers of which float32 holds two."""
MANY = 2100
"""More ones than float16 counts."""


def _scalar(value: Any, dtype: str = "float32") -> Arr:
    return Arr((), dtype, values=value)


def _case(name: str, *args: Any, **attributes: Any) -> Any:
    shown = ",".join(str(v) for v in attributes.values())
    return pytest.param(name, args, attributes, id=f"{name}-{shown}-{getattr(args[-1], 'values', None)}"[:60])


def _ones(dtype: str) -> Arr:
    return Arr((MANY,), dtype, values=np.ones(MANY))


_ZEROS = Arr((MANY,), "int64", values=np.zeros(MANY))
_ONE = Arr((1,), "float16", values=(1,))
_ENDS = Arr((2,), "int64", values=(2**62, -(2**62) - 3))
_SOME, _OTHERS = (Arr((3,), values=v) for v in ((np.nan, 1, 2), (1, np.nan, 3)))
_PLACES = Arr((3,), "int32", values=(0, 1, 2))
_SHORT = Arr((7,), "bfloat16", values=(3, 1, np.nan, -1, np.nan, 1, 0.5))
_BOX = Arr((1, 4), values=((0, 0, 1, 1),))
_FIRST = Arr((1,), "int32", values=(0,))
CASES = [
    *(_case("full", _scalar(v), shape=(2,), dtype=d) for v in (np.nan, 1e10, -np.inf) for d in ("int32", "uint8")),
    _case("full_like", Arr((2,), "int32"), _scalar(1e10)),
    _case("one_hot", Arr((2,), "int32", 0, 2), _scalar(np.nan), _scalar(1e10), depth=2, dtype="int32"),
    _case("sparse_to_dense", Arr((1,), "int32", values=(1,)), _scalar(3, "int32"), _scalar(1e10), output_shape=(3,)),
    _case("sequence_mask", Arr((2, 1), "bool"), Arr((1,), "int32", values=(1,)), mask_value=0.5),
    _case("grad.take_backward", _ones("float16"), _ONE, _ZEROS, axis=0),
    _case("index_put", _ONE, (_ZEROS,), _ones("float16"), accumulate=True),
    _case("scatter_elements", _ENDS, Arr((2,), "int64", values=(0, 1)), _ENDS, reduction="mean"),
    _case("scatter_elements", Arr((1,), "bool", values=(1,)), _FIRST, Arr((1,), "bool", values=(1,)), reduction="mean"),
    *(_case("scatter_elements", _SOME, _PLACES, _OTHERS, reduction=r) for r in ("min", "max")),
    *(_case(name, _SHORT) for name in ("sort", "argsort")),
    _case("sort", _SHORT, descending=True),
    _case("topk", _SHORT, k=3, ret_type="values"),
    _case("cumsum", Arr((4,), values=(1.7, 1.7, np.nan, 1e10)), axis=0, dtype="int32"),
    _case("image.grid_sample", Arr((1, 1, 1, 2), "int32", 1, 9), Arr((1, 2, 1, 1), values=[[[[np.nan]], [[0.0]]]])),
    *(
        _case("image.crop_and_resize", Arr((1, 1, 2, 2), d, values=[[LARGE]]), _BOX, _FIRST, crop_size=(2, 2), method=m)
        for d, m in (("int32", "nearest_neighbor"), ("float64", "bilinear"))
    ),
    _case("image.resize2d", Arr((1, 1, 2, 2), "float64", values=[[LARGE]]), size=(3, 3), method="linear"),
    _case(
        "image.resize2d",
        Arr((1, 1, 2, 2), "uint8", values=[[((1, 2), (3, 4))]]),
        size=(3, 3),
        roi=(-0.5, -0.5, 1.2, 1.2),
        method="nearest_neighbor",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=-1.0,
        out_dtype="float32",
    ),
]


@pytest.mark.parametrize(("name", "operands", "attributes"), CASES)
def test_kernels_do_as_references(name: str, operands: Any, attributes: Any) -> None:
    """Guards conversions, sums and weights that only one of the two made in this dtype."""
    definition = CATALOGUE.get(name)
    call = SampledCall(definition, Sample(operands, definition.attrs(**attributes), rtol=1e-9), symbolic=False)
    declared = call.infer()
    assert not isinstance(declared, TupleInfo)
    wanted = call.reference()
    call.check_declared(declared, wanted)
    (found,) = call.run_compute(declared)
    assert_close(found, wanted, call.sample)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
def test_distinct_short_floats(dtype: str) -> None:
    """Guards unique, which NumPy answers: beside NaN it does not sort what ml_dtypes adds."""
    x = Arr((7,), dtype, values=(3, 1, np.nan, -1, np.nan, 1, 0.5)).draw(np.random.default_rng(0), {})
    values, counts = CATALOGUE.get("unique").reference((x, True, False, False, True), NO_ATTRS)
    assert values.dtype == x.dtype
    np.testing.assert_array_equal(values.astype("float32"), [-1, 0.5, 1, 3, np.nan])
    assert counts.tolist() == [1, 1, 2, 1, 2]
    np.testing.assert_array_equal(
        CATALOGUE.get("unique").reference((x,), NO_ATTRS).astype("float32"), values.astype("float32")
    )


def test_widths_are_not_negative() -> None:
    """Guards blocks of space: compiled code cropped where the reference failed; and counts of new axes."""
    rejects("0 or more", "nn.space_to_batch_nd", t(1, 4), block_shape=(1,), paddings=((-1, 0),))
    rejects("0 or more", "nn.batch_to_space_nd", t(1, 4), block_shape=(1,), crops=((0, -1),))
    rejects("0 or more", "expand_dims", t(4), axis=0, num_newaxis=-1)
    rejects("0 or more", "dyn.expand_dims", t(4), t(dtype="int64"), num_newaxis=-1)


def test_names_of_alignments() -> None:
    """Guards matrix_set_diag: other names were errors of Python's, or meant LEFT."""
    x, d = relay.var("x", shape=(3, 3)), relay.var("d", shape=(2,))
    assert relay.matrix_set_diag(x, d, k=(1,)).attrs.k2 == 1
    for name in ("RIGHT", "LEFT_MIDDLE"):
        with pytest.raises(DiagnosticError, match="align"):
            relay.matrix_set_diag(x, d, align=name)


def test_boxes_without_samples_have_no_largest() -> None:
    """The maximum of no samples was -inf in kernels; it is 0, as the mean is."""
    definition = CATALOGUE.get("vision.roi_align")
    boxes = Arr((1, 5), values=((0, 2, 2, 2, 2),))
    attributes = definition.attrs(pooled_size=(1, 1), spatial_scale=1.0, mode="max", aligned=True)
    call = SampledCall(definition, Sample((Arr((1, 1, 5, 5)), boxes), attributes), symbolic=False)
    assert call.run_compute(call.infer())[0].item() == call.reference().item() == 0


@pytest.mark.parametrize("name", ["vision.roi_align", "vision.roi_pool"])
def test_boxes_at_no_number(name: str) -> None:
    """Guards coordinates that are NaN: references failed."""
    definition = CATALOGUE.get(name)
    boxes = Arr((1, 5), values=((0, np.nan, 0, 1, 1),))
    attributes = definition.attrs(pooled_size=(1, 1), spatial_scale=1.0)
    call = SampledCall(definition, Sample((Arr((1, 1, 5, 5)), boxes), attributes), symbolic=False)
    assert_close(call.run_compute(call.infer())[0], call.reference(), call.sample)


@pytest.mark.parametrize("name", ["vision.roi_align", "vision.roi_pool", "image.crop_and_resize"])
def test_images_are_not_counted_from_the_end(name: str) -> None:
    """Guards references: kernels end the call."""
    definition, image, box = CATALOGUE.get(name), np.ones((2, 1, 3, 3), "float32"), np.ones((1, 4), "float32")
    operands: Any = (image, np.insert(box, 0, -1, axis=1))
    attributes: dict[str, Any] = {"pooled_size": (1, 1), "spatial_scale": 1.0}
    if "crop" in name:
        operands, attributes = (image, box, np.array([-1])), {"crop_size": (2, 2)}
    with pytest.raises(IndexError, match="image -1"):
        definition.reference(operands, definition.attrs(**attributes))


def test_no_class_is_no_number() -> None:
    """Guards multibox_transform_loc: a score that is NaN is not the best, wherever it stands among the classes."""
    definition = CATALOGUE.get("vision.multibox_transform_loc")
    scores = Arr((1, 3, 2), values=[((0, 0), (np.nan, 0.5), (0.5, np.nan))])
    operands = (scores, Arr((1, 8)), Arr((1, 2, 4), low=0.0, high=1.0))
    call = SampledCall(definition, Sample(operands, definition.attrs()), symbolic=False)
    found, wanted = call.run_compute(call.infer()), call.reference()
    assert wanted[0][0, :, 0].tolist() == [1, 0]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_grids_of_float64() -> None:
    """Guards that maps of float64 are not rounded to float32."""
    definition = CATALOGUE.get("image.affine_grid")
    maps = Arr((1, 2, 3), "float64", values=(((1 / 3, 0.1, 0.7), (0.2, 1 / 7, 0.9)),))
    call = SampledCall(definition, Sample((maps,), definition.attrs(target_shape=(3, 2))), symbolic=False)
    across, down = np.meshgrid((-1, 1), (-1, 0, 1))
    wanted = np.tensordot(call.values[0], np.stack([across, down, np.ones_like(down)]), 1)
    for found in (call.reference(), call.run_compute(call.infer())[0]):
        np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=1e-15)


def test_slices_by_shorter_patterns() -> None:
    """Guards slice_like without axes: those of the pattern are cut, as in TVM, which may have fewer or more."""
    assert infer("slice_like", t(2, 3, 4), t(1, 2)).shape == (1, 2, 4)
    assert infer("slice_like", t(3), t(2, 9)).shape == (2,)


def test_the_nearest_elements_are_themselves() -> None:
    """Guards crop_and_resize: kernel and reference took integers through float32."""
    definition = CATALOGUE.get("image.crop_and_resize")
    image = Arr((1, 1, 2, 2), "int32", values=[[LARGE]])
    attributes = definition.attrs(crop_size=(2, 2), method="nearest_neighbor")
    call = SampledCall(definition, Sample((image, _BOX, _FIRST), attributes), symbolic=False)
    for found in (call.reference(), call.run_compute(call.infer())[0]):
        assert found.tolist() == [[[*map(list, LARGE)]]]
