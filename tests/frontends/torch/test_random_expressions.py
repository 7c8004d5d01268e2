"""Random functions of tensors give what PyTorch gives, interpreted and compiled, for every open size."""

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
from tests.frontends.torch.random_expressions import random_expressions
from tests.frontends.torch.random_places import counted
from tests.frontends.torch.random_steps import STEPS

DRAWS = (*STEPS, counted, counted)


class NotExportedError(Exception):
    """PyTorch wants to know a size that the values decide, or takes it not to be 1."""


def exported(program: Any, inputs: list[tuple[Any, ...]]) -> tuple[Any, list[tuple[Any, ...]]]:
    """The exported program and the inputs that it takes: of all sizes, or of one if PyTorch wants it known."""
    n = torch.export.Dim("n", min=2, max=64)
    try:
        found = torch.export.export(program, inputs[0], dynamic_shapes=[({0: n}, {0: n}, {0: n}, None)])
    except (RuntimeError, ValueError, torch._dynamo.exc.TorchDynamoException):
        pass
    else:
        return found, inputs
    try:
        return torch.export.export(program, inputs[0]), inputs[:1]
    except RuntimeError as refused:  # it ran without being exported
        raise NotExportedError from refused


def check(seed: int) -> None:
    torch._dynamo.reset()  # what it compiled for torch.cond in other programs, it looks at and stumbles over
    program, inputs = random_expressions(seed, DRAWS)
    about = f"seed {seed}: {[(step.name, at) for step, at in program.steps]}"
    traced, inputs = exported(program, inputs)
    imported = relax_module(read_program(traced, CONVERTERS))
    compiled = baton.compile(imported, num_threads=1)
    for given in inputs:
        arrays, wanted = [as_array(t) for t in given], [as_array(t) for t in program(*given)]
        for how, found in (("interpreted", Interpreter(imported)["main"](*arrays)), ("compiled", compiled(*arrays))):
            for k, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
                value = mine.numpy() if how == "interpreted" else np.asarray(mine)
                said = f"{about}, {how}, output {k} for {given[0].shape[0]}"
                assert (value.shape, value.dtype) == (theirs.shape, theirs.dtype), said
                near = 2e-4 * max(1.0, float(np.abs(theirs.astype("f8")).max(initial=0)))
                np.testing.assert_allclose(value, theirs, rtol=2e-4, atol=near, err_msg=said)


@pytest.mark.parametrize("seed", range(8))
def test_random_expressions(seed: int) -> None:
    """Guards what converters hand on to one another: dtypes, ranks, views, and sizes that are open."""
    check(seed)


@pytest.mark.fuzz
def test_many_random_expressions() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(300):
        try:
            check(seed)
        except NotExportedError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
