"""Modules with `define_subroutine` become private functions that compute what they would compute in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, tir
from baton.error import DiagnosticError
from baton.relax.frontend import nn
from baton.relax.frontend.nn import op
from baton.relax.testing import nn as layers


class FeedForward(nn.Module):
    def __init__(self, width: int, activation: Any = op.silu) -> None:
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.activation = activation

    def forward(self, x: nn.Tensor, scale: float = 1.0) -> tuple[nn.Tensor, list[nn.Tensor]]:
        hidden = self.activation(self.up(x))
        return self.down(hidden) * scale, [hidden]


class FeedForwardFunction(FeedForward):
    define_subroutine = True

    def forward(self, x: nn.Tensor, scale: float = 1.0) -> Any:
        return super().forward(x, scale=scale)


class Stack(nn.Module):
    def __init__(self, block: type) -> None:
        self.blocks = nn.ModuleList([block(4), block(4), block(4, op.relu)])

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        for number, block in enumerate(self.blocks):
            y, (hidden,) = block(x, scale=2.0 if number else 1.0)
            x = x + y + op.sum(hidden, axis=-1, keepdims=True)
        return x


SPEC = {"forward": {"x": nn.spec.Tensor(("n", 4), "float32")}}


def private_functions(module: tvm.IRModule) -> list[str]:
    return [v.name_hint for v, f in module.functions.items() if "global_symbol" not in f.attrs]


def run(module: tvm.IRModule, name: str, *values: Any) -> Any:
    assert relax.analysis.well_formed(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    return machine[name](*values)


@pytest.mark.parametrize("packed", ["plain", "packed"])
def test_functions_compute_what_modules_compute_in_place(packed: str) -> None:
    spec = {"forward": {**SPEC["forward"], "$": {"param_mode": packed, "effect_mode": "none"}}}
    (inline, parameters), (called, own) = (Stack(b).export_tvm(spec) for b in (FeedForward, FeedForwardFunction))
    assert [name for name, _ in parameters] == [name for name, _ in own]
    assert private_functions(inline) == []
    rng = np.random.default_rng(0)
    x, *weights = (rng.normal(size=s).astype("float32") for s in ((3, 4), *(p.shape for _, p in parameters)))
    given = [tuple(map(tvm.nd.array, weights))] if packed == "packed" else list(map(tvm.nd.array, weights))
    expected, found = (run(m, "forward", tvm.nd.array(x), *given) for m in (inline, called))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


def test_what_differs_has_functions_of_its_own() -> None:
    called, _ = Stack(FeedForwardFunction).export_tvm(SPEC)
    assert private_functions(called) == ["feed_forward_function", "feed_forward_function1", "feed_forward_function2"]

    class Alike(nn.Module):
        def __init__(self) -> None:
            self.blocks = nn.ModuleList([FeedForwardFunction(4) for _ in range(3)])

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            for block in self.blocks:
                x, _ = block(x)
            return x

    assert private_functions(Alike().export_tvm(SPEC)[0]) == ["feed_forward_function"]


def test_each_export_writes_its_own_functions() -> None:
    for _ in range(2):
        module, _ = Stack(FeedForwardFunction).export_tvm(SPEC)
        assert relax.analysis.well_formed(module)
        assert len(private_functions(module)) == 3


def test_effects_go_through_functions_and_come_back() -> None:
    class Remember(nn.Module):
        define_subroutine = True

        def __init__(self) -> None:
            self.cache = nn.KVCache(8, [4])

        def forward(self, x: nn.Tensor, total: tir.Var) -> nn.Tensor:
            self.cache.append(x)
            op.print_(x)
            return op.sum(self.cache.view(total), axis=0)

    class Model(nn.Module):
        def __init__(self) -> None:
            self.memory = Remember()

        def forward(self, x: nn.Tensor, total: tir.Var) -> nn.Tensor:
            return self.memory(x, total)

    module, _ = Model().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 4), "float32"), "total": int}}, debug=True)
    assert private_functions(module) == ["remember"]
    assert [p.name_hint for p in module["remember"].params][-1] == "s"  # no tensor shows `total`
    assert relax.analysis.well_formed(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    state = machine["_initialize_effect"]()
    rows = np.arange(20, dtype="float32").reshape(5, 4)
    for first, last in ((0, 2), (2, 5)):
        given = tvm.nd.array(rows[first:last])
        found, state = machine["forward"](given, tvm.runtime.ShapeTuple([last]), *state)
        np.testing.assert_array_equal(found.numpy(), rows[:last].sum(0))


def test_layers_of_a_block_builder() -> None:
    class Linear(layers.Linear):
        define_subroutine = True

        def forward(self, x: Any) -> Any:
            return super().forward(x)

    builder, n = relax.BlockBuilder(), tir.Var("n", "int64")
    with builder.function("main"):
        model = layers.Sequential(Linear(4, 4), layers.ReLU(), Linear(4, 4))
        data = layers.Placeholder((n, 4), name="data")
        builder.emit_func_output(model(data), [data, *model.parameters()])
    module = builder.get()
    assert private_functions(module) == ["linear"]
    x, *weights = (np.random.default_rng(1).normal(size=s).astype("float32") for s in ((3, 4), *((4, 4), (4,)) * 2))
    found = run(module, "main", *map(tvm.nd.array, (x, *weights)))
    expected = np.maximum(x @ weights[0] + weights[1], 0) @ weights[2] + weights[3]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_what_a_function_is_not_given_is_refused() -> None:
    class Thief(nn.Module):
        define_subroutine = True

        def __init__(self, outer: Any) -> None:
            self.outer = [outer]

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            return x + self.outer[0].held

    class Owner(nn.Module):
        def __init__(self) -> None:
            self.thief = Thief(self)

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            self.held = op.relu(x)
            return self.thief(x)

    with pytest.raises(DiagnosticError, match=r"Thief\.forward uses relu, which it is not given"):
        Owner().export_tvm(SPEC)


def test_copies_have_shape_variables_of_their_own() -> None:
    builder, n, m = relax.BlockBuilder(), tir.Var("n", "int64"), tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.match_cast(x, relax.TensorStructInfo((m, 4), "float32")))
    function = builder.get()["main"]
    copy = relax.utils.copy_with_new_vars(function)
    tvm.ir.assert_structural_equal(copy, function)
    both = tvm.IRModule({"main": function, "other": copy.with_attr("global_symbol", "other")})
    assert relax.analysis.well_formed(both)
