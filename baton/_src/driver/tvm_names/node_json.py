"""`tvm.ir.save_json` and `load_json`: programs as JSON around their text, constants included; all else as tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.driver.tvm_json.document import Document
from baton._src.driver.tvm_json.relax_kinds import RELAX
from baton._src.driver.tvm_json.relay_kinds import RELAY
from baton._src.driver.tvm_json.shared_kinds import SHARED
from baton._src.driver.tvm_json.tir_kinds import TIR
from baton._src.driver.tvm_names.node_table import from_table, to_table
from baton._src.driver.tvm_names.param_names import names_beside, with_names
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.driver.tvm_names.texts import is_relax, parse
from baton._src.driver.wiring import node_text, wire
from baton._src.ir.module import IRModule
from baton._src.relax.nodes import Constant
from baton._src.relax.text.metadata import CONSTANT, load_metadata
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function as RelayFunction
from baton._src.support.diagnostics import fail

_WORD = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_HEADING = {"format": "baton.ir"}
_READERS: dict[str, Callable[[str], Any]] = {"relay.module": parse, "script": from_source}


def save_json(node: Any) -> str:
    """A module, or any value of nodes (functions, expressions, statements, types; lists and dicts of them; numbers,
    texts, tensors, targets), as JSON that `load_json` reads.

    The JSON is baton's own, not TVM's table of nodes: the text of a module under a heading where that says everything,
    or else a table (`node_table`). Raises `DiagnosticError` (`api`) for values that hold anything else.
    """
    wire()
    if not isinstance(node, IRModule) or not _is_said_by_text(node):
        return json.dumps({**_HEADING, "kind": "table", **to_table(node)}, indent=1)
    kind = "script" if is_relax(node) else "relay.module"
    content = {**_HEADING, "kind": kind, "text": node_text(node, show_meta=True)}
    named = names_beside(node)
    return json.dumps({**content, "params": named} if named else content, indent=1)


def _is_said_by_text(module: IRModule) -> bool:
    """Whether text has all of a module: a script of one without functions of Relay; Relay's of one without others,
    without attributes of its own, and with plain attributes of functions."""
    functions = [f for f in module.functions.values() if isinstance(f, RelayFunction)]
    if is_relax(module):
        return not functions
    attributes = [item for f in functions for item in f.attrs.items()]
    return not (module.attrs or module.global_infos) and all(
        _WORD.fullmatch(name) and _is_plain(content) for name, content in attributes
    )


def _is_plain(content: Any) -> bool:
    if isinstance(content, (list, tuple)):
        return all(map(_is_plain, content))
    return content is None or isinstance(content, (bool, int, float, str, np.generic))


def pickled(module: IRModule) -> tuple[Any, ...]:
    """A module for `pickle`: what makes it again, and of what."""
    return load_json, (save_json(module),)


def load_json(json_str: str) -> Any:
    """Load the output of `save_json`: baton's, or TVM's, with its Relay modules typed; or the metadata section of a
    printed program, as its statement `metadata = tvm.ir.load_json(...)` does.

    `DiagnosticError`: `json-unknown` for anything else, `json-node` for nodes of TVM's that cannot be read.
    """
    wire()
    try:
        found = json.loads(json_str)
    except (ValueError, TypeError, RecursionError):
        found = None
    if isinstance(found, dict) and "nodes" in found:
        made = Document(found, {**SHARED, **RELAY, **RELAX, **TIR}).read()
        return infer_type(made) if isinstance(made, IRModule) and not is_relax(made) else made
    if isinstance(found, dict) and CONSTANT in found:
        return {CONSTANT: [Constant(tensor) for tensor in load_metadata(json_str)[CONSTANT]]}
    return _read(found)


def _read(found: Any) -> Any:
    """What a document of baton's holds."""
    try:
        if found["format"] != _HEADING["format"]:
            raise ValueError(found["format"])
        if found["kind"] == "table":
            return from_table(found)
        reader, text, named = _READERS[found["kind"]], found["text"], found.get("params")
    except (ValueError, LookupError, TypeError, AttributeError, ImportError):
        raise fail(
            "json-unknown",
            "this is not a program saved by save_json",
            help="give the text that save_json gave, baton's or TVM's",
        ) from None
    return with_names(reader(text), named) if isinstance(named, dict) else reader(text)
