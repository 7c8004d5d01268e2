"""Random modules give what PyTorch gives, for every size of the batch that was left open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import baton
from baton._src.frontends.torch.programs.program import read_program
from baton._src.frontends.torch.table import CONVERTERS
from baton._src.relax.interpreter import Interpreter
from tests.at_length import seeds_at_length
from tests.frontends.torch.comparing import as_array, relax_module
from tests.frontends.torch.random_modules import random_module


def assert_near(found: Any, wanted: Any, about: str) -> None:
    """Up to a few roundings of the largest values."""
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), about
    near = 2e-4 * max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=near, err_msg=about)


def check(seed: int) -> None:
    module, inputs, open_sizes = random_module(seed)
    about = f"seed {seed}: {[getattr(s, '__name__', s) for s in module.steps]}"
    exported = torch.export.export(module, (inputs[0],), dynamic_shapes=None if open_sizes is None else (open_sizes,))
    imported = relax_module(read_program(exported, CONVERTERS))
    compiled = baton.compile(imported)
    for given in inputs:
        wanted, arrays = as_array(module(given)), as_array(given)
        assert_near(Interpreter(imported)["main"](arrays)[0].numpy(), wanted, f"{about}, interpreted")
        assert_near(np.asarray(compiled(arrays)[0]), wanted, about)


@pytest.mark.parametrize("seed", range(8))
def test_random_modules(seed: int) -> None:
    """Guards what layers hand on to one another, and batches of one and of five."""
    check(seed)


@pytest.mark.fuzz
def test_many_random_modules() -> None:
    for seed in seeds_at_length(300):
        print(seed, flush=True)
        check(seed)
