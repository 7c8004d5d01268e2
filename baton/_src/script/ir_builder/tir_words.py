"""The functions of `T` under a builder: `from tvm.script.ir_builder import tir as T`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.types import Type
from baton._src.script.ir_builder.base import IRBuilder
from baton._src.script.ir_builder.tir_blocks import BLOCK_WORDS
from baton._src.script.ir_builder.tir_buffers import BUFFER_WORDS, new_buffer
from baton._src.script.ir_builder.tir_frames import (
    AllocateConstFrame,
    AllocateFrame,
    AssertFrame,
    AttrFrame,
    DeclBufferFrame,
    ElseFrame,
    ForFrame,
    IfFrame,
    LaunchThreadFrame,
    LetFrame,
    PrimFuncFrame,
    ThenFrame,
    WhileFrame,
    add_statement,
    current_function,
)
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer, vector_index
from baton._src.tir.expr import IterVar, StringImm, Var, literal
from baton._src.tir.script_names import SCRIPT_NAMES
from baton._src.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    While,
)
from baton._src.tir.text.read_expressions import extent_between
from baton._src.tir.text.scope import ScriptWord
from baton._src.tir.thread_axes import launch
from baton._src.values.dtype import BOOL, HANDLE, DataType

# -------------------------------------------------------------------------------------------------- functions


def prim_func(is_private: bool = False) -> PrimFuncFrame:
    """The frame of a function."""
    return PrimFuncFrame(is_private)


def arg(name: str, obj: Any) -> Any:
    """A parameter: a variable, or a buffer with a handle of its own."""
    function = current_function("arg")
    IRBuilder.name(name, obj)
    if isinstance(obj, Buffer):
        handle = Var(f"{name}_handle", HANDLE)
        function.args.append(handle)
        function.buffer_map[handle] = obj
        return obj
    function.args.append(obj)
    return obj


def func_name(name: str) -> None:
    """The function's name."""
    current_function("func_name").name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    current_function("func_attr").attrs.update(attrs)


def func_ret(ret_type: Type) -> Type:
    """What the function returns."""
    current_function("func_ret").ret_type = ret_type
    return ret_type


# ------------------------------------------------------------------------------------------------------ loops


def _loop(kind: ForKind, start: Any, stop: Any, annotations: Any, thread: str | None = None) -> For:
    first, last = operators.match_types(0, start) if stop is None else operators.match_types(start, stop)
    var = Var("v", last.dtype)
    binding = None if thread is None else IterVar(None, Var(thread, last.dtype), IterVar.ThreadIndex, thread)
    return For(var, first, extent_between(first, last), kind, Evaluate(literal(0)), binding, dict(annotations or {}))


def serial(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """A sequential loop."""
    return ForFrame([_loop(ForKind.SERIAL, start, stop, annotations)])


def parallel(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """A loop whose iterations run on threads of the CPU."""
    return ForFrame([_loop(ForKind.PARALLEL, start, stop, annotations)])


def vectorized(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """A loop whose iterations are lanes of vectors."""
    return ForFrame([_loop(ForKind.VECTORIZED, start, stop, annotations)])


def unroll(start: Any, stop: Any = None, *, annotations: Any = None) -> ForFrame:
    """An unrolled loop."""
    return ForFrame([_loop(ForKind.UNROLLED, start, stop, annotations)])


def thread_binding(start: Any, stop: Any = None, thread: str | None = None, *, annotations: Any = None) -> ForFrame:
    """A loop bound to the thread axis `thread`, which may also be given in place of `stop`."""
    if thread is None and isinstance(stop, str):
        stop, thread = None, stop
    if thread is None:
        raise ValueError("Thread cannot be None for thread_binding")
    return ForFrame([_loop(ForKind.THREAD_BINDING, start, stop, annotations, thread)])


def grid(*extents: Any) -> ForFrame:
    """Nested loops."""
    return ForFrame([_loop(ForKind.SERIAL, extent, None, None) for extent in extents])


# --------------------------------------------------------------------------------- statements around others


def Assert(condition: Any, message: str) -> AssertFrame:
    """Fails with `message` unless `condition`."""
    held = literal(condition, BOOL)
    return AssertFrame(lambda body: AssertStmt(held, StringImm(str(message)), body))


def LetStmt_(value: Any, type_annotation: Any = None, *, var: Var | None = None) -> LetFrame:
    """A variable that stands for `value`."""
    kind = type_annotation() if callable(type_annotation) else type_annotation
    content = operators.convert(value)
    named = var or (Var("v", content.dtype) if kind is None else _variable(kind))
    return LetFrame(lambda body: LetStmt(named, content, body), named)


def _variable(kind: Any) -> Var:
    return kind.with_fields(name="v") if isinstance(kind, Var) else Var("v", kind)


def attr(node: Any, attr_key: str, value: Any) -> AttrFrame:
    """An annotation."""
    held = operators.convert(value)
    return AttrFrame(lambda body: AttrStmt(node, attr_key, held, body))


def allocate(
    extents: Any, dtype: object, scope: str = "global", condition: Any = None, annotations: Any = None
) -> AllocateFrame:
    """Memory; `with ... as` gives its pointer."""
    pointer = Var("v", HANDLE, pointee=DataType(dtype), scope=scope)
    return AllocateFrame(lambda body: Allocate(pointer, dtype, extents, condition, body, annotations), pointer)


def allocate_const(data: Any, dtype: object, extents: Any, annotations: Any = None) -> AllocateConstFrame:
    """Constant memory; `with ... as` gives its pointer."""
    pointer = Var("v", HANDLE, pointee=DataType(dtype), scope="global")
    return AllocateConstFrame(lambda body: AllocateConst(pointer, dtype, extents, data, body, annotations), pointer)


def decl_buffer(
    shape: Any,
    dtype: object = "float32",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> DeclBufferFrame:
    """A buffer in the memory `data`, or in memory of its own."""
    options = (strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators)
    made = new_buffer(shape, dtype, data, *options)

    def wrap(body: Any) -> Any:
        inner = DeclBuffer(made, body=body)
        return inner if data is not None else Allocate(made.data, made.dtype, made.shape, None, inner)

    return DeclBufferFrame(wrap, made)


def While_(condition: Any) -> WhileFrame:
    """A while loop."""
    held = literal(condition, BOOL)
    return WhileFrame(lambda body: While(held, body))


def env_thread(thread_tag: str, dtype: object = "int32") -> IterVar:
    """An axis of threads, to be launched."""
    return IterVar(None, Var("", dtype), IterVar.ThreadIndex, thread_tag)


def launch_thread(thread: IterVar | str, extent: Any) -> LaunchThreadFrame:
    """`extent` threads along an axis; `with ... as` gives the number of the thread."""
    axis = env_thread(thread) if isinstance(thread, str) else thread
    count = literal(extent, axis.var.dtype)
    launched = axis.with_fields(dom=Range(literal(0, count.dtype), count))
    return LaunchThreadFrame(lambda body: launch(launched, body), launched.var)


# --------------------------------------------------------------------------------------------------- branches


def If(condition: Any) -> IfFrame:
    """A branch, around `T.Then()` and `T.Else()`."""
    return IfFrame(literal(condition, BOOL))


def Then() -> ThenFrame:
    """The branch for a true condition."""
    return ThenFrame()


def Else() -> ElseFrame:
    """The branch for a false condition."""
    return ElseFrame()


# ------------------------------------------------------------------------------------------------- statements


def evaluate(value: Any) -> None:
    """An expression for its effect."""
    add_statement(IRBuilder.current(), Evaluate(operators.convert(value)))


def buffer_store(buffer: Buffer, value: Any, indices: Any, predicate: PrimExpr | None = None) -> None:
    """buffer[indices] = value; slices are vectors of elements."""
    if predicate is not None:
        raise ValueError("stores have no predicate here: write T.if_then_else or a loop with a condition")
    given = indices if isinstance(indices, (tuple, list)) else (indices,)
    place = tuple(vector_index(i, d) for i, d in zip(given, buffer.shape, strict=True))
    add_statement(IRBuilder.current(), BufferStore(buffer, value, place))


FRAME_WORDS: Mapping[str, Any] = MappingProxyType(
    {
        **BLOCK_WORDS,
        **BUFFER_WORDS,
        **{f.__name__: f for f in (prim_func, arg, func_name, func_attr, func_ret)},
        **{f.__name__: f for f in (serial, parallel, vectorized, unroll, thread_binding, grid)},
        **{f.__name__: f for f in (Assert, attr, allocate, allocate_const, decl_buffer, env_thread, launch_thread)},
        **{f.__name__: f for f in (If, Then, Else, evaluate, buffer_store)},
        "LetStmt": LetStmt_,
        "While": While_,
    }
)
"""The words that build statements."""

BUILDER_WORDS: Mapping[str, Any] = MappingProxyType({**SCRIPT_NAMES, **FRAME_WORDS})
"""All words of `T` under a builder: those, and expressions."""


def _built(name: str, *args: Any, **options: Any) -> Any:
    """The builder's word where one is open (functions that a script calls build statements), else a refusal."""
    words = BUILDER_WORDS if IRBuilder.is_in_scope() else SCRIPT_NAMES
    return words[name](*args, **options)


SCRIPT_WORDS: Mapping[str, Any] = MappingProxyType(
    {**SCRIPT_NAMES, **{name: ScriptWord(_built, name) for name in FRAME_WORDS if name in SCRIPT_NAMES}}
)
"""All words of `T` in scripts: as Python sees them, those of statements build where a builder is open."""
