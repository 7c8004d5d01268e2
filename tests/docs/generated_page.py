"""What the programs that write a page of docs/ do with its text."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_check(page: Path, text: str) -> None:
    """Write `text` as `page`; with `--check` among the arguments, exit with status 1 if that is not what it says."""
    if "--check" in sys.argv[1:]:
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            sys.exit(f"{page.name} is out of date; run `make docs`")
    else:
        page.write_text(text, encoding="utf-8")
