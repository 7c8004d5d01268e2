"""Random expressions of kernels, as text: every dtype, indices that are inside, values that rounding leaves alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "int32", "bool")
SIZES = ("1", "3", "4", "8", "16", "17")
OPEN = (7, 1, 2, 33)
"""The sizes that `n` has, by the seed."""


@dataclass(frozen=True)
class Memory:
    """A buffer of the kernel: dims are numbers, or `n`."""

    name: str
    dtype: str
    dims: tuple[str, ...]

    def shape(self, n: int) -> tuple[int, ...]:
        return tuple(n if d == "n" else int(d) for d in self.dims)


@dataclass
class Scope:
    """What may be used at a place."""

    places: list[tuple[str, str]] = field(default_factory=list)
    """Index variables, and the dim that they stay below."""
    scalars: list[tuple[str, str]] = field(default_factory=list)
    """Other variables, and their dtypes."""
    memory: list[Memory] = field(default_factory=list)
    """What may be read, at any place."""


class Expressions:
    """Makes expressions of what is in scope, and the lines around them."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.index = self.r.choice(("int32", "int32", "int64"))
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.scope = Scope()
        self.dims: tuple[str, ...] = ()
        """The sizes of the kernel's buffers."""
        self.vars: dict[str, str] = {}
        """Variables of `T.Let`, which are declared ahead, and their dtypes."""

    # ---- words

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def under(self, head: str) -> Iterator[None]:
        """Lines below a head; names that begin there end there."""
        scope = self.scope
        self.line(head)
        self.depth += 1
        self.scope = Scope([*scope.places], [*scope.scalars], [*scope.memory])
        yield
        self.depth -= 1
        self.scope = scope

    def chance(self, part: float) -> bool:
        return self.r.random() < part

    def size(self, dim: str) -> str:
        """A dim as a number of the index's dtype."""
        return dim if dim == "n" or self.index == "int32" else f"T.int64({dim})"

    # ---- expressions

    def literal(self, dtype: str) -> str:
        if dtype == "bool":
            return f"T.bool({self.chance(0.5)})"
        if dtype in FLOATS:
            return f"T.{dtype}({self.r.choice([0.0, 1.0, -1.0, 0.5, 2.0, -0.25, 3.0])})"
        low = 0 if dtype[0] == "u" else -9
        return f"T.{dtype}({self.r.randint(low, 12)})"

    def place(self, dim: str, depth: int) -> str:
        """An index inside a dim."""
        size, known = self.size(dim), [v for v, d in self.scope.places if d == dim]
        if known and self.chance(0.6):
            return self.r.choice(known)
        kind = self.r.randrange(5)
        if kind == 0 and known:
            return f"({size} - {self.size('1')} - {self.r.choice(known)})"
        if kind == 1 and known:
            return f"T.floordiv({self.r.choice(known)}, {self.size('2')})"
        if kind == 2 and known:
            moved = f"{self.r.choice(known)} {self.r.choice('+-')} {self.size('1')}"
            return f"T.min(T.max({moved}, {self.size('0')}), {size} - {self.size('1')})"
        if kind == 3 and depth > 0:
            return f"T.floormod({self.expr(self.index, depth - 1)}, {size})"
        return self.size("0" if dim == "n" else str(self.r.randrange(int(dim))))

    def element(self, memory: Memory, depth: int) -> str:
        return f"{memory.name}[{', '.join(self.place(d, depth - 1) for d in memory.dims)}]"

    def leaf(self, dtype: str, depth: int) -> str:
        options: list[Callable[[], str]] = [lambda: self.literal(dtype)]
        options += [lambda m=m: self.element(m, depth) for m in self.scope.memory if m.dtype == dtype] * 3
        options += [lambda v=v: v for v, d in self.scope.scalars if d == dtype]
        if self.scope.places and dtype != "bool":
            options.append(lambda: self.cast(self.index, dtype, self.r.choice(self.scope.places)[0]))
        return self.r.choice(options)()

    def cast(self, source: str, dtype: str, value: str) -> str:
        return value if source == dtype else f'T.Cast("{dtype}", {value})'

    def expr(self, dtype: str, depth: int) -> str:
        """A value of `dtype`."""
        if depth <= 0 or self.chance(0.15):
            return self.leaf(dtype, depth)
        if self.chance(0.12):
            return self.chosen(dtype, depth)
        if self.chance(0.05):
            return self.named(dtype, depth)
        if self.chance(0.2):
            source = self.r.choice([m.dtype for m in self.scope.memory] or ["int32"])
            if source in FLOATS and dtype not in FLOATS:  # a value that was rounded might become another integer
                return self.cast(source, dtype, self.leaf(source, depth))
            return self.cast(source, dtype, self.expr(source, depth - 1))
        if dtype == "bool":
            return self.condition(depth)
        return self.floating(dtype, depth) if dtype in FLOATS else self.integer(dtype, depth)

    def chosen(self, dtype: str, depth: int) -> str:
        word = self.r.choice(("T.Select", "T.if_then_else"))
        return f"{word}({self.condition(depth - 1)}, {self.expr(dtype, depth - 1)}, {self.expr(dtype, depth - 1)})"

    def named(self, dtype: str, depth: int) -> str:
        name, kind = self.fresh("t"), self.r.choice((dtype, "int32"))
        value = self.expr(kind, depth - 1)
        self.scope.scalars.append((name, kind))
        body = self.expr(dtype, depth - 1)
        self.scope.scalars.remove((name, kind))
        self.vars[name] = kind
        return f"T.Let({body}, where={{{name}: {value}}})"

    def two(self, dtype: str, depth: int) -> tuple[str, str]:
        return self.expr(dtype, depth - 1), self.expr(dtype, depth - 1)

    def floating(self, dtype: str, depth: int) -> str:
        kind = self.r.randrange(8)
        if kind < 4:
            a, b = self.two(dtype, depth)
            return self.r.choice((f"({a} + {b})", f"({a} - {b})", f"T.min({a}, {b})", f"T.max({a}, {b})"))
        a = self.expr(dtype, depth - 1)
        if kind == 4:
            return f"({a} * {self.r.choice((self.leaf(dtype, depth), self.expr(dtype, depth - 1)))})"
        if kind == 5:
            return f"({a} / {self.r.choice(('T.' + dtype + '(2.0)', 'T.' + dtype + '(-3.0)'))})"
        if kind == 6:
            word = self.r.choice(("tanh", "sigmoid", "fabs", "erf", "cos", "atan", "exp_small", "hypot", "fma"))
            if word == "exp_small":
                return f"T.exp(T.min({a}, T.{dtype}(2.0)))"
            if word == "hypot":
                return f"T.hypot({a}, {self.leaf(dtype, depth)})"
            if word == "fma":
                return f"T.fma({a}, {self.leaf(dtype, depth)}, {self.leaf(dtype, depth)})"
            return f"T.{word}({a})"
        if self.chance(0.5):
            return f"T.sqrt(T.fabs({a}))"
        word = self.r.choice(("floor", "ceil", "round", "trunc", "nearbyint"))
        return f"T.{word}({self.leaf(dtype, depth)})"

    def integer(self, dtype: str, depth: int) -> str:
        a, b = self.two(dtype, depth)
        kind = self.r.randrange(10)
        if kind < 3:
            return f"({a} {self.r.choice('+-*')} {b})"
        if kind < 5:
            return f"T.{self.r.choice(('min', 'max'))}({a}, {b})"
        if kind < 8:
            word = self.r.choice(("T.floordiv", "T.floormod", "T.truncdiv", "T.truncmod"))
            return f"{word}({a}, {self.divisor(dtype, depth)})"
        if kind == 8:
            word = self.r.choice(("bitwise_and", "bitwise_or", "bitwise_xor"))
            return f"T.{word}({a}, {b})"
        if self.chance(0.2):
            return f"T.popcount({a})"
        bits = int(dtype.lstrip("uint"))
        by = f"T.{dtype}({self.r.randrange(bits)})"
        return self.r.choice((f"T.shift_left({a}, {by})", f"T.shift_right({a}, {by})", f"T.bitwise_not({a})"))

    def divisor(self, dtype: str, depth: int) -> str:
        """A number, or any element: what an element of 0 divides is 0. Index variables are taken not to be 0 there."""
        elements = [m for m in self.scope.memory if m.dtype == dtype]
        if elements and self.chance(0.3):
            return self.element(self.r.choice(elements), depth)
        negative = (-1, -2, -7) if dtype[0] != "u" else ()
        return f"T.{dtype}({self.r.choice((0, 1, 2, 3, 5, 8, 16, *negative))})"

    def condition(self, depth: int) -> str:
        kind = self.r.randrange(8)
        if depth > 0 and kind < 2:
            return f"T.{self.r.choice(('And', 'Or'))}({self.condition(depth - 1)}, {self.condition(depth - 1)})"
        if depth > 0 and kind == 2:
            return f"T.Not({self.condition(depth - 1)})"
        if self.scope.places and kind < 6:
            (name, _), other = self.r.choice(self.scope.places), self.r.choice(self.scope.places)[0]
            sides = name, self.r.choice((other, self.size(str(self.r.randrange(9)))))
        else:
            dtype = self.r.choice((*INTEGERS, "int32", "float32"))
            exact = dtype not in FLOATS
            sides = tuple(self.expr(dtype, depth - 1) if exact else self.leaf(dtype, depth) for _ in range(2))
        return f"({sides[0]} {self.r.choice(('<', '<=', '>', '>=', '==', '!='))} {sides[1]})"

    # ---- vectors

    def vector(self, dtype: str, lanes: int, depth: int) -> str:
        """A value of so many lanes."""
        if depth <= 0 or self.chance(0.2):
            return self.slice(dtype, lanes, depth)
        a, b = self.vector(dtype, lanes, depth - 1), self.vector(dtype, lanes, depth - 1)
        kind = self.r.randrange(5 if dtype == "bool" else 0, 7)
        if kind == 5:
            sort = self.r.choice((*INTEGERS, "float32"))  # of floats only what was not rounded
            sides = [self.slice(sort, lanes, depth - 1) for _ in range(2)]
            return f"T.Select({sides[0]} {self.r.choice(('<', '>=', '=='))} {sides[1]}, {a}, {b})"
        if kind == 6:
            sources = [m.dtype for m in self.scope.memory if m.dtype not in FLOATS or dtype in FLOATS]
            source = self.r.choice(sources or [dtype])
            inner = self.vector(source, lanes, depth - 1)
            return inner if source == dtype else f'T.Cast("{dtype}x{lanes}", {inner})'
        if kind < 3:
            return f"({a} {self.r.choice('+-*' if dtype not in FLOATS else '+-')} {b})"
        if kind == 3 and dtype not in FLOATS:
            by = f"T.Broadcast(T.{dtype}({self.r.choice((0, 1, 2, 3, 5, 8))}), {lanes})"
            return f"T.{self.r.choice(('floordiv', 'floormod', 'truncdiv', 'truncmod'))}({a}, {by})"
        return f"T.{self.r.choice(('min', 'max'))}({a}, {b})"

    def slice(self, dtype: str, lanes: int, depth: int) -> str:
        """Neighbours in memory, every second one, a row of numbers, or one value in all lanes."""
        fitting = [m for m in self.scope.memory if m.dtype == dtype and m.dims[-1] != "n" and int(m.dims[-1]) >= lanes]
        if fitting and self.chance(0.7):
            memory = self.r.choice(fitting)
            size = int(memory.dims[-1])
            stride = 2 if size >= 2 * lanes and self.chance(0.3) else 1
            begin = self.r.randint(0, size - (lanes - 1) * stride - 1)
            if self.chance(0.15):
                begin, stride = begin + (lanes - 1) * stride, -stride
            ramp = f"T.Ramp({self.size(str(begin))}, {self.size(str(stride))}, {lanes})"
            outer = [self.place(d, depth - 1) for d in memory.dims[:-1]]
            return f"{memory.name}[{', '.join([*outer, ramp])}]"
        if dtype == self.index and self.scope.places and self.chance(0.5):
            step = self.size(str(self.r.randint(-2, 3)))
            return f"T.Ramp({self.r.choice(self.scope.places)[0]}, {step}, {lanes})"
        return f"T.Broadcast({self.leaf(dtype, depth)}, {lanes})"
