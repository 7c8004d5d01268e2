"""The operators' builders by language and namespace, for the public packages (`relay.nn`, `relax.op.image`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ops.builders import RELAX, RELAY, as_tree
from baton._src.ops.namespace import Namespace
from baton._src.ops.text_builders import RELAX_TEXT
from baton._src.passes.relax.pattern_matching_rewriter import PatternMatchingRewriter
from baton._src.relax.special_builders import SPECIAL_BUILDERS
from baton._src.script.decorators import PRIM_FUNC, TIR_MACRO, on_module
from baton._src.script.ir_builder.relax_words import BUILDER_WORDS as RELAX_BUILDER_WORDS
from baton._src.script.ir_builder.tir_words import BUILDER_WORDS, SCRIPT_WORDS
from baton._src.script.namespaces import ir_entries, relax_entries


def relay_builders(namespace: str = "") -> Mapping[str, Any]:
    """Relay's builders below `namespace` (`""`: all of them, with the namespaces in it)."""
    return _entries(RELAY, namespace)


def relax_builders(namespace: str = "") -> Mapping[str, Any]:
    """Relax's builders below `namespace`, special operators included."""
    special = {name: build for name, build in SPECIAL_BUILDERS.items() if _parent(name) == namespace}
    return {**_entries(RELAX, namespace), **{n.rpartition(".")[2]: b for n, b in special.items()}}


def _entries(root: Namespace, namespace: str) -> dict[str, Any]:
    found = root.find(namespace) if namespace else root
    return dict(found.items()) if isinstance(found, Namespace) else {}


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def script_ir() -> Mapping[str, Any]:
    """The contents of `from tvm.script import ir as I`."""
    return ir_entries()


REWRITER = on_module("R.rewriter", PatternMatchingRewriter.from_module)
"""`@R.rewriter`: a class of two functions, `pattern` and `replacement`, as a pass."""


def script_relax() -> Mapping[str, Any]:
    """The contents of `from tvm.script import relax as R`."""
    return _nested({**relax_entries(RELAX_TEXT), "rewriter": REWRITER})


def script_tir() -> Mapping[str, Any]:
    """The contents of `from tvm.script import tir as T`."""
    return _nested({**SCRIPT_WORDS, "prim_func": PRIM_FUNC, "macro": TIR_MACRO})


def builder_relax() -> Mapping[str, Any]:
    """The contents of `from tvm.script.ir_builder import relax as R`."""
    return {**script_relax(), **RELAX_BUILDER_WORDS}


def builder_tir() -> Mapping[str, Any]:
    """The contents of `from tvm.script.ir_builder import tir as T`."""
    return _nested(BUILDER_WORDS)


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as namespaces."""
    return {name: Namespace(_nested(v)) if isinstance(v, dict) else v for name, v in as_tree(flat).items()}
