"""Read attribute values in a script. They must be data that can be printed, so names of the script language are
refused.

R.func_attr({"note": [1, "two"]})     I.module_attrs({"note": R.nn})  <- an error
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

import numpy as np

from baton._src.relax.nodes import Constant
from baton._src.script.environment import ScriptNamespace
from baton._src.script.evaluate import Evaluator, ModuleRef
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import NDArray


def attribute_value(evaluator: Evaluator, node: ast.expr) -> Any:
    """The value of an expression; error `script-value` if it contains such a name."""
    value = evaluator.value(node)
    return evaluator.at(node, lambda: _data(value))


def _data(value: Any) -> Any:
    """The value as plain data: constants of the metadata section become tensors, NumPy scalars Python numbers."""
    match value:
        case ScriptNamespace() | ModuleRef() | FunctionType() | type():
            raise fail("script-value", f"{_shown(value)} is not a value of an attribute")
        case dict():
            return {_data(key): _data(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_data(item) for item in value)
        case Constant():
            return value.data
        case np.ndarray():
            return NDArray(value)
        case np.generic():
            return value.item()
        case _:
            return value


def _shown(word: Any) -> str:
    return f"{word.__name__!r}" if isinstance(word, (FunctionType, type)) else "a name of the script"
