"""`--pass-config NAME=VALUE` and lists of passes, as texts, for a `PassContext`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.tvmc.errors import refuse
from baton._src.transform.context import PassContext

_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, Any]:
    """Settings by name, of the types that they have. `TVMCException` for others, and for those that are no texts."""
    return dict(_parsed(text) for text in input_configs or ())


def _parsed(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not name or not equals:
        raise refuse(f"Invalid format for configuration {text!r}, use <config>=<value>")
    known = PassContext.list_configs()
    if name not in known:
        raise refuse(f"there is no configuration {name!r}", f"there are: {', '.join(sorted(known))}")
    kind = known[name]["type"]
    if kind == "str":
        return name, value
    if kind == "int" and value.lstrip("-").isdigit():
        return name, int(value)
    if kind == "bool" and value.lower() in _TRUTH:
        return name, _TRUTH[value.lower()]
    if kind in ("int", "bool"):
        raise refuse(f"Invalid value {value!r} for configuration {name!r}", f"it takes a value of type {kind}")
    raise refuse(
        f"configuration {name!r} takes a value that cannot be written as text", "enter a PassContext in Python"
    )


def parse_pass_list_str(input_string: str | Sequence[str] | None) -> list[str]:
    """Names of passes from "A,B" or "[A,B]"."""
    if input_string is None or not isinstance(input_string, str):
        return list(input_string or ())
    inner = input_string.strip().removeprefix("[").removesuffix("]")
    return [name.strip() for name in inner.split(",") if name.strip()]
