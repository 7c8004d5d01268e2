"""PyTorch's indices: one just beyond either end of its axis is an error, alone or joined with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.frontends.torch.relay_graph import from_exported
from baton._src.support.diagnostics import DiagnosticError

torch = pytest.importorskip("torch")
OPERATORS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], int, bool]] = {
    "embedding": (lambda x, i: torch.nn.functional.embedding(i, x), lambda v: (_at(0, v),), 4, False),
    "index_select": (lambda x, i: torch.index_select(x, 0, i), lambda v: (_at(0, v),), 4, False),
    "gather": (lambda x, i: torch.gather(x, 1, i), lambda v: (_at(v).reshape(1, 1),), 5, False),
    "take": (torch.take, lambda v: (_at(v),), 20, True),
    "one index": (lambda x, i: x[i], lambda v: (_at(0, v),), 4, True),
    "the first of two": (lambda x, i, j: x[i, j], lambda v: (_at(0, v), _at(0, 1)), 4, True),
    "the second of two": (lambda x, i, j: x[i, j], lambda v: (_at(0, 1), _at(0, v)), 5, True),
    "scatter": (lambda x, i: x.scatter(1, i, 2.0), lambda v: (_at(v).reshape(1, 1),), 5, False),
    "index_add": (lambda x, i: torch.index_add(x, 0, i, torch.ones(1, 5)), lambda v: (_at(v),), 4, False),
    "index_put": (lambda x, i: torch.index_put(x, (i,), torch.ones(1, 5)), lambda v: (_at(v),), 4, True),
    "index_put of two": (
        lambda x, i, j: torch.index_put(x, (i, j), torch.ones(1)),
        lambda v: (_at(0), _at(v)),
        5,
        True,
    ),
}
"""The operator, its indices around one, the axis' extent, whether negative indices count from the end."""


def _at(*values: int) -> Any:
    return torch.tensor(values)


class _Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize("name", OPERATORS)
def test_just_beyond_either_end(name: str) -> None:
    function, indices, extent, wraps = OPERATORS[name]
    x = torch.arange(20.0).reshape(4, 5)
    program = torch.export.export(_Model(function), (x, *indices(0)))
    module = relax.frontend.torch.from_exported_program(program)
    main = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())["main"]

    def run(index: int) -> Any:
        return main(*[baton.nd.array(t.numpy()) for t in (x, *indices(index))])[0].numpy()

    for inside in (extent - 1, -extent if wraps else 0):
        np.testing.assert_array_equal(run(inside), function(x, *indices(inside)).numpy())
    for outside in (extent, -extent - 1):
        with pytest.raises(DiagnosticError, match="is out of range"):
            run(outside)


@pytest.mark.parametrize("level", [0, 3])
def test_relay_names_the_node(level: int) -> None:
    """Calls said nothing of the node they were made for, unlike those of Relax."""
    program = torch.export.export(_Model(torch.nn.functional.embedding), (_at(1, 2), torch.ones(3, 4)))
    module, _ = from_exported(program)
    with pytest.raises(DiagnosticError, match="at node 'embedding': index 7 is out of range for axis 0"):
        baton.compile(module, opt_level=level)(np.ones((3, 4), "float32"), np.array([1, 7]))
