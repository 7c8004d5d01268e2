"""Attributes of nodes as Python values."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.onnx.files.model_folder import ModelFolder
from baton._src.frontends.onnx.files.reader import STRING, read_tensor
from baton._src.frontends.onnx.files.sparse import read_sparse
from baton._src.frontends.onnx.strings import read_strings
from baton._src.support.diagnostics import fail

_FIELDS = {
    1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings", 10: "graphs", 11: "sparse_tensor",
    13: "tp",
}  # fmt: skip
"""The fields in which ONNX's kinds of attributes store their content."""


def value_of(attribute: Any, folder: ModelFolder | None, with_strings: bool) -> Any:
    """Numbers, str, lists of them, arrays of tensors (sparse ones are made dense); graphs and types unchanged.

    Tensors of strings are refused (`onnx-dtype`) unless `with_strings`. `folder` is that of external data.
    """
    field = _FIELDS.get(attribute.type)
    if field is None:
        raise fail("onnx-attribute", f"attribute {attribute.name!r} has a type that is not supported")
    content = getattr(attribute, field)
    match field:
        case "s":
            return content.decode("utf-8", "replace")
        case "strings":
            return [s.decode("utf-8", "replace") for s in content]
        case "t":
            return (
                read_strings(content) if content.data_type == STRING and with_strings else read_tensor(content, folder)
            )
        case "sparse_tensor":
            return read_sparse(content, folder)
        case "floats" | "ints" | "graphs":
            return list(content)
        case _:
            return content
