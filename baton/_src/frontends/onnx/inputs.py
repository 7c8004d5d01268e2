"""The inputs of a model: their declarations, overrides, and which of them are bound to values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value, described
from baton._src.frontends.onnx.files.reader import STRING, dtype_of
from baton._src.frontends.onnx.learning.dictionaries import keys_wanted
from baton._src.frontends.onnx.strings import ModelStrings, string_constant
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.dims import show_shape
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var
from baton._src.values.dtype import INT64, DataType
from baton._src.values.meaning import PLAIN, STACK, STRING_IDS, values_by_key
from baton._src.values.tensor import AnyArray


class Inputs:
    """`shape` and `dtype` override the model's declarations by name; unnamed or unknown dims become fresh symbols.
    Inputs in `values` become constants. `shown` gives the names of inputs and weights in the program.
    """

    def __init__(
        self,
        builder: GraphBuilder,
        shape: Mapping[str, Sequence[Any]] | None,
        dtype: object,
        values: Mapping[str, Any] | None,
        shown: Mapping[str, str] | None,
        strings: ModelStrings | None,
    ) -> None:
        self.builder, self.strings = builder, strings
        self.values: dict[str, AnyArray] = {n: _read_only(v) for n, v in (values or {}).items()}
        self.shape = dict(shape or {})
        self.dtype = dict(dtype) if isinstance(dtype, Mapping) else {}
        self.shown = dict(shown or {})
        self.symbols: dict[str, Dim] = {}

    def check(self, graph: Any, weights: Mapping[str, AnyArray]) -> None:
        """`DiagnosticError` for inputs of one name (`onnx-graph`), shapes of inputs that are not there, and what are no
        shapes (`onnx-input`)."""
        known = [i.name for i in graph.input if i.name not in weights]
        if twice := [name for name, times in Counter(known).items() if times > 1]:
            raise fail("onnx-graph", f"the graph has two inputs {twice[0]!r}", help="rename one of them")
        for name, shape in self.shape.items():
            if name not in known:
                raise fail("onnx-input", f"the model has no input {name!r}", help=f"its inputs: {', '.join(known)}")
            if isinstance(shape, str) or not isinstance(shape, Iterable):
                help = 'such as (1, 3, "h", "w"): numbers, and names of open sizes'
                raise fail("onnx-input", f"the shape of {name!r} is a list of dims, got {shape!r}", help=help)

    def bound(self, graph: Any, weights: Mapping[str, AnyArray]) -> dict[str, Value]:
        """The inputs and weights that `values` gives, checked against what the model declares."""
        strings = {i.name for i in graph.input if _holds_strings(i)}
        found: dict[str, Value] = {}
        initial = {n: weights[n] for n in weights if n in self.values}  # others may be of another length
        declared = {n: TensorInfo(None, DataType(a.dtype), a.ndim) for n, a in initial.items()}
        declared.update((i.name, self._info(i)) for i in graph.input if i.name in self.values)
        for name, array in self.values.items():
            if name not in declared:
                known = ", ".join(i.name for i in graph.input if i.name not in weights)
                raise fail("onnx-input", f"the model has no input {name!r} to bind", help=f"its inputs: {known}")
            found[name] = self._constant(array, holds_strings=name in strings)
            info, kept = declared[name], found[name].array
            array = array if kept is None else kept
            sizes_differ = any(isinstance(d, int) and d != s for d, s in zip(info.shape or (), array.shape))
            if array.dtype != info.dtype.numpy or info.ndim not in (-1, array.ndim) or sizes_differ:
                wanted, given = described(info), f"{array.dtype} {show_shape(array.shape)}"
                raise fail("onnx-input", f"{name!r} is {wanted}, but is bound to {given}")
        return found

    def _constant(self, content: AnyArray, *, holds_strings: bool) -> Value:
        if not holds_strings:
            return self.builder.constant(content)
        assert self.strings is not None
        return string_constant(self.builder, self.strings, content)

    def declare(self, declared: Any, nodes: Iterable[Any]) -> tuple[Value, Value]:
        """(the program's input, what `nodes` see by its name): a sequence is a tensor that stacks its items, a
        dictionary one of the values that the nodes want."""
        if _kind(declared).HasField("map_type"):
            found = self._dictionary(declared, keys_wanted(declared.name, nodes))
            return found, found
        if _is_sequence(declared):
            stack = self.tensor(declared.name, self._stack_info(declared))
            return replace(stack, meaning=STACK), Value(TensorInfo(), stack=stack)
        found = self.tensor(declared.name, self._info(declared))
        found.meaning = STRING_IDS if _holds_strings(declared) else PLAIN
        return found, found

    def _dictionary(self, declared: Any, keys: tuple[str | int, ...]) -> Value:
        name, item = declared.name, _kind(declared).map_type.value_type.tensor_type.elem_type
        if self.strings is None:
            help = "use baton.compile, which takes dictionaries"
            raise fail("onnx-input", f"input {name!r} is a dictionary, which is not supported here", help=help)
        dtype = INT64 if item == STRING else dtype_of(item, f"input {name!r}")
        found = self.tensor(name, TensorInfo((len(keys) or _variable(f"{name}_items"),), dtype))
        found.meaning = values_by_key(keys, strings=item == STRING)
        return found

    def tensor(self, name: str, info: TensorInfo) -> Value:
        """An input of the program."""
        return self.builder.input(name, info, self.shown.get(name))

    def _info(self, declared: Any) -> TensorInfo:
        kind = _kind(declared)
        tensor = kind.tensor_type
        if not kind.HasField("tensor_type"):
            raise fail("onnx-input", f"input {declared.name!r} is not a tensor; such inputs are not supported here")
        dtype = INT64 if _holds_strings(declared) else dtype_of(tensor.elem_type, f"input {declared.name!r}")
        return TensorInfo(self._dims(declared.name, tensor), DataType(self.dtype.get(declared.name, dtype)))

    def _stack_info(self, declared: Any) -> TensorInfo:
        """The items of a sequence along a new first axis, whose size is open. An override is the shape of an item."""
        name, item = declared.name, _kind(declared).sequence_type.elem_type.tensor_type
        if self.strings is None:
            help = "use baton.compile, which takes lists of arrays"
            raise fail("onnx-input", f"input {name!r} is a sequence, which is not supported here", help=help)
        dtype, dims = dtype_of(item.elem_type, f"input {name!r}"), self._dims(name, item)
        if dims is None:
            help = f'say what shape its items have: shape={{{name!r}: ("rows", 3)}}'
            raise fail("onnx-input", f"the rank of the items of the sequence {name!r} must be known", help=help)
        return TensorInfo((_variable(f"{name}_items"), *dims), DataType(self.dtype.get(name, dtype)))

    def _dims(self, name: str, tensor: Any) -> tuple[Dim, ...] | None:
        if name in self.shape:
            return tuple(self._symbol(d) if isinstance(d, str) else d for d in self.shape[name])
        if not tensor.HasField("shape"):
            return None
        return tuple(self._dim(d, name, i) for i, d in enumerate(tensor.shape.dim))

    def _dim(self, dim: Any, name: str, axis: int) -> Dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return int(dim.dim_value)
        return self._symbol(dim.dim_param) if _names_a_size(dim.dim_param) else _variable(f"{name}_{axis}")

    def _symbol(self, name: str) -> Dim:
        """The shape variable for a dim parameter: equal names are equal sizes."""
        if name not in self.symbols:
            self.symbols[name] = _variable(name)
        return self.symbols[name]


def _variable(name: str) -> Var:
    """A new shape variable, of a size that nothing else is told to have, even if it has this name."""
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return Var(text if not text[:1].isdigit() else f"d{text}", "int64")


def _names_a_size(dim_param: str) -> bool:
    """Whether equal ones mean equal sizes: exporters write `?`, `-1` or `None` for each size that they do not know."""
    return dim_param != "None" and any(c.isalpha() for c in dim_param)


def _kind(declared: Any) -> Any:
    """The type of an input; for an optional, the type of its content, since a value is always passed."""
    kind = declared.type
    return kind.optional_type.elem_type if kind.HasField("optional_type") else kind


def _holds_strings(declared: Any) -> bool:
    return bool(_kind(declared).tensor_type.elem_type == STRING)


def _is_sequence(declared: Any) -> bool:
    kind = _kind(declared)
    return bool(kind.HasField("sequence_type") and kind.sequence_type.elem_type.HasField("tensor_type"))


def _read_only(given: Any) -> AnyArray:
    """A read-only view of an array that the caller may still change: it is copied when it becomes a constant."""
    view = np.asarray(given).view()
    view.flags.writeable = False
    return view
