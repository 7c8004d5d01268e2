"""Rules of operators that work on each element by itself, and of casts."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import torch

from baton._src.tools.benchmark.torch_graph.known import torch_dtype
from baton._src.tools.benchmark.torch_graph.translation import Node, Rule

functional: Any = torch.nn.functional


def _plain(function: Callable[..., Any]) -> Rule:
    return lambda node: node.call(function, *node.tensors())


def _with(function: Callable[..., Any], **attributes: Any) -> Rule:
    """An operator whose attributes are the function's further arguments, here with their defaults."""
    return lambda node: node.call(function, node.tensor(0), *(node.attribute(n, d) for n, d in attributes.items()))


def _arithmetic(function: Callable[..., Any]) -> Rule:
    return lambda node: node.call(function, *_operands(node))


def _operands(node: Node) -> tuple[Any, Any]:
    """Constants of rank 0 as numbers, but one operand is a tensor."""
    left = node.tensor(0) if node.constant(0) is not None and node.constant(1) is not None else node.scalar(0)
    return left, node.scalar(1)


def _divide(node: Node) -> Any:
    if torch_dtype(node.known(0).element).is_floating_point:
        return node.call(operator.truediv, *_operands(node))
    return node.call(torch.div, *node.tensors(), rounding_mode="trunc")


def _modulo(node: Node) -> Any:
    """`fmod` takes the sign of the dividend, as C does; else that of the divisor."""
    return node.call(torch.fmod if node.attribute("fmod", 0) else torch.remainder, *node.tensors())


def _power(node: Node) -> Any:
    """The result has the type of the base."""
    dtype = torch_dtype(node.known(0).element)
    found = node.call(torch.pow, node.tensor(0), node.scalar(1))
    return found if dtype.is_floating_point else node.method("to", found, dtype)


def _extreme(function: Callable[..., Any], bound: str) -> Rule:
    """The largest or smallest of any number of inputs; a bound that is a number clamps."""

    def rule(node: Node) -> Any:
        if len(node.inputs) == 2:
            for x, limit in ((0, 1), (1, 0)):
                if node.constant(x) is None and not isinstance(
                    number := node.scalar(limit), torch.Tensor | torch.fx.Node
                ):
                    return node.call(torch.clamp, node.tensor(x), **{bound: number})
        return reduce(lambda a, b: node.call(function, a, b), node.tensors())

    return rule


def _sum(node: Node) -> Any:
    return reduce(lambda a, b: node.call(operator.add, a, b), node.tensors())


def _mean(node: Node) -> Any:
    return node.call(operator.truediv, _sum(node), len(node.inputs))


def _clip(node: Node) -> Any:
    """Bounds are attributes in old opsets; without bounds nothing is done."""
    names = ("min", "max")
    bounds = [node.scalar(i) if node.has(i) else node.attribute(name) for i, name in enumerate(names, 1)]
    if bounds == [None, None]:
        return node.tensor(0)
    both_numbers = not any(isinstance(b, torch.Tensor | torch.fx.Node) for b in bounds)
    if both_numbers:
        return node.call(torch.clamp, node.tensor(0), *bounds)
    return node.call(torch.clamp, node.tensor(0), *(node.tensor(i) if node.has(i) else None for i in (1, 2)))


def cast(node: Node) -> Any:
    return node.method("to", node.tensor(0), torch_dtype(node.attribute("to")))


def _hard_sigmoid(node: Node) -> Any:
    scaled = node.call(operator.mul, node.tensor(0), node.attribute("alpha", 0.2))
    return node.call(torch.clamp, node.call(operator.add, scaled, node.attribute("beta", 0.5)), 0.0, 1.0)


def _gelu(node: Node) -> Any:
    return node.call(functional.gelu, node.tensor(0), approximate=node.attribute("approximate", "none"))


def _prelu(node: Node) -> Any:
    """The slope broadcasts against `x`, which PyTorch's prelu does not allow."""
    x, slope = node.tensors()
    return node.call(torch.where, node.call(operator.lt, x, 0), node.call(operator.mul, x, slope), x)


_SAME_NAME = (
    "Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "IsNaN", "Log", "Neg", "Reciprocal",
    "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Where",
)  # fmt: skip

RULES: dict[str, Rule] = {
    **{name: _plain(getattr(torch, name.lower())) for name in _SAME_NAME},
    "Identity": lambda node: node.value(0), "Cast": cast,
    "Not": _plain(torch.logical_not), "And": _plain(torch.logical_and), "Or": _plain(torch.logical_or),
    "Xor": _plain(torch.logical_xor),
    "Equal": _arithmetic(operator.eq), "Less": _arithmetic(operator.lt), "LessOrEqual": _arithmetic(operator.le),
    "Greater": _arithmetic(operator.gt), "GreaterOrEqual": _arithmetic(operator.ge),
    "Add": _arithmetic(operator.add), "Sub": _arithmetic(operator.sub), "Mul": _arithmetic(operator.mul),
    "Div": _divide, "Mod": _modulo, "Pow": _power, "Sum": _sum, "Mean": _mean,
    "Max": _extreme(torch.maximum, "min"), "Min": _extreme(torch.minimum, "max"), "Clip": _clip,
    "LeakyRelu": _with(functional.leaky_relu, alpha=0.01), "Elu": _with(functional.elu, alpha=1.0),
    "Softplus": _plain(functional.softplus), "Softsign": _plain(functional.softsign), "Mish": _plain(functional.mish),
    "HardSwish": _plain(functional.hardswish), "HardSigmoid": _hard_sigmoid, "Gelu": _gelu, "PRelu": _prelu,
}  # fmt: skip
