"""The kernel of image.resize: weighted sums of taps, of all spatial axes at once or axis by axis.

Axis by axis, with a stage for each, fewer elements are picked: 2 + 2 instead of 4 for each linear result in a plane,
4 + 4 instead of 16 for each cubic one. That pays where each is picked alone. Where channels are adjacent, whole vectors
are picked, and a sum over all axes needs no memory between stages.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from baton._src.ir.structural import structural_equal
from baton._src.ops import kernel_words as k
from baton._src.ops.fill_values import as_element
from baton._src.ops.image.resampling import (
    EVERY_SIZE,
    IN_PLACE,
    SAMPLES,
    TIMES,
    Sampling,
    Steps,
    box,
    coordinate,
    even_steps,
    lowest,
    numpy_scalars,
    placed_in,
    taps,
    te_scalars,
    weighed_in,
)
from baton._src.ops.layout_names import Place, layout_over, whole
from baton._src.ops.windows import SPATIAL
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.values.dtype import DataType


def compute(inputs: Sequence[k.Tensor], a: Resized, out: k.Result) -> k.Tensor:
    """The stages, the last one with what lies outside of the image and in the dtype of the result."""
    return _Resizing(inputs[0], out, a).result()


class Resized(Sampling, Protocol):
    """What attributes say of resizing images."""

    layout: str
    extrapolation_value: float


class _Resizing:
    """One call: the image `x` is resampled to the extents of `out`."""

    def __init__(self, x: k.Tensor, out: k.Result, a: Resized) -> None:
        self.x, self.out, self.a = x, out, a
        self.wide = weighed_in(x)
        self.places = placed_in(a, x)
        self.scalars = te_scalars(self.places)
        self.order = layout_over(a.layout, "NC" + SPATIAL[a.spatial], "layout")
        self.letters = "".join(letter for letter in SPATIAL[a.spatial] if not self._stays(letter))

    def result(self) -> k.Tensor:
        before, left = self.x, self.letters
        while len(left) > 1 and self._is_separated():
            before, left = self._along(before, left[0]), left[1:]

        def body(*indices: k.Scalar) -> k.Scalar:
            value = _as(self._weighted(before, indices, left), self.out.dtype)
            return self._extrapolated(value, indices)

        return k.compute(self.out.shape, body, "resize")

    def _extents(self, letter: str) -> tuple[k.Scalar, k.Scalar]:
        """Those of an axis before and after."""
        place = self.order.position(letter)
        return k.index(self.x.shape[place]), k.index(self.out.shape[place])

    def _stays(self, letter: str) -> bool:
        return self.a.coordinate_transformation_mode in IN_PLACE and structural_equal(*self._extents(letter))

    def _is_separated(self) -> bool:
        return self.a.method != "nearest_neighbor" and self.order.name[-1] in self.letters

    def _along(self, before: k.Tensor, letter: str) -> k.Tensor:
        """`before` resampled along one axis, in the dtype that elements are weighed in."""
        place = self.order.position(letter)
        shape = (*before.shape[:place], self.out.shape[place], *before.shape[place + 1 :])
        return k.compute(shape, lambda *indices: self._weighted(before, indices, letter), f"resize_{letter}")

    def _source(self, letter: str, at: Mapping[str, Place]) -> k.Scalar:
        """The coordinate in the image of an index of the result."""
        part = box(self.a, SPATIAL[self.a.spatial].index(letter))
        return coordinate(
            self.scalars, whole(at[letter]), *self._extents(letter), self.a.coordinate_transformation_mode, part
        )

    def _weighted(self, before: k.Tensor, indices: k.Indices, letters: str) -> k.Scalar:
        """The sum of the taps along the axes `letters`; the element itself where the nearest is taken."""
        at = self.order.split(indices)
        found = [self._taps(letter, at) for letter in letters]
        products: list[k.Scalar] = []
        for choice in itertools.product(*found):
            places = {**at, **{letter: index for letter, (index, _) in zip(letters, choice)}}
            value: k.Scalar = before(*self.order.indices(places))
            if all(weight is None for _, weight in choice):
                return value
            value = k.cast(self.wide, value)
            for _, weight in choice:
                value = value if weight is None else value * k.cast(self.wide, weight)
            products.append(value)
        total, *others = products
        for value in others:
            total = total + value
        return total

    def _taps(self, letter: str, at: Mapping[str, Place]) -> list[tuple[k.Scalar, k.Scalar | None]]:
        """(index, weight) pairs along an axis."""
        source = self._source(letter, at)
        before, after = self._extents(letter)
        s, steps = self.scalars, steps_along(before, after, self.a, SPATIAL[self.a.spatial].index(letter), self.places)
        if steps is None:
            return taps(s, source, lowest(s, source, self.a), before, self.a)
        if self.a.method == "nearest_neighbor" and steps.repeats_all and enlarged_by(before, after) == steps.times:
            return [(steps.at(whole(at[letter])), None)]
        return taps(s, source, steps.low(s, whole(at[letter])), before, self.a, steps.at(whole(at[letter])))

    def _extrapolated(self, value: k.Scalar, indices: k.Indices) -> k.Scalar:
        """`extrapolation_value` where tf_crop_and_resize maps outside of the image."""
        if self.a.coordinate_transformation_mode != "tf_crop_and_resize":
            return value
        at = self.order.split(indices)
        beyond = k.const(as_element(self.a.extrapolation_value, value.dtype), value.dtype)
        for letter in SPATIAL[self.a.spatial]:
            source = self._source(letter, at)
            last = self.scalars.number(k.index(self.x.shape[self.order.position(letter)]) - 1)
            for outside in (source < self.scalars.number(0.0), source > last):
                value = k.select(outside, beyond, value)
        return value


def steps_along(before: k.Scalar, after: k.Scalar, a: Resized, axis: int, places: str) -> Steps | None:
    """The steps of the first taps along a spatial axis, if they are even; None also where they depend on extents that
    only a run tells. Coordinates are of dtype `places`.
    """
    if isinstance(before, k.tir.IntImm) and isinstance(after, k.tir.IntImm):
        return _steps(before.value, after.value, a, axis, places)
    times = enlarged_by(before, after)
    if times is None or a.coordinate_transformation_mode not in EVERY_SIZE:
        return None
    first, *others = (_steps(size, size * times, a, axis, places) for size in SAMPLES)
    return first if all(steps == first for steps in others) else None


def _steps(before: int, after: int, a: Resized, axis: int, places: str) -> Steps | None:
    mode, part, s = a.coordinate_transformation_mode, box(a, axis), numpy_scalars(places)
    source = coordinate(s, np.arange(after), before, after, mode, part)
    return even_steps(s.index(lowest(s, source, a)), before)


def enlarged_by(before: k.Scalar, after: k.Scalar) -> int | None:
    """The factor between two extents, if it is a power of two, by which floats are multiplied exactly; else None."""
    found = (times for times in TIMES if Analyzer().equal(after, before * times) is True)
    return next(found, None)


def _as(value: k.Scalar, dtype: DataType) -> k.Scalar:
    """Floats become integers by rounding."""
    if dtype.is_int and value.dtype.is_float:
        value = k.nearbyint(value)
    return k.cast(dtype, value)
