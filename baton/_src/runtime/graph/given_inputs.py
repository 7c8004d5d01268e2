"""Convert a caller's value for a graph's input to the input's dtype and shape; tuples field by field."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from baton._src.runtime.native.addresses import data_address
from baton._src.runtime.value_info import TensorValue, TupleValue, ValueInfo
from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


class InputSpec(NamedTuple):
    """An input: a tensor (`dims` None: its shape is not known), or a tuple of `fields`."""

    name: str
    dtype: str
    dims: tuple[Any, ...] | None
    fields: tuple[InputSpec, ...] | None = None

    @property
    def shapes(self) -> tuple[Any, ...]:
        """The shape; of a tuple, those of its fields."""
        return tuple(self.dims or ()) if self.fields is None else tuple(f.shapes for f in self.fields)

    @property
    def dtypes(self) -> Any:
        """The dtype; of a tuple, those of its fields."""
        return self.dtype if self.fields is None else tuple(f.dtypes for f in self.fields)


def input_spec(name: str, dtype: str, dims: Any, info: Any) -> InputSpec:
    """The declaration of an input in the executable: its name, dtype and shape, and its `ValueInfo`, if known."""
    if not isinstance(info, TupleValue):
        return InputSpec(name, dtype, None if dims is None else tuple(dims))
    return InputSpec(name, "void", None, tuple(_field(f"{name}.{n}", field) for n, field in enumerate(info.fields)))


def _field(name: str, info: ValueInfo) -> InputSpec:
    dtype, dims = (info.dtype or "void", info.dims) if isinstance(info, TensorValue) else ("void", None)
    return input_spec(name, dtype, dims, info)


def as_input(given: Any, spec: InputSpec, copy: bool) -> Any:
    """The value of the input `spec` that `given` stands for; with `copy`, of the input's dtype and in memory of its
    own, as in TVM. Raises `DiagnosticError` (`value-mismatch`)."""
    if spec.fields is not None:
        if not isinstance(given, (tuple, list)) or len(given) != len(spec.fields):
            found = f"{len(given)} values" if isinstance(given, (tuple, list)) else f"a {type(given).__name__}"
            message = f"input {spec.name!r} is a tuple of {len(spec.fields)} values, got {found}"
            raise fail("value-mismatch", message, help="give a tuple of NumPy arrays or NDArrays")
        return tuple(as_input(g, f, copy) for g, f in zip(given, spec.fields))
    tensor = (as_tensor if copy else shared_tensor)(given, f"input {spec.name!r}")
    if copy:
        dtype = tensor.data.dtype if spec.dtype == "void" else DataType(spec.dtype).numpy
        tensor = NDArray(np.array(tensor.data, dtype=dtype, order="C", copy=True), tensor.device)
    _check_shape(tensor, spec)
    if spec.dtype not in ("void", tensor.dtype):
        message = f"input {spec.name!r} has dtype {spec.dtype}, got {tensor.dtype}"
        raise fail("value-mismatch", message, help="memory that is used as it is cannot be converted: use set_input")
    return tensor


def as_tensor(given: Any, what: str) -> NDArray:
    """`given` as a tensor; Python numbers and lists are accepted, too."""
    found = from_host(np.asarray(given) if isinstance(given, (int, float, list)) else given)
    if not isinstance(found, NDArray):
        message = f"{what}: a {type(given).__name__} is not a tensor"
        raise fail("value-mismatch", message, help="give a NumPy array or an NDArray")
    return found


def shared_tensor(given: Any, what: str) -> NDArray:
    """`given` as a tensor over the same memory. Error `tensor-layout`: only a copy of it can be a tensor."""
    found, again = as_tensor(given, what), as_tensor(given, what)
    if found.data.size and data_address(found.data) != data_address(again.data):
        message = f"{what}: only a copy of what is given could be used, not its memory itself"
        raise fail("tensor-layout", message, help="give an NDArray, or a contiguous NumPy array")
    return found


def _check_shape(tensor: NDArray, spec: InputSpec) -> None:
    dims = spec.dims
    if dims is None:
        return
    known = (not isinstance(dim, int) or dim == found for dim, found in zip(dims, tensor.shape))
    if len(dims) != tensor.ndim or not all(known):
        message = f"input {spec.name!r} has shape ({', '.join(map(str, dims))}), got {tensor.shape}"
        raise fail("value-mismatch", message, help="a graph is built for its shapes: rebuild it for others")
