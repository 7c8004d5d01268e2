"""The pytest marker `rule`, which names the conformance rule a test checks.

    @pytest.mark.rule("RELAX-WF-13")
    @pytest.mark.rule("RELAX-WF-13", rejects=True)

A marker that names no rule, or claims a rejection where the table has none, fails the collection:
a misspelt id would otherwise look like a rule that is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

import pytest

from tests.conformance.table import load_rules


@dataclass(frozen=True, slots=True)
class Check:
    """A test says it checks a rule, either what it accepts or what it rejects."""

    rule_id: str
    rejects: bool
    node_id: str


def fault_of(mark: pytest.Mark) -> str | None:
    """Why this `rule` marker is no good, or None."""
    if len(mark.args) != 1 or not isinstance(mark.args[0], str) or set(mark.kwargs) - {"rejects"}:
        return 'a rule marker reads rule("ID") or rule("ID", rejects=True)'
    rule_id: str = mark.args[0]
    rule = load_rules().get(rule_id)
    if rule is None:
        near = get_close_matches(rule_id, load_rules(), n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"no conformance rule is called {rule_id!r}{hint}"
    if rule.is_retired:
        return f"rule {rule_id} is retired"
    if mark.kwargs.get("rejects", False) and not rule.can_reject:
        return f"rule {rule_id} has nothing to reject"
    return None


def checks_of(item: pytest.Item) -> Iterator[Check]:
    """The rules one test checks; its markers have been found good."""
    for mark in item.iter_markers("rule"):
        yield Check(mark.args[0], bool(mark.kwargs.get("rejects", False)), item.nodeid)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse the collection if any marker is at fault, naming all of them."""
    faults = [
        f"{item.nodeid}: {fault}"
        for item in items
        for mark in item.iter_markers("rule")
        if (fault := fault_of(mark)) is not None
    ]
    if faults:
        raise pytest.UsageError("\n".join(dict.fromkeys(faults)))
