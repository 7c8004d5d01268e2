"""Shapes, slices, reductions, gathers and scatters of TensorFlow Lite, against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontends.tflite.models import Op, Tensor, agree, ints, model, normal, single, weights, whole

X = Tensor((3, 4, 5))


@pytest.mark.parametrize("shape", [(12, 5), (5, -1), (60,), (3, 2, 2, 5)])
def test_reshapes(shape: tuple[int, ...]) -> None:
    y = Tensor(np.zeros((3, 4, 5)).reshape(shape).shape)
    agree(single("RESHAPE", {"x": X, "s": ints(*shape), "y": y}), normal(3, 4, 5))
    agree(single("RESHAPE", {"x": X, "y": y}, "ReshapeOptions", newShape=list(shape)), normal(3, 4, 5))


def test_axes_come_and_go() -> None:
    agree(single("EXPAND_DIMS", {"x": X, "a": ints(-1), "y": Tensor((3, 4, 5, 1))}), normal(3, 4, 5))
    one = Tensor((1, 4, 1, 5))
    agree(single("SQUEEZE", {"x": one, "y": Tensor((4, 5))}, "SqueezeOptions"), normal(1, 4, 1, 5))
    agree(single("SQUEEZE", {"x": one, "y": Tensor((1, 4, 5))}, "SqueezeOptions", squeezeDims=[-2]), normal(1, 4, 1, 5))
    agree(single("TRANSPOSE", {"x": X, "p": ints(2, 0, 1), "y": Tensor((5, 3, 4))}), normal(3, 4, 5))


def test_joining_and_splitting() -> None:
    tensors = {"a": X, "b": X, "y": Tensor((3, 8, 5))}
    agree(single("CONCATENATION", tensors, "ConcatenationOptions", axis=1), normal(3, 4, 5), normal(3, 4, 5))
    tensors = {"a": X, "b": X, "y": Tensor((3, 4, 5, 2))}
    agree(single("PACK", tensors, "PackOptions", axis=-1, valuesCount=2), normal(3, 4, 5), normal(3, 4, 5))
    parts = {f"y{k}": Tensor((3, 5)) for k in range(4)}
    agree(single("UNPACK", {"x": X, **parts}, "UnpackOptions", axis=1, num=4), normal(3, 4, 5))
    parts = {f"y{k}": Tensor((3, 2, 5)) for k in range(2)}
    agree(single("SPLIT", {"a": weights(np.int32(1)), "x": X, **parts}, "SplitOptions", numSplits=2), normal(3, 4, 5))
    parts = {"y0": Tensor((3, 4, 1)), "y1": Tensor((3, 4, 2)), "y2": Tensor((3, 4, 2))}
    tensors = {"x": X, "s": ints(1, -1, 2), "a": weights(np.int32(2)), **parts}
    agree(single("SPLIT_V", tensors, "SplitVOptions", numSplits=3), normal(3, 4, 5))


def test_joined_bytes_have_the_scale_of_the_result() -> None:
    """Guards operands of other scales, whose integers may not be joined as they are."""
    tensors = {
        "a": Tensor((2, 3), "uint8", scale=0.1, zero=3), "b": Tensor((2, 3), "uint8", scale=0.02, zero=7),
        "y": Tensor((4, 3), "uint8", scale=0.1, zero=3),
    }  # fmt: skip
    values = [whole(0, 256, 2, 3, dtype="uint8") for _ in range(2)]
    agree(single("CONCATENATION", tensors, "ConcatenationOptions", axis=0), *values, steps=1)


@pytest.mark.parametrize(
    ("begin", "end", "step", "masks", "shape"),
    [
        ((1, 0, -1), (3, 4, 5), (1, 2, 1), {"shrinkAxisMask": 4}, (2, 2)),
        ((0, 0, 1), (0, 0, 3), (1, 1, 1), {"ellipsisMask": 1, "newAxisMask": 2}, (3, 4, 1, 2)),
        ((0, -1, -3), (3, -9, -1), (1, -1, 1), {"beginMask": 1, "endMask": 1}, (3, 4, 2)),
        ((0, 0, 0), (0, 0, 0), (1, -1, 2), {"beginMask": 7, "endMask": 7}, (3, 4, 3)),
        ((-1, 0), (0, -1), (1, 1), {"shrinkAxisMask": 1, "beginMask": 2}, (3, 5)),
    ],
)
def test_strided_slices(begin: Any, end: Any, step: Any, masks: dict[str, int], shape: tuple[int, ...]) -> None:
    tensors = {"x": X, "b": ints(*begin), "e": ints(*end), "s": ints(*step), "y": Tensor(shape)}
    agree(single("STRIDED_SLICE", tensors, "StridedSliceOptions", **masks), normal(3, 4, 5))


def test_slices_and_borders() -> None:
    tensors = {"x": X, "b": ints(0, 1, 2), "s": ints(2, -1, 2), "y": Tensor((2, 3, 2))}
    agree(single("SLICE", tensors), normal(3, 4, 5))
    widths = weights(np.array([[0, 0], [1, 2], [0, 3]], np.int32))
    agree(single("PAD", {"x": X, "w": widths, "y": Tensor((3, 7, 8))}), normal(3, 4, 5))
    fill = weights(np.float32(7))
    agree(single("PADV2", {"x": X, "w": widths, "f": fill, "y": Tensor((3, 7, 8))}), normal(3, 4, 5))
    mirrored = weights(np.array([[0, 0], [1, 2], [2, 1]], np.int32))
    for mode in range(2):
        content = single("MIRROR_PAD", {"x": X, "w": mirrored, "y": Tensor((3, 7, 8))}, "MirrorPadOptions", mode=mode)
        agree(content, normal(3, 4, 5))
    coded = Tensor((3, 4, 5), "int8", scale=0.1, zero=9)
    content = single("PAD", {"x": coded, "w": widths, "y": Tensor((3, 7, 8), "int8", scale=0.1, zero=9)})
    agree(content, whole(-128, 128, 3, 4, 5, dtype="int8"))


def test_repeats_and_reversals() -> None:
    agree(single("TILE", {"x": X, "r": ints(1, 2, 3), "y": Tensor((3, 8, 15))}), normal(3, 4, 5))
    agree(single("BROADCAST_TO", {"x": Tensor((4, 1)), "s": ints(3, 4, 5), "y": X}, version=2), normal(4, 1))
    agree(single("REVERSE_V2", {"x": X, "a": ints(1), "y": X}), normal(3, 4, 5))
    lengths = ints(2, 3, 1)
    content = single("REVERSE_SEQUENCE", {"x": X, "l": lengths, "y": X}, "ReverseSequenceOptions", seqDim=1, batchDim=0)
    agree(content, normal(3, 4, 5))


def test_blocks_of_images() -> None:
    pairs = weights(np.array([[0, 1], [1, 0]], np.int32))
    tensors = {"x": Tensor((1, 3, 5, 2)), "b": ints(2, 2), "w": pairs, "y": Tensor((4, 2, 3, 2))}
    agree(single("SPACE_TO_BATCH_ND", tensors), normal(1, 3, 5, 2))
    tensors = {"x": Tensor((4, 2, 3, 2)), "b": ints(2, 2), "w": pairs, "y": Tensor((1, 3, 5, 2))}
    agree(single("BATCH_TO_SPACE_ND", tensors), normal(4, 2, 3, 2))
    tensors = {"x": Tensor((1, 4, 6, 3)), "y": Tensor((1, 2, 3, 12))}
    agree(single("SPACE_TO_DEPTH", tensors, "SpaceToDepthOptions", blockSize=2), normal(1, 4, 6, 3))
    tensors = {"x": Tensor((1, 2, 3, 12)), "y": Tensor((1, 4, 6, 3))}
    agree(single("DEPTH_TO_SPACE", tensors, "DepthToSpaceOptions", blockSize=2), normal(1, 2, 3, 12))


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("name", ["SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"])
def test_reductions(name: str, keeps: bool) -> None:
    y = Tensor((1, 4, 1) if keeps else (4,))
    agree(single(name, {"x": X, "a": ints(0, -1), "y": y}, "ReducerOptions", keepDims=keeps), normal(3, 4, 5))


@pytest.mark.parametrize("name", ["MEAN", "REDUCE_MAX"])
def test_reductions_of_bytes(name: str) -> None:
    x, y = Tensor((3, 4, 5), "int8", scale=0.1, zero=4), Tensor((3, 5), "int8", scale=0.1, zero=4)
    agree(
        single(name, {"x": x, "a": ints(1), "y": y}, "ReducerOptions"), whole(-128, 128, 3, 4, 5, dtype="int8"), steps=1
    )


def test_reductions_of_truth() -> None:
    x, y = Tensor((3, 4, 5), "bool"), Tensor((3, 5), "bool")
    for name in ("REDUCE_ANY", "REDUCE_ALL"):
        agree(single(name, {"x": x, "a": ints(1), "y": y}, "ReducerOptions"), normal(3, 4, 5) > 0)


def test_places_of_extrema() -> None:
    for name, options in (("ARG_MAX", "ArgMaxOptions"), ("ARG_MIN", "ArgMinOptions")):
        tensors = {"x": X, "a": weights(np.int32(-1)), "y": Tensor((3, 4), "int64")}
        agree(single(name, tensors, options, outputType=4), normal(3, 4, 5))
    tensors = {"x": X, "k": weights(np.int32(2)), "y": Tensor((3, 4, 2)), "y1": Tensor((3, 4, 2), "int32")}
    agree(single("TOPK_V2", tensors), normal(3, 4, 5))


@pytest.mark.parametrize(("exclusive", "backwards"), [(False, False), (True, False), (True, True)])
def test_running_sums(exclusive: bool, backwards: bool) -> None:
    fields = {"exclusive": exclusive, "reverse": backwards}
    agree(single("CUMSUM", {"x": X, "a": weights(np.int32(1)), "y": X}, "CumsumOptions", **fields), normal(3, 4, 5))


def test_gathers() -> None:
    places = Tensor((2, 2), "int32")
    tensors = {"x": X, "i": places, "y": Tensor((3, 2, 2, 5))}
    agree(single("GATHER", tensors, "GatherOptions", axis=1), normal(3, 4, 5), whole(0, 4, 2, 2))
    tensors = {"x": X, "i": Tensor((3, 2), "int32"), "y": Tensor((3, 4, 2))}
    agree(single("GATHER", tensors, "GatherOptions", axis=2, batchDims=1), normal(3, 4, 5), whole(0, 5, 3, 2))
    tensors = {"x": X, "i": Tensor((2, 2), "int32"), "y": Tensor((2, 5))}
    agree(single("GATHER_ND", tensors), normal(3, 4, 5), np.array([[0, 1], [2, 3]], np.int32))
    tensors = {"i": Tensor((6,), "int32"), "t": weights(normal(10, 4)), "y": Tensor((6, 4))}
    agree(single("EMBEDDING_LOOKUP", tensors), whole(0, 10, 6))


def test_scatters() -> None:
    places = np.array([[0], [2], [0]], np.int32)
    tensors = {"i": Tensor((3, 1), "int32"), "u": Tensor((3, 2)), "s": ints(5, 2), "y": Tensor((5, 2))}
    agree(single("SCATTER_ND", tensors), places, normal(3, 2))
    tensors = {
        "i": Tensor((3,), "int32"), "s": ints(6), "v": Tensor((3,)), "d": weights(np.float32(-1)), "y": Tensor((6,)),
    }  # fmt: skip
    agree(single("SPARSE_TO_DENSE", tensors), np.array([0, 2, 5], np.int32), normal(3))
    tensors = {"x": X, "u": Tensor((2, 1, 3)), "b": Tensor((3,), "int32"), "y": X}
    for begin in ([1, 2, 0], [2, 9, -4]):
        agree(single("DYNAMIC_UPDATE_SLICE", tensors), normal(3, 4, 5), normal(2, 1, 3), np.array(begin, np.int32))


@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot(axis: int) -> None:
    tensors = {
        "i": Tensor((2, 3), "int32"), "d": weights(np.int32(5)), "on": weights(np.float32(2)),
        "off": weights(np.float32(-1)), "y": Tensor((2, 3, 5) if axis else (5, 2, 3)),
    }  # fmt: skip
    agree(single("ONE_HOT", tensors, "OneHotOptions", axis=axis), whole(0, 7, 2, 3))


def test_segments() -> None:
    tensors = {"x": Tensor((4, 3)), "s": ints(0, 0, 1, 2), "y": Tensor((3, 3))}
    agree(single("SEGMENT_SUM", tensors), normal(4, 3))
    for kind in ("SUM", "PROD", "MAX", "MIN"):
        tensors = {"x": Tensor((4, 3)), "s": ints(2, 0, 2, 3), "n": weights(np.int32(4)), "y": Tensor((4, 3))}
        agree(single(f"UNSORTED_SEGMENT_{kind}", tensors), normal(4, 3))


def test_diagonals() -> None:
    agree(single("MATRIX_DIAG", {"x": Tensor((2, 4)), "y": Tensor((2, 4, 4))}), normal(2, 4))
    tensors = {"x": Tensor((2, 4, 5)), "d": Tensor((2, 4)), "y": Tensor((2, 4, 5))}
    agree(single("MATRIX_SET_DIAG", tensors), normal(2, 4, 5), normal(2, 4))


def test_places_of_true_elements() -> None:
    agree(single("WHERE", {"x": Tensor((3, 4), "bool"), "y": Tensor((5, 2), "int64", open=(0,))}), normal(3, 4) > 0)


def test_what_is_computed_of_shapes_stays_sizes() -> None:
    """Guards reshapes to sizes that follow from open ones: x.reshape(n, -1), fill(shape(x)), range(n)."""
    tensors = {
        "x": Tensor((1, 4, 5), open=(0,)), "shape": Tensor((3,), "int32"), "zero": ints(0), "one": ints(1),
        "rows": Tensor((), "int32"), "rest": weights(np.int32(-1)), "wanted": Tensor((2,), "int32"),
        "y0": Tensor((1, 20), open=(0,)), "three": weights(np.float32(3)), "y1": Tensor((1, 4, 5), open=(0,)),
        "start": weights(np.int32(0)), "step": weights(np.int32(1)), "y2": Tensor((1,), "int32", open=(0,)),
    }  # fmt: skip
    ops = [
        Op("SHAPE", "x", "shape", "ShapeOptions", {"outType": 2}),
        Op("STRIDED_SLICE", "shape zero one one", "rows", "StridedSliceOptions", {"shrinkAxisMask": 1}),
        Op("PACK", "rows rest", "wanted", "PackOptions", {"axis": 0, "valuesCount": 2}),
        Op("RESHAPE", "x wanted", "y0"),
        Op("FILL", "shape three", "y1"),
        Op("RANGE", "start rows step", "y2"),
    ]
    content = model((tensors, ops, "x", "y0 y1 y2"))
    agree(content, normal(1, 4, 5))
    agree(content, normal(6, 4, 5))
