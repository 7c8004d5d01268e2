"""Hints for names that are not known: those that are, and are nearly the same."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """The nearest name that a caller may give, quoted as in the caller's program; `otherwise` if none is near."""
    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def did_you_mean_words(name: str, known: Iterable[str], otherwise: str) -> str:
    """Up to three words of a language, an operator's name for example; `otherwise` if none is near."""
    near = get_close_matches(name, list(known), n=3)
    return f"did you mean {' or '.join(near)}?" if near else otherwise
