"""`relay.testing.create_workload`: a network's module and random parameters; and running passes over expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray, array

Initializer = Callable[[str, AnyArray], None]


def xavier(name: str, target: AnyArray, seed: int = 0) -> None:
    """Fill `target` in place: zeros for biases and means, ones for scales and variances, else Xavier's (normal)."""
    if name.endswith(("bias", "beta", "moving_mean")):
        target[...] = 0
    elif name.endswith(("gamma", "moving_var", "scale")):
        target[...] = 1
    else:
        area = int(np.prod(target.shape[2:])) if target.ndim > 2 else 1
        fans = (target.shape[1] + target.shape[0]) * area if target.ndim > 1 else target.size
        numbers = np.random.default_rng([seed, *name.encode()])  # the same network is the same each time
        target[...] = numbers.normal(0.0, np.sqrt(2.0 / max(1, fans)), target.shape)


class Xavier:
    """An initializer: numbers spread by how many a layer takes in or gives out (Glorot and Bengio 2010)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("avg", "in", "out"):
            raise fail("api", f"Xavier of {rnd_type!r} numbers by {factor_type!r}", kind=ValueError)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, magnitude
        self._numbers = np.random.default_rng(0)

    def __call__(self, name: str, target: AnyArray) -> None:
        """Fill `target` in place; biases, means, scales and variances as `xavier` does."""
        if target.ndim < 2 or name.endswith(("bias", "beta", "gamma", "moving_mean", "moving_var", "scale")):
            xavier(name, target)
            return
        area = int(np.prod(target.shape[2:])) if target.ndim > 2 else 1
        taken, given = target.shape[1] * area, target.shape[0] * area
        factor = {"avg": (taken + given) / 2, "in": taken, "out": given}[self.factor_type]
        spread = np.sqrt(self.magnitude / factor)
        uniform = self.rnd_type == "uniform"
        draw = self._numbers.uniform(-spread, spread, target.shape) if uniform else None
        target[...] = self._numbers.normal(0, spread, target.shape) if draw is None else draw


class Constant:
    """An initializer that fills everything with one number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, name: str, target: AnyArray) -> None:
        target[...] = self.value


def create_workload(
    net: Function, initializer: Initializer | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, NDArray]]:
    """A typed module with `net` as `main`, and values for every parameter but those named `data`, `src` and `x`.

    `initializer(name, array)` fills an array in place; without one, Xavier's numbers drawn from `seed`.
    """
    wire()
    module = infer_type(IRModule.from_expr(net))
    fill = initializer or partial(xavier, seed=seed)
    params: dict[str, NDArray] = {}
    for parameter in module["main"].params:
        name, found = parameter.name_hint, parameter.checked_type
        if name in ("data", "src", "x"):
            continue
        content = np.zeros(tuple(int(d) for d in found.shape), DataType(found.dtype).numpy)
        fill(name, content)
        params[name] = array(content)
    return module, params


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """An expression (or function) after a pass; `opt_pass` may be several."""
    wire()
    module = infer_type(IRModule.from_expr(expr))
    with PassContext(opt_level=3):
        for step in opt_pass if isinstance(opt_pass, (list, tuple)) else [opt_pass]:
            module = step(module)
    entry = module["main"]
    return entry if isinstance(expr, Function) else entry.body


def run_infer_type(expr: Any) -> Any:
    """An expression (or function) with its types."""
    wire()
    entry = infer_type(IRModule.from_expr(expr))["main"]
    return entry if isinstance(expr, Function) else entry.body
