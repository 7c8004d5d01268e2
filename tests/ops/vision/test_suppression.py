"""Non-maximum suppression against its references, natively: few distinct scores and corners, so that ties, equal
boxes, boxes without area and scores at the threshold are common.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.codegen.llvm.module import CompileOptions, compile_module
from baton._src.ir.target import Target
from baton._src.ir.tensor_info import TupleInfo
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vision.class_suppression import AllClassAttrs
from baton._src.ops.vision.suppression import SuppressionAttrs
from baton._src.passes.tir.lowering.lower_prim_func import lower_prim_func
from baton._src.runtime.native.library import load
from tests.codegen.native_run import call
from tests.ops.sampled_calls import SampledCall

IMAGES, CLASSES, BOXES = 2, 3, 33
_TARGET = Target("llvm")
seeds = st.integers(0, 2**32 - 1)


@cache
def _compiled(name: str, attributes: Any) -> Any:
    """(library, function, blank results that no element of a result is) for operands of the sizes above."""
    shapes = _SHAPES[name]
    args = tuple(Arr(shape, dtype, values=np.zeros(shape, dtype).tolist()) for shape, dtype in shapes)
    sampled = SampledCall(CATALOGUE.get(name), Sample(args, attributes), symbolic=False)
    declared = sampled.infer()
    func = sampled.prim_func(declared)[0]
    kernel = lower_prim_func(schedule(func, _TARGET), _TARGET, func)
    library = load(compile_module({"f": kernel}, _TARGET, CompileOptions(cache=CacheOptions(None))))
    fields: Any = declared.fields if isinstance(declared, TupleInfo) else (declared,)
    return library, func, [np.full(f.shape, 77, f.dtype.numpy) for f in fields]


_SHAPES: dict[str, list[tuple[tuple[int, ...], str]]] = {
    "vision.all_class_non_max_suppression": [
        ((IMAGES, BOXES, 4), "float32"), ((IMAGES, CLASSES, BOXES), "float32"), ((), "int64"), ((), "float32"),
        ((), "float32"),
    ],
    "vision.non_max_suppression": [
        ((IMAGES, BOXES, 6), "float32"), ((IMAGES,), "int32"), ((IMAGES, BOXES), "int32"), ((), "int32"),
        ((), "float32"),
    ],
}  # fmt: skip


def _check(name: str, attributes: Any, *values: Any) -> None:
    """The kernel gives exactly what the reference gives."""
    library, func, blanks = _compiled(name, attributes)
    operands = [np.array(v, dtype) for v, (_, dtype) in zip(values, _SHAPES[name], strict=True)]
    results = [b.copy() for b in blanks]
    assert call(library, func, *operands, *results, symbol="f") is None
    reference: Any = CATALOGUE.get(name).reference
    wanted = reference(tuple(operands), attributes)
    for found, expected in zip(results, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_array_equal(found, expected)


def _corners(random: np.random.Generator) -> Any:
    first = random.integers(0, 6, (IMAGES, BOXES, 2))
    return np.concatenate([first, first + random.integers(-2, 5, first.shape)], axis=2)


@pytest.mark.parametrize("form", ["onnx", "tensorflow"])
@given(seed=seeds, most=st.sampled_from([-1, 0, 1, 4, 100]), bound=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
@settings(max_examples=40)
def test_of_all_classes(form: str, seed: int, most: int, bound: float) -> None:
    """Guards ties, the limits, scores at the threshold, and scores that are NaN, which are no candidates."""
    random = np.random.default_rng(seed)
    scores = random.choice([0.1, 0.25, 0.5, 0.5, 0.75, np.inf, -np.inf, np.nan], (IMAGES, CLASSES, BOXES))
    least = random.choice([0.25, 0.5, -1.0])
    _check("vision.all_class_non_max_suppression", AllClassAttrs(form), _corners(random), scores, most, bound, least)


@pytest.mark.parametrize(
    "attributes",
    [
        SuppressionAttrs(),
        SuppressionAttrs(top_k=7, force_suppress=True),
        SuppressionAttrs(top_k=BOXES + 1, return_indices=False),
        SuppressionAttrs(return_indices=False, id_index=-1),
        SuppressionAttrs(return_indices=False, invalid_to_bottom=True, top_k=20),
    ],
    ids=str,
)
@given(seed=seeds, most=st.sampled_from([-1, 0, 1, 4, 100]), bound=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
@settings(max_examples=25)
def test_of_counted_boxes(attributes: SuppressionAttrs, seed: int, most: int, bound: float) -> None:
    """Guards ties, classes, rows that do not count or have no score, and where those that fall out are."""
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 3, (IMAGES, BOXES, 1))
    scores = random.choice([-1.0, 0.0, 0.25, 0.5, 0.75, np.inf, -np.inf, np.nan], kinds.shape)
    rows = np.concatenate([kinds, scores, _corners(random)], axis=2)
    counts = random.choice([-1, 0, 1, BOXES // 2, BOXES], IMAGES)
    places = np.stack([random.permutation(BOXES) for _ in range(IMAGES)])
    _check("vision.non_max_suppression", attributes, rows, counts, places, most, bound)
