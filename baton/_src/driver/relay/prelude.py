"""`relay.Prelude`: lists, options, trees, tensor arrays, ready for use in a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, GlobalTypeVar
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.prelude import load
from baton._src.relay.prelude.load import constructor_of, import_text
from baton._src.relay.prelude.static_arrays import static_name, static_texts
from baton._src.relay.prelude.tensor_arrays import DTYPES, dynamic_name, dynamic_text
from baton._src.relay.text.parser import parse
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import AnyDim


def import_from_std(module: IRModule, name: str) -> None:
    """Add a standard file to `module`, in place; `prelude.rly` is all of them that `Prelude` has."""
    if name.removesuffix(".rly") == "prelude":
        Prelude(module)
    else:
        Prelude.extend(module, import_text(name.removesuffix(".rly"), module, CATALOGUE))


class Prelude:
    """`Prelude(mod)` adds everything to `mod`, in place as in TVM; `prelude.mod` is the module.

    Tensor arrays are added for a dtype (or a dtype and shape) when something of theirs is first asked for.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self.extend(self.mod, load.Prelude(CATALOGUE, self.mod).module)

    @staticmethod
    def extend(mod: IRModule, extended: IRModule) -> None:
        """Add to the user's module what is new in `extended`."""
        known = {v.name_hint for v in mod.functions}
        for var, function in extended.functions.items():
            if var.name_hint not in known:
                mod.functions[var] = function
        mod.type_definitions.update(extended.type_definitions)

    def import_from_std(self, name: str) -> None:
        """Add one of the files (`nat.rly`, `gradient.rly`, ...)."""
        import_from_std(self.mod, name)

    def get_name(self, canonical: str, dtype: str = "") -> str:
        """The name of a type, constructor or function; those of tensor arrays depend on the dtype."""
        return dynamic_name(canonical, dtype) if dtype else canonical

    def get_global_var(self, canonical: str, dtype: str = "") -> GlobalVar:
        """A function of the Prelude; with `dtype` one of tensor arrays (`"tensor_array_read"`)."""
        self._dynamic(dtype)
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str = "") -> GlobalTypeVar:
        """An algebraic data type; with `dtype` that of tensor arrays (`"tensor_t"`)."""
        self._dynamic(dtype)
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str = "") -> Constructor:
        """A constructor of the type of this (full) name."""
        self._dynamic(dtype)
        return constructor_of(self.mod, ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Constructor:
        """A constructor of tensor arrays' elements: `tensor_nil`, `tensor0` to `tensor6`."""
        return self.get_ctor(self.get_name("tensor_t", dtype), canonical, dtype)

    def get_name_static(self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: int | None = None) -> str:
        """The name of something of static tensor arrays."""
        return static_name(canonical, dtype, _dims(shape, batch_dim))

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: int | None = None
    ) -> GlobalVar:
        """A function of static tensor arrays."""
        self._static(dtype, _dims(shape, batch_dim))
        return self.mod.get_global_var(self.get_name_static(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> GlobalTypeVar:
        """The type of static tensor arrays' elements (`"tensor_t"`)."""
        self._static(dtype, _dims(shape, None))
        return self.mod.get_global_type_var(self.get_name_static(canonical, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[Any]) -> Constructor:
        """`tensor_constructor` or `tensor_nil` of static tensor arrays."""
        self._static(dtype, _dims(shape, None))
        type_name = self.get_name_static("tensor_t", dtype, shape)
        return constructor_of(self.mod, type_name, self.get_name_static(name, dtype, shape))

    def _dynamic(self, dtype: str) -> None:
        type_name = dynamic_name("tensor_t", dtype)
        if dtype and type_name not in self._known(dtype):
            self.extend(
                self.mod, parse(dynamic_text(dtype), CATALOGUE, module=self.mod, source_name=f"{type_name}.rly")
            )

    def _static(self, dtype: str, dims: tuple[int | None, ...]) -> None:
        known = self._known(dtype)
        if static_name("tensor_array_stack", dtype, dims) in known:
            return
        missing = [text for name, text in static_texts(dtype, dims).items() if name not in known]
        source = f"{static_name('tensor_t', dtype, dims)}.rly"
        self.extend(self.mod, parse("\n".join(missing), CATALOGUE, module=self.mod, source_name=source))

    def _known(self, dtype: str) -> set[str]:
        """The names of the module's types and functions; error `api` if there are no tensor arrays of `dtype`."""
        if dtype and dtype not in DTYPES:
            raise fail("api", f"there are no tensor arrays of {dtype}", help=f"there are of {', '.join(DTYPES)}")
        return {v.name_hint for v in self.mod.type_definitions} | {v.name_hint for v in self.mod.functions}

    def __getattr__(self, name: str) -> Any:
        """`prelude.map`, `prelude.length`, ..."""
        if name.startswith("_") or name == "mod" or name not in self.mod:
            raise AttributeError(name)
        return self.mod.get_global_var(name)


class TensorArrayOps:
    """Tensor arrays of one dtype, as in TVM: `register()` adds their definitions to the Prelude's module."""

    def __init__(self, prelude: Prelude, dtype: str) -> None:
        self.prelude = prelude
        self.dtype = dtype

    def register(self) -> None:
        """Add them."""
        self.prelude.get_type("tensor_t", self.dtype)

    def get_name(self, canonical: str) -> str:
        """The full name of one of them."""
        return self.prelude.get_name(canonical, self.dtype)

    def get_global_var(self, canonical: str) -> GlobalVar:
        """One of their functions."""
        return self.prelude.get_global_var(canonical, self.dtype)

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """Their elements' type (`"tensor_t"`)."""
        return self.prelude.get_type(canonical, self.dtype)

    def get_ctor(self, canonical: str) -> Constructor:
        """One of their elements' constructors: `tensor_nil`, `tensor0` to `tensor6`."""
        return self.prelude.get_tensor_ctor(canonical, self.dtype)


class StaticTensorArrayOps:
    """Tensor arrays of one dtype and shape, as in TVM: `register()` adds their definitions to the Prelude's module."""

    def __init__(self, prelude: Prelude, dtype: str, shape: Sequence[Any], batch_dim: int | None = None) -> None:
        self.prelude = prelude
        self.dtype = dtype
        self.shape = tuple(shape)
        self.batch_dim = batch_dim

    def register(self) -> None:
        """Add them."""
        self.prelude.get_type_static("tensor_t", self.dtype, _dims(self.shape, self.batch_dim))

    def get_name(self, canonical: str) -> str:
        """The full name of one of them."""
        return self.prelude.get_name_static(canonical, self.dtype, self.shape, self.batch_dim)

    def get_type(self, canonical: str) -> GlobalTypeVar:
        """Their elements' type (`"tensor_t"`)."""
        return self.prelude.get_type_static(canonical, self.dtype, _dims(self.shape, self.batch_dim))

    def get_global_var(self, canonical: str) -> GlobalVar:
        """One of their functions."""
        return self.prelude.get_global_var_static(canonical, self.dtype, self.shape, self.batch_dim)

    def get_ctor(self, canonical: str) -> Constructor:
        """One of their constructors."""
        return self.prelude.get_tensor_ctor_static(canonical, self.dtype, _dims(self.shape, self.batch_dim))


def _dims(shape: Sequence[Any], batch_dim: int | None) -> tuple[int | None, ...]:
    """Ints, and None where a dim is unknown. TVM's hint which dim is the batch changes nothing in the types."""
    return tuple(None if isinstance(d, AnyDim) or d is None else int(d) for d in shape)
