"""Buffers of scripts: `T.Buffer`, `T.match_buffer`, `T.alloc_buffer`, `T.decl_buffer` and their arguments."""

from __future__ import annotations

import ast
from typing import Any

from baton._src.support.trampoline import Task
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.expr import IntImm, Var, literal
from baton._src.tir.stmt import MatchBufferRegion
from baton._src.tir.text.operations import as_scalar
from baton._src.tir.text.read_blocks import call_name, open_block
from baton._src.tir.text.read_expressions import arguments, region, value
from baton._src.tir.text.scope import Scope, Word
from baton._src.tir.text.words import names_dtype
from baton._src.values.dtype import DataType

BUFFER_NAMES = ("Buffer", "buffer", "buffer_decl")
_OPTIONS = (
    "dtype",
    "data",
    "strides",
    "elem_offset",
    "scope",
    "align",
    "offset_factor",
    "buffer_type",
    "axis_separators",
)
_KINDS_OF_OPTIONS: dict[str, Any] = {
    "data": Var,
    "strides": (tuple, list),
    "scope": str,
    "align": int,
    "offset_factor": int,
    "buffer_type": str,
    "axis_separators": (tuple, list),
}


def is_buffer_word(scope: Scope, node: ast.expr) -> bool:
    """Whether an annotation is `T.Buffer(...)` or, as it was written once, `T.Buffer[...]`."""
    if isinstance(node, ast.Subscript):
        node = ast.Call(node.value, [], [])
    return call_name(scope, node) in BUFFER_NAMES


def buffer_arguments(scope: Scope, node: ast.expr) -> Task[tuple[list[Any], dict[str, Any]]]:
    """The contents of the brackets of such an annotation."""
    if isinstance(node, ast.Subscript):
        said = yield value(scope, node.slice)
        return (list(said) if names_dtype(said) else [said]), {}
    assert isinstance(node, ast.Call)
    found: tuple[list[Any], dict[str, Any]] = yield arguments(scope, node)
    return found


def make_buffer(scope: Scope, node: ast.AST, name: str, args: list[Any], kwargs: dict[str, Any]) -> Buffer:
    """A buffer from the arguments all declarations share: shape, dtype, data, strides, elem_offset, scope, ..."""
    given = dict(zip(("shape", *_OPTIONS), args)) | kwargs
    unknown = set(given) - {"shape", *_OPTIONS}
    if unknown or "shape" not in given:
        said = f"buffers have no option {min(unknown)!r}" if unknown else "a buffer is declared with a shape"
        raise scope.error(node, "tir-buffer", said, 'for example ((16, 8), "float32")')
    shape = given["shape"] if isinstance(given["shape"], (tuple, list)) else (given["shape"],)
    dims = tuple(as_scalar(scope, node, d) for d in shape)
    for option, kinds in _KINDS_OF_OPTIONS.items():
        if given.get(option) is not None and not isinstance(given[option], kinds):
            raise scope.error(node, "tir-buffer", f"{option} of a buffer cannot be {given[option]!r}")
    stride_dtype = dims[0].dtype if dims else "int32"
    strides = tuple(
        Var(s, stride_dtype) if isinstance(s, str) else as_scalar(scope, node, s) for s in given.get("strides") or ()
    )
    offset = given.get("elem_offset")
    dtype = given.get("dtype", "float32")
    made = decl_buffer(
        dims,
        DataType(dtype.name if isinstance(dtype, Word) else dtype),
        name,
        data=given.get("data"),
        strides=strides,
        elem_offset=None if offset is None else as_scalar(scope, node, offset),
        scope=given.get("scope") or "",
        data_alignment=given.get("align", -1),
        offset_factor=max(given.get("offset_factor", 0), 0),
    )
    kind = given.get("buffer_type", "")
    return made.with_fields(
        buffer_type="" if kind in ("", "default") else kind,
        axis_separators=tuple(given.get("axis_separators") or ()),
        span=scope.span(node),
    )


def buffer_word(scope: Scope, target: str, node: ast.Call, name: str) -> Task[Buffer | None]:
    """`A = T.match_buffer(...)`, `T.alloc_buffer(...)`, `T.Buffer(..., data=)`; None for other words."""
    if name == "match_buffer":
        matched: Buffer = yield _match_buffer(scope, target, node)
        return matched
    if name in ("alloc_buffer", "sblock_alloc_buffer"):
        args, kwargs = yield arguments(scope, node)
        buffer = make_buffer(scope, node, target, args, kwargs)
        scope.blocks[-1].alloc_buffers.append(buffer)
        return buffer
    if name in BUFFER_NAMES:
        args, kwargs = yield arguments(scope, node)
        return make_buffer(scope, node, target, args, kwargs)
    return None


def _match_buffer(scope: Scope, target: str, node: ast.Call) -> Task[Buffer]:
    if not node.args:
        raise scope.error(node, "tir-buffer", "T.match_buffer needs the parameter or region it matches")
    first, *others = node.args
    rest = ast.copy_location(ast.Call(node.func, others, node.keywords), node)
    args, kwargs = yield arguments(scope, rest)
    whole = None if isinstance(first, ast.Subscript) else (yield value(scope, first))
    if isinstance(whole, Var):
        if not any(whole is p for p in scope.params):
            raise scope.error(first, "tir-buffer", f"{whole.name} is not a parameter")
        buffer = make_buffer(scope, node, target, args, kwargs)
        if whole in scope.buffer_map:
            raise scope.error(node, "tir-buffer", f"the parameter {whole.name} has a buffer already")
        scope.buffer_map[whole] = buffer
        return buffer
    source = yield region(scope, first)
    if not args and "shape" not in kwargs:
        kwargs["shape"] = [r.extent for r in source.region]
    kwargs.setdefault("dtype", args[1] if len(args) > 1 else source.buffer.dtype)
    buffer = make_buffer(scope, node, target, args[:1], kwargs)
    _check_shown(scope, node, buffer, source)
    open_block(scope, node).match_buffers.append(MatchBufferRegion(buffer, source=source))
    return buffer


def _check_shown(scope: Scope, node: ast.Call, buffer: Buffer, source: BufferRegion) -> None:
    """A view has the sizes of the region it shows, whose first axes it leaves out where they have one element."""
    extents = [r.extent for r in source.region]
    fits = buffer.ndim <= len(extents)
    sizes = [*[literal(1)] * (len(extents) - buffer.ndim), *buffer.shape]
    for extent, size in zip(extents, sizes):
        apart = Analyzer().simplify(operators.subtract(extent, size))
        fits = fits and not (isinstance(apart, IntImm) and apart.value)
    if not fits:
        message = f"{buffer.name} is not as large as the region of {source.buffer.name} that it shows"
        raise scope.error(node, "tir-buffer", message, "leave the shape out to take that of the region")
