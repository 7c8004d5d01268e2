"""The printing options of TVM v0.19 (`script(name=..., tir_prefix="tir")`): what each one means, and which ones are
supported.

Those of names, prefixes, indentation and line numbers change the finished text, `syntax_sugar` how TIR is written
(`syntax_is_plain`), and `verbose_expr` what is said before a part of a program (`definitions_are_shown`); options that
ask for what is printed anyway are accepted, and so are those about terminal colours, which are not used here. Anything
else is refused: text in another style than the one asked for would be a wrong answer. Options about what is said at all
(`show_meta`, `show_all_struct_info`) are those of `Node.script`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from baton._src.support.diagnostics import fail

STANDARD: Mapping[str, object] = {
    "buffer_dtype": "float32", "int_dtype": "int32", "float_dtype": "void",
    "num_context_lines": -1, "show_object_address": False, "path_to_underline": None,
    "path_to_annotate": None, "obj_to_underline": None, "obj_to_annotate": None,
}  # fmt: skip
"""Options with a fixed value: this is how text is printed here."""
_PREFIXES = {"ir_prefix": "I", "tir_prefix": "T", "relax_prefix": "R"}
_ALIAS = "cls"
_CHANGES = ("name", "module_alias", *_PREFIXES, "indent_spaces", "print_line_numbers", "syntax_sugar", "verbose_expr")
_DISPLAY = ("style", "black_format")
_INDENT = 4
_OUTSIDE_OF_QUOTES = r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?<![\w.])"""
"""In front of a name: a literal is taken whole, so that nothing in it is a name."""


_PLAIN: ContextVar[bool] = ContextVar("plain", default=False)
_DEFINING: ContextVar[bool] = ContextVar("defining", default=False)


def syntax_is_plain() -> bool:
    """Whether short forms of TIR are left out: T.grid, T.axis.remap, buffers in signatures, implicit root blocks."""
    return _PLAIN.get()


def definitions_are_shown() -> bool:
    """Whether the variables that a part of a program uses, and does not define, are defined before it."""
    return _DEFINING.get()


@contextmanager
def syntax_of(style: Mapping[str, object]) -> Iterator[None]:
    """Within the `with` block, texts are written with or without short forms and definitions, as this style asks."""
    plain = _PLAIN.set(not style.get("syntax_sugar", True))
    defining = _DEFINING.set(bool(style.get("verbose_expr", False)))
    try:
        yield
    finally:
        _DEFINING.reset(defining)
        _PLAIN.reset(plain)


def styled(text: str, style: Mapping[str, object]) -> str:
    """`text` in this style. Errors: `TypeError` for an unknown option, `ValueError` for one not offered."""
    _check(style)
    if style.get("name") is not None:
        text = _named(text, str(style["name"]))
    if style.get("module_alias", _ALIAS) != _ALIAS:
        text = _with_alias(text, str(style["module_alias"]))
    prefixes = {standard: str(style[option]) for option, standard in _PREFIXES.items() if option in style}
    if any(standard != wanted for standard, wanted in prefixes.items()):
        text = _with_prefixes(text, prefixes)
    if style.get("indent_spaces") not in (None, _INDENT):
        text = _indented(text, int(str(style["indent_spaces"])))
    return _numbered(text) if style.get("print_line_numbers") else text


def _check(style: Mapping[str, object]) -> None:
    for option, wanted in style.items():
        if option in (*_CHANGES, *_DISPLAY):
            continue
        if option not in STANDARD:
            known = ", ".join(sorted((*STANDARD, *_CHANGES, "show_meta", "show_all_struct_info")))
            raise fail("print-style", f"no printing option {option!r}", help=f"there are: {known}", kind=TypeError)
        standard = STANDARD[option]
        if wanted not in (standard, None, [], (), {}):
            message = f"texts are printed with {option}={standard!r} only, not {wanted!r}"
            raise fail("print-style", message, kind=ValueError)
    for option in (*_PREFIXES, "module_alias"):
        wanted = style.get(option, _ALIAS)
        if not isinstance(wanted, str) or not (wanted.isidentifier() or (option == "module_alias" and not wanted)):
            raise fail("print-style", f"{option} is a name, not {wanted!r}", kind=ValueError)


def _named(text: str, name: str) -> str:
    """The outermost class or function under another name."""
    found = re.search(r"^(class|def) (\w+)", text, re.MULTILINE)
    if found is None:
        return text
    old = found[2]
    text = f"{text[: found.start(2)]}{name}{text[found.end(2) :]}"
    return re.sub(rf"^(\s+cls = ){old}$", rf"\g<1>{name}", text, flags=re.MULTILINE) if found[1] == "class" else text


def _with_alias(text: str, alias: str) -> str:
    """The module under another name within its functions; under its own one if there is to be none."""
    found = re.search(rf"^\s+{_ALIAS} = (\w+)\n", text, re.MULTILINE)
    if found is None:
        return text
    if alias:
        _check_free(text, alias)
    else:
        text = re.sub(rf"^\s+{_ALIAS} = \w+\n", "", text, flags=re.MULTILINE)
    return re.sub(rf"{_OUTSIDE_OF_QUOTES}{_ALIAS}(?=\.| = )", lambda m: m[1] or alias or found[1], text)


def _check_free(text: str, name: str) -> None:
    """ValueError if the program has something else of this name: what is printed would not be this program."""
    code = re.sub(r"^ *#.*$", "", text, flags=re.MULTILINE)
    if any(found[1] is None for found in re.finditer(rf"{_OUTSIDE_OF_QUOTES}{name}\b", code)):
        raise fail("print-style", f"{name} is the name of something in this program", kind=ValueError)


def _with_prefixes(text: str, prefixes: Mapping[str, str]) -> str:
    """The languages under other names, where they are imported and where they are used."""

    for standard, wanted in prefixes.items():
        if wanted != standard:
            _check_free(text, wanted)

    def renamed(found: re.Match[str]) -> str:
        return found[1] or prefixes.get(found[2], found[2])

    text = re.sub(rf"{_OUTSIDE_OF_QUOTES}([ITR])(?=\.)", renamed, text)
    imported = r"^(# from tvm\.script import \w+ as )([ITR])$"
    return re.sub(imported, lambda m: m[1] + prefixes.get(m[2], m[2]), text, flags=re.MULTILINE)


def _indented(text: str, spaces: int) -> str:
    """The text with `spaces` spaces for each level of indentation."""

    def level(found: re.Match[str]) -> str:
        width = len(found[0])
        return " " * (width // _INDENT * spaces + width % _INDENT)

    return re.sub(r"^ +", level, text, flags=re.MULTILINE)


def _numbered(text: str) -> str:
    """Each line behind its number, counted from 1."""
    lines = text.split("\n")
    width = len(str(len(lines)))
    return "\n".join(f"{number:>{width}} {line}".rstrip() for number, line in enumerate(lines, 1))
