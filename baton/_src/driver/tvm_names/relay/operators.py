"""Relay's operator registry as scripts use it: `relay.op.get("nn.conv2d")`."""

from __future__ import annotations

from baton._src.ir.expr import Op
from baton._src.ops.catalogue import CATALOGUE


def get(op_name: str) -> Op:
    """The operator, by Relay's or (`relax.add`) Relax's name."""
    return CATALOGUE.relax(op_name) if op_name.startswith("relax.") else CATALOGUE.relay(op_name)
