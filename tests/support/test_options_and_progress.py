"""Settings are checked by name and type; progress is told to whoever listens."""

from __future__ import annotations

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.options import Option, Options
from baton._src.support.progress import Step, report, reporting

TABLE = Options([Option("a.depth", int, 3, "how deep"), Option("a.rate", float, 0.5), Option("a.on", bool, True)])


def test_known_settings_of_the_right_type_pass() -> None:
    assert TABLE.checked({"a.depth": 4, "a.rate": 1, "a.on": False}) == {"a.depth": 4, "a.rate": 1.0, "a.on": False}
    assert TABLE["a.depth"].default == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a.dept": 1}, "did you mean 'a.depth'"),
        ({"a.depth": "4"}, "takes int, got str"),
        ({"a.depth": True}, "takes int"),
    ],
)
def test_mistakes_are_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(DiagnosticError, match=said):
        TABLE.checked(given)


def test_progress_is_quiet_unless_someone_listens() -> None:
    steps: list[Step] = []
    with reporting(steps.append):
        report("work", 0, 2, "a")
        report("other", 1, 2, "x")
    report("other", 2, 2)
    assert [(s.task, s.done, s.total, s.item) for s in steps] == [
        ("work", 0, 2, "a"),
        ("other", 1, 2, "x"),
    ]
