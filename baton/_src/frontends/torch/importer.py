"""Traverse a plain exported program: bind nodes to values, convert calls, report all unsupported operators at once."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.language import Language
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.bounds import within
from baton._src.frontends.torch.complex.fourier import FOURIER
from baton._src.frontends.torch.complex.pair import PARTS, Pair, Part, has_pair, part_of
from baton._src.frontends.torch.complex.paired import COMPLEX, PAIRED
from baton._src.frontends.torch.control import CONTROL
from baton._src.frontends.torch.guards import Guard, guards
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.programs.program import Program, name_of, source_of
from baton._src.frontends.torch.sizes import SIZES
from baton._src.frontends.torch.sym_bools import SymBool
from baton._src.frontends.torch.sym_floats import SymFloat
from baton._src.frontends.torch.symbols import Symbols
from baton._src.frontends.torch.table import CONVERTERS, IGNORED
from baton._src.frontends.torch.tensors import array_of, dtype_of
from baton._src.frontends.torch.unsupported import unsupported
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.support.diagnostics import DiagnosticError, InternalError, fail
from baton._src.support.operator_errors import UnsupportedOperatorError
from baton._src.values.dtype import BOOL, DataType
from baton._src.values.tensor import AnyArray

_DROPPED = {"layout", "device", "pin_memory", "memory_format"}
"""Keywords about memory placement and layout, which the compiler decides."""

_WRITER = "torch.ops.higher_order.auto_functionalized"
"""What PyTorch wraps around an operator of the user's that writes into its inputs."""


class Importer:
    """Imports one program through `language`; `converters` are the table's, and the user's own."""

    def __init__(self, program: Program, language: Language, converters: Mapping[str, Converter] = CONVERTERS) -> None:
        self.program = program
        self.builder = GraphBuilder(language)
        self.converters = converters
        self.symbols = Symbols(program.sizes)
        self.values: dict[str, Any] = {}
        """The value of every node of the program so far: values, tuples of them, sizes, numbers."""
        self.names: dict[str, str] = {}
        """The names of the function's parameters, by placeholder."""

    def run(self, parameters: Sequence[tuple[str, str]]) -> list[Value]:
        """The outputs without None. `parameters`: the placeholders that become parameters of the function, with names.

        All other placeholders of weights become constants.
        """
        self._check_supported()
        self.names = dict(parameters)
        weights = {w.placeholder: array_of(w.tensor) for w in self.program.weights}
        counts = {n.name: self.symbols.count(n.meta["val"]) for n in self.program.unseen}
        measured = self.symbols.measured([n.meta["val"].shape for n in self.program.inputs])
        infos = {n.name: self._input_info(n, measured.get(k, {})) for k, n in enumerate(self.program.inputs)}
        infos.update((name, TensorInfo((size, 0), BOOL)) for name, (size, _) in counts.items())
        for placeholder, name in parameters:
            info = infos[placeholder] if placeholder in infos else self._weight_info(name, weights[placeholder])
            self.values[placeholder] = self.builder.input(name, info)
        for node in self.program.numbers:
            self.values[node.name] = counts[node.name][1] if node.name in counts else self.symbols.dim(node.meta["val"])
        self._bind_constants(weights)
        self.builder.language.start()
        self._check_inputs([self.program.inputs[k] for k in measured])
        self._walk(self.program.module)
        return [self._output(self._operand(o)) for o in self.program.outputs if o is not None]

    def _walk(self, module: Any) -> None:
        for node in module.graph.nodes:
            if node.op == "get_attr":
                self.values[node.name] = self._attribute(module, node)
            elif node.op == "call_function":
                self.values[node.name] = self._call(node)

    def _region(self, module: Any, operands: Sequence[Any]) -> list[Value | Pair]:
        """The results of a nested graph, whose nodes have their own names."""
        outer, self.values = self.values, {}
        placeholders = [n.name for n in module.graph.nodes if n.op == "placeholder"]
        self.values.update(zip(placeholders, operands, strict=True))
        self._walk(module)
        (results,) = [n.args[0] for n in module.graph.nodes if n.op == "output"]
        values = [self._operand(r) for r in (results if isinstance(results, (list, tuple)) else (results,))]
        self.values = outer
        return [v if isinstance(v, Pair) else self._output(v) for v in values]

    def _bind_constants(self, weights: Mapping[str, AnyArray]) -> None:
        for placeholder, array in weights.items():
            if placeholder not in self.values:
                self.values[placeholder] = self._constant(array)

    def _constant(self, array: AnyArray) -> Value | Pair:
        if not np.iscomplexobj(array):
            return self.builder.constant(array)
        return Pair(self.builder.constant(array.real), self.builder.constant(array.imag))

    def _check_inputs(self, measured: Sequence[Any]) -> None:
        """Inputs have the sizes that the program says; those `measured` are called as it says from here on."""
        for node in measured:
            self.builder.hint = node.name
            dims = tuple(self.symbols.dim(d) for d in node.meta["val"].shape)
            self.values[node.name] = self.builder.of_shape(self.values[node.name], dims)
        for guard in (*self._multiples(measured), *guards(self.program, self.symbols)):
            self._check_guard(guard)

    def _multiples(self, measured: Sequence[Any]) -> Iterator[Guard]:
        """That nothing remains where a symbol is what is left of a size by division."""
        for node in measured:
            for axis, size in enumerate(node.meta["val"].shape):
                if not isinstance(size, int) and not size.node.expr.is_Symbol:
                    yield Guard(node, axis, self.symbols.dim(size), f"{size.node.expr} with a whole number")

    def _check_guard(self, guard: Guard) -> None:
        g, value = self.builder, self.values[guard.node.name]
        g.hint, dims, axis = guard.node.name, value.shape or (), guard.axis
        told = f"axis {axis} of input {self.names[guard.node.name]!r}, for which the program has {guard.told}"
        if isinstance(guard.size, SymBool):
            g.demand(guard.size.value(g), told)
            return
        if g.language.name == "relax":
            g.of_shape(value, (*dims[:axis], guard.size, *dims[axis + 1 :]))  # checked, and nothing else
            return
        g.demand(g.call("equal", g.dims(dims[axis]), g.dims(guard.size)), told)

    def _input_info(self, node: Any, measured: Mapping[int, Dim]) -> TensorInfo:
        found = node.meta["val"]
        if found.dtype.is_complex:
            help = (
                "pass real and imaginary parts along a last axis, and call torch.view_as_complex(parts) in the program"
            )
            raise fail(
                "torch-dtype", f"input {node.name!r} is complex; compiled functions take real tensors", help=help
            )
        dims = tuple(measured[k] if k in measured else self.symbols.dim(d) for k, d in enumerate(found.shape))
        return TensorInfo(dims, dtype_of(found.dtype))

    def _weight_info(self, name: str, array: AnyArray) -> TensorInfo:
        if np.iscomplexobj(array):
            help = "let the module keep its parts: torch.view_as_real(...)"
            raise fail(
                "torch-dtype", f"the program changes {name!r}, which is complex: functions cannot take it", help=help
            )
        return self.builder.constant(array).info

    def _attribute(self, module: Any, node: Any) -> Any:
        """A tensor of a graph, or a nested graph as a function of its operands."""
        torch, found = torch_library(), module
        for part in node.target.split("."):
            found = getattr(found, part)
        if isinstance(found, torch.fx.GraphModule):
            return lambda *operands: self._region(found, operands)
        return self._constant(array_of(found)) if isinstance(found, torch.Tensor) else found

    def _output(self, found: Any) -> Value:
        if isinstance(found, Value):
            return found
        if isinstance(found, (bool, float)):
            return self.builder.constant(found)
        if isinstance(found, (int, PrimExpr)):
            return self.builder.dims(found)
        if isinstance(found, SymFloat):
            return found.value(self.builder)
        if isinstance(found, Pair):
            help = "return torch.view_as_real(...) of it"
            raise fail(
                "torch-output",
                "the program returns a complex tensor; compiled functions return real tensors",
                help=help,
            )
        raise fail("torch-output", f"the program returns {found!r}: only tensors and numbers can be results")

    def _call(self, node: Any) -> Any:
        name = name_of(node.target)
        if name in SIZES:
            return SIZES[name](*(self._operand(a) for a in node.args))
        if name in IGNORED:
            return None
        results = tuple(part_of(r) for r in _results_of(node))
        operands = tuple(a.meta.get("val") if hasattr(a, "meta") else None for a in node.args)
        call = AtenNode(name, self.builder, results, source_of(node), _used(node), operands)
        self.builder.hint = node.name
        positional, keywords = self._arguments(node)
        positional = within(node, name, positional)
        shown = f"while importing {node.name} = {call.title}"
        try:
            found = self._converter(call, (*positional, *keywords.values()))(call, *positional, **keywords)
            return self._checked(call, found)
        except DiagnosticError as error:
            raise DiagnosticError([d.within(shown) for d in error.diagnostics]) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InternalError(f"{type(error).__name__}: {error}\n  {shown}") from error

    def _converter(self, call: AtenNode, given: Sequence[Any]) -> Converter:
        """The one of the operator; of what it does with complex tensors, if there are some."""
        is_complex = has_pair(given) or any(isinstance(r, Part) for r in call.results)
        if not is_complex or any(call.name in known for known in (COMPLEX, FOURIER, CONTROL)):
            return self.converters[call.name]
        if call.name not in PAIRED:
            call.fail(f"{call.name} of complex tensors is not supported", help="compute with torch.view_as_real(...)")
        return PAIRED[call.name]

    def _arguments(self, node: Any) -> tuple[list[Any], dict[str, Any]]:
        """All arguments of the schema, defaults filled in; keyword-only ones by name."""
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        if not hasattr(node.target, "_schema"):  # control flow
            return [self._operand(a) for a in node.args], {k: self._operand(a) for k, a in node.kwargs.items()}
        for place, declared in enumerate(node.target._schema.arguments):
            if declared.name in _DROPPED:
                continue
            if declared.name in node.kwargs:
                given = node.kwargs[declared.name]
            else:
                given = node.args[place] if place < len(node.args) else declared.default_value
            if declared.kwarg_only:
                keywords[declared.name] = self._operand(given)
            else:
                positional.append(self._operand(given))
        return positional, keywords

    def _operand(self, given: Any) -> Any:
        if isinstance(given, (list, tuple)):
            return tuple(self._operand(g) for g in given)
        torch = torch_library()
        if isinstance(given, torch.fx.Node):
            return self.values[given.name]
        if isinstance(given, torch.dtype):
            name = str(given).removeprefix("torch.")
            return DataType(PARTS[name]) if name in PARTS else dtype_of(given)
        return given

    def _checked(self, call: AtenNode, found: Any) -> Any:
        """The results, which must have the dtypes and shapes that PyTorch gives."""
        if not isinstance(found, (tuple, list)):
            return self._result(call, found, call.results[0])
        rest = found[len(call.results) :]
        return (*(self._result(call, v, e) for v, e in zip(found, call.results)), *rest)

    def _result(self, call: AtenNode, value: Any, expected: Any) -> Any:
        if isinstance(value, Pair) is not isinstance(expected, Part):
            raise InternalError(f"{call.title}: a result is complex here and real in PyTorch, or the reverse")
        if isinstance(value, Pair):
            return Pair(*(self._tensor(call, part, expected) for part in (value.real, value.imag)))
        return self._tensor(call, value, expected)

    def _tensor(self, call: AtenNode, value: Any, expected: Any) -> Any:
        if not isinstance(value, Value) or not hasattr(expected, "shape"):
            return value
        self._check(call, value, expected)
        return self._sized(value, expected.shape)

    def _sized(self, value: Value, expected: Sequence[Any]) -> Value:
        """The result with PyTorch's sizes in place of expressions."""
        own = value.shape
        if own is None or value.dims is not None or not any(_is_known(a, b) for a, b in zip(own, expected)):
            return value
        return self.builder.of_shape(value, tuple(b if _is_known(a, b) else a for a, b in zip(own, expected)))

    @staticmethod
    def _check(call: AtenNode, value: Value, expected: Any) -> None:
        sizes = [(a, b) for a, b in zip(value.shape or (), expected.shape) if isinstance(a, int) and type(b) is int]
        fits = value.rank in (-1, len(expected.shape)) and all(a == b for a, b in sizes)
        if not fits or value.dtype != dtype_of(expected.dtype):
            shape = tuple(expected.shape)
            raise InternalError(f"{call.title} gives {value.info}, where PyTorch has {expected.dtype} {shape}")

    def _check_supported(self) -> None:
        missing: dict[tuple[str, bool], list[str]] = {}
        for node in self.program.calls:
            name = name_of(node.target)
            if not is_supported(name, self.converters):
                writes = name.startswith(_WRITER)
                told = str(node.args[0]) if writes else name
                missing.setdefault((told, writes), []).append(source_of(node) or node.name)
        if missing:
            found = sorted(missing.items())
            raise UnsupportedOperatorError([unsupported(n, s, self.converters, w) for (n, w), s in found])


def is_supported(name: str, converters: Collection[str] = CONVERTERS) -> bool:
    """Whether calls of an operator are imported, of tensors that are real or complex."""
    return any(name in table for table in (converters, SIZES, IGNORED, PAIRED))


def _is_known(own: Any, expected: Any) -> bool:
    return type(expected) is int and not isinstance(own, int)


def _results_of(node: Any) -> tuple[Any, ...]:
    found = node.meta.get("val")
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _used(node: Any) -> frozenset[int]:
    """The results that are taken out of a tuple of them."""
    return frozenset(u.args[1] for u in node.users if u.target is operator.getitem and u.users)
