"""How results of `torch.compile` lie in memory, which programs see: strides, and which of them share elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.modules import seeded

ROWS = floats(3, 4)


def given_twice(x: Any) -> Any:
    y = x + 1
    return y, y.t(), y, y[1], x, x.view(-1)


def in_another_order(x: Any) -> Any:
    return x.t() * 3, torch.ones_like(x.t()), x.t().clone(), (x.view(3, 2, 2) * 2).permute(2, 0, 1).exp()


def written_behind_views(x: Any) -> Any:
    y = x.view(-1)
    y[2:4] += 5
    x.t()[0].mul_(3)
    z = x.clone()
    column = z[:, 1]
    column.add_(1)
    return y, z, column


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "open"])
@pytest.mark.parametrize("function", [given_twice, in_another_order, written_behind_views])
def test_strides_and_shared_elements(function: Callable[..., Any], dynamic: bool) -> None:
    torch._dynamo.reset()
    found = []
    for used in (function, torch.compile(function, backend="baton", dynamic=dynamic)):
        x = ROWS.clone()
        tensors = [*used(x), x]
        shared = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for a in tensors] for b in tensors]
        same = [[a is b for a in tensors] for b in tensors]
        found.append((tensors, [t.stride() for t in tensors], shared, same))
    torch.testing.assert_close(found[1][0], found[0][0])
    assert found[1][1:] == found[0][1:]


def test_channels_stay_last() -> None:
    torch._dynamo.reset()
    module = seeded(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))).eval()
    image = floats(2, 3, 8, 8).to(memory_format=torch.channels_last)
    found, expected = torch.compile(module, backend="baton")(image), module(image)
    assert found.stride() == expected.stride()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_arguments_that_overlap() -> None:
    """What is written through one is seen through the other."""

    def function(a: Any, b: Any) -> Any:
        a.add_(1)
        return b * 2

    torch._dynamo.reset()
    found = []
    for used in (function, torch.compile(function, backend="baton")):
        whole = floats(6)
        found.append((used(whole[:4], whole[2:]), whole))
    torch.testing.assert_close(found[1], found[0])


def test_inputs_that_are_results_are_not_marked() -> None:
    """PyTorch notes on the results of an open graph which sizes are open: not on the tensors that it was given."""
    torch._dynamo.reset()
    x = ROWS.clone()
    torch.compile(lambda x: (x.view(-1), x.detach(), x * 2), backend="baton", dynamic=True)(x)
    assert not getattr(x, "_dynamo_weak_dynamic_indices", set())


def test_results_without_elements_grow() -> None:
    """Operators with `out=` make them as large as they need, where PyTorch's own would let them."""
    torch._dynamo.reset()
    empty = torch.compile(lambda x: x[:0] * 2, backend="baton")(ROWS)
    torch.testing.assert_close(torch.add(ROWS, 1, out=empty), ROWS + 1)


def test_views_of_programs_with_checks() -> None:
    """PyTorch keeps checks in order by tokens, which are inputs of a graph, too."""
    torch._dynamo.reset()
    matrix = torch.eye(3) * 2
    found = torch.compile(lambda x: torch.linalg.inv(x).t(), backend="baton")(matrix)
    torch.testing.assert_close(found, matrix / 4)
