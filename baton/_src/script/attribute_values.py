"""Values of attributes in a script: data that can be written down again, which words of the script itself are not.

R.func_attr({"note": [1, "two"]})     I.module_attrs({"note": R.nn})  <- an error
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from baton._src.script.environment import ScriptNamespace
from baton._src.script.evaluate import Evaluator, ModuleRef

_WORDS = (ScriptNamespace, ModuleRef, FunctionType, type)


def attribute_value(evaluator: Evaluator, node: ast.expr) -> Any:
    """The value of an expression, refused (`script-value`) if such a word is part of it."""
    value = evaluator.value(node)
    work = [value]
    while work:
        item = work.pop()
        if isinstance(item, _WORDS):
            raise evaluator.error("script-value", f"{_shown(item)} is not a value of an attribute", node)
        if isinstance(item, dict):
            work += [*item, *item.values()]
        elif isinstance(item, (tuple, list)):
            work += item
    return value


def _shown(word: Any) -> str:
    return f"{word.__name__!r}" if isinstance(word, (FunctionType, type)) else "a name of the script"
