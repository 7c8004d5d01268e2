"""Every Python block of the README and of docs/ runs; the blocks of one page share a namespace, from top to bottom."""

from __future__ import annotations

import inspect
import linecache
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.snippets import Snippet, read_snippets

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = {"torch.md": "torch"}
"""Packages that the tests do without, by the page that shows their use."""
PAGES_THAT_RUN = [page for page in PAGES if any(s.no_run is None for s in read_snippets(page))]


def run_page(snippets: list[Snippet], name: str, module: ModuleType) -> None:
    """Execute the blocks of a page in one namespace, as if the page were a file of which all else is blank.

    So a traceback points into the page, and script decorators find the source of what they decorate.
    """
    lines: list[str] = []
    for snippet in snippets:
        lines += [""] * (snippet.line - 1 - len(lines)) + snippet.code.splitlines()
    module.__file__ = name
    linecache.cache[name] = (0, None, [f"{line}\n" for line in lines], name)
    for snippet in snippets:
        source = "\n" * (snippet.line - 1) + snippet.code
        exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)


@pytest.mark.parametrize("page", PAGES_THAT_RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A block that raises, or an assertion in it that fails, fails the page.

    It runs in a folder of its own, in which the repository's folders can be read as from its root.
    """
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name])
    for entry in ("examples", "bench", "tests", "docs"):
        if (ROOT / entry).exists():
            (tmp_path / entry).symlink_to(ROOT / entry)
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"snippets_of_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    snippets = [snippet for snippet in read_snippets(page) if snippet.no_run is None]
    run_page(snippets, str(page.relative_to(ROOT)), module)


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


def test_decorators_find_the_source_of_what_a_page_defines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\na = 1\n```\ntext\n```python\nclass Second:\n    b = a\n```\n")
    module = ModuleType("snippets_of_page")
    sys.modules[module.__name__] = module
    try:
        run_page(list(read_snippets(page)), "page.md", module)
        assert inspect.getsource(module.Second) == "class Second:\n    b = a\n"
    finally:
        del sys.modules[module.__name__]
