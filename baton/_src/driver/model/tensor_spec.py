"""Inputs and outputs of a model, as an executable notes them and users see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class TensorSpec:
    """One input or output: dims are ints, or the text of a symbolic dim; `shape` is None where the rank is unknown."""

    name: str
    dtype: DataType
    shape: tuple[int | str, ...] | None

    def __str__(self) -> str:
        dims = "?" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype}[{dims}]"


def specs_from_facts(facts: Mapping[str, Any], function: str, kind: str) -> tuple[TensorSpec, ...]:
    """The inputs or outputs (`kind`) that an executable notes for a public function."""
    found: Sequence[Any] = facts.get("signatures", {}).get(function, {}).get(kind, ())
    return tuple(TensorSpec(n, DataType(d), None if s is None else tuple(s)) for n, d, s in found)
