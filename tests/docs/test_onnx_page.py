"""docs/onnx.md is what the importer's tables and the score say."""

from __future__ import annotations

from tests.docs.onnx_page import PAGE, render


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run `make docs`"
