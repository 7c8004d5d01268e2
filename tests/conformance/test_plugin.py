"""The table reads, bad markers stop the collection, and the report tells what is missing."""

from __future__ import annotations

import pytest

from tests.conformance.plugin import Check, fault_of
from tests.conformance.report import render
from tests.conformance.table import Rule, load_rules


def mark(*args: object, **kwargs: object) -> pytest.Mark:
    return pytest.mark.rule(*args, **kwargs).mark


def test_table_has_every_rule_once() -> None:
    rules = load_rules()
    assert len(rules) == 574
    assert rules["RELAX-WF-13"].group == "RELAX-WF"


def test_good_markers_pass() -> None:
    with_reject = next(rule for rule in load_rules().values() if rule.can_reject)
    assert fault_of(mark(with_reject.id)) is None
    assert fault_of(mark(with_reject.id, rejects=True)) is None


def test_faulty_markers_say_what_is_wrong() -> None:
    accept_only = next(rule for rule in load_rules().values() if not rule.can_reject)
    assert "did you mean" in (fault_of(mark("RELAX-WF-1333")) or "")
    assert "nothing to reject" in (fault_of(mark(accept_only.id, rejects=True)) or "")
    assert "reads rule" in (fault_of(mark("RELAX-WF-13", reject=True)) or "")


def test_report_names_the_rules_that_lack_a_test() -> None:
    rules = [
        Rule("RELAX-A-1", "001", "both | sides", "type", "x", "y -> type-error"),
        Rule("RELAX-A-2", "001", "accept only", "type", "x", "-"),
        Rule("RELAY-B-1", "004", "untested", "type", "x", "-"),
        Rule("RELAY-B-2", "004", "RETIRED gone", "type", "x", "-"),
    ]
    checks = [
        Check("RELAX-A-1", False, "tests/test_a.py::test_one[0]"),
        Check("RELAX-A-1", False, "tests/test_a.py::test_one[1]"),
        Check("RELAX-A-2", False, "tests/test_a.py::TestB::test_two"),
    ]
    page = render(rules, checks)
    assert "| [RELAX-A](#relax-a) | 2 | 1 | 0 | 1 |" in page
    assert "| **all** | 3 | 1 | 1 | 1 |" in page
    assert "| RELAX-A-1 | type | both \\| sides | [`test_one`](../tests/test_a.py) | **none** |" in page
    assert "[`TestB.test_two`](../tests/test_a.py) | – |" in page
    assert "Open: RELAY-B-1." in page
