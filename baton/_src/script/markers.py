"""Names of `R` and `I` that are not builders: keywords that only the parser understands, recognised by object."""

from __future__ import annotations

import sys
from typing import Any

from baton._src.support.diagnostics import fail


class Marker:
    """A keyword of the script language; calling it outside of a script is an error."""

    def __init__(self, name: str, meaning: str) -> None:
        self.name = name
        self.__doc__ = meaning

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise fail("script-context", f"{self.name} can only be used inside a script", help=self.__doc__)

    def __enter__(self) -> Any:
        raise fail("script-context", f"{self.name} can only be used inside a script", help=self.__doc__)

    def __exit__(self, *error: object) -> None:
        pass

    def __repr__(self) -> str:
        return self.name


class ModuleMarker(Marker):
    """A marker in the body of a module class, which Python runs first: calling it there has no effect."""

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if "__qualname__" not in sys._getframe(1).f_locals:
            super().__call__(*args, **kwargs)


DATAFLOW = Marker("R.dataflow", "with R.dataflow(): opens a DataflowBlock")
OUTPUT = Marker("R.output", "R.output(a, b) ends a dataflow block and says what is visible after it")
MATCH_CAST = Marker("R.match_cast", "y = R.match_cast(x, annotation) checks at run time and binds shape variables")
FUNC_ATTR = Marker("R.func_attr", "R.func_attr({...}) sets attributes of the function")
FUNC_NAME = Marker("R.func_name", "R.func_name(name) sets the public name of the function")
FUNC_RET = Marker("R.func_ret_value", "R.func_ret_value(value) is what the function returns")
EMIT = Marker("R.emit", "y = R.emit(x) binds x")
EMIT_TE = Marker("R.emit_te", "y = R.emit_te(func, x) calls the kernel that a te function computes")
EMIT_VAR_BINDING = Marker("R.emit_var_binding", "R.emit_var_binding(binding) appends a binding made elsewhere")
MODULE_ATTRS = ModuleMarker("I.module_attrs", "I.module_attrs({...}) sets attributes of the module")
MODULE_SET_ATTR = ModuleMarker("I.module_set_attr", 'I.module_set_attr("key", value) sets one attribute of the module')
MODULE_GLOBAL_INFOS = ModuleMarker(
    "I.module_global_infos", 'I.module_global_infos({"vdevice": [...]}) describes devices'
)

RELAX_MARKERS: dict[str, Marker] = {
    "dataflow": DATAFLOW,
    "output": OUTPUT,
    "match_cast": MATCH_CAST,
    "emit_match_cast": MATCH_CAST,
    "func_attr": FUNC_ATTR,
    "func_name": FUNC_NAME,
    "func_ret_value": FUNC_RET,
    "emit": EMIT,
    "emit_te": EMIT_TE,
    "emit_var_binding": EMIT_VAR_BINDING,
}
MODULE_MARKERS: dict[str, Marker] = {
    "module_attrs": MODULE_ATTRS,
    "module_set_attr": MODULE_SET_ATTR,
    "module_global_infos": MODULE_GLOBAL_INFOS,
}
