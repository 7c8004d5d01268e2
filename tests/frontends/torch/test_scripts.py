"""What TorchScript has of Python: lists and dicts that change, texts, control flow over numbers and over tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.relay.frontend import from_pytorch
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same


def compiled(module: nn.Module, *inputs: Any) -> Any:
    """A module, scripted and compiled through Relay."""
    infos = [(f"x{k}", (tuple(x.shape), str(x.dtype).removeprefix("torch."))) for k, x in enumerate(inputs)]
    imported, params = from_pytorch(torch.jit.script(module.eval()), infos)
    return baton.compile(imported, params=params)


class Lists(nn.Module):
    """Writes into lists and dicts, also of tensors, and computes with texts."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = [3, 1, 2]
        a[1] = 7
        a.sort()
        first = a.copy()
        a.reverse()
        b = sorted(a)
        parts = {"a": x}
        parts["b"] = x * 2
        rows = [x, x]
        rows[0] = x + 1
        first.clear()
        del a[0]
        letters = 0
        for name, part in parts.items():
            letters += len(name.upper()) + part.dim()
        if "-".join(["x", "y"]).startswith("x-"):
            letters += 10
        return rows[0] + sum(a) + a.index(2) + b[0] + parts["b"] * letters + round(2.6) + len(first)


def test_lists_and_texts() -> None:
    x = floats(2, 3)
    assert_same(compiled(Lists(), x)(as_array(x)), [Lists()(x)], "lists")


class Listed(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        sizes, numbers = torch.tensor([x.size(0), 2]), torch.tensor([[1.5, 2.0], [3.0, 4.0]])
        return x * 2, sizes, numbers, torch.tensor([1, 2], dtype=torch.float64)


class Halved(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x * 2, torch.tensor(x.shape[0] / 2)


def test_tensors_of_lists_and_numbers() -> None:
    """Lists were refused; a number that a trace has as a tensor was float64."""
    imported, params = from_pytorch(torch.jit.script(Listed()), [("x", ((relay.Any(), 3), "float32"))])
    model = baton.compile(imported, params=params)
    for x in (floats(2, 3), floats(5, 3)):
        assert_same(model(as_array(x)), Listed()(x), "lists")
    x = floats(3, 3)
    traced = torch.jit.trace(Halved(), (x,), check_trace=False)
    imported, params = from_pytorch(traced, [("x", ((3, 3), "float32"))])
    assert_same(baton.compile(imported, params=params)(as_array(x)), traced(x), "numbers")


class Choosing(nn.Module):
    """Asks for elements, more than once and one within the other, with layers on the ways."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x * 2
        if bool(x.sum() > 0):
            z = self.layer(z) + y
            if y[0, 0] > 1:
                z = z * 3
        elif not bool(y.mean() > 0):
            z = z - 1
        if x[0, 0] > 0 and y[0, 0] > 0:
            return z + 10
        return z


def test_conditions_over_tensors() -> None:
    """Every way is taken by some inputs."""
    torch.manual_seed(0)
    module, x, y = Choosing().eval(), floats(2, 3), floats(2, 3, seed=1)
    model = compiled(module, x, y)
    for a in (x.abs(), -x.abs()):
        for b in (y.abs() + 2, y.abs() * 0.1, -y.abs()):
            assert_same(model(as_array(a), as_array(b)), [module(a, b)], "conditions")


class Counting(nn.Module):
    """A whole number from a way."""

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        times = 2
        if x.max() > 1:
            times = 5
        return x.sum() + n * times


def test_numbers_from_conditions() -> None:
    x, n = floats(2, 3), torch.tensor([3, -7])
    model = compiled(Counting(), x, n)
    for factor in (0.1, 40.0):
        assert_same(model(as_array(x.abs() * factor), as_array(n)), [Counting()(x.abs() * factor, n)], "numbers")


class Repeating(nn.Module):
    """Loops that elements end: within one another, with numbers that count turns, by `and` and by `break`; a condition
    of which two values are one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(floats(3, 3) * 0.3)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        turn, total, y = 0, torch.zeros_like(x), x
        while bool(y.abs().max() > 0.1) and turn < 9:
            while bool(y.max() > 0.5):
                y = y * 0.5
            total, y, turn = total + y, y - 0.25 * x, turn + 1
        h, turns = x, 0
        for _ in range(7):
            h, turns = torch.tanh(h @ self.weight + x), turns + 1
            if bool(h.abs().mean() < 0.5):
                break
        z = x
        z = z - x[0] if bool(z.sum() > 0) else z + x[0] * 2
        return [total, h, z, torch.tensor(turn), torch.tensor(turns)]


def test_loops_that_elements_end() -> None:
    module = Repeating()
    model = compiled(module, floats(4, 3))
    for x in (floats(4, 3), floats(4, 3) * 0.2, floats(4, 3) * 0):
        with torch.no_grad():
            assert_same(model(as_array(x)), module(x), "loops")


class Growing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while bool(x.sum() < 10):
            x = torch.cat((x, x))
        return x


def test_loops_whose_tensors_grow_are_refused() -> None:
    with pytest.raises(DiagnosticError, match=r"one turn makes torch.float32 \(4,\) of torch.float32 \(2,\)"):
        compiled(Growing(), torch.ones(2))


class Scaling(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        share = 0.1
        if x.max() > 1:
            share = 0.2
        return x * share


def test_floats_from_conditions_are_refused() -> None:
    """A tensor in their place would round them, or make results wide."""
    with pytest.raises(
        DiagnosticError, match=r"test_scripts\.py:\d+: if x\.max\(\) > 1: chooses 0\.2, which is not a tensor"
    ):
        compiled(Scaling(), floats(2, 3))


class Scaled(nn.Module):
    """Traces have the factors as tensors: sizes times these are sizes still."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        resize = nn.functional.interpolate
        return (
            resize(x, scale_factor=0.7, recompute_scale_factor=True),
            resize(x, scale_factor=(1.7, 0.5), mode="bilinear", recompute_scale_factor=True),
            resize(x, scale_factor=(1.5, 2.0), mode="area", recompute_scale_factor=True),
        )


class Half(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.interpolate(x, scale_factor=0.5, recompute_scale_factor=True)


def test_factors_of_sizes() -> None:
    """Guards that products are rounded as tensors are: 10 times 0.7 is 7 in float32, and less in float64."""
    x = floats(1, 2, 10, 7)
    traced = torch.jit.trace(Scaled().eval(), x)
    imported, params = from_pytorch(traced, [("x", (tuple(x.shape), "float32"))])
    assert_same(baton.compile(imported, params=params)(as_array(x)), Scaled()(x), "factors")


def test_factors_of_open_sizes() -> None:
    """Guards that a factor which is exact leaves a size, and that Relay resizes to one: it was refused."""
    traced = torch.jit.trace(Half().eval(), floats(1, 2, 8, 8))
    imported, params = from_pytorch(traced, [("x", ((1, 2, relay.Any(), relay.Any()), "float32"))])
    model = baton.compile(imported, params=params)
    for x in (floats(1, 2, 8, 8), floats(1, 2, 5, 9)):
        assert_same(model(as_array(x)), [traced(x)], "open sizes")


class Joined(nn.Module):
    """As decoders bring a small map to the size of another one."""

    def __init__(self, **style: Any) -> None:
        super().__init__()
        self.style = style

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.interpolate(x, size=y.shape[2:], **self.style) + y


@pytest.mark.parametrize("style", [{"mode": "nearest"}, {"mode": "bilinear", "align_corners": True}])
def test_resizes_to_the_size_of_another_map(style: Any) -> None:
    sizes = (1, 2, relay.Any(), relay.Any())
    traced = torch.jit.trace(Joined(**style).eval(), (floats(1, 2, 5, 4), floats(1, 2, 9, 7)))
    imported, params = from_pytorch(traced, [("x", (sizes, "float32")), ("y", (sizes, "float32"))])
    model = baton.compile(imported, params=params)
    for small, large in (((5, 4), (9, 7)), ((1, 1), (3, 1)), ((8, 13), (4, 5))):
        x, y = floats(1, 2, *small), floats(1, 2, *large)
        assert_same(model(as_array(x), as_array(y)), [traced(x, y)], "another map")


class Sentences(nn.Module):
    """An encoder of sentences, the ends of some of which are hidden: PyTorch keeps them as nested tensors."""

    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=not norm_first)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, src_key_padding_mask=hidden)


@pytest.mark.parametrize("norm_first", [False, True])
def test_sentences_of_unequal_lengths(norm_first: bool) -> None:
    torch.manual_seed(0)
    module, x = Sentences(norm_first).eval(), floats(3, 5, 8)
    masks = [torch.arange(5) >= torch.tensor(ends)[:, None] for ends in ((5, 3, 1), (2, 4, 5))]
    with torch.no_grad():
        script = torch.jit.trace(module, (x, masks[0]), check_trace=False)
        imported, params = from_pytorch(script, [("x", (3, 5, 8)), ("hidden", ((3, 5), "bool"))])
        model = baton.compile(imported, params=params)
        for mask in masks:
            found = model.run({"x": as_array(x), "hidden": mask.numpy()})
            assert_same(found, [module(x, mask)], "sentences")


class Nesting(nn.Module):
    """Nested tensors beside PyTorch's transformers: twice as much, or padded to the longest one."""

    def __init__(self, doubled: bool) -> None:
        super().__init__()
        self.doubled = doubled

    def forward(self, x: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        nested = torch._nested_tensor_from_mask(x, present)
        return (nested * 2).to_padded_tensor(0.0, x.shape) if self.doubled else nested.to_padded_tensor(0.0)


@pytest.mark.parametrize(("doubled", "message"), [(False, "the longest one"), (True, "aten::mul of a nested tensor")])
def test_what_is_not_known_of_nested_tensors_is_refused(doubled: bool, message: str) -> None:
    given = floats(2, 3, 4), torch.tensor([[True, True, False], [True, False, False]])
    script = torch.jit.trace(Nesting(doubled).eval(), given, check_trace=False)
    with pytest.raises(DiagnosticError, match=message):
        from_pytorch(script, [("x", (2, 3, 4)), ("present", ((2, 3), "bool"))])
