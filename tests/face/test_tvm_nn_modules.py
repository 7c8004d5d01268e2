"""Models written as `relax.frontend.nn` modules: exported, compiled, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, te
from baton.relax.frontend import nn
from baton.relax.frontend.nn import op


def run(model: nn.Module, inputs: dict[str, Any], *values: np.ndarray, seed: int = 0) -> tuple[Any, dict[str, Any]]:
    module, parameters = model.export_tvm(spec={"forward": inputs})
    assert relax.analysis.well_formed(module)
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=p.shape).astype(p.dtype) for name, p in parameters}
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    return machine["forward"](*map(tvm.nd.array, (*values, *weights.values()))), weights


class Gated(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width, -1, 1e-5, bias=False)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return x + self.down(op.silu(self.up(self.norm(x)))) * 0.5


class Language(nn.Module):
    def __init__(self) -> None:
        self.table = nn.Embedding("vocabulary", 8)
        self.layers = nn.ModuleList([Gated(8) for _ in range(2)])
        self.norm = nn.LayerNorm(8)

    def forward(self, ids: nn.Tensor) -> nn.Tensor:
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def test_blocks_over_symbolic_sizes() -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 8)).astype("float32")
    found, w = run(Gated(8), {"x": nn.spec.Tensor(("batch", "length", 8), "float32")}, x)
    normal = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w["norm.weight"]
    hidden = normal @ w["up.weight"].T + w["up.bias"]
    expected = x + (hidden / (1 + np.exp(-hidden))) @ w["down.weight"].T * 0.5
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_parameters_are_named_by_their_path_and_kept_in_order() -> None:
    module, parameters = Language().export_tvm(spec={"forward": {"ids": nn.spec.Tensor((1, "n"), "int32")}})
    names = [name for name, _ in parameters]
    assert names[:3] == ["table.weight", "layers.0.norm.weight", "layers.0.up.weight"]
    assert names[-2:] == ["norm.weight", "norm.bias"]
    assert module["forward"].attrs["num_input"] == 1
    assert [p.name_hint for p in module["forward"].params] == ["ids", *names]


def test_convolutions_and_several_results() -> None:
    class Picture(nn.Module):
        def __init__(self) -> None:
            self.conv = nn.Conv2D(3, 4, 1)

        def forward(self, x: nn.Tensor) -> Any:
            return op.relu(self.conv(x)), op.split(x, 3, axis=1)

    x = np.random.default_rng(2).normal(size=(1, 3, 4, 4)).astype("float32")
    (made, parts), w = run(Picture(), {"x": nn.spec.Tensor((1, 3, 4, 4), "float32")}, x)
    product = np.einsum("oi,bihw->bohw", w["conv.weight"][:, :, 0, 0], x) + w["conv.bias"].reshape(1, -1, 1, 1)
    np.testing.assert_allclose(made.numpy(), np.maximum(product, 0), rtol=1e-4, atol=1e-5)
    assert [p.shape for p in parts] == [(1, 1, 4, 4)] * 3


def test_kernels_written_with_te() -> None:
    class Doubled(nn.Module):
        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return op.tensor_expr_op(lambda a: te.compute(a.shape, lambda i: a[i] * 2.0), "double", [x])

    found, _ = run(Doubled(), {"x": nn.spec.Tensor(("n",), "float32")}, np.ones(3, "float32"))
    assert found.numpy().tolist() == [2, 2, 2]


def test_values_of_parameters() -> None:
    layer = nn.Linear(2, 3)
    layer.load_state_dict({"weight": np.ones((3, 2), "float32"), "bias": np.zeros(3, "float32")})
    assert layer.state_dict()["weight"].data.shape == (3, 2)
    with pytest.raises(tvm.TVMError, match="missing: bias"):
        layer.load_state_dict({"weight": np.ones((3, 2), "float32")})
    with pytest.raises(tvm.TVMError, match="of shape"):
        layer.weight.data = np.ones((2, 2), "float32")
    assert nn.Linear(2, 3).to("float16").weight.dtype == "float16"


def test_mistakes_are_named() -> None:
    with pytest.raises(tvm.TVMError, match="outside of export_tvm"):
        op.relu(nn.Parameter((2,)))
    with pytest.raises(tvm.TVMError, match="lacks x"):
        Gated(8).export_tvm(spec={"forward": {}})
