"""Values that are no nodes, as JSON data for `save_json`: lists, dicts, numbers, texts, tensors, targets.

What is none of these (nodes, dtypes) is referred to by the data that the caller gives for it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from baton._src.driver.tvm_names.env_func import EnvFunc
from baton._src.ir.attrs import DictAttrs
from baton._src.ir.target import Target
from baton._src.runtime.param_dict import load_param_dict, save_param_dict
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


def as_data(value: Any, reference: Callable[[Any], Any]) -> Any:
    """Data from which `from_data` makes the value again; what is not known here is given to `reference`."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, (Enum, DataType))):
        return value
    if isinstance(value, (list, tuple)):
        return {"array": [as_data(item, reference) for item in value]}
    if isinstance(value, Mapping):
        pairs = [[as_data(key, reference), as_data(content, reference)] for key, content in value.items()]
        return {"attrs" if isinstance(value, DictAttrs) else "map": pairs}
    if isinstance(value, NDArray):
        return {"tensor": base64.b64encode(save_param_dict({"": value})).decode()}
    if isinstance(value, Target):
        return {"target": value.export()}
    if isinstance(value, EnvFunc):
        return {"env_func": value.name}
    return {"other": reference(value)}


def from_data(data: Any, made: Callable[[Any], Any]) -> Any:
    """The value of `as_data`; sequences are tuples, as those of nodes are. `KeyError`, `ValueError`: it is none."""
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind in ("map", "attrs"):
        found = {from_data(key, made): from_data(item, made) for key, item in content}
        return DictAttrs(found) if kind == "attrs" else found
    if kind == "array":
        return tuple(from_data(item, made) for item in content)
    readers: dict[str, Callable[[Any], Any]] = {
        "tensor": lambda text: load_param_dict(base64.b64decode(text))[""],
        "target": Target,
        "env_func": EnvFunc.get,
        "other": made,
    }
    return readers[kind](content)
