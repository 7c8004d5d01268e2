"""Graphs of `torch.compile` with operators that baton has no converters for: they were refused; PyTorch runs these, and
the rest is compiled in pieces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from baton._src.driver.frontends import torch_dynamo
from tests.frontends.torch.cases.inputs import floats

X = floats(3, 4)


@torch.library.custom_op("baton_tests::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return x * x


@square.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


square.register_autograd(
    lambda ctx, slope: slope * 2 * ctx.saved_tensors[0],
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


@torch.library.custom_op("baton_tests::parts", mutates_args=())
def parts(x: torch.Tensor, factor: int, bias: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    return x * factor, (x + bias[0]).sum(0)


@parts.register_fake
def _(x: torch.Tensor, factor: int, bias: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(x), x.new_empty(x.shape[1:])


@torch.library.custom_op("baton_tests::repeated", mutates_args=())
def repeated(x: torch.Tensor, times: int) -> torch.Tensor:
    return x.repeat(times, 1)


@repeated.register_fake
def _(x: torch.Tensor, times: int) -> torch.Tensor:
    return x.new_empty((x.shape[0] * times, x.shape[1]))


@torch.library.custom_op("baton_tests::counted", mutates_args=("x",))
def counted(x: torch.Tensor) -> None:
    x.add_(1)


def between(x: Any) -> Any:
    left, right = (x * 2).split(2, 1)
    return square(left) @ right.T + x.shape[0]


def several(x: Any) -> Any:
    wide, sums = parts(x.sin(), 3, [2.5])
    return wide + sums * x.cos(), wide, square(square(x))


def written(x: Any) -> Any:
    y = x.clone()
    counted(y)
    return y * 2


def seen(x: Any) -> Any:
    y = x * 2
    return y, y.view(-1), y.t(), square(y).view(2, 6)


def drawn(x: Any) -> Any:
    first = torch.rand(3, 4)
    counts = torch.poisson(x.exp()) + functional.rrelu(x, training=True)
    return first, counts, functional.dropout(x, 0.5), torch.distributions.Gamma(x.exp(), 1.0).sample()


def in_a_branch(x: Any) -> Any:
    return torch.cond(x.sum() > -1e3, lambda a: square(a) + 1, lambda a: a.cos(), (x,)) * 2


@pytest.mark.parametrize("function", [between, several, written, seen, drawn, in_a_branch])
def test_what_stands_around_them(function: Callable[..., Any]) -> None:
    """Random numbers are drawn in the order of the program, whoever draws them."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="baton")
    with pytest.warns(UserWarning, match="PyTorch runs what baton has no converters for: "):
        compiled(X)
    torch.manual_seed(2)
    found = compiled(X)
    torch.manual_seed(2)
    torch.testing.assert_close(found, function(X), rtol=1e-5, atol=1e-5)


def test_only_they_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: list[Any] = []
    make = torch_dynamo.CompiledGraph

    def noted(graph: Any, *rest: Any) -> Any:
        graphs.append([str(n.target) for n in graph.graph.nodes if n.op == "call_function"])
        return make(graph, *rest)

    monkeypatch.setattr(torch_dynamo, "CompiledGraph", noted)
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match=r"baton_tests.square.default \(test_pieces.py:\d+: "):
        torch.compile(lambda x: square(x.sin().cos()).exp(), backend="baton")(X)
    assert graphs == [["aten.sin.default", "aten.cos.default"], ["aten.exp.default"]]


@pytest.mark.filterwarnings("ignore:PyTorch runs")
def test_sizes_that_pieces_share() -> None:
    """Numbers computed in one piece are sizes in another one, and an argument of what PyTorch runs."""

    def sized(x: Any) -> Any:
        count = x.shape[0] * 2 + 1
        found = repeated(square(x.sin().repeat(count, 1)), count)
        return found.view(count, -1, x.shape[1])[:, :count] * count + torch.arange(count)[:, None, None], count

    torch._dynamo.reset()
    compiled = torch.compile(sized, backend="baton", dynamic=True)
    for rows in (3, 5, 7):
        given = floats(rows, 4)
        torch.testing.assert_close(compiled(given), sized(given))


@pytest.mark.filterwarnings("ignore:PyTorch runs")
@pytest.mark.parametrize("freeze", [False, True])
def test_in_training_and_with_frozen_weights(freeze: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(4, 4)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(square(self.layer(x).tanh())).sum()

    torch._dynamo.reset()
    net = Net()
    compiled = torch.compile(net, backend="baton", options={"freeze": freeze})
    if freeze:
        with torch.no_grad():
            torch.testing.assert_close(compiled(X), net(X))
        return
    slopes = []
    for used in (net, compiled):
        net.zero_grad()
        given = X.clone().requires_grad_()
        used(given).backward()
        slopes.append([given.grad, layer.weight.grad])
    torch.testing.assert_close(slopes[1], slopes[0])


@pytest.mark.filterwarnings("ignore:PyTorch runs")
@pytest.mark.parametrize("rest", [square, lambda x: x.view(-1)], ids=["piece", "view"])
def test_checks_beside_which_nothing_is_computed(rest: Callable[..., Any]) -> None:
    """They were left out: what has no results was not compiled."""

    def checked(x: Any) -> Any:
        torch._assert_async((x > -99).all(), "too far")
        return rest(x)

    torch._dynamo.reset()
    compiled = torch.compile(checked, backend="baton")
    torch.testing.assert_close(compiled(X), checked(X))
    with pytest.raises(Exception, match="too far"):
        compiled(X - 100)


@pytest.mark.filterwarnings("ignore:PyTorch runs")
def test_factors_in_a_piece() -> None:
    """PyTorch checks them in an order that tokens keep, which go through the pieces."""

    def solved(x: Any) -> Any:
        return square(torch.linalg.inv(square(x))) + 1

    torch._dynamo.reset()
    compiled = torch.compile(solved, backend="baton")
    torch.testing.assert_close(compiled(X[:, :3]), solved(X[:, :3]), rtol=1e-3, atol=1e-3)
    with pytest.raises(Exception, match="the matrix has no inverse"):
        compiled(torch.zeros(3, 3))


def test_effects(capfd: pytest.CaptureFixture[str]) -> None:
    def printing(x: Any) -> Any:
        torch.ops.aten._print("seen")
        return x + 1

    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="aten._print"):
        found = torch.compile(printing, backend="baton")(X)
    torch.testing.assert_close(found, X + 1)
    assert "seen" in capfd.readouterr().out
