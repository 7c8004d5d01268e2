"""External functions in `nn` models: `nn.ExternModule`; the variants that TVM compiles or links are refused.

class Kernels(nn.ExternModule):
    def load(self):
        return None                  # the function is registered by `register_func`

kernels = Kernels({"my.double": lambda x: nn.Tensor.placeholder(x.shape, x.dtype)}) y = kernels["my.double"](x)
# in forward: R.call_dps_packed("my.double", (x,), ...)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.frontends.nn.export import Exporter
from baton._src.frontends.nn.kernel_ops import extern
from baton._src.support.diagnostics import fail


class ExternModule:
    """Packed functions by name, each with a function that computes its result's type from its arguments."""

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]) -> None:
        self.symbols = dict(symbols)

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """A function to call in `forward`. Errors: `KeyError` for an unknown name."""
        infer = self.symbols[func_name]
        return lambda *args: extern(func_name, args, infer(*args))

    def load(self) -> Any:
        """The module to link with the executable; defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not say where its functions come from")


class ObjectModule(ExternModule):
    """Functions of an object file: refused."""

    def __init__(self, symbols: Mapping[str, Callable[..., Any]], filepath: Any) -> None:
        raise _foreign("ObjectModule", f"the machine code of {filepath}")


class SourceModule(ExternModule):
    """Functions in C++ or CUDA: refused."""

    def __init__(self, symbols: Mapping[str, Callable[..., Any]], *args: Any, **options: Any) -> None:
        raise _foreign("SourceModule", "source code in C++ or CUDA")


def _foreign(what: str, which: str) -> Exception:
    return fail(
        "nn-extern", f"nn.{what} needs {which}, and baton has no compiler or linker for it",
        help="register a Python function (baton.register_func) and declare its result: nn.ExternModule({name: infer}), "
        "or write the kernel in te or TIR (nn.op.tensor_expr_op, tensor_ir_op)",
    )  # fmt: skip


def add_extern(mod: ExternModule) -> None:
    """Add `mod` to the external modules that `export_tvm(..., allow_extern=True)` returns."""
    Exporter.current().extern_modules.append(mod)
