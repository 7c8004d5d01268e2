"""What the inputs of an exported method look like (`tvm.relax.frontend.nn.spec`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Tensor:
    """A tensor; a string as a dim is a variable, the same for all inputs of the method."""

    shape: Sequence[Any]
    dtype: str


@dataclass(frozen=True)
class Int:
    """A whole number given when running; `forward` sees its variable."""


@dataclass(frozen=True)
class Tuple:
    """Several inputs as one."""

    elements: Sequence[Any]
