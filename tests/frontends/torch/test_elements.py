"""Exported programs that take numbers out of tensors (`item`, `tolist`), change their inputs, and return numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import tensor

import baton
from baton._src.frontends.torch.relay_graph import from_exported
from baton._src.support.diagnostics import BatonError
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same

ROWS = floats(3, 4)
COUNTS = [(ROWS, tensor(n)) for n in (1, 2, 0, -1, -2, 3, 7, -9)]


class Applied(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        return self.function(*given)


def compiled(function: Callable[..., Any], given: Sequence[Any]) -> Any:
    return baton.compile(torch.export.export(Applied(function), tuple(given)), opt_level=1)


def check(function: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> None:
    """One compilation gives what PyTorch gives, for every example; an error where PyTorch has one."""
    model = compiled(function, examples[0])
    for given in examples:
        try:
            expected = function(*given)
        except (RuntimeError, IndexError):
            with pytest.raises(BatonError):
                model(*(as_array(g) for g in given))
            continue
        found = [torch.from_numpy(np.asarray(r)) for r in model(*(as_array(g) for g in given))]
        torch.testing.assert_close(found, list(expected) if isinstance(expected, (tuple, list)) else [expected])


def checked(x: Any, n: Any) -> Any:
    count = n.item()
    torch._check(count >= 1)
    torch._check(count < 3)
    return x[:count] @ torch.ones(4, count) + torch.eye(count)


def padded(lengths: Any) -> Any:
    longest = lengths.max().item()
    torch._check(longest >= 0)
    seen = torch.arange(longest)[None] < lengths[:, None]
    return torch.zeros(lengths.shape[0], longest).masked_fill(seen, 1.0)


def written(x: Any, n: Any) -> Any:
    y = x.clone()
    y[n.item() : -1] = 7.0
    return y


def chosen(x: Any, n: Any) -> Any:
    return torch.cond(n.item() > 0, lambda v: v + 1, lambda v: v - 1, (x,))


FRACTIONS = [(ROWS, tensor(2.5)), (ROWS, tensor(-0.25)), (ROWS, tensor(0.0))]


@pytest.mark.parametrize(
    ("function", "examples"),
    [
        (lambda x, n: (x * n.item() + n.item() // 2, x.long() + n.item() % 3, x * float(2) ** n.item()), COUNTS),
        (lambda x, s: (x * s.item() ** 2, x.clamp(-s.item() - 3, s.item() + 3), torch.full((2,), s.item())), FRACTIONS),
        (lambda x, s: torch.linspace(0, s.item(), 5) + x[0, 0], FRACTIONS),
        (lambda x, flag: x * flag.item(), [(ROWS, tensor(True)), (ROWS, tensor(False))]),
        (lambda x: x / x.abs().sum().item(), [(ROWS,), (ROWS * 3,)]),
        (lambda n: torch.arange(n.item()) * 2, [(tensor(3),), (tensor(0),), (tensor(-2),)]),
        (lambda x, n: (x[: n.item()] + 1, x[n.item() :] * 2), COUNTS),
        (lambda x, n: (x[n.item() : -1] + 1, x[-9 : n.item()] * 2), COUNTS),
        (lambda x, n: x[n[0].item() : n[1].item()] + 1, [(ROWS, tensor(p)) for p in ([1, 2], [-3, -1], [2, 1])]),
        (lambda x, n: x[n.item()] + 1, COUNTS),
        (lambda x, n: x.narrow(0, n.item(), 2) + 1, COUNTS),
        (lambda x, n: x.reshape(n.item(), -1) + 1, COUNTS),
        (lambda x, n: torch.cat([x, torch.ones(n.item(), 4)]).sum(0), COUNTS),
        (lambda x, n: torch.split(x, n.tolist()), [(ROWS, tensor(p)) for p in ([1, 2], [2, 1], [2, 2])]),
        (lambda x, n: [x[k] * v for k, v in enumerate(n.tolist())], [(ROWS, tensor([1, -2, 3]))]),
        (lambda x: x[x > 0][: (x > 1).sum().item()] + 1, [(ROWS,), (ROWS + 1,), (-ROWS,)]),
        (lambda x, n: x.new_zeros(n.unique().numel(), 4).index_add(0, n.unique(return_inverse=True)[1], x),
         [(ROWS, tensor([1, 2, 3])), (ROWS, tensor([1, 1, 3]))]),
        (checked, COUNTS),
        (padded, [(tensor([1, 2, 3]),), (tensor([5, 0]).repeat(2)[:3],), (tensor([0, 0, 0]),)]),
        (written, COUNTS),
        (chosen, COUNTS),
    ],
    ids=["whole", "floats", "linspace", "bools", "sum", "arange", "slices", "slices, one end known", "both ends",
         "select", "narrow", "reshape", "cat", "split", "list", "mask", "unique", "checks", "padded", "written",
         "cond"],
)  # fmt: skip
def test_numbers_that_elements_decide(function: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> None:
    check(function, examples)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: (torch._check(x.sum().item() > 0.5), x + 1)[1], r"_assert_scalar.default \(test_elements.py:.*0\.5"),
        (lambda x: (torch.ops.aten._assert_async.msg(x.sum() > 0, "positive"), x + 1)[1], r"positive"),
    ],
    ids=["number", "tensor"],
)
def test_what_programs_assert_of_elements(function: Callable[..., Any], told: str) -> None:
    """It was passed over: results came out where PyTorch raises an error."""
    model = compiled(function, (ROWS.abs(),))
    (found,) = model(as_array(ROWS.abs()))
    np.testing.assert_allclose(np.asarray(found), as_array(ROWS.abs()) + 1)
    with pytest.raises(BatonError, match=told):
        model(as_array(-ROWS.abs()))


def test_assertions_in_relay() -> None:
    """They were left out, whatever they asked; those within a way of a condition are asked on this way only."""

    def positive(x: Any) -> Any:
        torch.ops.aten._assert_async.msg(x.sum() > 0, "positive")
        return x + 1

    def asked(x: Any) -> Any:
        return torch.cond(x.max() > 0.5, positive, torch.neg, (x,))

    for function, fits, fails in ((positive, ROWS.abs(), -ROWS.abs()), (asked, -ROWS.abs(), ROWS - 9 * (ROWS < 0.6))):
        module, _ = from_exported(torch.export.export(Applied(function), (ROWS,)))
        model = baton.compile(module)
        assert_same(model(as_array(fits)), [function(fits)], "asserted")
        with pytest.raises(BatonError, match="positive"):
            model(as_array(fails))


def test_sizes_that_a_run_finds_in_relay() -> None:
    """They are read where they are found; what was computed with them, or asserted of them, could not be imported."""

    def counted(x: Any) -> Any:
        places = torch.nonzero(x > 0)
        n = places.shape[0]
        torch._check(n < 12)
        return torch.ones(n, 3), torch.arange(n) + n, torch.cat([places, places]), x[x > 0].sum() / (n + 1)

    module, _ = from_exported(torch.export.export(Applied(counted), (ROWS,)))
    model = baton.compile(module)
    for x in (ROWS, ROWS - 1, -ROWS.abs()):
        assert_same(model(as_array(x)), counted(x), "counted")
    with pytest.raises(BatonError, match="< 12"):
        model(as_array(torch.ones(3, 4)))


def test_integers_among_elements_are_sizes_in_relay() -> None:
    """They were refused: its programs had no names for them."""

    class Cut(torch.nn.Module):
        def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
            return x[: n.item()]

    inputs = [("x", ((3, 4), "float32")), ("n", ((), "int64"))]
    module, _ = from_pytorch(torch.jit.script(Cut()), inputs)
    model = baton.compile(module)
    for n in (2, 0, -1, 9):
        (found,) = model(as_array(ROWS), np.array(n))
        np.testing.assert_array_equal(found, ROWS[:n].numpy())


def test_slices_between_an_argument_and_the_end() -> None:
    """What counts from the end was taken to lie before the beginning: nothing was left."""
    torch._dynamo.reset()
    table = floats(2, 6)

    def sliced(x: Any, n: int) -> Any:
        return x[:, n:-1] + 1, x[:, -9:n] * 2, x[:, n:-4] * 2

    found = torch.compile(sliced, backend="baton")
    for n in (2, 3, 5):
        torch.testing.assert_close(found(table, n), sliced(table, n))


def test_changed_inputs_and_numbers_are_results() -> None:
    """What inputs become stands behind the results; the arrays given stay as they are."""

    def changing(x: Any, cache: Any, k: Any) -> Any:
        k.mul_(2)
        cache[:, 1:3] = x
        return cache.sum() + x, 2, 1.5, True, None, x.shape[0]

    given = (floats(2, 2), floats(2, 4), torch.arange(3.0))
    arrays = [as_array(g.clone()) for g in given]
    found = [np.asarray(r) for r in compiled(changing, given)(*arrays)]
    for array, tensor_given in zip(arrays, given, strict=True):
        np.testing.assert_array_equal(array, tensor_given)
    copies = [g.clone() for g in given]
    total, *numbers = changing(*copies)
    expected = [total, *(tensor(n) for n in numbers if n is not None), *copies[1:]]
    assert [f.dtype.name for f in found[1:5]] == ["int64", "float64", "bool", "int64"]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b.numpy(), 1e-6)
