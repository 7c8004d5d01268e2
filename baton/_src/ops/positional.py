"""Attributes that builders of Relay take in an order, or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.support.diagnostics import fail


def by_name(
    op: str, names: Sequence[str], values: Sequence[object], options: Mapping[str, object]
) -> dict[str, object]:
    """`values` under their names, and `options`; `op-argument` if there are too many, or one is given twice."""
    if len(values) > len(names):
        message = f"{op} takes {len(names)} attributes after its operands, got {len(values)}: {values[len(names) :]!r}"
        raise fail("op-argument", message, kind=TypeError)
    given = dict(zip(names, values, strict=False))
    if twice := sorted(given.keys() & options):
        raise fail("op-argument", f"{op} got {twice[0]} twice, by position and by name", kind=TypeError)
    return {**given, **options}
