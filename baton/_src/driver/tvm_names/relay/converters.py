"""What tables of converters to Relay are made of (`tvm.relay.frontend.common`): operators under other names and with
other attributes, attributes given as texts, expressions by name.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.relay.importing import get_relay_op, infer_shape, infer_type, new_var
from baton._src.ops.builders import RELAY
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relay.nodes import Constant, Tuple, Var
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import array

_OPS: Any = RELAY
_TRUE = ("true", "1", "t", "y", "yes")
logger = logging.getLogger("Frontend")


class RequiredAttr:
    """The default of an attribute that has none."""


_REQUIRED = RequiredAttr()


class StrAttrsDict:
    """Attributes as texts, read as what they stand for. Errors: `AttributeError` for one that is missing and required;
    `ValueError` for a text that is no number."""

    def __init__(self, attrs: Mapping[str, str]) -> None:
        self.attrs = attrs

    def _read(self, key: str, default: Any, reader: Callable[[str], Any]) -> Any:
        if key in self.attrs:
            return reader(self.attrs[key])
        if isinstance(default, RequiredAttr):
            raise AttributeError(f"the attribute {key!r} is required; there are: {', '.join(self.attrs) or 'none'}")
        return default

    def has_attr(self, key: str) -> bool:
        """Whether the attribute is given."""
        return key in self.attrs

    def get_float(self, key: str, default: Any = _REQUIRED) -> Any:
        """The attribute as a float; a missing one as in `get_bool`."""
        return self._read(key, default, float)

    def get_int(self, key: str, default: Any = _REQUIRED) -> Any:
        """The attribute as an int; the string `None` is None."""
        return self._read(key, default, lambda text: None if text == "None" else int(text))

    def get_str(self, key: str, default: Any = _REQUIRED) -> Any:
        """The attribute as it is written; a missing one as in `get_bool`."""
        return self._read(key, default, str)

    def get_bool(self, key: str, default: Any = _REQUIRED) -> Any:
        """The attribute as a bool; if it is missing, the default or an AttributeError."""
        return self._read(key, default, lambda text: text.strip().lower() in _TRUE)

    def get_int_tuple(self, key: str, default: Any = _REQUIRED) -> Any:
        """The attribute `(1, 2)` as integers; a missing one as in `get_bool`."""
        return self._read(key, default, lambda text: tuple(map(int, _items(text))))

    get_int_list = get_int_tuple

    def get_float_tuple(self, key: str, default: Any = _REQUIRED) -> Any:
        """The attribute `(1.0, 2)` as floats; a missing one as in `get_bool`."""
        return self._read(key, default, lambda text: tuple(map(float, _items(text))))

    def get_tuple_tuple_int(self, key: str, default: Any = _REQUIRED) -> Any:
        """Rows of integers: `((1, 2), (3, 4))`."""
        return self._read(
            key, default, lambda text: tuple(tuple(map(int, _items(row))) for row in text.strip().split("),"))
        )


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.strip().strip("()[] ").split(",") if item.strip()]


class ExprTable:
    """Expressions by name, and the parameters among them."""

    def __init__(self) -> None:
        self.exprs: dict[str, Any] = {}
        self.params: dict[str, Any] = {}
        self.const_ctr = 1
        self.in_padding = False
        self.paddings: Any = None

    def new_const(self, value: Any, shape: Any = None, dtype: str = "float32", source_name: str | None = None) -> Var:
        """A variable for a parameter of this value; its name is made up."""
        name = f"_param_{self.const_ctr}" if source_name is None else f"{source_name}_param_{self.const_ctr}"
        self.const_ctr += 1
        self.params[name] = value
        var = new_var(name, shape=getattr(value, "shape", shape), dtype=dtype)
        self.exprs[name] = var
        return var

    def get_expr(self, name: str) -> Any:
        """The expression of this name; KeyError if there is none."""
        return self.exprs[name]

    def set_expr(self, name: str, expr: Any, force_override: bool = False) -> None:
        """Name an expression. An expression of that name is kept, unless `force_override`."""
        if force_override or name not in self.exprs:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """Whether there is an expression of this name."""
        return name in self.exprs

    def set_padding(self, paddings: Any) -> None:
        """Note a padding for the operator that follows."""
        self.paddings, self.in_padding = paddings, True

    def clear_padding(self) -> None:
        """Forget the padding that was noted."""
        self.in_padding = False


class Renamer:
    """A converter: the operator `new_name`, with the attributes as they are."""

    def __init__(self, new_name: str) -> None:
        self._new_name = new_name

    def __call__(self, inputs: Iterable[Any], attrs: Mapping[str, Any], *_others: Any) -> Any:
        taken = {name: value for name, value in attrs.items() if name != "tvm_custom"}
        return get_relay_op(self._new_name)(*inputs, **taken)


class AttrCvt:
    """A converter to the operator `op_name` (or what `op_name(attrs)` says).

    `transforms` maps an attribute to its new name, or to (new name, value for None, function of the value). `excludes`
    must not be given (`NotImplementedError`), `disables` and `ignores` are dropped, `extras` are added; what is not
    given has the operator's default. `custom_check` is (function of the attributes, message of the `RuntimeError`
    where it is false).
    """

    def __init__(
        self,
        op_name: str | Callable[[Any], str],
        transforms: Mapping[str, Any] | None = None,
        excludes: Iterable[str] | None = None,
        disables: Iterable[str] | None = None,
        ignores: Iterable[str] | None = None,
        extras: Mapping[str, Any] | None = None,
        custom_check: tuple[Callable[[Any], bool], str] | None = None,
    ) -> None:
        self._op_name = op_name
        self._transforms = dict(transforms or {})
        self._excludes, self._disables = set(excludes or ()), set(disables or ())
        self._ignores = {"_output_shapes", "_input_shapes", "T", "use_cudnn_on_gpu", "_node_name", "is_training"}
        self._ignores |= {"_target_layout", "tvm_custom", *(ignores or ())}
        self._extras = dict(extras or {})
        self._custom_check = custom_check

    def __call__(self, inputs: Iterable[Any], attrs: Mapping[str, Any], *_others: Any) -> Any:
        if self._custom_check is not None and not self._custom_check[0](attrs):
            raise RuntimeError(f"the check of a converter failed: {self._custom_check[1]}")
        op_name = self._op_name if isinstance(self._op_name, str) else self._op_name(attrs)
        taken: dict[str, Any] = {}
        for name, value in attrs.items():
            if name in self._excludes:
                raise NotImplementedError(f"the attribute {name!r} of {op_name} is not supported")
            if name in self._disables or name in self._ignores:
                logger.debug("the attribute %s of %s is left out", name, op_name)
            elif name in self._transforms:
                new_name, default, convert = _target(self._transforms[name])
                taken[new_name] = default if value is None else convert(value)
            else:
                taken[name] = value
        return get_relay_op(op_name)(*inputs, **{**taken, **self._extras})


def _target(target: Any) -> tuple[str, Any, Callable[[Any], Any]]:
    """The new name, the default (None: there is none) and the function, of an entry of `transforms`."""
    parts = target if isinstance(target, (list, tuple)) else (target,)
    if not parts or not isinstance(parts[0], str):
        raise ValueError(f"an attribute becomes a name, (name, default) or (name, default, function), not {target!r}")
    return parts[0], parts[1] if len(parts) > 1 else None, parts[2] if len(parts) > 2 else lambda value: value


def shape_of(x: Any, dtype: str = "int64", start: int | None = None, end: int | None = None) -> Any:
    """The shape of a tensor, of the axes from `start` to `end`: a constant where it is known when compiling."""
    shape = infer_shape(x)
    axes = range(len(shape))[start or 0 : end or len(shape)]
    if all(isinstance(dim, int) for dim in shape):
        return Constant(array(np.asarray([shape[axis] for axis in axes], dtype)))
    found = _OPS.shape_of(x, dtype)
    return found if len(axes) == len(shape) else _OPS.strided_slice(found, begin=[axes.start], end=[axes.stop])


def unbind(data: Any, axis: int = 0) -> TupleWrapper:
    """The slices of a tensor along an axis, without it. Error: `AttributeError` for an axis that it has not."""
    shape = infer_shape(data)
    if axis >= len(shape):
        raise AttributeError(f"a tensor of the shape {shape} has no axis {axis}")
    parts = _OPS.split(data, indices_or_sections=shape[axis], axis=axis)
    slices = [_OPS.squeeze(parts[i], axis=[axis]) for i in range(shape[axis])]
    return TupleWrapper(Tuple(slices), len(slices))


def ensure_scalar_shape(x: Any) -> Any:
    """A tensor of one element, without axes. Error: `api` for any other."""
    shape = infer_shape(x)
    if any(dim != 1 for dim in shape):
        raise fail("api", f"a tensor of the shape {shape} has not one element")
    return x if not shape else _OPS.squeeze(x)


def try_resolve_var_to_const(x: Any, graph_params: Mapping[str, Any]) -> Any:
    """The constant of a variable named in `graph_params`; any other expression unchanged."""
    if not isinstance(x, Var) or x.name_hint not in graph_params:
        return x
    value = graph_params[x.name_hint]
    value = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    return Constant(array(value.astype(infer_type(x).checked_type.dtype)))
