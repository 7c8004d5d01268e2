"""PyTorch to Relay: `from_pytorch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.frontends.graph_builder.relay_graph import RelayGraph
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.importer import Importer
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.programs.program import Program, read_program
from baton._src.frontends.torch.programs.tracing import Example, example, exported_script
from baton._src.frontends.torch.table import CONVERTERS
from baton._src.frontends.torch.tensors import array_of, dtype_of
from baton._src.ir.module import IRModule
from baton._src.ir.tensor_info import TensorInfo
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Function, Tuple, Var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray, array

_SHORT = {
    "double": "float64", "float": "float32", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
    "char": "int8", "byte": "uint8",
}  # fmt: skip
"""PyTorch's own short names of dtypes."""
_PREFIX = "script."
"""What `exported_script` calls the module."""


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[tuple[str, Any]],
    custom_convert_map: Mapping[str, Callable[..., Any]] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | None = None,
    preserve_pytorch_scopes: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Import a `torch.jit` module (traced or scripted) as a Relay module with `main`, and its parameters by name.

    `input_infos`: (name, shape) or (name, (shape, dtype)) of every input, `default_dtype` where none is given, open
    sizes as `relay.Any()`. The parameters keep their names in the module (`conv.weight`), with `_` for `.` under
    `use_parser_friendly_name`. Nodes and inputs that do not affect the result are dropped. `custom_convert_map` adds
    operators: from `aten::name` to a function of (arguments, their dtypes) that returns a Relay expression. State that
    the module changes is among the parameters; its new values are the last results, in the order of the state.

    Quantised models (`torch.ao.quantization`) become integer arithmetic, with PyTorch's own rounding: their weights are
    kept as int8, whether or not `keep_quantized_weight`. Scopes are not kept in names. Errors as for
    `relax.frontend.torch.from_exported_program`.
    """
    if export_renamed_c_graph_path is not None:
        raise fail(
            "torch-option",
            "export_renamed_c_graph_path: the importer renames no TorchScript graph that it could export",
        )
    names, inputs = _inputs(input_infos, default_dtype)
    language = RelayGraph()
    converters = {**CONVERTERS, **_own_converters(custom_convert_map or {})}
    program = read_program(exported_script(script_module, inputs), converters)
    weights = {w.placeholder: _name(w.target, use_parser_friendly_name) for w in program.weights if not w.is_bound}
    placeholders = [n.name for n in program.inputs]
    importer = Importer(program, language, converters)
    outputs = importer.run([*zip(placeholders, names, strict=True), *weights.items()])
    return _module(importer, language, outputs, program, weights)


def from_exported(exported_program: Any) -> tuple[IRModule, dict[str, NDArray]]:
    """Import a `torch.export.ExportedProgram` as a Relay module with `main`, and its parameters by name.

    Inputs keep their names of the program. Errors as for `relax.frontend.torch.from_exported_program`.
    """
    program = read_program(exported_program, CONVERTERS)
    weights = {w.placeholder: w.target for w in program.weights if not w.is_bound}
    language = RelayGraph()
    importer = Importer(program, language, CONVERTERS)
    outputs = importer.run([*((n.name, n.name) for n in program.inputs), *weights.items()])
    return _module(importer, language, outputs, program, weights)


def _inputs(input_infos: Sequence[tuple[str, Any]], default_dtype: str) -> tuple[list[str], list[Example]]:
    """Names and examples. A pair of a shape and a dtype is told from a shape by its first part."""
    names, found = [], []
    for name, info in input_infos:
        shape, dtype = info if len(info) == 2 and isinstance(info[0], (tuple, list)) else (info, default_dtype)
        names.append(str(name))
        found.append(example(shape, _SHORT.get(str(dtype), dtype)))
    return names, found


def _name(target: str, friendly: bool) -> str:
    plain = target.removeprefix(_PREFIX)
    return plain.replace(".", "_") if friendly else plain


def _module(
    importer: Importer, language: RelayGraph, outputs: Sequence[Value], program: Program, weights: Mapping[str, str]
) -> tuple[IRModule, dict[str, NDArray]]:
    """Inputs first, then the parameters that are used, both in the order of their use."""
    exprs = language.guarded([importer.builder.expr(v) for v in outputs])
    body = exprs[0] if len(exprs) == 1 else Tuple(exprs)
    arrays = {weights[w.placeholder]: w.tensor for w in program.weights if w.placeholder in weights}
    used: list[Var] = free_vars(body)
    params = [v for v in used if v.name_hint not in arrays] + [v for v in used if v.name_hint in arrays]
    bound = {v.name_hint: array(array_of(arrays[v.name_hint])) for v in used if v.name_hint in arrays}
    return IRModule({"main": Function(params, body)}), bound


def _own_converters(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Converter]:
    """The user's converters, by the names of all overloads of their operators."""
    found = {}
    for name, function in functions.items():
        space, _, operator = name.partition("::")
        packet = getattr(getattr(torch_library().ops, space), operator, None)
        if packet is None:
            raise fail("torch-option", f"custom_convert_map: PyTorch has no operator {name!r}")
        found.update({f"{space}.{operator}.{overload}": _own_converter(function) for overload in packet.overloads()})
    return found


def _own_converter(function: Callable[..., Any]) -> Converter:
    def convert(node: AtenNode, *positional: Any, **keywords: Any) -> Value:
        given = [*positional, *keywords.values()]
        types = [str(g.dtype) if isinstance(g, Value) else type(g).__name__ for g in given]
        expr = function([_plain(node, g) for g in given], types)
        (result, *_) = node.results
        return Value(TensorInfo(tuple(result.shape), dtype_of(result.dtype)), expr=expr)

    return convert


def _plain(node: AtenNode, operand: Any) -> Any:
    if isinstance(operand, Value):
        return node.graph.expr(operand)
    return [_plain(node, o) for o in operand] if isinstance(operand, tuple) else operand
