"""`mentioned(function)`: the functions of the module that it mentions. Many passes ask, mostly of the same kernels."""

from __future__ import annotations

from baton._src.ir.expr import GlobalVar
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.support.remembered import remembered


@remembered
def mentioned(function: Node) -> tuple[GlobalVar, ...]:
    """The global variables of a function (which calls them, passes them on, or makes closures of them), each once."""
    return tuple(n for n in post_order(function) if isinstance(n, GlobalVar))
