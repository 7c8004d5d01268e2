"""Random kernels in TVMScript, with arrays to run them on: what the schedules of operators never hold.

    kernel = random_kernel(seed)
    run_prim_func(kernel.func, kernel.arrays())

A kernel is a row of stages. Each fills a buffer, point by point, in a nest of loops of any kind (in other orders,
split, with predicates), in blocks or without: by one value, by branches, lets, a reduction, an accumulator of its own,
a loop `while`, small tables. All dtypes occur, sizes may be open. Points do not depend on each other, every element is
written before it is read, and every index is inside: what a kernel leaves is defined, whatever runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from baton.script import from_source
from tests.tir.kernel_expressions import DTYPES, OPEN, SIZES, Expressions, Memory

LOOPS = ("serial", "serial", "parallel", "vectorized", "unroll")


@dataclass
class Kernel:
    """A function and what it is run on: inputs first, then what it fills."""

    func: PrimFunc
    text: str
    inputs: list[Memory]
    outputs: list[Memory]
    seed: int

    def arrays(self, shake: int = 0) -> list[np.ndarray]:
        """Fresh arguments; other ones by a few roundings for each `shake`."""
        draws, n = np.random.default_rng(self.seed), OPEN[self.seed % len(OPEN)]
        found = shaken([filled(m, n, draws) for m in self.inputs], shake)
        return [*found, *(np.zeros(m.shape(n), DataType(m.dtype).numpy) for m in self.outputs)]


def filled(memory: Memory, n: int, draws: np.random.Generator) -> np.ndarray:
    """Numbers near zero for the most part; integers of the whole range too."""
    dtype, shape = DataType(memory.dtype), memory.shape(n)
    if dtype.is_bool:
        return draws.integers(0, 2, shape).astype(bool)
    if dtype.is_float:
        return (draws.integers(-8, 9, shape) / 4).astype(dtype.numpy)
    low, high = dtype.int_range
    if draws.random() < 0.3:
        return draws.integers(low, high, shape, dtype.numpy, endpoint=True)
    return draws.integers(max(low, -9), 10, shape).astype(dtype.numpy)


def shaken(arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """Floats moved by a few roundings; none by seed 0."""
    draws = np.random.default_rng(seed)
    return [_shaken(a, draws) if seed and a.dtype.kind not in "iub" else a for a in arrays]


def _shaken(array: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    step = {2: 4e-3, 4: 4e-7, 8: 1e-15}[array.dtype.itemsize]
    return (array.astype("float64") * (1 + draws.uniform(-step, step, array.shape))).astype(array.dtype)


class Maker(Expressions):
    """Writes one kernel."""

    # ---- statements at a point

    def point(self, target: str, dtype: str, depth: int) -> None:
        """Statements that write `target`, which belongs to this point alone."""
        ways = [self.stored, self.stored, self.bound, self.branched, self.guarded]
        ways += [self.gathered, self.counted, self.table]
        (self.r.choice(ways) if depth > 0 else self.stored)(target, dtype, depth - 1)

    def stored(self, target: str, dtype: str, depth: int) -> None:
        self.line(f"{target} = {self.expr(dtype, 3)}")

    def bound(self, target: str, dtype: str, depth: int) -> None:
        """A value with a name."""
        kind = self.r.choice((dtype, self.index, self.r.choice(DTYPES)))
        name = self.fresh("x")
        with self.under(f"with T.LetStmt({self.expr(kind, 2)}) as {name}:"):
            self.scope.scalars.append((name, kind))
            self.point(target, dtype, depth)

    def branched(self, target: str, dtype: str, depth: int) -> None:
        with self.under(f"if {self.condition(2)}:"):
            self.point(target, dtype, depth)
        with self.under("else:"):
            self.point(target, dtype, depth)

    def guarded(self, target: str, dtype: str, depth: int) -> None:
        """Written, and in some cases changed."""
        self.stored(target, dtype, depth)
        with self.under(f"if {self.condition(2)}:"):
            self.line(f"{target} = {self.combined(dtype, target, self.expr(dtype, 2))}")

    def combined(self, dtype: str, a: str, b: str) -> str:
        if dtype == "bool":
            return f"T.{self.r.choice(('And', 'Or'))}({a}, {b})"
        return self.r.choice((f"{a} + {b}", f"T.max({a}, {b})", f"T.min({a}, {b})", f"{a} - {b}"))

    def gathered(self, target: str, dtype: str, depth: int) -> None:
        """An accumulator, in memory of its own or in the target, over one or two loops."""
        own = self.chance(0.5)
        cell = target
        if own:
            name = self.fresh("acc")
            self.line(f'{name} = T.decl_buffer((1,), "{dtype}", scope="local")')
            cell = f"{name}[0]"
        self.line(f"{cell} = {self.leaf(dtype, 1)}")
        self._rounds(self.r.randint(1, 2), cell, dtype)
        if own:
            self.line(f"{target} = {self.combined(dtype, cell, self.leaf(dtype, 1))}")

    def _rounds(self, loops: int, cell: str, dtype: str) -> None:
        if loops == 0:
            if self.chance(0.3):
                with self.under(f"if {self.condition(1)}:"):
                    self.line(f"{cell} = {self.combined(dtype, cell, self.expr(dtype, 2))}")
            else:
                self.line(f"{cell} = {self.combined(dtype, cell, self.expr(dtype, 2))}")
            return
        k, dim = self.fresh("k"), self.r.choice(self.dims)
        if self.chance(0.3):  # a part of it, that may be empty
            end = f"T.min({self.size(dim)}, {self.few()})"
            head = f"for {k} in T.serial({end}):"
        else:
            kind = self.r.choice(("serial", "unroll")) if dim != "n" else "serial"
            head = f"for {k} in T.{kind}({self.size(dim)}):"
        with self.under(head):
            self.scope.places.append((k, dim))
            self._rounds(loops - 1, cell, dtype)

    def few(self) -> str:
        """A small number that is not negative."""
        return f"T.floormod({self.expr(self.index, 1)}, {self.size('5')})"

    def counted(self, target: str, dtype: str, depth: int) -> None:
        """`while`: so often as the data say, at most seven times."""
        name = self.fresh("w")
        self.line(f'{name} = T.decl_buffer((1,), "{self.index}", scope="local")')
        self.line(f"{name}[0] = {self.few()}")
        self.line(f"{target} = {self.leaf(dtype, 1)}")
        until = f"{name}[0] < {self.size('7')}"
        with self.under(f"while {until if self.chance(0.7) else f'T.And({until}, {self.condition(1)})'}:"):
            self.scope.scalars.append((f"{name}[0]", self.index))
            self.line(f"{target} = {self.combined(dtype, target, self.expr(dtype, 2))}")
            self.line(f"{name}[0] = {name}[0] + {self.size(self.r.choice('123'))}")

    def table(self, target: str, dtype: str, depth: int) -> None:
        """A small array of its own, filled by a loop of any kind and read anywhere."""
        name, dim, kind = self.fresh("tab"), self.r.choice(("4", "8")), self.r.choice((dtype, "int32"))
        memory = Memory(name, kind, (dim,))
        self.line(f'{name} = T.decl_buffer(({dim},), "{kind}", scope="local")')
        k = self.fresh("k")
        with self.under(f"for {k} in T.{self.r.choice(('serial', 'unroll', 'vectorized'))}({self.size(dim)}):"):
            self.scope.places.append((k, dim))
            self.line(f"{name}[{k}] = {self.expr(kind, 2)}")
        self.scope.memory.append(memory)
        self.point(target, dtype, depth)
        self.scope.memory.remove(memory)

    # ---- stages

    def stage(self, memory: Memory) -> None:
        """Fill a buffer."""
        way = self.r.randrange(12)
        if way > 10 and memory.dims[-1] in ("4", "8", "16"):
            self.wide(memory)
        elif way < 3 and memory.dtype != "bool":
            self.reduction(memory)
        elif way == 3 and memory.dtype != "bool":
            self.scattered(memory)
        else:
            self.pointwise(memory)

    @contextmanager
    def nest(self, dims: tuple[str, ...], kinds: tuple[str, ...], order: list[int]) -> Iterator[tuple[list[str], str]]:
        """Loops over dims, in an order, some of them split; what the dims' values are, and a predicate or none."""
        values, tests = [""] * len(dims), []
        before, has_vector = self.depth, False
        for axis in order:
            name, dim, kind = self.fresh("i"), dims[axis], self.r.choice(kinds)
            by = self.r.choice("248") if self.chance(0.25) else ""
            if kind == "vectorized" and (has_vector or (dim == "n" and not by)):
                kind = "serial"
            has_vector = has_vector or kind == "vectorized"
            values[axis] = f"{name}_0 * {self.size(by)} + {name}_1" if by else name
            if by:
                rounded = f"{self.size(dim)} + {self.size(str(int(by) - 1))}"
                self._loop(f"{name}_0", "serial", f"T.floordiv({rounded}, {self.size(by)})")
                self._loop(f"{name}_1", kind, self.size(by))
                tests.append(f"{values[axis]} < {self.size(dim)}")
            else:
                self._loop(name, kind if dim != "n" or kind != "unroll" else "serial", self.size(dim))
        yield values, " and ".join(tests)
        self.depth = before

    def _loop(self, name: str, kind: str, extent: str) -> None:
        self.line(f"for {name} in T.{kind}({extent}):")
        self.depth += 1

    def pointwise(self, memory: Memory) -> None:
        order = self.r.sample(range(len(memory.dims)), len(memory.dims))
        with self.nest(memory.dims, LOOPS, order) as (values, test):
            names = [self.fresh("v") for _ in values]
            if self.chance(0.6):
                with self.under(f'with T.block("{self.fresh("b")}"):'):
                    self._axes(names, "S" * len(names), memory.dims, values, test)
                    if self.chance(0.3):
                        self._view()
                    if self.chance(0.2):
                        self._viewed_point(memory, names)
                    else:
                        self._point(memory, names)
                return
            head = f"if {test}:" if test else 'with T.attr(0, "pragma_point", 1):'
            with self.under(head):
                self._point(memory, [f"({v})" if " " in v else v for v in values])

    def _point(self, memory: Memory, names: list[str]) -> None:
        self.scope.places += zip(names, memory.dims)
        self.point(f"{memory.name}[{', '.join(names)}]", memory.dtype, 2)

    def _view(self) -> None:
        """A row, or a part of one, of what may be read, as a buffer of its own."""
        wide = [m for m in self.scope.memory if len(m.dims) == 2 and m.dims[1] != "n" and m.dtype != "bool"]
        if wide:
            memory, name = self.r.choice(wide), self.fresh("view")
            count = self.r.choice([d for d in (*SIZES[:4], memory.dims[1]) if int(d) <= int(memory.dims[1])])
            begin = self.r.randint(0, int(memory.dims[1]) - int(count))
            part = f"{self.place(memory.dims[0], 0)}, {self.size(str(begin))}:{self.size(str(begin + int(count)))}"
            self.line(f'{name} = T.match_buffer({memory.name}[{part}], ({self.size(count)},), "{memory.dtype}", '
                      'offset_factor=1)')  # fmt: skip
            self.scope.memory.append(Memory(name, memory.dtype, (count,)))

    def _viewed_point(self, memory: Memory, names: list[str]) -> None:
        """The point through a view of one element, which is all that the block writes."""
        name = self.fresh("cell")
        part = ", ".join(f"{v}:{v} + {self.size('1')}" for v in names)
        shape = ", ".join(self.size("1") for _ in names)
        self.line(f'{name} = T.match_buffer({memory.name}[{part}], ({shape},), "{memory.dtype}", offset_factor=1)')
        self.scope.places += zip(names, memory.dims)
        self.point(f"{name}[{', '.join(self.size('0') for _ in names)}]", memory.dtype, 2)

    def _axes(self, names: list[str], kinds: str, dims: tuple[str, ...], values: list[str], test: str) -> None:
        if test:
            self.line(f"T.where({test})")
        for name, kind, dim, value in zip(names, kinds, dims, values):
            self.line(f"{name} = T.axis.{'spatial' if kind == 'S' else 'reduce'}({self.size(dim)}, {value})")

    def wide(self, memory: Memory) -> None:
        """In vectors that the kernel spells out."""
        size = int(memory.dims[-1])
        lanes = self.r.choice([n for n in (2, 4, 8, 16) if n <= size])
        dims = (*memory.dims[:-1], str(size // lanes))
        with self.nest(dims, ("serial", "unroll", "parallel"), list(range(len(dims)))) as (values, test):
            head = f"if {test}:" if test else 'with T.attr(0, "pragma_point", 1):'
            with self.under(head):
                self.scope.places += [(f"({v})" if " " in v else v, d) for v, d in zip(values, dims)]
                ramp = f"T.Ramp(({values[-1]}) * {self.size(str(lanes))}, {self.size('1')}, {lanes})"
                target = f"{memory.name}[{', '.join([*values[:-1], ramp])}]"
                self.line(f"{target} = {self.vector(memory.dtype, lanes, 3)}")

    def reduction(self, memory: Memory) -> None:
        """A block with an init; the loops of the reduction may stand around those of the points."""
        over = tuple(self.r.choice(self.dims) for _ in range(self.r.randint(1, 2)))
        dims, spatial = (*memory.dims, *over), len(memory.dims)
        order = list(range(len(dims)))
        if self.chance(0.4):
            self.r.shuffle(order)
        kinds = ("serial", "serial", "unroll")
        with self.nest(dims, kinds, order) as (values, test):
            names = [self.fresh("v") for _ in values]
            with self.under(f'with T.block("{self.fresh("r")}"):'):
                self._axes(names, "S" * spatial + "R" * len(over), dims, values, test)
                target = f"{memory.name}[{', '.join(names[:spatial])}]"
                self.scope.places += zip(names[:spatial], memory.dims)
                with self.under("with T.init():"):
                    self.line(f"{target} = {self.leaf(memory.dtype, 1)}")
                self.scope.places += zip(names[spatial:], over)
                self.line(f"{target} = {self.combined(memory.dtype, target, self.expr(memory.dtype, 2))}")

    def scattered(self, memory: Memory) -> None:
        """All of it written, then elements that the data choose are changed, one after the other."""
        self.pointwise(memory)
        k, dim = self.fresh("k"), self.r.choice(self.dims)
        with self.under(f"for {k} in T.serial({self.size(dim)}):"):
            self.scope.places.append((k, dim))
            places = ", ".join(f"T.floormod({self.expr(self.index, 1)}, {self.size(d)})" for d in memory.dims)
            cell = f"{memory.name}[{places}]"
            self.line(f"{cell} = {self.combined(memory.dtype, cell, self.expr(memory.dtype, 1))}")

    # ---- the whole

    def memory(self, name: str) -> Memory:
        dims = tuple(self.r.choice(self.dims) for _ in range(self.r.randint(1, 2)))
        return Memory(name, self.r.choice(DTYPES), dims)

    def kernel(self, seed: int, given: Sequence[Memory] = ()) -> Kernel:
        """A kernel whose first inputs are like `given`, or, of none of those, any."""
        known = dict.fromkeys(d for m in given for d in m.dims)
        is_open = "n" in known or (not given and self.chance(0.3))
        self.dims = (*(known or self.r.sample(SIZES, 2)), *(("n",) if is_open and not known else ()))
        inputs = [Memory(f"A{i}", m.dtype, m.dims) for i, m in enumerate(given)]
        inputs += [self.memory(f"A{i}") for i in range(len(given), len(given) + self.r.randint(not given, 2))]
        outputs = [self.memory(f"C{i}") for i in range(self.r.randint(1, 2))]
        inner = [self.memory(f"B{i}") for i in range(self.r.randint(0, 2))]
        if is_open and not any("n" in m.dims for m in inputs):
            inputs[0] = Memory(inputs[0].name, inputs[0].dtype, ("n", *inputs[0].dims[1:]))
        self.scope.memory = [*inputs]
        for memory in [*inner, *outputs]:
            self.stage(memory)
            self.scope.memory.append(memory)
        params = [*inputs, *outputs]
        head = ["@T.prim_func", f"def main({', '.join(f'p_{m.name}: T.handle' for m in params)}):"]
        if is_open:
            head.append(f"    n = T.{self.index}()")
        head += [f'    {m.name} = T.match_buffer(p_{m.name}, ({self._shape(m)},), "{m.dtype}")' for m in params]
        head += [f'    {m.name} = T.alloc_buffer(({self._shape(m)},), "{m.dtype}")' for m in inner]
        head += [f"    {name} = T.{dtype}()" for name, dtype in self.vars.items()]
        text = "\n".join([*head, *self.lines]) + "\n"
        return Kernel(from_source(text), text, inputs, outputs, seed)

    def _shape(self, memory: Memory) -> str:
        return ", ".join(self.size(d) for d in memory.dims)


def random_kernel(seed: int) -> Kernel:
    """The kernel of a seed."""
    return Maker(seed).kernel(seed)
