"""Random Relay functions that are differentiable everywhere: operators, lets, tuples, calls, ifs and references.

differentiable(seed)    fn (%x: (3, 4), %w: (4, 4), %v: (4)) { sum of a few values }, all float64
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from baton import relay
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function
from baton._src.support.diagnostics import DiagnosticError

wire()
DTYPE = "float64"
SHAPES = ((3, 4), (4, 4), (4,))
LARGEST = 256
"""Elements; more are not made."""


def differentiable(seed: int, is_dataflow: bool, length: int = 10) -> Function:
    """The function of a seed; `is_dataflow`: without what decides, is called, or is written."""
    made = _Maker(random.Random(seed))
    kinds = DATAFLOW if is_dataflow else (*DATAFLOW, *DATAFLOW, *CONTROL)
    count = made.draw.randint(3, length)
    while len(made.pool) < count + len(SHAPES):
        try:
            made.keep(made.draw.choice(kinds)(made))
        except DiagnosticError:  # operands do not fit
            continue
    return made.finish()


class _Maker:
    """`pool` are the values that there are; lets are wrapped around the result, the first outermost."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw.randrange(2**32))
        self.params = [relay.var(name, shape=shape, dtype=DTYPE) for name, shape in zip("xwv", SHAPES)]
        self.pool: list[Any] = list(self.params)
        self.lets: list[tuple[Any, Any]] = []

    def keep(self, value: Any) -> None:
        """If it is well-typed and small, one more value; half of them have a name."""
        shape = self.shape(value)
        if int(np.prod(shape)) > LARGEST or 0 in shape:
            return
        if self.draw.random() < 0.5:
            value = self.let(value, shape)
        self.pool.append(value)

    def let(self, value: Any, shape: tuple[int, ...] | None = None) -> Any:
        """The variable of a new let."""
        name = f"b{len(self.lets)}"
        var = relay.var(name) if shape is None else relay.var(name, shape=shape, dtype=DTYPE)
        self.lets.append((var, value))
        return var

    def wrap(self, body: Any) -> Any:
        for var, value in reversed(self.lets):
            body = relay.Let(var, value, body)
        return body

    def shape(self, value: Any) -> tuple[int, ...]:
        function = relay.Function(self.params, self.wrap(value))
        found = infer_type(IRModule.from_expr(function))["main"].ret_type
        return tuple(int(d) for d in found.shape)

    def pick(self) -> Any:
        """A value; later ones are likelier."""
        return self.draw.choice(self.pool[-3:] if self.draw.random() < 0.6 else self.pool)

    def axis(self, value: Any) -> int:
        return self.draw.randrange(-len(self.shape(value)), len(self.shape(value)) or 1)

    def number(self, value: float) -> Any:
        return relay.const(np.asarray(value, DTYPE), DTYPE)

    def finish(self) -> Function:
        parts = [relay.sum(relay.tanh(self.pick())) for _ in range(3)]
        total = relay.add(relay.add(parts[0], parts[1]), relay.sum(relay.sin(self.pool[-1])))
        return relay.Function(self.params, self.wrap(total))


def _unary(g: _Maker) -> Any:
    x, name = g.pick(), g.draw.choice(["tanh", "sigmoid", "erf", "sin", "cos", "atan", "exp", "log", "sqrt", "rsqrt"])
    if name == "exp":
        x = relay.tanh(x)
    return getattr(relay, name)(relay.sigmoid(x) + g.number(0.1) if name in ("log", "sqrt", "rsqrt") else x)


def _binary(g: _Maker) -> Any:
    x, y, name = g.pick(), g.pick(), g.draw.choice(["add", "subtract", "multiply", "divide", "power"])
    if name == "divide":
        return x / (relay.sigmoid(y) + g.number(0.5))
    if name == "power":
        return relay.power(relay.sigmoid(x) + g.number(0.2), relay.tanh(y))
    return getattr(relay, name)(x, y)


def _reduction(g: _Maker) -> Any:
    x, name = g.pick(), g.draw.choice(["sum", "mean", "variance", "prod"])
    axis = g.draw.choice([None, g.axis(x)])
    return getattr(relay, name)(relay.tanh(x), axis=axis, keepdims=g.draw.random() < 0.5)


def _along(g: _Maker) -> Any:
    x = g.pick()
    axis = g.axis(x)
    return g.draw.choice([relay.nn.softmax, relay.nn.log_softmax, relay.cumsum, relay.reverse])(x, axis=axis)


def _product(g: _Maker) -> Any:
    x, y = g.pick(), g.pick()
    if g.draw.random() < 0.3:
        return relay.nn.batch_matmul(relay.expand_dims(x, 0), relay.expand_dims(y, 0))
    return g.draw.choice([relay.nn.dense, relay.nn.matmul])(x, y)


def _window(g: _Maker) -> Any:
    """Over a value as an image of one channel."""
    image = relay.expand_dims(relay.expand_dims(g.pick(), 0), 0)
    if g.draw.random() < 0.4:
        return relay.nn.avg_pool2d(
            image, (2, 2), padding=g.draw.choice([0, 1]), count_include_pad=g.draw.random() < 0.5
        )
    weight = relay.reshape(g.params[1], (g.draw.choice([(4, 1, 2, 2), (1, 1, 4, 4), (2, 1, 2, 4)])))
    return relay.nn.conv2d(image, weight, strides=g.draw.choice([1, 2]), padding=g.draw.choice([1, 2]))


def _moved(g: _Maker) -> Any:
    x = g.pick()
    shape = g.shape(x)
    axes = list(range(len(shape)))
    kind = g.draw.choice(["transpose", "reshape", "expand", "broadcast", "pad", "repeat", "tile"])
    if kind == "transpose":
        return relay.transpose(x, g.draw.sample(axes, len(axes)))
    if kind == "reshape":
        return relay.reshape(x, g.draw.choice([(-1,), (*reversed(shape),), (1, -1)]))
    if kind == "expand":
        return relay.expand_dims(x, g.draw.choice([0, -1]))
    if kind == "broadcast":
        return relay.broadcast_to(x, (2, *shape))
    if kind == "pad":
        width = [(g.draw.randint(0, 1), g.draw.randint(0, 2)) for _ in shape]
        return relay.nn.pad(x, width, pad_mode=g.draw.choice(["constant", "edge"]))
    return relay.repeat(x, 2, axis=g.axis(x)) if kind == "repeat" else relay.tile(x, (2, *(1 for _ in shape[1:])))


def _parts(g: _Maker) -> Any:
    x = g.pick()
    axis = g.axis(x)
    kind = g.draw.choice(["concatenate", "split", "stack", "slice", "take", "where", "tuple"])
    if kind == "concatenate":
        return relay.concatenate([x, g.pick()], axis=axis)
    if kind == "split":
        return relay.split(x, g.draw.choice([2, (1,), (1, 2)]), axis=axis)[g.draw.randrange(2)]
    if kind == "stack":
        return relay.stack([x, relay.sin(x)], axis=axis)
    if kind == "slice":
        return relay.strided_slice(
            x, [g.draw.randint(0, 1)], [g.draw.randint(2, 5)], [g.draw.choice([1, 2])], axes=[axis]
        )
    if kind == "take":
        places = g.rng.integers(0, 2, g.draw.randint(1, 4)).astype("int64")
        return relay.take(x, relay.const(places, "int64"), axis=axis, mode="clip")
    if kind == "where":
        return relay.where(relay.const(g.rng.integers(0, 2, g.shape(x)).astype(bool)), x, g.pick())
    return relay.TupleGetItem(relay.Tuple([x, g.pick()]), g.draw.randrange(2))


def _decided(g: _Maker) -> Any:
    """One of two ways."""
    x = g.pick()
    condition = relay.less(relay.sum(g.pick()), g.number(g.draw.uniform(-2, 2)))
    return relay.If(condition, relay.multiply(x, x), relay.sin(x))


def _called(g: _Maker) -> Any:
    """A function that also uses what is outside of it, twice."""
    x, outside = g.pick(), g.pick()
    a = relay.var("a", shape=g.shape(x), dtype=DTYPE)
    scale = relay.mean(outside)
    function = g.let(relay.Function([a], relay.multiply(relay.tanh(a), scale)))
    return relay.add(relay.Call(function, [x]), relay.Call(function, [relay.Call(function, [x])]))


def _written(g: _Maker) -> Any:
    """A reference that is read, written and read again."""
    x = g.pick()
    g.shape(x)
    reference = g.let(relay.RefCreate(x))
    before = g.let(relay.RefRead(reference))
    g.let(relay.RefWrite(reference, relay.multiply(relay.sin(before), relay.mean(g.pick()))))
    return relay.add(g.let(relay.RefRead(reference)), before)


Kind = Callable[[_Maker], Any]
DATAFLOW: tuple[Kind, ...] = (
    *(_unary,) * 2, *(_binary,) * 3, _reduction, _along, *(_product,) * 2, _window, *(_moved,) * 2, *(_parts,) * 2,
)  # fmt: skip
CONTROL: tuple[Kind, ...] = (_decided, _called, _written)
