"""What `T` holds as Python sees it: `from tvm.script import tir as T`.

The words of a kernel's body are read from its text, never called; but annotations (`A: T.Buffer((16,), "float32")`) and
expressions in Relax functions (`n = T.int64()`) are ordinary Python, so every word is a function here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from baton._src.support.diagnostics import fail
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.text.scope import ScriptWord
from baton._src.tir.text.words import WORDS, expression_word, names_dtype

_BITS = (8, 16, 32, 64)
_LANES = (1, 2, 4, 8, 16, 32, 64)
_NARROW = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "bool", "boolean", "handle")
_STATEMENTS = (
    "grid serial parallel vectorized unroll thread_binding block axis reads writes init alloc_buffer match_buffer "
    "func_attr block_attr where evaluate attr realize allocate decl_buffer launch_thread env_thread Assert let "
    "preflattened_buffer buffer_store While If Then Else arg func_name func_ret LetStmt Let"
)


def _statement_only(name: str, *args: Any, **options: Any) -> NoReturn:
    raise fail("script-word", f"T.{name} stands in the body of a @T.prim_func and means nothing elsewhere")


class _BufferWord:
    """The annotation `T.Buffer(shape, dtype)`; its former spelling is `T.Buffer[shape, dtype]`."""

    def __call__(self, shape: Any, dtype: object = "float32", **options: Any) -> Buffer:
        known = {k: v for k, v in options.items() if k in ("strides", "elem_offset", "scope", "data_alignment")}
        return decl_buffer(shape, dtype, "A", **known)

    def __getitem__(self, said: Any) -> Buffer:
        return self(*said) if names_dtype(said) else self(said)


class _PointerWord:
    """The former spelling of `T.handle(dtype, scope)`: `T.Ptr[dtype]` or `T.Ptr(dtype)`."""

    def __call__(self, dtype: Any, storage_scope: str = "global") -> Any:
        return expression_word("handle", dtype().dtype if callable(dtype) else dtype, storage_scope)

    def __getitem__(self, said: Any) -> Any:
        return self(*said) if isinstance(said, tuple) else self(said)


def _dtypes() -> list[str]:
    integers = [f"{kind}{bits}" for kind in ("int", "uint") for bits in _BITS]
    scalars = [*integers, *_NARROW]
    vectors = [f"{name}x{lanes}" for name in (*integers, "float16", "float32", "float64") for lanes in _LANES[1:]]
    return scalars + vectors


def _names() -> dict[str, Callable[..., Any]]:
    expressions = {*_dtypes(), *WORDS, *(name.removeprefix("tir.") for name in INTRINSICS)}
    found: dict[str, Callable[..., Any]] = {
        n: ScriptWord(expression_word, n) for n in sorted(expressions) if "." not in n
    }
    found.update({name: ScriptWord(_statement_only, name) for name in _STATEMENTS.split()})
    found["Buffer"] = found["buffer"] = found["buffer_decl"] = _BufferWord()
    found["Ptr"] = found["ptr"] = found["buffer_var"] = _PointerWord()
    return found


SCRIPT_NAMES: Mapping[str, Callable[..., Any]] = MappingProxyType(_names())
"""Every word of `T` except the decorators."""
