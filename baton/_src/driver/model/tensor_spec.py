"""Inputs and outputs of a model, as an executable records them and users see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import DataType
from baton._src.values.meaning import PLAIN, Meaning


@dataclass(frozen=True)
class TensorSpec:
    """One input or output: dims are ints, or the text of a symbolic dim; `shape` is None where the rank is unknown.

    If `meaning` says that it stands for strings, dictionaries or a sequence, `dtype` and `shape` are those of the
    numbers that represent them inside.
    """

    name: str
    dtype: DataType
    shape: tuple[int | str, ...] | None
    meaning: Meaning = PLAIN

    def __str__(self) -> str:
        dims = "?" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.kind}[{dims}]"

    @property
    def kind(self) -> str:
        """The element type as users see it."""
        return str(self.dtype) if self.meaning == PLAIN else self.meaning.kind


def specs_from_facts(facts: Mapping[str, Any], function: str, kind: str) -> tuple[TensorSpec, ...]:
    """The inputs or outputs (`kind`) that an executable records for a public function."""
    found: Sequence[Any] = facts.get("signatures", {}).get(function, {}).get(kind, ())
    return tuple(_spec(*fields) for fields in found)


def _spec(name: str, dtype: str, shape: Sequence[int | str] | None, meaning: Sequence[Any] = PLAIN) -> TensorSpec:
    kind, keys, length = meaning
    dims = None if shape is None else tuple(shape)
    return TensorSpec(name, DataType(dtype), dims, Meaning(kind, tuple(keys), length))
