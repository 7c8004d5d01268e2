"""Initialise the parameters of networks (`relay.testing.init`): in place, by their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


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


class Initializer:
    """Calls the method for the end of a parameter's name; scripts' own have `_init_weight(name, array)`, and more."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __call__(self, desc: str, arr: AnyArray) -> None:
        """Fill `arr` in place, the parameter called `desc`."""
        endings = ("weight", "bias", "gamma", "beta", "mean", "var")
        ending = next((one for one in endings if desc.endswith(one)), "default")
        getattr(self, f"_init_{ending}")(desc, arr)

    def _init_bias(self, name: str, arr: AnyArray) -> None:
        arr[...] = 0

    def _init_gamma(self, name: str, arr: AnyArray) -> None:
        arr[...] = 1

    _init_beta = _init_mean = _init_bias
    _init_var = _init_gamma

    def _init_weight(self, name: str, arr: AnyArray) -> None:
        raise fail("api", f"{type(self).__name__} has no _init_weight, which fills {name!r}", kind=NotImplementedError)

    def _init_default(self, name: str, arr: AnyArray) -> None:
        help = "name it weight, bias, gamma, beta, mean or var, or give the initializer an _init_default"
        raise fail("api", f"no way to fill {name!r} is known by its name", help=help, kind=ValueError)


class Xavier(Initializer):
    """Numbers spread by how many a layer takes in or gives out (Glorot and Bengio 2010)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("avg", "in", "out"):
            raise fail("api", f"Xavier of {rnd_type!r} numbers by {factor_type!r}", kind=ValueError)
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, magnitude
        self._numbers = np.random.default_rng(0)

    def _init_weight(self, name: str, arr: AnyArray) -> None:
        if arr.ndim < 2:
            xavier(name, arr)
            return
        area = int(np.prod(arr.shape[2:])) if arr.ndim > 2 else 1
        taken, given = arr.shape[1] * area, arr.shape[0] * area
        factor = {"avg": (taken + given) / 2, "in": taken, "out": given}[self.factor_type]
        spread = np.sqrt(self.magnitude / factor)
        draw = self._numbers.uniform if self.rnd_type == "uniform" else self._numbers.normal
        arr[...] = draw(-spread, spread, arr.shape) if self.rnd_type == "uniform" else draw(0, spread, arr.shape)

    def _init_default(self, name: str, arr: AnyArray) -> None:
        self._init_weight(name, arr)


class Constant(Initializer):
    """Equal weights whose sum is 1, other parameters by their names; with a `value`, everything is filled with it."""

    def __init__(self, value: float | None = None) -> None:
        super().__init__(value=value)
        self.value = value

    def __call__(self, desc: str, arr: AnyArray) -> None:
        if self.value is None:
            super().__call__(desc, arr)
        else:
            arr[...] = self.value

    def _init_weight(self, name: str, arr: AnyArray) -> None:
        arr[...] = 1 / arr.size
