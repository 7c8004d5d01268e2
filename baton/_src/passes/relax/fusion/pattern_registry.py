"""Patterns of external compilers by name (`tvm.relax.backend.pattern_registry`), for FuseOpsByPattern.

    register_patterns([("mine.matmul", is_op("relax.matmul")(wildcard(), wildcard()))])
    FuseOpsByPattern(get_patterns_with_prefix("mine"))

Patterns registered later come before earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.passes.relax.fusion.fuse_ops_by_pattern import FusionPattern, as_fusion_pattern

_REGISTERED: list[FusionPattern] = []


def register_patterns(patterns: Sequence[Any]) -> None:
    """Add patterns, as FuseOpsByPattern takes them; later ones have the higher priority."""
    _REGISTERED.extend([as_fusion_pattern(p) for p in patterns])


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin with `prefix`, highest priority first."""
    return [p for p in reversed(_REGISTERED) if p.name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of this name registered last; None if there is none."""
    return next((p for p in reversed(_REGISTERED) if p.name == name), None)
