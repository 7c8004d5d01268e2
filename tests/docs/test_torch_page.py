"""docs/torch.md is what the importer's table says."""

from __future__ import annotations

from tests.docs.torch_page import PAGE, render


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"
