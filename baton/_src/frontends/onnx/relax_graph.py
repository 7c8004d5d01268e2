"""ONNX to Relax: `from_onnx`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.relax_graph import RelaxGraph
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import read_model
from baton._src.frontends.onnx.importer import Importer
from baton._src.frontends.onnx.strings import ModelStrings
from baton._src.ir.module import IRModule
from baton._src.relax.nodes import Tuple
from baton._src.values.meaning import PLAIN, Meaning, sequence_of
from baton._src.values.tensor import array

CONTROL_FLOW = {"If", "Loop", "Scan", "NonMaxSuppression", "SVMClassifier"}
"""Operators that become branches or loops, which no dataflow block may hold."""


def from_onnx(
    model: object,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: Mapping[str, object] | str | None = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
    values: Mapping[str, Any] | None = None,
    strings: ModelStrings | None = None,
) -> IRModule:
    """Import an ONNX model (`ModelProto`, bytes or path) as a Relax module with the function `main`.

    `shape_dict` gives input shapes (ints, or names of symbolic dims) where the model leaves them open, `dtype_dict`
    dtypes by name (one dtype for all changes nothing: the model says them); `values` makes inputs constants: axes
    and the like that the model takes as inputs must be known when importing. Weights become constants, or parameters
    behind the inputs with `keep_params_in_input` (their values are in the function's attribute `params`), all but those
    that decide what the program is: shapes, axes, bounds.
    What the model gives as a sequence of known length is a tuple. With `strings` these are numbered there, and values
    at the border may have a meaning: see the function's attributes `strings`, `input_meanings` and `output_meanings`.
    `sanitize_input_names` makes identifiers of the inputs' names, with a warning for each that changes.

    Raises `DiagnosticError`: every unsupported operator at once (`onnx-unsupported-op`), damaged files (`onnx-file`),
    and whatever is wrong with a node, naming it.
    """
    proto, folder = read_model(model)
    bodies = [proto.graph, *proto.functions]
    control = any(n.op_type in CONTROL_FLOW for body in bodies for n in body.node)
    with RelaxGraph(dataflow=not control) as language:
        shown = parameter_names(proto.graph, sanitize_input_names)
        importer = Importer(proto, folder, language, shape_dict, dtype_dict, opset, values, shown, strings)
        inputs, outputs, weights = importer.run(keep_weights=keep_params_in_input)
        builder = importer.builder
        module = language.finish([_result(builder, v) for _, v in outputs], len(inputs))
    main = module.get_global_var("main")
    function = module[main].with_attr("output_names", tuple(name for name, _ in outputs))
    meanings = [tuple(_meaning(v) for _, v in values) for values in (inputs, outputs)]
    if strings is not None and (strings.used or {*meanings[0], *meanings[1]} != {PLAIN}):
        function = function.with_attr("strings", tuple(strings.numbers))
        function = function.with_attr("input_meanings", meanings[0]).with_attr("output_meanings", meanings[1])
    if keep_params_in_input:
        function = function.with_attr("params", tuple(array(w) for w in weights.values()))
    return module.with_function(main, function)


def _result(builder: GraphBuilder, value: Value) -> Any:
    """A tensor, or a tuple for a sequence."""
    if value.items is None:
        return builder.expr(value)
    return Tuple([_result(builder, item) for item in value.items])


def _meaning(value: Value) -> Meaning:
    return value.meaning if value.items is None else sequence_of(len(value.items))


def parameter_names(graph: Any, sanitize: bool) -> dict[str, str]:
    """What parameters are called whose names in the model are others.

    Of inputs dots become underscores and what begins with no letter gets `input_` before it; a name that is taken is
    numbered. Of weights the `onnx::` that PyTorch writes before some goes.
    """
    weights = [t.name for t in graph.initializer]
    found = {name: name.removeprefix("onnx::") for name in weights}
    taken: set[str] = set()
    for name in (i.name for i in graph.input if sanitize and i.name not in found):
        plain = name.replace(".", "_") or "empty_"
        plain = plain if plain[0].isalpha() or plain[0] == "_" else f"input_{plain}"
        found[name] = next(n for n in _numbered(plain) if n not in taken)
        taken.add(found[name])
        if found[name] != name:
            warnings.warn(f"input {name!r} is called {found[name]!r} in the program", stacklevel=3)
    return {name: shown for name, shown in found.items() if shown != name}


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{k}" for k in count(1))
