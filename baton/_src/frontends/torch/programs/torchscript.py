"""Runs a TorchScript module node by node, from Python, so that PyTorch's exporter sees every operator.

TorchScript's own interpreter keeps sizes and numbers to itself: it fixes those that are open, and fails where a traced
program computes with a number as a tensor. Here numbers stay numbers of Python, which the exporter follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs import script_nested, script_quantized
from baton._src.frontends.torch.programs.program import SOURCE, of_pytorch
from baton._src.frontends.torch.programs.script_branches import Branch, cond, nodes_of, used_in
from baton._src.frontends.torch.programs.script_functions import DTYPES, ON_ELEMENTS, ON_NUMBERS, ON_TENSORS
from baton._src.frontends.torch.programs.script_loops import Loop
from baton._src.frontends.torch.programs.script_packed import layers_of, scales_of
from baton._src.frontends.torch.tensors import dtype_of
from baton._src.support.diagnostics import fail

_PLACEMENT = {"layout", "device", "pin_memory", "memory_format"}
_HOLDING = {"prim::ListConstruct", "prim::TupleConstruct", "prim::TupleIndex", "aten::__getitem__", "aten::append"}
"""What holds values, whatever they are."""
_TRACED_LINE = re.compile(r"^(\S+)\((\d+)\): ", re.MULTILINE)
_SCRIPTED_LINE = re.compile(r'File "([^"]+)", line (\d+)')


class ScriptRun:
    """One run of a scripted or traced module: what every value of its graph is."""

    def __init__(self, script: Any) -> None:
        if not isinstance(script, torch_library().jit.ScriptModule):
            help = "torch.jit.trace(model.eval(), example).eval() makes one of a module"
            raise fail("torch-model", f"a module of torch.jit is needed, got {type(script).__name__}", help=help)
        self.graph = script.inlined_graph
        torch_library()._C._jit_pass_dce(self.graph)  # traced programs compare sizes and look at nothing of it
        self.values: dict[str, Any] = {}
        (module, *self.inputs) = self.graph.inputs()
        self._bind([module], [script])
        self.layers = layers_of(script)
        self.scales = scales_of(script)
        self.factors = _factors(self.graph)
        self.arguments = script.forward.schema.arguments[1:]
        self.defaults = [a.default_value for a in self.arguments]

    def check_count(self, given: int) -> None:
        """Error `torch-model`: the program does not take so many inputs; those with defaults may be left out."""
        if not sum(not a.has_default_value() for a in self.arguments) <= given <= len(self.arguments):
            names = ", ".join(a.name for a in self.arguments) or "none"
            help = "input_infos has (name, shape) or (name, (shape, dtype)) for each"
            raise fail("torch-model", f"the model has the inputs {names}; {given} are described", help=help)

    def __call__(self, *given: Any) -> Any:
        """Its results. Inputs at the end that are not given have the defaults of the program."""
        self._bind(self.inputs, (*given, *self.defaults[len(given) :]))
        results = [_typed(v.type(), r) for v, r in zip(self.graph.outputs(), self._block(self.graph), strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def _bind(self, names: Sequence[Any], values: Sequence[Any]) -> None:
        self.values.update((n.debugName(), v) for n, v in zip(names, values, strict=True))

    def _of(self, values: Any) -> list[Any]:
        return [self.values[v.debugName()] for v in values]

    def _block(self, block: Any) -> list[Any]:
        for node in block.nodes():
            self._bind(list(node.outputs()), self._run(node))
        return self._of(block.outputs())

    def _run(self, node: Any) -> Sequence[Any]:
        """The outputs of a node."""
        kind, given = node.kind(), self._of(node.inputs())
        match kind:
            case "prim::Constant":
                return [None if node.mustBeNone() else _constant(node.output().toIValue())]
            case "prim::GetAttr":
                name = node.output().debugName()  # a graph within the graph has been given its own tensor for it
                return [self.values[name] if name in self.values else self._attribute(node, given[0])]
            case "prim::If":
                then, otherwise = node.blocks()
                if isinstance(given[0], torch_library().Tensor):
                    return self._cond(node, given[0])
                return self._block(then if given[0] else otherwise)
            case "prim::Loop":
                return self._loop(node, *given)
            case "prim::TupleUnpack" | "prim::ListUnpack":
                return list(given[0])
            case "prim::RaiseException":
                raise fail("torch-script", f"{line_of(node)}: the program raises {given[0]!r} for these inputs")
            case "prim::DictConstruct":
                return [dict(zip(given[::2], given[1::2], strict=True))]
            case "prim::PythonOp":
                help = "script the module (torch.jit.script), or import it from torch.export"
                raise fail("torch-script", f"{line_of(node)}: {node.pyname()} is a function of Python", help=help)
            case "aten::_pack_padded_sequence":
                help = "give the cells padded sequences, and hide what is behind their ends afterwards"
                message = f"{line_of(node)}: packed sequences are as long as their elements say, and are not supported"
                raise fail("torch-script", message, help=help)
            case "aten::mul" if (product := self._scaled_size(node, given)) is not None:
                return [product]
            case _:
                return self._results(node, given)

    def _cond(self, node: Any, condition: Any) -> list[Any]:
        """What a condition over the elements of a tensor gives."""
        blocks = list(node.blocks())

        def branch(block: Any) -> Branch:
            return lambda own: self._within(own, block)

        return cond(condition, [branch(b) for b in blocks], self._outside(blocks), line_of(node))

    def _outside(self, blocks: Sequence[Any]) -> dict[str, Any]:
        """The values from outside that blocks use; tensors of the module are taken out of it beforehand."""
        for inner in nodes_of(blocks):
            if inner.kind() == "prim::GetAttr":
                self._bind(list(inner.outputs()), self._run(inner))
        return used_in(blocks, self.values)

    def _within(self, own: Mapping[str, Any], block: Any, given: Sequence[Any] = ()) -> list[Any]:
        """The outputs of a block where these values are others than outside."""
        outer, self.values = self.values, {**self.values, **own}
        try:
            self._bind(list(block.inputs()), given)
            return self._block(block)
        finally:
            self.values = outer

    def _scaled_size(self, node: Any, given: Sequence[Any]) -> Any:
        """A size times a factor that the program has as a tensor, rounded as the tensor is: `interpolate` is traced so.

        None if it is something else, and of open sizes where rounding would not be followed.
        """
        torch = torch_library()
        names = [v.debugName() for v in node.inputs()]
        places = [k for k, name in enumerate(names) if name in self.factors]
        if len(given) != 2 or len(places) != 1 or type(size := given[1 - places[0]]) not in (int, torch.SymInt):
            return None
        factor, kind = self.factors[names[places[0]]], dtype_of(given[places[0]].dtype).numpy
        if isinstance(size, int):
            return float(kind.type(size) * kind.type(factor))
        is_exact = factor.as_integer_ratio()[1] <= _FINEST
        return size * factor if is_exact else None

    def _attribute(self, node: Any, module: Any) -> Any:
        """What a module has under a name; packed parameters, which nobody can look into, as they were unpacked."""
        name = node.s("name")
        if name in (numbers := self.scales.get(id(module), {})):
            return numbers[name]
        found = getattr(module, name)
        if not isinstance(found, torch_library().ScriptObject):
            return found
        if id(module) not in self.layers:
            kind = f"{name!r} is an object of TorchScript ({found._type().name()})"
            raise fail("torch-script", f"{line_of(node)}: {kind}, which is not supported")
        return self.layers[id(module)].lifted(_constant)

    @staticmethod
    def _results(node: Any, given: list[Any]) -> list[Any]:
        outputs, found = len(list(node.outputs())), _call(node, given)
        return [found] if outputs == 1 else list(found) if outputs else []

    def _loop(self, node: Any, trips: int, condition: Any, *state: Any) -> list[Any]:
        """`while condition and turn < trips: condition, *state = body(turn, *state)`"""
        (body,), turn, carried = node.blocks(), 0, list(state)
        while turn < trips:
            if isinstance(condition, torch_library().Tensor):
                return self._loop_over_elements(node, body, (turn, trips, condition), carried)
            if not condition:
                break
            self._bind(list(body.inputs()), [turn, *carried])
            condition, *carried = self._block(body)
            turn += 1
        return carried

    def _loop_over_elements(self, node: Any, body: Any, ends: tuple[int, int, Any], state: Sequence[Any]) -> list[Any]:
        """What a loop gives whose condition is known only when the program runs."""

        def turned(own: Mapping[str, Any], given: Sequence[Any]) -> list[Any]:
            return self._within(own, body, given)

        return Loop(turned, *ends, self._outside([body]), line_of(node)).run(state)


_FINEST = 64
"""Products of sizes with multiples of 1 / 64 are exact in float32, as far as sizes go."""


def _factors(graph: Any) -> dict[str, float]:
    """Which values of a graph are floating numbers that the program itself has, as tensors without axes."""
    torch, found = torch_library(), dict[str, float]()
    for node in graph.nodes():
        if node.kind() == "prim::Constant":
            value = node.output().toIValue()
            if isinstance(value, torch.Tensor) and not value.dim() and value.is_floating_point():
                found[node.output().debugName()] = value.item()
        elif node.kind() in ("aten::to", "aten::detach") and (name := next(node.inputs()).debugName()) in found:
            found[node.output().debugName()] = found[name]
    return found


def line_of(node: Any) -> str:
    """The line of the user's program that made a node of TorchScript, as `file:line: code`."""
    text = node.sourceRange()
    found = _TRACED_LINE.findall(text) or _SCRIPTED_LINE.findall(text)
    own = [f for f in found if not of_pytorch(f[0])] or found
    if not own:
        return ""
    path, number = Path(own[0][0]), int(own[0][1])
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    code = lines[number - 1].strip() if number <= len(lines) else ""
    return f"{path.name}:{number}: {code}" if code else f"{path.name}:{number}"


def _constant(value: Any) -> Any:
    """A constant of the graph; tensors are copied into the exported program."""
    torch = torch_library()
    return torch.ops.aten.lift_fresh_copy(value) if isinstance(value, torch.Tensor) else value


def _call(node: Any, given: list[Any]) -> Any:
    """What an operator gives: Python's own where it is about numbers and lists, else that of PyTorch."""
    kind, torch = node.kind(), torch_library()
    if kind in script_quantized.OWN or (kind not in _HOLDING and script_quantized.has_quantised(given)):
        return script_quantized.call(kind, given, lambda plain: _call(node, list(plain)), line_of(node))
    if kind in script_nested.ASKED or (kind not in _HOLDING and script_nested.has_nested(given)):
        return script_nested.call(kind, given, line_of(node))
    tensors = any(isinstance(g, torch.Tensor) for g in given)
    if kind in ON_TENSORS or (kind in ON_NUMBERS and not tensors):
        return (ON_TENSORS[kind] if kind in ON_TENSORS else ON_NUMBERS[kind])(*given)
    space, name = kind.split("::")
    schema = torch._C.parse_schema(node.schema()) if node.schema() != "(no schema)" else None
    if kind == "aten::tensor":
        with torch.fx.traceback.annotate({SOURCE: line_of(node)}):
            return _tensor_of(given[0], None if given[1] is None else getattr(torch, DTYPES[given[1]]))
    if kind in ON_ELEMENTS and schema is not None and not any("Tensor" in str(a.type) for a in schema.arguments):
        return ON_NUMBERS[kind](*given)
    packet = getattr(getattr(torch.ops, space), name, None)
    if schema is None or packet is None:
        raise fail("torch-script", f"{line_of(node)}: {kind} of TorchScript is not supported")
    overload = getattr(packet, _overload(packet, schema, given))
    positional, keywords = _arguments(schema, given)
    with torch.fx.traceback.annotate({SOURCE: line_of(node)}):
        return overload(*positional, **keywords)


def _tensor_of(data: Any, dtype: Any) -> Any:
    """`torch.tensor` of a tensor, of a number, or of lists of them; sizes stay open."""
    torch = torch_library()
    if isinstance(data, torch.Tensor):
        own = torch.get_default_dtype() if data.is_floating_point() else data.dtype
        return data.to(own if dtype is None else dtype, copy=True)
    if not isinstance(data, (list, tuple)):
        return torch.scalar_tensor(data, dtype=_dtype_of(data) if dtype is None else dtype)
    if all(type(leaf) in (bool, int, float) for leaf in torch.utils._pytree.tree_leaves(data)):
        return torch.tensor(data, dtype=dtype)
    return torch.stack([_tensor_of(part, dtype) for part in data])


def _overload(packet: Any, schema: Any, given: list[Any]) -> str:
    """The one that TorchScript says; that of tensors where a number is one, as it depends on elements."""
    tensor = torch_library().Tensor
    numbers = [g for declared, g in zip(schema.arguments, given, strict=True) if str(declared.real_type) == "number"]
    as_tensor = schema.overload_name == "Scalar" and any(isinstance(g, tensor) for g in numbers)
    return "Tensor" if as_tensor and "Tensor" in packet.overloads() else schema.overload_name or "default"


def _arguments(schema: Any, given: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for a call from Python, which has dtypes where TorchScript has numbers, and tensors for numbers."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for declared, value in zip(schema.arguments, given, strict=True):
        if declared.name in _PLACEMENT and declared.kwarg_only:
            continue
        fitting = _fitting(str(declared.real_type), value)
        if declared.kwarg_only:
            keywords[declared.name] = fitting
        else:
            positional.append(None if declared.name == "memory_format" else fitting)
    return positional, keywords


def _fitting(kind: str, value: Any) -> Any:
    torch = torch_library()
    if "ScalarType" in kind and isinstance(value, int):
        return getattr(torch, DTYPES[value])
    if kind in ("Tensor", "Optional[Tensor]") and isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat)):
        return torch.scalar_tensor(value, dtype=_dtype_of(value))
    if kind.startswith("List[") and "Tensor" in kind and isinstance(value, (list, tuple)):
        return [_fitting("Optional[Tensor]", v) for v in value]
    return value


def _typed(kind: Any, value: Any) -> Any:
    """A result of this type of TorchScript, where numbers that it has as tensors are tensors again."""
    if kind.kind() == "TupleType":
        return tuple(_typed(k, v) for k, v in zip(kind.elements(), value, strict=True))
    return _fitting(str(kind), value)


def _dtype_of(number: Any) -> Any:
    torch = torch_library()
    if isinstance(number, bool):
        return torch.bool
    return torch.int64 if isinstance(number, (int, torch.SymInt)) else torch.get_default_dtype()
