"""Which operators of a model there are converters for: those that are missing are told all at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from typing import Any

from baton._src.frontends.onnx.functions import EXPANDED
from baton._src.frontends.onnx.table import CONVERTERS, DOMAINS
from baton._src.support.diagnostics import Diagnostic, fail
from baton._src.support.operator_errors import UnsupportedOperatorError

MAIN = ("", "ai.onnx")
"""The names of ONNX's own domain."""
MOST_NODES = 1 << 20
"""So many nodes a model may have with its functions inline."""


def _of_microsoft(help: str, *names: str) -> dict[str, str]:
    return {f"com.microsoft.{name}": help for name in names}


INSTEAD = {
    "ImageDecoder": "decode the image before the model, and give its pixels: baton has no decoders of image files",
    "com.microsoft.nchwc": "onnxruntime has saved the model for one kind of processor (ORT_ENABLE_ALL): give the model"
    " it was made from, or save it with ORT_ENABLE_EXTENDED",
    "ai.onnx.contrib": "the operator is one of onnxruntime-extensions: do before the model what it does",
    **_of_microsoft(
        "the operator is a whole loop around a decoder: export the decoder alone, with its keys and values as inputs"
        " and outputs (optimum-cli export onnx --task text-generation-with-past), and call it for each token",
        "BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch",
    ),
    **_of_microsoft(
        "onnxruntime's convert_to_packing_mode wrote it: give the model from before that step",
        "PackedAttention", "PackedMultiHeadAttention", "RemovePadding", "RestorePadding",
    ),
    **_of_microsoft(
        "the node holds what one device or library has prepared for itself: give the model it was made from",
        "EPContext", "MatMulFpQ4", "Snpe",
    ),
}  # fmt: skip
"""What to do about operators that are not supported, by domain or by domain and name."""

FunctionKey = tuple[str, str, str]
"""(domain, name, overload): what a node calls, or a function is called by."""


def called(proto: Any, name: str) -> FunctionKey:
    """The key of a node or of a function; `overload` tells functions of one name apart."""
    return (proto.domain, name, proto.overload)


def check_supported(graph: Any, functions: Mapping[FunctionKey, Any]) -> None:
    """`UnsupportedOperatorError` for the operators of a graph (or function) that nothing converts."""
    missing: dict[str, list[str]] = {}
    for proto in all_nodes(graph, functions):
        if called(proto, proto.op_type) in functions or (proto.domain, proto.op_type) in EXPANDED:
            continue
        if proto.op_type not in DOMAINS.get(proto.domain, ()):
            name = proto.op_type if proto.domain in MAIN else f"{proto.domain}.{proto.op_type}"
            missing.setdefault(name, []).append(proto.name or (proto.output[0] if proto.output else "?"))
    if missing:
        raise UnsupportedOperatorError([_unsupported(name, nodes) for name, nodes in sorted(missing.items())])


def all_nodes(graph: Any, functions: Mapping[FunctionKey, Any]) -> Iterator[Any]:
    """The nodes of a graph, of the subgraphs in it, and of the functions that are called, each once."""
    pending, left = [graph], dict(functions)
    while pending:
        current = pending.pop()
        for node in current.node:
            yield node
            function = left.pop(called(node, node.op_type), None)
            if function is not None:
                pending.append(function)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    pending.append(attribute.g)
                pending.extend(attribute.graphs)


def check_expansion(graph: Any, functions: Mapping[FunctionKey, Any]) -> None:
    """Refuse (`onnx-graph`) functions that call others so often that a small file becomes a graph without end."""
    whole = ("", "", "")
    own = {
        key: Counter(called(n, n.op_type) for n in all_nodes(f, {})) for key, f in (*functions.items(), (whole, graph))
    }
    sizes: dict[FunctionKey, int] = {}
    try:
        for key in TopologicalSorter({k: counts.keys() & own.keys() for k, counts in own.items()}).static_order():
            sizes[key] = sum(times * sizes.get(k, 1) for k, times in own[key].items())
    except CycleError:
        return  # told where the function is called, if it is
    if sizes[whole] > MOST_NODES:
        told = f"with its functions inline, the graph has {sizes[whole]} nodes"
        raise fail("onnx-graph", told, help=f"{MOST_NODES} are supported at most: see which functions call which")


def _unsupported(name: str, nodes: list[str]) -> Diagnostic:
    listed = ", ".join(repr(n) for n in nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
    times = Counter(nodes).total()
    near = get_close_matches(name, CONVERTERS, n=1)
    help = f"{f'did you mean {near[0]}? ' if near else ''}The table of supported operators is in docs/onnx.md"
    domain = name.rpartition(".")[0]
    message = f"operator {name} is not supported (used {times}x: {listed})"
    return Diagnostic("onnx-unsupported-op", message, help=INSTEAD.get(name, INSTEAD.get(domain, help)))
