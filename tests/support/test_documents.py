"""Documents: groups, nesting, underlining, and layout of deep documents without recursion."""

from __future__ import annotations

from baton._src.support import documents as d


def test_groups_break_only_if_they_must() -> None:
    call = d.bracket("f(", ["a" * 10, "b" * 10], ")")
    assert call.render() == "f(aaaaaaaaaa, bbbbbbbbbb)"
    assert call.render(width=20) == "f(\n    aaaaaaaaaa,\n    bbbbbbbbbb\n)"
    assert d.bracket("(", [], ")").render() == "()"


def test_inner_groups_stay_flat_where_they_fit() -> None:
    inner = d.bracket("g(", ["a", "b"], ")")
    outer = d.bracket("f(", [inner, "c" * 12], ")")
    assert outer.render(width=16) == "f(\n    g(a, b),\n    cccccccccccc\n)"


def test_hard_lines_break_their_groups_and_are_indented() -> None:
    body = d.nest(4, d.concat("def f():", d.hardline, "x = 1", d.hardline, d.hardline, "return x"))
    assert d.group(body).render() == "def f():\n    x = 1\n\n    return x"


def test_text_with_newlines_is_several_lines() -> None:
    assert d.nest(2, d.concat("a", d.hardline, d.text("b\nc"))).render() == "a\n  b\n  c"


def test_underlining_marks_the_preferred_node() -> None:
    inner, outer, elsewhere = object(), object(), object()
    doc = d.concat("y = ", d.origin(outer, "add(", d.origin(inner, "x"), ", z)"))
    assert doc.render(underline=[inner, outer]) == "y = add(x, z)\n        ^"
    assert doc.render(underline=[elsewhere, outer]) == "y = add(x, z)\n    ^^^^^^^^^"
    assert doc.render(underline=[elsewhere]) == "y = add(x, z)"


def test_underlining_goes_over_several_lines() -> None:
    node = object()
    doc = d.concat("if c:", d.origin(node, d.nest(2, d.concat(d.hardline, "a", d.hardline, "bb"))))
    assert doc.render(underline=[node]) == "if c:\n  a\n  ^\n  bb\n  ^^"


def test_deep_documents_need_no_stack() -> None:
    doc = d.text("x")
    for _ in range(50_000):
        doc = d.group("(", d.nest(1, doc), ")")
    assert len(doc.render()) == 100_001
