"""Effects: state that exported functions get as further inputs and give back (`nn.Effect`, `nn.IOEffect`,
`nn.KVCache`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.nn.tensor import Tensor, builder_for, default_dtype
from baton._src.ops.builders import RELAX
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.call_builders import call_inplace_packed, call_pure_packed
from baton._src.relax.nodes import ExternFunc, PrimValue, ShapeExpr, Var
from baton._src.relax.special_builders import null_value
from baton._src.relax.struct_info import ObjectStructInfo, TensorStructInfo
from baton._src.support.diagnostics import fail

_RELAX: Any = RELAX


class Effect:
    """The base of effects."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Any]:
        """Bind the initial state, in the function that makes it."""
        raise NotImplementedError

    def create(self, name_hint: str) -> list[Var]:
        """The inputs of a function that hold the state."""
        raise NotImplementedError

    def set_state(self, state_vars: list[Any]) -> None:
        """Let these variables be the state from here on."""
        raise NotImplementedError

    def finalize(self) -> list[Any]:
        """The state at the end of a function, which returns it."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, where the effect has one."""


class IOEffect(Effect):
    """The order of prints and other debugging functions."""

    def __init__(self) -> None:
        self.effect: Any = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Any]:
        return [builder.emit(null_value(), f"{name_hint}.io")]

    def create(self, name_hint: str) -> list[Var]:
        return [Var(f"{name_hint}.io", ObjectStructInfo())]

    def set_state(self, state_vars: list[Any]) -> None:
        (self.effect,) = state_vars

    def finalize(self) -> list[Any]:
        found, self.effect = self.effect, None
        return [found]


class KVCache(Effect):
    """Rows that functions append to and look at; `unit_shape` is the shape of a row."""

    def __init__(self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None) -> None:
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(d) for d in unit_shape]
        self.dtype = dtype or default_dtype()
        self.cache: Any = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Any]:
        shape = ShapeExpr([self.init_seq_len, *self.unit_shape])
        args = [_RELAX.zeros(shape, self.dtype), shape, PrimValue(0)]
        found = call_pure_packed("vm.builtin.attention_kv_cache_create", *args, sinfo_args=[ObjectStructInfo()])
        return [builder.emit(found, name_hint)]

    def create(self, name_hint: str) -> list[Var]:
        return [Var(name_hint, ObjectStructInfo())]

    def set_state(self, state_vars: list[Any]) -> None:
        (self.cache,) = state_vars

    def finalize(self) -> list[Any]:
        found, self.cache = self.cache, None
        return [found]

    def to(self, dtype: str | None = None) -> None:
        if dtype is not None:
            self.dtype = dtype

    def view(self, seq_len: Any) -> Tensor:
        """The first `seq_len` rows."""
        shape = ShapeExpr([seq_len, *self.unit_shape])
        info = TensorStructInfo(shape, self.dtype)
        call = call_pure_packed("vm.builtin.attention_kv_cache_view", self.cache, shape, sinfo_args=[info])
        return Tensor(_expr=builder_for("KVCache.view").emit(call))

    def append(self, new_element: Tensor) -> None:
        """Add rows. Errors: a `TypeError` for another dtype."""
        if new_element.dtype != self.dtype:
            raise fail("nn-tensor", f"the cache holds {self.dtype}, got {new_element.dtype}", kind=TypeError)
        self.cache = builder_for("KVCache.append").emit(
            call_inplace_packed(
                "vm.builtin.attention_kv_cache_append",
                self.cache,
                new_element._expr,
                inplace_indices=[0],
                sinfo_args=[ObjectStructInfo()],
            ),
            self.cache.name_hint,
        )


def debugged(effect: IOEffect, name: str, place: str, args: Sequence[Any]) -> None:
    """Call a packed function for what it does, in the order of the effect."""
    effect.effect = builder_for(name).emit(
        call_pure_packed(
            ExternFunc("vm.builtin.invoke_debug_func"),
            effect.effect,
            name,
            place,
            *args,
            sinfo_args=[ObjectStructInfo()],
        ),
        effect.effect.name_hint,
    )
