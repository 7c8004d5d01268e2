"""`tvm.ir.EnvFunc`: a packed function that nodes hold by its name."""

from __future__ import annotations

from typing import Any, cast

from baton._src.driver.tvm_names.registry import get_global_func
from baton._src.support.dataclass import dataclass
from baton._src.values.packed_func import PackedFunc


@dataclass(frozen=True)
class EnvFunc:
    """A global packed function by name: equal to another of the name, saved as the name."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The function registered under `name`. Raises `DiagnosticError` (`function-missing`) if there is none."""
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> PackedFunc:
        """What is registered under the name now."""
        return cast(PackedFunc, get_global_func(self.name))

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)
