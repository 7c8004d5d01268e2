"""Whole modules give what PyTorch gives, at every size that was left open when exporting."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import baton
from baton._src.frontends.torch.programs.program import read_program
from baton._src.frontends.torch.table import CONVERTERS
from tests.frontends.torch.cases.inputs import floats, ints
from tests.frontends.torch.comparing import as_array, assert_same, check, relax_module, relay_module
from tests.frontends.torch.modules import Decoder, Residual, Tagger, Unet, encoder, seeded

BATCH, LENGTH = Dim("batch", max=64), Dim("length", max=32)
WORDS = ints(2, 7, low=0, high=20)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (Residual, (floats(2, 3, 9, 8),)),
        (Unet, (floats(1, 2, 8, 12),)),
        (encoder, (floats(2, 5, 16), torch.zeros(5, 5).bool().logical_not().triu(1))),
        (lambda: Tagger("GRU"), (WORDS,)),
    ],
    ids=["residual", "unet", "encoder", "gru"],
)
def test_module(make: Any, inputs: tuple[Any, ...]) -> None:
    module = seeded(make)
    exported = torch.export.export(module, inputs)
    check(exported, inputs, [module(*inputs)])


@pytest.mark.parametrize(
    ("make", "example", "others", "open_sizes"),
    [
        (Decoder, ints(3, 6, low=0, high=30), [(1, 1), (2, 9)], {0: BATCH, 1: LENGTH}),
        (Residual, floats(3, 3, 9, 8), [(1, 3, 9, 8), (5, 3, 9, 8)], {0: BATCH}),
        (Tagger, WORDS, [(4, 7)], {0: BATCH}),
    ],
    ids=["decoder", "residual", "lstm"],
)
def test_open_sizes(make: Any, example: Any, others: list[tuple[int, ...]], open_sizes: dict[int, Any]) -> None:
    module = seeded(make)
    exported = torch.export.export(module, (example,), dynamic_shapes=(open_sizes,))
    program = read_program(exported, CONVERTERS)
    models = [baton.compile(relax_module(program)), baton.compile(relay_module(program))]
    for shape in [tuple(example.shape), *others]:
        given = floats(*shape) if example.is_floating_point() else ints(*shape, low=0, high=20)
        for model in models:
            assert_same(model(as_array(given)), [module(given)], f"{shape}")
