"""The golden fixture: compares, reports a difference, and rewrites with --update."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import conftest
from tests.conftest import Golden


@pytest.fixture
def stem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(conftest, "TESTS", tmp_path / "tests")
    return tmp_path / "tests" / "golden" / "test_module" / "test_name"


def test_missing_text_fails_and_update_writes_it(stem: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="does not exist; run pytest with --update"):
        Golden(stem, update=False).check("one\ntwo")
    Golden(stem, update=True).check("one\ntwo")
    Golden(stem, update=False).check("one\ntwo\n")
    assert stem.with_name("test_name.txt").read_text() == "one\ntwo\n"


def test_difference_is_shown_as_a_diff(stem: Path) -> None:
    Golden(stem, update=True).check("one\ntwo", name="first")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)test_name\.first\.txt.*-two\n\+three"):
        Golden(stem, update=False).check("one\nthree", name="first")
