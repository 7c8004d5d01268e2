"""Random functions of tensors as PyTorch programs write them: elementwise, views, indices, reductions, writes.

program, inputs = random_expressions(seed, draws)

A program grows a step at a time: what a step is drawn for are the values that the program has so far for the first
input, and what PyTorch refuses for any of the inputs is drawn again. Steps that jump (comparisons, roundings, sorts)
are only given exact numbers: small integers and halves that nothing has rounded.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

SIZES = (3, 5, 2)
"""The open size of each input."""
LARGEST = 1e4
MOST_ELEMENTS = 2000


class Unsuited(Exception):
    """No value there is suits the step."""


@dataclass(frozen=True, slots=True)
class Step:
    """What it computes of its operands, and whether that is as exact as they are."""

    run: Callable[..., Any]
    name: str
    is_exact: bool = True


class Drawn(nn.Module):
    """Its steps in order, each of what earlier ones gave; the values that none of them uses."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[Step, tuple[int, ...]]] = []

    def forward(self, *inputs: Any) -> Any:
        values, used = list(inputs), {k for _, at in self.steps for k in at}
        for step, at in self.steps:
            values.append(step.run(*(values[k] for k in at)))
        return tuple(v for k, v in enumerate(values) if k >= len(inputs) and k not in used)


@dataclass(slots=True)
class Known:
    """A value for every input, and whether nothing has rounded it."""

    tensors: list[Any]
    is_exact: bool


class Scope:
    """The values so far, of which steps choose theirs."""

    def __init__(self, draw: random.Random, values: Sequence[Known]) -> None:
        self.draw = draw
        self.values = list(values)
        self.taken: list[int] = []

    def pick(self, kinds: str = "f", ranks: Sequence[int] = (0, 1, 2, 3), exact: bool = False) -> Any:
        """The tensor (for the first input) of a kind of dtype and one of these ranks; later ones are likelier."""
        fitting = [
            k for k, v in enumerate(self.values)
            if kind(v.tensors[0]) in kinds and v.tensors[0].ndim in ranks and (v.is_exact or not exact)
        ]  # fmt: skip
        if not fitting:
            raise Unsuited
        self.taken.append(max(self.draw.choice(fitting), self.draw.choice(fitting)))
        return self.values[self.taken[-1]].tensors[0]

    def axis(self, tensor: Any) -> int:
        """One of its axes, from either end."""
        if tensor.ndim == 0:
            raise Unsuited
        return self.draw.randrange(-tensor.ndim, tensor.ndim)


Draw = Callable[[Scope], Step]


def kind(tensor: Any) -> str:
    """f, i or b, as NumPy says it."""
    return "b" if tensor.dtype == torch.bool else "f" if tensor.dtype.is_floating_point else "i"


def random_expressions(seed: int, draws: Sequence[Draw]) -> tuple[Drawn, list[tuple[Any, ...]]]:
    """A program, and inputs for it of several sizes of their first axes."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    inputs = [_input(n) for n in SIZES]
    program = Drawn()
    values = [Known(list(tensors), True) for tensors in zip(*inputs)]
    length = draw.randint(3, 10)
    for _ in range(30 * length):
        if len(program.steps) == length:
            break
        scope = Scope(draw, values)
        try:
            step = draw.choice(draws)(scope)
            operands = [[values[k].tensors[n] for k in scope.taken] for n in range(len(SIZES))]
            found = [step.run(*(t.clone() for t in tensors)) for tensors in operands]
        except (Unsuited, RuntimeError, IndexError, ValueError, TypeError):
            continue
        if all(map(_is_usable, found)):
            exact = step.is_exact and all(values[k].is_exact for k in scope.taken)
            values.append(Known(found, exact or kind(found[0]) != "f"))
            program.steps.append((step, tuple(scope.taken)))
    return program, inputs


def _input(n: int) -> tuple[Any, ...]:
    """Rows, images of rows, indices, and a table without open sizes."""
    return (
        torch.randint(-4, 5, (n, 4)) / 2,
        torch.randint(-4, 5, (n, 3, 4)) / 2,
        torch.randint(-4, 5, (n, 3)),
        torch.randint(-4, 5, (4, 3)) / 2,
    )


def _is_usable(tensor: Any) -> bool:
    if not isinstance(tensor, torch.Tensor) or not 0 < tensor.numel() < MOST_ELEMENTS:
        return False
    return bool(tensor.double().abs().max() < LARGEST)
