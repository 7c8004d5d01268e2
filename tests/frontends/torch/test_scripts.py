"""What TorchScript has of Python: lists and dicts that change, texts, control flow over numbers and over tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import baton
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
