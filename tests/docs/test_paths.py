"""The files that the documentation names are there: a reader who follows it arrives."""

from __future__ import annotations

import re
from itertools import product
from keyword import kwlist
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SOURCE = ROOT / "baton" / "_src"
PACKAGES = sorted(p.parent for p in SOURCE.rglob("__init__.py") if p.parent != SOURCE)
LAYERS = {p.name for p in SOURCE.iterdir()}
OF_USERS = {"script.py", "model.py"}
"""What readers' own files are called."""


def named(page: str) -> set[str]:
    """Paths in backquotes that end in `.py` or in a slash; names in braces are several.

    Paths that start at a layer of `_src` may leave `.py` or the slash out: `tir/kernel_digest`.
    """
    found: set[str] = set()
    for path in re.findall(r"`([\w./{},-]+(?:\.py|/))`", page):
        parts = [p[1:-1].split(",") if p[0] == "{" else [p] for p in re.findall(r"\{[^}]*\}|[^{}]+", path)]
        found |= {"".join(p) for p in product(*parts)}
    found |= {path for path in re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", page) if path.split("/")[0] in LAYERS}
    return {p for p in found - OF_USERS if re.search(r"\w", p)}


@pytest.fixture(scope="module")
def there() -> set[str]:
    """What names a file or a folder: its path from any folder on, without `.py` too; folders end with a slash."""
    tops = ("baton", "tests", "examples", "bench", "docs")
    files = [p for top in tops for p in (ROOT / top, *(ROOT / top).rglob("*")) if "__pycache__" not in p.parts]
    found: set[str] = set()
    for path in files:
        parts, end = path.relative_to(ROOT).parts, "/" if path.is_dir() else ""
        names = {f"{'/'.join(parts[n:])}{end}" for n in range(len(parts))}
        found |= names | {name.removesuffix(".py") for name in names} | {name.removesuffix("/") for name in names}
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_paths(page: Path, there: set[str]) -> None:
    assert not missing(page, there)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links(page: Path) -> None:
    """Files that a page links to are there, and so are the headings in them."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for file, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not heading or heading in headings(target), f"{file}#{heading}"


def headings(page: Path) -> set[str]:
    """How links name the headings of a page."""
    lines = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in lines}


def test_paths_in_sources(there: set[str]) -> None:
    sources = [p for top in ("baton", "bench", "examples", "tests") for p in (ROOT / top).rglob("*.py")]
    assert not {str(p): names for p in sources if (names := missing(p, there))}


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_maps_of_folders(folder: Path) -> None:
    """A folder's `__init__` maps it: a word it quotes is a file of the layer, or at least a word of the code there."""
    text = (folder / "__init__.py").read_text("utf-8").split('"""')[1]
    layer = SOURCE / folder.relative_to(SOURCE).parts[0]
    code = " ".join(p.read_text("utf-8") for p in folder.glob("*.py") if p.name != "__init__.py")
    known = {p.stem for p in layer.rglob("*")} | set(re.findall(r"\w+", code)) | set(kwlist)
    assert not set(re.findall(r"`([a-z_]\w*)`", text)) - known


def test_contracts_name_files_of_their_layers() -> None:
    """A section's paths start at `_src` or at a layer in its heading: that another layer has such a file is no help."""
    for section in (ROOT / "docs" / "design" / "contracts.md").read_text("utf-8").split("\n## ")[1:]:
        heading = section.partition("\n")[0]
        places = (SOURCE, *(SOURCE / layer for layer in heading.split(", ")))
        found = {path for path in named(section) for place in places if is_there(place, path)}
        assert named(section) <= found, (heading, sorted(named(section) - found))


def test_files_to_open_first_are_in_their_layers() -> None:
    page = (ROOT / "docs" / "design" / "layers.md").read_text("utf-8")
    for layers, files in re.findall(r"^\| (`[^|]*) \| [^|]* \| ([^|]*) \|$", page, re.MULTILINE):
        for layer, path in product(re.findall(r"`(\w+)`", layers), named(files)):
            assert is_there(SOURCE / layer, path), (layer, path)


def test_contradictions_that_are_cited_are_explained() -> None:
    number = re.compile(r"\b[AB]-\d\d\b")
    explained = set(number.findall((ROOT / "docs" / "design" / "sources.md").read_text("utf-8")))
    folders = (SOURCE, ROOT / "tests")
    sources = [p for folder in folders for pattern in ("*.py", "*.tsv") for p in folder.rglob(pattern)]
    assert not {str(p): cited for p in sources if (cited := set(number.findall(p.read_text("utf-8"))) - explained)}


def is_there(place: Path, path: str) -> bool:
    return (place / path).exists() or (place / f"{path}.py").exists()


def missing(page: Path, there: set[str]) -> list[str]:
    return sorted(path for path in named(page.read_text("utf-8")) if path not in there)
