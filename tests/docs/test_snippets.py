"""Every Python block of the README and of docs/ runs; the blocks of one page share a namespace, from top to bottom."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.snippets import Snippet, read_snippets

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES_THAT_RUN = [page for page in PAGES if any(s.no_run is None for s in read_snippets(page))]


def run_snippet(snippet: Snippet, module: ModuleType) -> None:
    """Execute one block; script decorators find its source as they would in a file."""
    shown = f"{snippet.page.relative_to(ROOT)}:{snippet.line}"
    # Blank lines in front make line numbers in a traceback those of the page.
    source = "\n" * (snippet.line - 1) + snippet.code + "\n"
    linecache.cache[shown] = (len(source), None, source.splitlines(keepends=True), shown)
    exec(compile(source, shown, "exec"), module.__dict__)


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that raises, or an assertion in it that fails, fails the page."""
    monkeypatch.chdir(ROOT)
    module = ModuleType(f"snippets_of_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for snippet in read_snippets(page):
        if snippet.no_run is None:
            run_snippet(snippet, module)


def test_every_exception_has_a_reason() -> None:
    for page in PAGES:
        for snippet in read_snippets(page):
            assert snippet.no_run != "", f"{page.name}:{snippet.line}: say why this block is not run"


def test_reader_finds_blocks_and_exceptions(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n```python\na = 1\n```\n<!-- no-run: needs a GPU -->\n\n```python\nb\n```\n"
        "- item\n\n  ```python\n  if a:\n      c = 2\n  ```\n```sh\nls\n```\n````markdown\n```python\nno\n```\n````\n"
    )
    found = [(s.line, s.code, s.no_run) for s in read_snippets(page)]
    assert found == [(3, "a = 1", None), (8, "b", "needs a GPU"), (13, "if a:\n    c = 2", None)]
