"""The sampling of a resampled image: coordinates, taps and weights along one axis, for both te and NumPy.

Coordinate transforms (x: extent before, y: after, i: index after): asymmetric `i * x / y`; half_pixel `(i + 0.5) * x
/ y - 0.5`; pytorch_half_pixel the same, 0 if y is 1; tf_half_pixel_for_nn `(i + 0.5) * x / y`; align_corners `i * (x
- 1) / (y - 1)`; tf_crop_and_resize maps into the box [start, end]. Source: ONNX Resize; facts relay-language §6 level
5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from baton._src.ops import kernel_words as k
from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import AnyArray

MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
IN_PLACE = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
"""Those in which an axis that keeps its extent keeps its elements."""
EVERY_SIZE = ("half_pixel", "asymmetric", "pytorch_half_pixel")
"""Those by which places in an image enlarged by a whole number do not depend on its size."""
TIMES, SAMPLES = (2, 4, 8), (5, 16)
"""Factors that are looked for between sizes that a run tells, and sizes at which places are looked at."""
METHODS = ("nearest_neighbor", "linear", "cubic")
ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
_EPSILON = 1e-5
"""Keeps what should be a whole number, or half of one, from being rounded the wrong way: machines that multiply and add
in one step round once less."""

LARGEST = 1 << 20
"""Extents up to which steps are looked for: float32 numbers that large still differ by less than a half."""


N = TypeVar("N", k.Scalar, AnyArray)


class Sampling(Protocol):
    """What attributes say of resampling; `spatial` is the number of spatial axes."""

    spatial: ClassVar[int]
    roi: tuple[float, ...] | None
    method: str
    coordinate_transformation_mode: str
    rounding_method: str
    cubic_alpha: float
    cubic_exclude: int


class Typed(Protocol):
    """A tensor or an array."""

    @property
    def dtype(self) -> object: ...


@dataclass(frozen=True)
class Scalars(Generic[N]):
    """The few operations that differ between te scalars and NumPy arrays. Numbers are of one dtype, indices int64."""

    number: Callable[[N | float], N]
    floor: Callable[[N], N]
    ceil: Callable[[N], N]
    index: Callable[[N], N]
    extent: Callable[[N | int], N | int]
    clamp: Callable[[N, N | int], N]
    choose: Callable[[N, N, N], N]
    nearest: Callable[[N], N]
    """Rounded, halves to even."""
    absolute: Callable[[N], N]
    least: Callable[[N, N], N]
    greatest: Callable[[N, N], N]


def te_scalars(dtype: str) -> Scalars[k.Scalar]:
    """Those of kernels, with numbers of `dtype`."""
    return Scalars(
        number=lambda x: k.const(x, dtype) if isinstance(x, (int, float)) else k.cast(dtype, x),
        floor=k.floor,
        ceil=k.ceil,
        index=lambda x: k.cast("int64", x),
        extent=k.index,
        clamp=lambda i, extent: k.maximum(k.index(0), k.minimum(i, k.index(extent) - 1)),
        choose=k.select,
        nearest=k.nearbyint,
        absolute=k.fabs,
        least=k.minimum,
        greatest=k.maximum,
    )


def numpy_scalars(dtype: str) -> Scalars[AnyArray]:
    """Those of NumPy, with numbers of `dtype`."""
    return Scalars(
        number=lambda x: np.asarray(x, dtype),
        floor=np.floor,
        ceil=np.ceil,
        index=lambda x: np.asarray(x).astype("int64"),
        extent=lambda x: x,
        clamp=lambda i, extent: np.clip(i, 0, extent - 1),
        choose=np.where,
        nearest=np.rint,
        absolute=np.abs,
        least=np.minimum,
        greatest=np.maximum,
    )


def weighed_in(*operands: Typed) -> str:
    """The dtype in which tensors or arrays are weighed: float64 where one is of it, else float32."""
    return "float64" if "float64" in [str(x.dtype) for x in operands] else "float32"


def placed_in(a: Sampling, *operands: Typed) -> str:
    """The dtype of coordinates and weights: that in which elements are weighed, or float32, in which other compilers
    look for the nearest."""
    return "float32" if a.method == "nearest_neighbor" else weighed_in(*operands)


def box(a: Sampling, axis: int) -> tuple[float, float]:
    """Start and end, along a spatial axis, of the part of the image that attributes ask for."""
    return (0.0, 1.0) if a.roi is None else (a.roi[axis], a.roi[axis + a.spatial])


def coordinate(
    s: Scalars[N], i: N | float, before: N | float, after: N | float, mode: str, box: tuple[float, float]
) -> N:
    """The coordinate of index `i` in the source, a number of `s`."""
    at, x, y = s.number(i), s.number(before), s.number(after)
    one, half = s.number(1.0), s.number(0.5)
    if mode == "asymmetric":
        return at * (x / y)
    if mode == "tf_half_pixel_for_nn":
        return (at + half) * (x / y)
    if mode == "align_corners":
        return at * _ratio(s, x - one, y, one)
    if mode == "tf_crop_and_resize":
        start, end = s.number(box[0]), s.number(box[1])
        spread = start * (x - one) + at * (end - start) * _ratio(s, x - one, y, one)
        return s.choose(y > one, spread, half * (start + end) * (x - one))
    placed = (at + half) * (x / y) - half
    return placed if mode == "half_pixel" else s.choose(y > one, placed, s.number(0.0) * placed)


def _ratio(s: Scalars[N], room: N, y: N, one: N) -> N:
    """room / (y - 1); 0 for a single element."""
    safe = s.choose(y > one, y - one, one)
    return s.choose(y > one, room / safe, s.number(0.0) * room)


def lowest(s: Scalars[N], at: N, a: Sampling) -> N:
    """The place of the first tap for a coordinate, which may be outside of the source, as a float."""
    return _rounded(s, at, a) if a.method == "nearest_neighbor" else s.floor(at)


def taps(
    s: Scalars[N], at: N, low: N, before: N | int, a: Sampling, first: N | None = None
) -> list[tuple[N, N | None]]:
    """(source index, weight) pairs along one axis, for a coordinate and its `lowest` place, of which `first` is the
    index; nearest has one pair without a weight.
    """
    first = s.index(low) if first is None else first
    if a.method == "nearest_neighbor":
        return [(s.clamp(first, before), None)]
    part = at - low
    if a.method == "linear":
        weights = [s.number(1.0) - part, part]
        return [(s.clamp(first + n, before), w) for n, w in enumerate(weights)]
    weights = _cubic(s, part, a.cubic_alpha)
    if a.cubic_exclude:
        zero, begin, end = s.number(0.0), s.extent(0), s.extent(before)
        weights = [s.choose(first + n >= begin, w, zero) for n, w in zip((-1, 0, 1, 2), weights)]
        weights = [s.choose(first + n < end, w, zero) for n, w in zip((-1, 0, 1, 2), weights)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [w / total for w in weights]
    return [(s.clamp(first + n, before), w) for n, w in zip((-1, 0, 1, 2), weights)]


@dataclass(frozen=True)
class Steps:
    """Places `first + (i * step + ahead) // times`: of elements that are repeated, or of every so many of them."""

    first: int
    step: int
    times: int
    ahead: int = 0

    @property
    def repeats_all(self) -> bool:
        """Whether elements are repeated from the first one on, each as often as the others."""
        return self.times > 1 and self.first == self.ahead == 0

    def at(self, i: k.Scalar) -> k.Scalar:
        """The place for index `i`, a te scalar."""
        return k.index(self.first) + (i * k.index(self.step) + k.index(self.ahead)) // k.index(self.times)

    def low(self, s: Scalars[N], i: N) -> N:
        """The place as a number. Half a step is added before it is rounded down: errors of floats do not count then."""
        ahead = s.number(i) * s.number(float(self.step)) + s.number(self.ahead + 0.5)
        return s.floor(ahead * s.number(1.0 / self.times)) + s.number(float(self.first))


def even_steps(places: AnyArray, before: int) -> Steps | None:
    """The steps of known places among `before` elements; None if they are uneven. Vectors of what is at even steps are
    loaded as runs of neighbours, others element by element.
    """
    count = len(places)
    if not (2 <= count <= LARGEST and 1 <= before <= LARGEST):
        return None
    times = max(1, count // before)
    if times == 1:
        found = Steps(int(places[0]), max(1, int(places[1] - places[0])), 1)
    else:
        found = Steps(int(places[0]), 1, times, -int((places == places[0]).sum()) % times)
    expected = found.first + (np.arange(count) * found.step + found.ahead) // found.times
    return found if (places == expected).all() else None


def _rounded(s: Scalars[N], at: N, a: Sampling) -> N:
    method = a.rounding_method or ("round" if a.coordinate_transformation_mode == "align_corners" else "floor")
    if method == "floor":
        return s.floor(at + s.number(_EPSILON))
    if method == "ceil":
        return s.ceil(at - s.number(_EPSILON))
    if method == "round_prefer_floor":
        return s.ceil(at - s.number(0.5 + _EPSILON))
    return s.floor(at + s.number(0.5 + _EPSILON))


def _cubic(s: Scalars[N], t: N, alpha: float) -> list[N]:
    """The weights of the four neighbours (Keys' kernel)."""
    a, one = s.number(alpha), s.number(1.0)
    two, three, four, five, eight = (s.number(float(n)) for n in (2, 3, 4, 5, 8))
    u, v, w = t + one, one - t, two - t
    return [
        ((a * u - five * a) * u + eight * a) * u - four * a,
        ((a + two) * t - (a + three)) * t * t + one,
        ((a + two) * v - (a + three)) * v * v + one,
        ((a * w - five * a) * w + eight * a) * w - four * a,
    ]
