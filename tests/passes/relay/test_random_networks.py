"""Random networks of layers, in several layouts, have the same values after any passes over operators in any order."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from baton import relay
from baton._src.ir.module import IRModule
from baton._src.relay.interpreter import Interpreter
from baton._src.transform.context import PassContext

T = relay.transform
NAMES = """
InferType FoldConstant SimplifyInference FoldScaleAxis BackwardFoldScaleAxis ForwardFoldScaleAxis SimplifyExpr FuseOps
CanonicalizeOps CanonicalizeCast EliminateCommonSubexpr Legalize DivToMul FastMath FoldExplicitPadding AlterOpLayout
FlattenAtrousConv DynamicToStatic DefuseOps ToANormalForm ToGraphNormalForm PartialEvaluate DeadCodeElimination
"""
PASSES = [getattr(T, name)() for name in NAMES.split()]
PASSES += [T.CombineParallelConv2D(2), T.CombineParallelDense(2), T.CombineParallelDense(2, False)]
PASSES += [T.CombineParallelBatchMatmul(2), T.SplitArgs(9)]
PASSES += [
    T.ConvertLayout({"nn.conv2d": [*layouts], "nn.max_pool2d": layouts[:1]})
    for layouts in (("NHWC", "HWIO"), ("NCHW", "OIHW"), ("NCHW2c", "OIHW2i2o"), ("NHWC", "OHWI"))
]


class Network:
    """Layers that are added one by one, each to one of the latest that it fits."""

    def __init__(self, seed: int) -> None:
        self.choices = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.input = relay.var("x", shape=self.choices.choice([(1, 4, 6, 6), (2, 2, 5, 4)]))
        self.made = [self.input]
        for _ in range(self.choices.randint(4, 16)):
            self.choices.choice(LAYERS)(self)

    def module(self) -> IRModule:
        outputs = [self.made[-1], *self.choices.sample(self.made, 2 if len(self.made) > 1 else 1)]
        return IRModule.from_expr(relay.Function([self.input], relay.Tuple(outputs)))

    def shape(self, x: Any) -> tuple[int, ...]:
        return tuple(int(d) for d in T.InferTypeLocal(x).shape)

    def const(self, *shape: int, low: float = -1) -> Any:
        return relay.const(self.numbers.uniform(low, 1, shape).astype("float32"))

    def pick(self, *ranks: int) -> tuple[Any, tuple[int, ...]]:
        found = [(x, s) for x in self.made if len(s := self.shape(x)) in ranks and np.prod(s) < 2000]
        return found[-self.choices.randint(1, min(3, len(found)))] if found else (None, ())

    def add(self, x: Any) -> Any:
        self.made.append(x)
        return x

    def convolutions(self) -> None:
        x, shape = self.pick(4)
        if x is None:
            return
        last = self.choices.random() < 0.4
        channels, places = (shape[-1], shape[1:3]) if last else (shape[1], shape[2:])
        size, out = min(self.choices.choice([1, 1, 3]), *places), channels * self.choices.choice([1, 2])
        groups = 1 if last else self.choices.choice([1, 1, channels])
        weight = (size, size, channels, out) if last else (out, channels // groups, size, size)
        options = {"data_layout": "NHWC", "kernel_layout": "HWIO"} if last else {}
        options |= {"strides": self.choices.choice([1, 2]), "padding": self.choices.choice([0, 1]), "groups": groups}
        for _ in range(self.choices.choice([1, 1, 2, 3])):
            made = relay.nn.conv2d(x, self.const(*weight), channels=out, kernel_size=(size, size), **options)
            scale = self.const(out, low=0.2) if last else self.const(out, 1, 1, low=0.2)
            for step in (
                lambda y: relay.nn.bias_add(y, self.const(out), axis=3 if last else 1),
                lambda y: relay.multiply(y, scale),  # noqa: B023
                relay.nn.relu,
            ):
                made = step(made) if self.choices.random() < 0.5 else made
            self.add(made)

    def dense(self) -> None:
        x, _ = self.pick(2)
        if x is None:
            x, _ = self.pick(4)
            x = self.add(relay.nn.batch_flatten(x)) if x is not None else relay.ones((2, 3), "float32")
        rows, width = self.shape(x)
        follow = self.choices.choice(
            [
                relay.tanh,
                relay.nn.softmax,
                lambda y: relay.trilu(y, relay.const(0), upper=False),
                lambda y: relay.broadcast_to(y, (2, rows, self.shape(y)[1])),
                lambda y: relay.nn.prelu(y, self.const(self.shape(y)[1]), axis=1),
                lambda y: y,
            ]
        )
        for _ in range(self.choices.choice([1, 2, 3])):
            out = self.choices.choice([3, 3, 4])
            made = relay.nn.dense(x, self.const(out, width))
            self.add(follow(made + self.const(out) if self.choices.random() < 0.6 else made))

    def pool(self) -> None:
        x, shape = self.pick(4)
        if x is not None and min(shape[2:]) > 1:
            pool = self.choices.choice([relay.nn.max_pool2d, relay.nn.avg_pool2d])
            self.add(pool(x, (2, 2), padding=self.choices.choice([0, 1])))

    def normalise(self) -> None:
        x, shape = self.pick(2, 3, 4)
        if x is not None:
            axis = self.choices.randrange(1, len(shape))
            own = [self.const(shape[axis], low=0.1) for _ in range(4)]
            self.add(relay.nn.batch_norm(x, *own, axis=axis)[0])

    def elementwise(self) -> None:
        x, shape = self.pick(1, 2, 3, 4)
        if x is not None:
            other = self.choices.choice([y for y in self.made if self.shape(y) == shape])
            number = relay.const(self.choices.choice([0.0, 1.0, 2.0, -0.5]))
            steps = [relay.tanh(x), relay.clip(x, -0.5, 0.8), x + other, x * other, x - number, x * number]
            self.add(self.choices.choice([*steps, x / relay.const(3.0), x * self.const(shape[-1], low=0.2)]))

    def move(self) -> None:
        x, shape = self.pick(2, 3, 4)
        if x is not None:
            axes = self.choices.sample(range(len(shape)), len(shape))
            parts = [y for y in self.made if self.shape(y) == shape]
            axis = self.choices.randrange(len(shape))
            border = [(0, 0), *((1, self.choices.choice([0, 1])) for _ in shape[1:])]
            steps = [relay.transpose(x, axes), relay.reshape(x, (0, -1)), relay.nn.pad(x, border)]
            steps += [relay.concatenate([x, self.choices.choice(parts)], axis), relay.reverse(x, axis)]
            steps += [relay.mean(x, axis=[axis], keepdims=True), relay.take(x, relay.const([0, -1]), axis, mode="wrap")]
            self.add(self.choices.choice(steps))


LAYERS = [Network.convolutions] * 3 + [Network.elementwise] * 3 + [Network.move] * 2
LAYERS += [Network.dense, Network.pool, Network.normalise]


@pytest.mark.parametrize("seed", [*range(40), *(pytest.param(n, marks=pytest.mark.fuzz) for n in range(40, 1000))])
def test_values_are_the_same(seed: int) -> None:
    module = T.InferType()(Network(seed).module())
    choices = random.Random(seed)
    value = np.random.default_rng(seed).uniform(-1, 1, module["main"].params[0].checked_type.concrete_shape)

    def outputs(given: IRModule) -> list[Any]:
        return [np.asarray(v.data) for v in Interpreter(given).evaluate(given["main"])(value.astype("float32"))]

    wanted = outputs(module)
    passes = choices.sample(PASSES, 5)
    with PassContext(opt_level=4):
        for step in passes:
            module = T.InferType()(step(T.InferType()(module)))
    for a, b in zip(wanted, outputs(module), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 + 1e-3 * np.abs(a).max(), err_msg=str(passes))
