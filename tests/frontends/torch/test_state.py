"""What programs change of their own (caches, counters, running statistics) goes in behind the inputs and comes out
behind the results: it was refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import baton
from baton.relax.frontend.torch import from_exported_program
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same
from tests.frontends.torch.modules import seeded


class Cached(nn.Module):
    """Attention to all words so far, whose keys and values are buffers; a counter that nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(4, 12)
        self.register_buffer("keys", torch.zeros(1, 5, 4))
        self.register_buffer("values", torch.zeros(1, 5, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Any, place: Any) -> Any:
        q, k, v = self.project(x).chunk(3, -1)
        self.values[:, place] = v  # changed in another order than that of the buffers
        self.keys.index_copy_(1, place, k)
        self.count += 1
        seen = torch.arange(5)[None] <= place[:, None]
        return nn.functional.scaled_dot_product_attention(q, self.keys, self.values, seen)


STATE = ("keys", "values", "count")


def word(place: int) -> tuple[Any, Any]:
    return floats(1, 1, 4, seed=place), torch.tensor([place])


def test_caches_are_passed_on() -> None:
    module = seeded(Cached)
    exported = torch.export.export(module, word(0))
    model = baton.compile(exported)
    state = [as_array(exported.state_dict[name].clone()) for name in STATE]
    for place in range(3):
        given = word(place)
        found, *state = model(*(as_array(x) for x in given), *state)
        expected = module(*given)
        assert_same([found, *state], [expected, *(module.get_buffer(n) for n in STATE)], f"word {place}")


def test_state_is_an_input_beside_kept_parameters() -> None:
    exported = torch.export.export(seeded(Cached), word(0))
    main = from_exported_program(exported, keep_params_as_input=True)["main"]
    names = [p.name_hint for p in main.params]
    assert names == ["x", "place", "b_keys", "b_values", "b_count", "p_project_weight", "p_project_bias"]
    assert int(main.attrs["num_input"]) == 5
    assert len(main.attrs["params"]) == 2


def test_running_statistics() -> None:
    module = seeded(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))).train()
    rows = floats(6, 4)
    exported = torch.export.export(module, (rows,))
    state = ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    given = [as_array(rows), *(as_array(exported.state_dict[name].clone()) for name in state)]
    found = baton.compile(exported)(*given)
    assert_same(found, [module(rows), *(module.get_buffer(n) for n in state)], "batch norm")


class Learning(nn.Module):
    """Norms whose schemas do not say that they write into the statistics that they are given."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, track_running_stats=True)
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Any, weight: Any, variance: Any) -> Any:
        functional = nn.functional
        first = functional.batch_norm(x, self.mean, variance, training=True, momentum=0.3)
        return first, self.norm(x), torch.native_batch_norm(x, weight, weight, None, None, True, 0.2, 1e-5)


def test_statistics_that_functions_change() -> None:
    """Alone in a program, such norms were refused, and those of instances left their statistics as they were."""
    x, weight, variance = floats(4, 3, 5), floats(3), floats(3, seed=1).abs()
    module = seeded(Learning).train()
    exported = torch.export.export(module, (x, weight, variance), strict=False)
    learnt = {"norm.running_mean", "norm.running_var", "mean"}
    state = [s.target for s in exported.graph_signature.input_specs if s.target in learnt]
    found = baton.compile(exported)(
        *map(as_array, (x, weight, variance)), *(as_array(module.get_buffer(n).clone()) for n in state)
    )
    first, second, third = module(x, weight, variance)
    results = [first, second, *third, variance, *(module.get_buffer(n) for n in state)]
    assert_same(found, results, "statistics")


def test_state_in_relay_is_among_the_parameters() -> None:
    traced = torch.jit.trace(seeded(Cached), word(0), check_trace=False)
    shapes = [("x", ((1, 1, 4), "float32")), ("place", ((1,), "int64"))]
    module, params = from_pytorch(traced, shapes)
    fresh = seeded(Cached)
    fresh.load_state_dict({n: torch.from_numpy(p.numpy().copy()) for n, p in params.items()})  # as traced with word 0
    given = {"x": as_array(word(2)[0]), "place": as_array(word(2)[1]), **{n: p.numpy() for n, p in params.items()}}
    found = baton.compile(module)(*(given[v.name_hint] for v in module["main"].params))
    assert_same(found, [fresh(*word(2)), *(fresh.get_buffer(n) for n in STATE)], "Relay")
    assert not np.array_equal(given["keys"], np.asarray(found[1]))


@pytest.mark.parametrize(
    "inner",
    [
        (nn.BatchNorm1d(6), nn.ReLU()),
        (nn.Unflatten(1, (3, 2)), nn.TransformerEncoderLayer(2, 1, 4, dropout=0.0, batch_first=True), nn.Flatten()),
    ],
    ids=["statistics", "attention"],
)
def test_a_step_of_training(inner: tuple[nn.Module, ...]) -> None:
    """A graph of PyTorch's exporter with the loss, the gradients and what becomes of the statistics."""
    forward_backward = pytest.importorskip("torch.export.experimental")._export_forward_backward

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 6), *inner, nn.Linear(6, 3))

        def forward(self, x: Any, labels: Any) -> Any:
            return (nn.functional.cross_entropy(self.layers(x), labels),)

    module, given = seeded(Loss).train(), (floats(5, 4), torch.tensor([0, 2, 1, 1, 0]))
    exported = forward_backward(torch.export.export(module, given))
    main = from_exported_program(exported, keep_params_as_input=True)
    signature = exported.graph_signature
    own = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    values = dict(zip(signature.user_inputs, given, strict=True))
    values |= {name: exported.state_dict[target].detach().clone() for name, target in own.items()}
    found = baton.compile(main)(*(as_array(values[p.name_hint]) for p in main["main"].params))
    (loss,) = module(*given)
    loss.backward()
    statistics = [module.get_buffer(target) for target in signature.inputs_to_buffers.values()]
    assert_same(found, [loss, *(p.grad for p in module.parameters()), *statistics], "step")
