"""Find the cases that a match does not cover, and the clauses that can never run.

Candidates start as the wildcard. A candidate meets the clauses in order: it is covered by one, clashes with it (next
clause), or is too unspecific to tell: then its first wildcard that matters is expanded into every constructor of the
ADT (or a tuple of wildcards) and each is tried anew. Wildcards expand only as deep as clauses look, so recursive ADTs
terminate. A clause that is the first to cover no candidate is unreachable. Source: facts relay-language §2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.types import Constructor, GlobalTypeVar, TypeData
from baton._src.relay.nodes import (
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from baton._src.support.dataclass import dataclass

LIMIT = 10_000
"""Most candidates examined; a match that needs more is treated as exhaustive."""


@dataclass(frozen=True)
class Coverage:
    """`missing`: patterns no clause covers; `unreachable`: indices of clauses that never run."""

    missing: tuple[Pattern, ...]
    unreachable: tuple[int, ...]


def coverage(patterns: Sequence[Pattern], definitions: Mapping[GlobalTypeVar, TypeData]) -> Coverage:
    """How `patterns`, tried in order, cover the values of their type."""
    missing: list[Pattern] = []
    used: set[int] = set()
    candidates: list[Pattern] = [PatternWildcard()]
    looked = 0
    while candidates and looked < LIMIT:
        looked += 1
        candidate = candidates.pop()
        index, verdict = _first_not_clashing(patterns, candidate)
        if verdict == "match":
            used.add(index)
        elif verdict == "clash":
            missing.append(candidate)
        else:
            candidates.extend(reversed(_expand(candidate, patterns[index], definitions)))
    unreachable = tuple(i for i in range(len(patterns)) if i not in used) if looked < LIMIT else ()
    return Coverage(tuple(missing), unreachable)


def _first_not_clashing(patterns: Sequence[Pattern], candidate: Pattern) -> tuple[int, str]:
    for index, pattern in enumerate(patterns):
        verdict = _compare(pattern, candidate)
        if verdict != "clash":
            return index, verdict
    return len(patterns), "clash"


def _compare(pattern: Pattern, candidate: Pattern) -> str:
    """`match`: every value of the candidate fits; `clash`: none does; `unspecified`: some may."""
    if isinstance(pattern, (PatternWildcard, PatternVar)):
        return "match"
    if isinstance(candidate, PatternWildcard):
        return "unspecified"
    if isinstance(pattern, PatternConstructor) and isinstance(candidate, PatternConstructor):
        if pattern.constructor is not candidate.constructor:
            return "clash"
    verdict = "match"
    for inner, found in zip(_fields(pattern), _fields(candidate)):
        here = _compare(inner, found)
        if here == "clash":
            return "clash"
        if here == "unspecified":
            verdict = "unspecified"
    return verdict


def _fields(pattern: Pattern) -> tuple[Pattern, ...]:
    fields: tuple[Pattern, ...] = getattr(pattern, "patterns", ())
    return fields


def _expand(candidate: Pattern, pattern: Pattern, definitions: Mapping[GlobalTypeVar, TypeData]) -> list[Pattern]:
    """The candidate with its first wildcard that `pattern` looks into made specific, in every way there is."""
    if isinstance(candidate, PatternWildcard):
        if isinstance(pattern, PatternTuple):
            return [PatternTuple((PatternWildcard(),) * len(pattern.patterns))]
        assert isinstance(pattern, PatternConstructor)
        return [_general(c) for c in _siblings(pattern.constructor, definitions)]
    fields = _fields(candidate)
    for index, (inner, found) in enumerate(zip(_fields(pattern), fields)):
        if _compare(inner, found) == "unspecified":
            expanded = _expand(found, inner, definitions)
            return [_with(candidate, (*fields[:index], new, *fields[index + 1 :])) for new in expanded]
    return []


def _with(candidate: Any, fields: tuple[Pattern, ...]) -> Pattern:
    made: Pattern = candidate.with_fields(patterns=fields)
    return made


def _general(constructor: Constructor) -> Pattern:
    return PatternConstructor(constructor, (PatternWildcard(),) * len(constructor.inputs))


def _siblings(constructor: Constructor, definitions: Mapping[GlobalTypeVar, TypeData]) -> tuple[Constructor, ...]:
    data = definitions.get(constructor.belong_to)
    return data.constructors if data is not None else (constructor,)


def show_pattern(pattern: Pattern) -> str:
    """A pattern as the text writes it."""
    match pattern:
        case PatternConstructor():
            return f"{pattern.constructor.name_hint}({', '.join(show_pattern(p) for p in pattern.patterns)})"
        case PatternTuple():
            return f"({', '.join(show_pattern(p) for p in pattern.patterns)})"
        case PatternVar():
            return f"%{pattern.var.name_hint}"
        case _:
            return "_"
