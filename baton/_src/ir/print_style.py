"""The printing options of TVM v0.19 (`script(name=..., indent_spaces=2)`): what each one means, and which ones are
supported.

`name` and `indent_spaces` change the text; options that ask for what is printed anyway are accepted, and so are those
about terminal colours, which are not used here. Anything else is refused: text in another style than the one asked for
would be a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from baton._src.support.diagnostics import fail

STANDARD: Mapping[str, Any] = {
    "ir_prefix": "I", "tir_prefix": "T", "relax_prefix": "R", "module_alias": "cls", "buffer_dtype": "float32",
    "int_dtype": "int32", "float_dtype": "void", "verbose_expr": False, "print_line_numbers": False,
    "num_context_lines": -1, "syntax_sugar": True, "show_object_address": False, "show_all_struct_info": True,
    "path_to_underline": None, "path_to_annotate": None, "obj_to_underline": None, "obj_to_annotate": None,
}  # fmt: skip
"""Options with a fixed value: this is how text is printed here."""
_DISPLAY = ("style", "black_format")
_INDENT = 4


def styled(text: str, style: Mapping[str, Any]) -> str:
    """`text` in this style. Errors: `TypeError` for an unknown option, `ValueError` for one not offered."""
    for option, wanted in style.items():
        if option in ("name", "indent_spaces", *_DISPLAY):
            continue
        if option not in STANDARD:
            known = ", ".join(sorted((*STANDARD, "name", "indent_spaces", "show_meta")))
            raise fail("print-style", f"no printing option {option!r}", help=f"there are: {known}", kind=TypeError)
        standard = STANDARD[option]
        if wanted not in (standard, None, [], ()):
            message = f"texts are printed with {option}={standard!r} only, not {wanted!r}"
            raise fail("print-style", message, kind=ValueError)
    if style.get("name") is not None:
        text = _named(text, str(style["name"]))
    spaces = style.get("indent_spaces")
    return text if spaces in (None, _INDENT) else _indented(text, int(spaces))


def _named(text: str, name: str) -> str:
    """The outermost class or function under another name."""
    found = re.search(r"^(class|def) (\w+)", text, re.MULTILINE)
    if found is None:
        return text
    old = found[2]
    text = f"{text[: found.start(2)]}{name}{text[found.end(2) :]}"
    return re.sub(rf"^(\s+cls = ){old}$", rf"\g<1>{name}", text, flags=re.MULTILINE) if found[1] == "class" else text


def _indented(text: str, spaces: int) -> str:
    """The text with `spaces` spaces for each level of indentation."""

    def level(found: re.Match[str]) -> str:
        width = len(found[0])
        return " " * (width // _INDENT * spaces + width % _INDENT)

    return re.sub(r"^ +", level, text, flags=re.MULTILINE)
