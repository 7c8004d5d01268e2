"""Complex inputs of a graph of `torch.compile`: what is compiled takes their parts, over the same memory.

(Complex results are written as parts, too: `torch_views`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library


def take_parts(module: Any) -> None:
    """Replace complex placeholders by real ones, whose last axis are the parts."""
    torch = torch_library()
    graph, view = module.graph, torch.ops.aten.view_as_complex.default
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    body = next(n for n in graph.nodes if n.op != "placeholder")
    for node in [n for n in placeholders if is_complex(n.meta["val"])]:
        with graph.inserting_before(node):
            parts = graph.placeholder(f"{node.name}_parts")
        with graph.inserting_before(body):
            whole = graph.call_function(view, (parts,))
        parts.meta["val"], whole.meta = torch.view_as_real(node.meta["val"].resolve_conj()), dict(node.meta)
        node.replace_all_uses_with(whole)
        graph.erase_node(node)


def parts_of(given: Sequence[Any]) -> list[Any]:
    """Arguments of one call, complex tensors as their parts."""
    return [torch_library().view_as_real(x.resolve_conj()) if is_complex(x) else x for x in given]


def is_complex(value: Any) -> bool:
    return isinstance(value, torch_library().Tensor) and value.is_complex()
