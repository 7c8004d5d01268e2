"""What `torch.export` was told of open sizes, or asked of them while it traced, is asked of the inputs of all calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import baton
from baton import relay
from baton._src.frontends.torch.relay_graph import from_exported, from_pytorch
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.interpreter import Interpreter
from baton._src.support.diagnostics import BatonError, DiagnosticError
from baton._src.values.convert import to_numpy
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import as_array, assert_same

AUTO, DIM = torch.export.Dim.AUTO, torch.export.Dim


class Applied(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def long_or_short(x: Any) -> Any:
    return x + 1 if x.shape[0] > 8 else x - 1


def by_rest(x: Any) -> Any:
    return x + 1 if x.shape[0] % 3 == 1 else x - 1


def few_in_all(x: Any) -> Any:
    return x + 1 if x.shape[0] * x.shape[0] + 3 < 500 else x - 1


def other_than_seven(x: Any) -> Any:
    return x + 1 if 2 * x.shape[0] != 14 else x - 1


def rows_of_eight(x: Any) -> Any:
    return x.view(x.shape[0] // 8, 8).sum(1)


CASES = {
    "bound": (long_or_short, AUTO, [9, 40], [8, 1]),
    "rest": (by_rest, AUTO, [1, 4, 22], [15, 3]),
    "product": (few_in_all, AUTO, [1, 22], [23]),
    "unequal": (other_than_seven, AUTO, [6, 8], [7]),
    "declared": (torch.exp, DIM("rows", min=4, max=20), [4, 20], [3, 21]),
    "multiple": (rows_of_eight, 8 * DIM("rows", max=10), [8, 80], [20, 88]),
}


def model_of(name: str) -> tuple[Any, Any]:
    function, size, _, _ = CASES[name]
    return function, torch.export.export(Applied(function), (floats(16),), dynamic_shapes=({0: size},))


def inverse_of_rows(x: Any) -> Any:
    return nn.functional.layer_norm(x, x.shape[1:], eps=1 / x.shape[0])


def half_the_rows(x: Any) -> Any:
    return x + 1 if x.shape[0] / 2 > 6.5 else x - 1


@pytest.mark.parametrize(("function", "fit", "others"), [(inverse_of_rows, [16], [8]), (half_the_rows, [14, 40], [13])])
def test_numbers_made_of_sizes_are_asked_for_too(function: Any, fit: list[int], others: list[int]) -> None:
    """PyTorch keeps the number of its example, and refuses other sizes: results were wrong for these."""
    model = Applied(function)
    exported = torch.export.export(model, (floats(16, 3),), dynamic_shapes=({0: AUTO},))
    for compiled in (baton.compile(exported), baton.compile(from_exported(exported)[0])):
        for size in fit:
            assert_same(compiled(as_array(floats(size, 3))), [function(floats(size, 3))], "fitting")
        for size in others:
            with pytest.raises(BatonError, match="axis 0 of input 'x', for which the program has"):
                compiled(as_array(floats(size, 3)))


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_the_program_was_not_made_for_are_errors(name: str) -> None:
    """They gave what the other way through the program would have given differently; multiples could not be called."""
    function, exported = model_of(name)
    model = baton.compile(exported)
    for size in CASES[name][2]:
        assert_same(model(as_array(floats(size))), [function(floats(size))], name)
    for size in CASES[name][3]:
        with pytest.raises(DiagnosticError, match=rf"dimension 0 is {size}\b"):
            model(as_array(floats(size)))


@pytest.mark.parametrize("name", CASES)
def test_sizes_in_relay(name: str) -> None:
    """Nothing was checked there: the results came from the other way through the program."""
    function, exported = model_of(name)
    module, _ = from_exported(exported)
    typed = infer_type(module)
    model, interpreted = baton.compile(module), Interpreter(typed).evaluate(typed["main"])
    for size in CASES[name][2]:
        given = as_array(floats(size))
        assert_same(model(given), [function(floats(size))], name)
        assert_same([to_numpy(interpreted(given))], [function(floats(size))], f"{name}, interpreted")
    for size in CASES[name][3]:
        with pytest.raises(BatonError, match=r"axis 0 of input 'x', for which the program has|reshape"):
            model(as_array(floats(size)))
        with pytest.raises(BatonError, match=r"indices from 1 to 1|reshape"):
            interpreted(as_array(floats(size)))


def test_scripts_with_open_sizes_in_relay() -> None:
    """What a traced or scripted module asks of the sizes of its inputs, too."""
    shapes = [("x", ((relay.Any(), 2), "float32"))]
    module, _ = from_pytorch(torch.jit.trace(Applied(long_or_short), floats(64, 2), check_trace=False), shapes)
    model = baton.compile(module)
    assert_same(model(as_array(floats(9, 2))), [floats(9, 2) + 1], "trace")
    ways, _ = from_pytorch(torch.jit.script(LongOrShort()), shapes)
    scripted = baton.compile(ways)
    assert_same(scripted(as_array(floats(9, 2))), [floats(9, 2) + 1], "script")
    with pytest.raises(BatonError, match="axis 0 of input 'x', for which the program has 9 <= "):
        scripted(as_array(floats(8, 2)))


class LongOrShort(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 8:
            return x + 1
        return x - 1


def test_files_keep_what_was_asked(tmp_path: Path) -> None:
    """Comparisons in files are read, and not run."""
    function, exported = model_of("rest")
    torch.export.save(exported, tmp_path / "model.pt2")
    model = baton.compile(tmp_path / "model.pt2")
    assert_same(model(as_array(floats(4))), [function(floats(4))], "file")
    with pytest.raises(DiagnosticError, match="dimension 0 is 15"):
        model(as_array(floats(15)))


class Nested(nn.Module):
    """Asks for the sizes of inputs of every kind."""

    def forward(self, x: Any, d: Any, *rest: Any, z: Any) -> Any:
        for t in (x, d["a"][0], rest[0], z):
            if t.shape[0] % 3 == 1:
                x = x + t.sum()
        return x


@pytest.mark.parametrize("wrong", range(4))
def test_inputs_are_found_wherever_they_stand(wrong: int) -> None:
    def tensors(sizes: list[int]) -> list[Any]:
        return [floats(n) for n in sizes]

    x, a, r, z = tensors([4, 7, 10, 13])
    open_sizes = {"x": {0: AUTO}, "d": {"a": ({0: AUTO},)}, "rest": ({0: AUTO},), "z": {0: AUTO}}
    exported = torch.export.export(Nested(), (x, {"a": (a,)}, r), {"z": z}, dynamic_shapes=open_sizes)
    model = baton.compile(exported)
    x, a, r, z = given = tensors([7, 10, 16, 19])
    assert_same(model(*(as_array(t) for t in given)), [Nested()(x, {"a": (a,)}, r, z=z)], "nested")
    given[wrong] = floats(12)
    with pytest.raises(DiagnosticError, match="dimension 0 is 12"):
        model(*(as_array(t) for t in given))


def test_a_multiple_names_what_others_have_once() -> None:
    """Where one input has the rows and another four times as many, the first one tells them."""

    class Both(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x.view(4, -1).sum(0) + y

    rows = DIM("rows", max=10)
    exported = torch.export.export(Both(), (floats(16), floats(4)), dynamic_shapes=({0: 4 * rows}, {0: rows}))
    model = baton.compile(exported)
    assert_same(model(as_array(floats(24)), as_array(floats(6))), [Both()(floats(24), floats(6))], "multiple")
    with pytest.raises(DiagnosticError, match="dimension 0 is 28"):
        model(as_array(floats(28)), as_array(floats(6)))
