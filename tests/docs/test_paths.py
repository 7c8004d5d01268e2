"""The files that the documentation names are there: a reader who follows it arrives."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
OF_USERS = {"script.py", "model.py"}
"""What readers' own files are called."""


def named(page: str) -> set[str]:
    """Paths in backquotes that end in `.py` or in a slash; names in braces are several."""
    found: set[str] = set()
    for path in re.findall(r"`([\w./{},-]+(?:\.py|/))`", page):
        parts = [p[1:-1].split(",") if p[0] == "{" else [p] for p in re.findall(r"\{[^}]*\}|[^{}]+", path)]
        found |= {"".join(p) for p in product(*parts)}
    return {p for p in found - OF_USERS if re.search(r"\w", p)}


@pytest.fixture(scope="module")
def there() -> list[str]:
    """Every file and folder, from a slash on; folders end with one."""
    tops = ("baton", "tests", "examples", "bench", "docs")
    files = [p for top in tops for p in (ROOT / top, *(ROOT / top).rglob("*")) if "__pycache__" not in p.parts]
    return [f"/{p.relative_to(ROOT).as_posix()}{'/' if p.is_dir() else ''}" for p in files]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_paths(page: Path, there: list[str]) -> None:
    assert not missing(page, there)


def test_paths_in_sources(there: list[str]) -> None:
    sources = [p for top in ("baton", "bench", "examples", "tests") for p in (ROOT / top).rglob("*.py")]
    assert not {str(p): names for p in sources if (names := missing(p, there))}


def missing(page: Path, there: list[str]) -> list[str]:
    return [p for p in sorted(named(page.read_text("utf-8"))) if not any(t.endswith(f"/{p}") for t in there)]
