"""Control flow that depends on tensors: ways chosen, loops, scans and maps, exported and through `torch.compile`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan

import baton
from baton._src.support.diagnostics import DiagnosticError
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same, check
from tests.frontends.torch.modules import seeded

ROWS = floats(4, 3)


class Chosen(nn.Module):
    """Weights that one way or both see; each way gives two tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return torch.cond(
            x.sum() > 0,
            lambda x: (self.linear(x).sin(), x[0] * 2),
            lambda x: (x.cos() * 2 + self.linear.weight[0], x[1] + 1),
            (x,),
        )


class Repeated(nn.Module):
    """A loop that ends by what it computes, with a choice in its body."""

    def forward(self, x: Any) -> Any:
        def body(turn: Any, x: Any) -> Any:
            return turn + 1, torch.cond(x.sum() > 0, lambda x: x * 2.0, lambda x: x + 3.0, (x,))

        return while_loop(lambda turn, x: (turn < 6) & (x.sum() < 40), body, (torch.tensor(0), x))


class Scanned(nn.Module):
    def forward(self, x: Any) -> Any:
        total, products = scan(lambda carried, row: (carried + row, carried * row), torch.zeros(3), x)
        return total, products, torch_map(lambda row, whole: row.sin() + whole, x, x.sum())


class Turned(nn.Module):
    """Complex tensors through ways, loops, scans and maps."""

    def forward(self, x: Any) -> Any:
        z = torch.complex(x, x.flip(1))
        chosen = torch.cond(x.sum() > 0, lambda z: z * z, lambda z: z * 2j, (z,))
        _, repeated = while_loop(lambda n, z: n < 3, lambda n, z: (n + 1, z * 1j), (torch.tensor(0), chosen))
        total, products = scan(lambda carried, row: (carried + row, carried * row), z[0] * 0, z)
        mapped = torch_map(lambda row, whole: row * whole, z, total)
        return tuple(torch.view_as_real(part) for part in (chosen, repeated, total, products, mapped))


@pytest.mark.parametrize("make", [Chosen, Repeated, Scanned, Turned])
def test_exported(make: Any) -> None:
    module = seeded(make)
    exported = torch.export.export(module, (ROWS,))
    for rows in (ROWS, -ROWS):
        check(exported, (rows,), list(module(rows)), make.__name__, level=0)


def test_open_sizes() -> None:
    module = seeded(Chosen)
    model = baton.compile(torch.export.export(module, (ROWS,), dynamic_shapes=({0: torch.export.Dim("rows")},)))
    for rows in (floats(7, 3), -floats(3, 3)):
        assert_same(model(as_array(rows)), module(rows), str(rows.shape))


class Summed(nn.Module):
    """Sums of rows and what comes before them, real and complex."""

    def forward(self, x: Any) -> Any:
        def step(carried: Any, row: Any) -> Any:
            total, turned = carried
            return (total + row, turned * 1j), (total * row, turned + row)

        z = torch.complex(x[0], x[0] + 1)
        (total, turned), (products, sums) = scan(step, (torch.zeros(x.shape[1]), z), x)
        return total, products, torch.view_as_real(turned), torch.view_as_real(sums)


def test_scans_of_open_length() -> None:
    """They were refused: steps were unrolled."""
    sizes = {0: torch.export.Dim("rows"), 1: torch.export.Dim("columns")}
    model = baton.compile(torch.export.export(Summed(), (ROWS,), dynamic_shapes=(sizes,)), opt_level=1)
    for rows in (ROWS, floats(7, 2), floats(1, 5)):
        assert_same(model(as_array(rows)), Summed()(rows), str(rows.shape))


class Mapped(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch_map(lambda row, total: row * total, x, x.sum(0))


def test_more_steps_than_are_unrolled() -> None:
    rows = floats(1030, 2)
    model = baton.compile(torch.export.export(Mapped(), (rows,)), opt_level=0)
    assert_same(model(as_array(rows)), [rows * rows.sum(0)], "mapped")


@pytest.mark.parametrize("make", [Chosen, Repeated])
def test_torch_compile(make: Any) -> None:
    torch._dynamo.reset()
    module = seeded(make)
    compiled = torch.compile(module, backend="baton")
    with torch.no_grad():
        for rows in (ROWS, -ROWS):
            torch.testing.assert_close(compiled(rows), module(rows))


def test_what_a_way_lacks_is_named() -> None:
    """Operators of graphs within the graph are looked at before anything is imported."""

    class Strange(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, lambda x: torch.special.airy_ai(x), lambda x: x * 2, (x,))

    with pytest.raises(DiagnosticError, match=r"aten\.special_airy_ai\.default is not supported"):
        baton.compile(torch.export.export(Strange(), (ROWS,)))


class Carried(nn.Module):
    """A recurrence over rows as a scan."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return scan(lambda state, row: ((state + self.linear(row)).tanh(), state * row), torch.zeros(3), x)


@pytest.mark.parametrize("make", [Chosen, Carried])
def test_gradients(make: Any) -> None:
    torch._dynamo.reset()
    module = seeded(make)
    compiled = torch.compile(module, backend="baton")
    for rows in (ROWS, -ROWS):
        found = []
        for used in (module, compiled):
            module.zero_grad()
            given = rows.clone().requires_grad_(True)
            sum(r.square().sum() for r in used(given)).backward()
            found.append([given.grad, module.linear.weight.grad.clone()])
        torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
