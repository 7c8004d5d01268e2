"""Random graphs of tensor expressions over integers, whose results are the same in every order of computation.

    graph = RandomGraph(random.Random(seed))
    run_prim_func(te.create_prim_func(graph.args), graph.arrays(seed))

Computations read those before them by shifted, reversed, strided and wrapped indices, behind borders, and by indices
that other tensors hold; they have one result or several, some reduce, sizes may be open.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from baton import te, tir

Axes = list[tuple[Any, Any]]
"""Variables and how far they go."""
DTYPES = ("int32", "int32", "int8", "uint8", "int16", "int64")


class RandomGraph:
    """Inputs, what is computed of them, and which of that are the results."""

    def __init__(self, r: random.Random) -> None:
        self.r, self.dtype = r, r.choice(DTYPES)
        self.open = te.var("n") if r.random() < 0.4 else None
        self.open_size = r.choice([1, 2, 5, 6, 7])
        self.sizes = [r.randint(1, 8) for _ in range(2)]
        self.made = 0
        self.inputs = [te.placeholder(self._shape(), self.dtype, self._name("A")) for _ in range(r.randint(1, 2))]
        if self.open is not None:
            self.inputs.append(te.placeholder((self.open,), self.dtype, self._name("A")))
        self.tensors: list[Any] = list(self.inputs)
        for _ in range(r.randint(2, 4)):
            self.tensors += self._computed()
        read = {(t.op, t.value_index) for user in self.tensors for t in user.op.input_tensors}
        made = self.tensors[len(self.inputs) :]
        self.results = [t for t in made if (t.op, t.value_index) not in read]

    @property
    def args(self) -> list[Any]:
        return [*self.inputs, *self.results]

    def arrays(self, seed: int) -> list[np.ndarray]:
        """Numbers for the inputs, and room for the results."""
        draws, low = np.random.default_rng(seed), 0 if self.dtype[0] == "u" else -5
        given = [draws.integers(low, 6, self._extents(t)).astype(self.dtype) for t in self.inputs]
        return [*given, *(np.full(self._extents(t), 77, str(t.dtype)) for t in self.results)]

    def _extents(self, tensor: Any) -> tuple[int, ...]:
        return tuple(int(d) if isinstance(d, tir.IntImm) else self.open_size for d in tensor.shape)

    def _name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def _dim(self) -> Any:
        return self.open if self.open is not None and self.r.random() < 0.5 else self.r.choice(self.sizes)

    def _shape(self) -> tuple[Any, ...]:
        return tuple(self._dim() for _ in range(self.r.randint(1, 2)))

    def _number(self) -> Any:
        return te.const(self.r.randint(0, 3), self.dtype)

    # ---- what is read

    def _read(self, axes: Axes) -> Any:
        tensor, way = self.r.choice(self.tensors[-3:]), self.r.random()
        if way < 0.25:
            return self._behind_border(tensor, axes)
        indices = [self._index(axes, dim) for dim in tensor.shape]
        if way < 0.35:
            other = self.r.choice(self.tensors)
            held = other(*(self._index(axes, dim) for dim in other.shape))
            indices[0] = te.floormod(held.astype("int32"), tensor.shape[0])
        return tensor(*indices)

    def _index(self, axes: Axes, dim: Any) -> Any:
        size = getattr(dim, "value", None)
        alike = [v for v, extent in axes if extent is dim or (size is not None and extent == size)]
        if alike and self.r.random() < 0.7:
            var = self.r.choice(alike)
            return var if self.r.random() < 0.8 else dim - 1 - var
        return te.floormod(self.r.choice(axes)[0] * self.r.randint(1, 3) + self.r.randint(0, 3), dim)

    def _behind_border(self, tensor: Any, axes: Axes) -> Any:
        indices = [self.r.choice(axes)[0] + self.r.randint(-2, 2) for _ in tensor.shape]
        inside = te.all(*(c for i, dim in zip(indices, tensor.shape) for c in (i >= 0, i < dim)))
        return te.if_then_else(inside, tensor(*indices), self._number())

    def _value(self, axes: Axes) -> Any:
        found = self._read(axes)
        for _ in range(self.r.randint(0, 2)):
            other = self._read(axes) if self.r.random() < 0.7 else self._number()
            ways = [
                found + other,
                found - other,
                found * other,
                te.max(found, other),
                tir.Select(found > other, found, other),
            ]
            found = self.r.choice(ways)
        return found

    # ---- what is computed

    def _computed(self) -> Sequence[Any]:
        shape, name, way = self._shape(), self._name("T"), self.r.random()
        if way < 0.45:
            return [te.compute(shape, lambda *i: self._value(list(zip(i, shape))), name=name)]
        if way < 0.6:
            return list(te.compute(shape, lambda *i: tuple(self._value(list(zip(i, shape))) for _ in "ab"), name=name))
        over = [te.reduce_axis((0, self._dim()), self._name("k")) for _ in range(self.r.randint(1, 2))]
        around = [(axis.var, axis.dom.extent) for axis in over]
        if way < 0.7:
            return list(te.compute(shape, lambda *i: self._last_largest([*zip(i, shape), *around], over), name=name))
        reduce = self.r.choice([te.sum, te.sum, te.max, te.min])
        return [te.compute(shape, lambda *i: reduce(self._value([*zip(i, shape), *around]), over), name=name)]

    def _last_largest(self, axes: Axes, over: list[Any]) -> Any:
        """The largest value and, of those with it, the last place on the first axis."""

        def better(a: Any, b: Any) -> Any:
            first = tir.any(a[1] > b[1], tir.all(a[1] == b[1], a[0] > b[0]))
            return tuple(tir.Select(first, a[n], b[n]) for n in (0, 1))

        largest = te.comm_reducer(better, lambda *dtypes: tuple(map(te.min_value, dtypes)), name="largest")
        return largest((over[0].var.astype(self.dtype), self._value(axes)), axis=over)
