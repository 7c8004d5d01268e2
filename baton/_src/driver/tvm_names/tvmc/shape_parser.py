"""`--input-shapes`: "data:[1,3,224,224] mask:[1,-1]" as shapes by name."""

from __future__ import annotations

import argparse
import re

from baton._src.tir.expr import AnyDim

_ONE = re.compile(r"\s*(?P<name>[^\s\[\]]+?)\s*:\s*\[(?P<dims>[^\[\]]*)\]\s*,?")
_DIM = re.compile(r"-?\d+")


def parse_shape_string(inputs_string: str) -> dict[str, list[int | AnyDim]]:
    """Shapes by the names of inputs; a negative number is a size that is open (`relay.Any()`).

    Names may hold anything but blanks and brackets. Raises `argparse.ArgumentTypeError` for any other text.
    """
    found: dict[str, list[int | AnyDim]] = {}
    place = 0
    while place < len(inputs_string.rstrip()):
        one = _ONE.match(inputs_string, place)
        dims = [d.strip() for d in one["dims"].split(",")] if one is not None and one["dims"].strip() else []
        if one is None or not all(_DIM.fullmatch(d) for d in dims):
            raise _wrong(f"cannot read {inputs_string[place:].strip()!r}")
        if one["name"] in found:
            raise _wrong(f"{one['name']!r} is given twice")
        found[one["name"]] = [int(d) if int(d) >= 0 else AnyDim() for d in dims]
        place = one.end()
    if not found:
        raise _wrong("there is no shape")
    return found


def _wrong(what: str) -> argparse.ArgumentTypeError:
    form = '"input_name:[dim1,dim2,...,dimn] input_name2:[dim1,dim2]"'
    return argparse.ArgumentTypeError(f"{what}; --input-shapes argument must be of the form {form}")
