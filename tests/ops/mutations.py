"""Samples of operators with other operands: other extents (0 and 1 among them), ranks and dtypes, one or all at once;
and with other attributes.

A sample that is mutated need not fit its operator any more; the operator's rule has to say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from baton._src.ops.samples import Arr, Sample, Shape, concrete
from baton._src.values.dtype import DataType

DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)


def mutated(rng: np.random.Generator, samples: Sequence[Sample]) -> Sample:
    """One of `samples`, mutated once or several times."""
    found = _without_names(samples[int(rng.integers(len(samples)))])
    for _ in range(1 + int(rng.geometric(0.7)) // 2):
        found = _MUTATIONS[int(rng.integers(len(_MUTATIONS)))](rng, found)
    return found


def _mapped(args: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """`change` of each operand, also of those in tuples."""
    return tuple(_mapped(a, change) if isinstance(a, tuple) else change(a) for a in args)


def _tensors(sample: Sample) -> list[Arr]:
    found: list[Arr] = []
    _mapped(sample.args, lambda a: found.append(a) if isinstance(a, Arr) else None)
    return found


def _without_names(sample: Sample) -> Sample:
    """Every dim as a number."""

    def numbered(arg: Any) -> Any:
        if isinstance(arg, Arr):
            return replace(arg, shape=tuple(concrete(d, sample.dims) for d in arg.shape))
        if isinstance(arg, Shape):
            return Shape(tuple(concrete(d, sample.dims) for d in arg.dims))
        return concrete(arg, sample.dims) if isinstance(arg, str) else arg

    return replace(sample, args=_mapped(sample.args, numbered))


def _of_shape(arg: Arr, shape: tuple[int, ...]) -> Arr:
    """Given values are repeated; those that ascend go on ascending."""
    if arg.values is None:
        return replace(arg, shape=shape)
    old = np.asarray(arg.values)
    values = np.resize(old, shape)
    if old.ndim == 1 and old.size and values.ndim and (old[1:] >= old[:-1]).all():
        values = np.sort(values, axis=-1)
    return replace(arg, shape=shape, values=values)


def _of_dtype(arg: Arr, dtype: str) -> Arr:
    if arg.values is None:
        return replace(arg, dtype=dtype)
    with np.errstate(all="ignore"):
        return replace(arg, dtype=dtype, values=np.asarray(arg.values).astype(DataType(dtype).numpy))


def _chosen(rng: np.random.Generator, sample: Sample) -> Arr | None:
    tensors = _tensors(sample)
    return tensors[int(rng.integers(len(tensors)))] if tensors else None


def other_shape(rng: np.random.Generator, sample: Sample) -> Sample:
    """One tensor with one axis more, less, longer, shorter, of extent 0 or 1."""
    chosen = _chosen(rng, sample)
    if chosen is None:
        return sample
    shape: list[int] = list(chosen.shape)  # type: ignore[arg-type]  # names are gone
    axis = int(rng.integers(len(shape) + 1))
    if axis == len(shape):
        shape.insert(int(rng.integers(axis + 1)), int(rng.choice([1, 2])))
    else:
        extents = [shape[axis] + 1, max(shape[axis] - 1, 0), 0, 1, None]
        extent = extents[int(rng.integers(len(extents)))]
        shape[axis : axis + 1] = [] if extent is None else [extent]
    return replace(sample, args=_mapped(sample.args, lambda a: _of_shape(chosen, tuple(shape)) if a is chosen else a))


def other_extent(rng: np.random.Generator, sample: Sample) -> Sample:
    """All axes of one extent, of all operands, with another."""
    extents = [d for t in _tensors(sample) for d in t.shape]
    if not extents:
        return sample
    old: Any = extents[int(rng.integers(len(extents)))]
    new = int(rng.choice([0, 1, old + 1, max(old - 1, 0), 2 * old]))

    def changed(arg: Any) -> Any:
        if isinstance(arg, Shape):
            return Shape(tuple(new if d == old else d for d in arg.dims))
        if not isinstance(arg, Arr):
            return arg
        return _of_shape(arg, tuple(new if d == old else d for d in arg.shape))  # type: ignore[misc]

    return replace(sample, args=_mapped(sample.args, changed))


def other_dtype(rng: np.random.Generator, sample: Sample) -> Sample:
    """One tensor, or all of its dtype, of another one."""
    chosen, new, is_alone = _chosen(rng, sample), str(rng.choice(DTYPES)), rng.random() < 0.3
    if chosen is None:
        return sample

    def changed(arg: Any) -> Any:
        alike = isinstance(arg, Arr) and arg.dtype == chosen.dtype
        return _of_dtype(arg, new) if (arg is chosen if is_alone else alike) else arg

    return replace(sample, args=_mapped(sample.args, changed))


_MUTATIONS = (other_shape, other_shape, other_extent, other_dtype)

_ATTRIBUTES = (
    *(None, True, False, -1, 0, 1, 2, 9, 1.5, -0.5, math.nan, math.inf, "", "zzz"),
    *((), (0,), (1,), (9,), (0, 0), (-1, 1, 2, 3, 4), ((1, 2),), ((0, 1), (2, 0)), ("a",)),
)


def other_attribute(rng: np.random.Generator, sample: Sample) -> dict[str, Any]:
    """The attributes of a sample, one of them another: of another kind, or close to what it was."""
    given = dict(sample.attrs.items())
    name = str(rng.choice(list(given)))
    choices = [*_ATTRIBUTES, *_near(given[name])]
    return {**given, name: choices[int(rng.integers(len(choices)))]}


def _near(value: Any) -> list[Any]:
    """What a program may say in the place of `value`; as often as what has nothing to do with it."""
    if isinstance(value, DataType):
        return [*DTYPES, "void", "handle", "int3"]
    if isinstance(value, str):
        return [value.lower(), value.upper(), value[::-1], value + value, value[:-1]] * 3
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value + 1, value - 1, -value, 2 * value] * 4
    if not isinstance(value, tuple) or not value:
        return []
    numbers = [n for n, v in enumerate(value) if isinstance(v, int)]
    changed = [(*value[:n], value[n] + d, *value[n + 1 :]) for n in numbers for d in (-1, 1, -2 * value[n])]
    return [value + value[:1], value[:-1], value[::-1], *changed]
