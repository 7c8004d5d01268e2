"""The network of `relay_simplenet.py` (convolution, batch norm, ReLU) in Relax, with any batch size.

One executable serves every `n`. Run it: `.venv/bin/python examples/relax_simplenet.py`.
"""

from __future__ import annotations

import numpy as np

import baton
from baton import relax
from baton.script import ir as I
from baton.script import relax as R


@I.ir_module
class SimpleNet:
    @R.function
    def main(
        data: R.Tensor(("n", 3, 224, 224), "float32"),
        weight: R.Tensor((32, 3, 3, 3), "float32"),
        gamma: R.Tensor((32,), "float32"),
        beta: R.Tensor((32,), "float32"),
        mean: R.Tensor((32,), "float32"),
        variance: R.Tensor((32,), "float32"),
    ) -> R.Tensor(("n", 32, 112, 112), "float32"):
        with R.dataflow():
            conv = R.nn.conv2d(data, weight, strides=(2, 2), padding=(1, 1, 1, 1))
            normal = R.nn.batch_norm(conv, gamma, beta, mean, variance, axis=1, epsilon=1e-5)
            scaled = normal[0]
            result = R.nn.relu(scaled)
            R.output(result)
        return result


def parameters(seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights; a variance is not negative."""
    random = np.random.default_rng(seed)
    found = {"weight": random.uniform(-1, 1, (32, 3, 3, 3))}
    found |= {name: random.uniform(-1, 1, 32) for name in ("gamma", "beta", "mean")}
    found["variance"] = random.uniform(0.5, 1, 32)
    return {name: array.astype("float32") for name, array in found.items()}


def main() -> None:
    """Compile once, run for three batch sizes."""
    params = parameters()
    executable = relax.build(SimpleNet, target="llvm")
    machine = relax.VirtualMachine(executable, baton.cpu())
    for n in (1, 7, 64):
        data = np.random.default_rng(n).uniform(-1, 1, (n, 3, 224, 224)).astype("float32")
        out = machine["main"](data, *params.values())
        print(f"n = {n:2}: {out.shape}, mean {out.numpy().mean():.4f}")


if __name__ == "__main__":
    main()
