"""Gradients of random functions of tensors are those of PyTorch: those of Relax's pass, interpreted and compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import baton
from baton import relax
from baton._src.frontends.torch.programs.program import read_program
from baton._src.frontends.torch.table import CONVERTERS
from baton._src.relax.interpreter import Interpreter
from tests.at_length import seeds_at_length
from tests.frontends.torch.comparing import as_array, relax_module
from tests.frontends.torch.random_expressions import Draw, Scope, Step, Unsuited, random_expressions
from tests.frontends.torch.random_steps import STEPS, branch

TIED = ("amax", "amin", "norm inf", "maximum", "minimum")
"""Where several elements are the largest, each language chooses a slope of its own."""


def _sloped(draw: Draw, scope: Scope) -> Step:
    step = draw(scope)
    if step.name.startswith(TIED):
        raise Unsuited
    return step


DRAWS = [partial(_sloped, draw) for draw in STEPS if draw is not branch]


class Loss(nn.Module):
    """The sum of all results that are real, each element times 1, 2 or 3."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program

    def forward(self, *inputs: Any) -> Any:
        found = [r.float() for r in self.program(*inputs) if r.dtype.is_floating_point]
        return sum(((r * (torch.arange(r.numel()).reshape(r.shape) % 3 + 1)).sum() for r in found), torch.zeros(()))


def drawn(seed: int) -> tuple[Loss, list[Any], list[int]]:
    """A loss, inputs off the points where functions jump or bend, and which of them have a gradient."""
    program, inputs = random_expressions(seed, DRAWS)
    torch.manual_seed(seed)
    given = [t + torch.rand(t.shape) * 0.1 + 0.05 if t.dtype.is_floating_point else t for t in inputs[0]]
    return Loss(program), given, [k for k, t in enumerate(given) if t.dtype.is_floating_point]


def check(seed: int) -> None:
    loss, given, places = drawn(seed)
    leaves = [t.clone().requires_grad_(k in places) for k, t in enumerate(given)]
    value = loss(*leaves)
    if not value.requires_grad:
        pytest.skip("no input has a part in it")
    wanted = torch.autograd.grad(value, [leaves[k] for k in places], allow_unused=True)
    with torch.no_grad():
        module = relax_module(read_program(torch.export.export(loss, tuple(given)), CONVERTERS))
    params = module["main"].params
    module = relax.transform.Gradient("main", require_grads=[params[k] for k in places], target_index=0)(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())
    arrays = [baton.nd.array(as_array(t)) for t in given]
    about = f"seed {seed}: {[(step.name, at) for step, at in loss.program.steps]}"
    for how, runs in (("interpreted", Interpreter(module)), ("compiled", machine)):
        _, found = runs["main_adjoint"](*arrays)
        for k, mine, theirs in zip(places, found, wanted, strict=True):
            expected = np.zeros(given[k].shape, "float32") if theirs is None else as_array(theirs)
            near = 2e-3 * max(1.0, float(np.abs(expected).max()))
            said = f"{about}, {how}, input {k}"
            np.testing.assert_allclose(mine.numpy(), expected, rtol=2e-3, atol=near, err_msg=said)


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 6, 8])
def test_random_gradients(seed: int) -> None:
    """Guards gradients of operators behind one another, and of what converters make of PyTorch's."""
    check(seed)


class Lengths(nn.Module):
    """Lengths, distances and deviations of rows, some of which are nothing."""

    def forward(self, x: Any) -> Any:
        found = [torch.linalg.vector_norm(x, p, dim=-1) for p in (2, 3)]
        found += [torch.cdist(x, x, p) for p in (2.0, 3.0)]
        found += [nn.functional.cosine_similarity(x, x.flip(1), dim=-1), x.std(-1)]
        return sum((r.sum() for r in found), torch.zeros(()))


def test_slopes_of_lengths_of_nothing_are_zero() -> None:
    """They were no numbers: the slope of a root is infinite at zero."""
    rows = torch.tensor([[1.0, 2.0, -0.5], [0.0, 0.0, 0.0], [1.0, 2.0, -0.5]])
    leaf = rows.clone().requires_grad_()
    (expected,) = torch.autograd.grad(Lengths()(leaf), [leaf])
    module = relax.transform.Gradient("main")(
        relax_module(read_program(torch.export.export(Lengths(), (rows,)), CONVERTERS))
    )
    _, (found,) = Interpreter(module)["main_adjoint"](baton.nd.array(as_array(rows)))
    np.testing.assert_allclose(found.numpy(), as_array(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds_at_length(200))
def test_many_random_gradients(seed: int) -> None:
    """Others in each run; what has no gradient says so."""
    try:
        check(seed)
    except baton.DiagnosticError as refused:
        if "has no gradient" not in str(refused):
            raise
        pytest.skip(str(refused))
