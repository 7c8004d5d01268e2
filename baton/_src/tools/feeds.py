"""The inputs for running a model: arrays from a file, or made-up ones of the right shape."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.support.python_operators import OF_INTEGERS
from baton._src.tools.arrays import read_arrays
from baton._src.values.meaning import PLAIN, STRING_IDS, is_map
from baton._src.values.tensor import AnyArray


def feed(inputs: Sequence[Any], path: Path | None, dims: Sequence[str] | None) -> dict[str, AnyArray]:
    """Arrays for the inputs of a model: those in the file, or random ones, whose open sizes `dims` gives."""
    if path is None:
        return made_up(inputs, parse_sizes(dims or []))
    if dims:
        raise fail(
            "option",
            "--dim applies to random inputs only; those of --input have fixed sizes",
            help="leave one of them out",
        )
    dtypes = {spec.name: spec.dtype.numpy for spec in inputs}
    arrays = read_arrays(path, list(dtypes))
    if dtypes and arrays and all(name not in dtypes and name.startswith("arr_") for name in arrays):
        by_name = ", ".join(f"{name!r}: ..." for name in dtypes)
        raise fail("input-file", f"the arrays in {path} have no names", help=f"numpy.savez(file, **{{{by_name}}})")
    return {name: _as_declared(array, dtypes.get(name)) for name, array in arrays.items()}


def _as_declared(array: AnyArray, wanted: np.dtype[Any] | None) -> AnyArray:
    """For dtypes that NumPy lacks (bfloat16), files record only the bytes per element; this restores the dtype."""
    unknown = array.dtype.kind == "V" and array.dtype.names is None
    return array.view(wanted) if unknown and wanted is not None and wanted.itemsize == array.itemsize else array


def made_up(inputs: Sequence[Any], sizes: Mapping[str, int], seed: int = 0) -> dict[str, AnyArray]:
    """Random arrays for a model's inputs; `sizes` gives symbolic dims their numbers (default 1), from which those that
    are computed follow."""
    random = np.random.default_rng(seed)
    open_dims = {str(d) for spec in inputs for d in spec.shape or () if not isinstance(d, int)}
    known = sorted({name for dim in open_dims for name in (dim, *_names(dim))})
    for name in sizes:
        if name not in known:
            help = f"there are: {', '.join(known)}" if known else "all its dims are numbers"
            raise fail("option", f"the model has no dim {name!r}", help=help)
    return {spec.name: _random(random, spec, _numbers(spec, sizes)) for spec in inputs}


def _numbers(spec: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:
    if spec.shape is None:
        raise fail("option", f"the rank of input {spec.name!r} is not known", help="give --input FILE")
    found = tuple(d if isinstance(d, int) else _size(str(d), sizes) for d in spec.shape)
    for dim, size in zip(spec.shape, found):
        if size < 0:
            raise fail("option", f"the dim {dim} of input {spec.name!r} would be {size}", help="--dim NAME=SIZE")
    return found


def _size(dim: str, sizes: Mapping[str, int]) -> int:
    """The size of a symbolic dim: as given, or as it follows from those in it (`n * 2 + 1`); 1 of one by itself."""
    tree = None if dim in sizes else _tree(dim)
    try:
        return sizes.get(dim, 1) if tree is None else _value(tree, sizes)
    except (ValueError, ZeroDivisionError):
        return 1


def _names(dim: str) -> list[str]:
    """The dims that a symbolic dim is computed from."""
    tree = _tree(dim)
    functions = ("min", "max")
    found = [] if tree is None else [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
    return [name for name in found if name not in functions]


def _tree(dim: str) -> ast.expr | None:
    """The expression that a dim is; None for a name, which in ONNX models is any text (`batch-size`)."""
    if " " not in dim and "(" not in dim:  # which expressions have, as they are written here
        return None
    try:
        return ast.parse(dim, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    """The value of integer arithmetic; `ValueError` for anything else."""
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return sizes.get(name, 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OF_INTEGERS:
            found: int = OF_INTEGERS[type(op)](_value(left, sizes), _value(right, sizes))
            return found
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[*args]):
            return (min if name == "min" else max)(_value(arg, sizes) for arg in args)
        case _:
            raise ValueError(ast.unparse(node))


def _random(random: np.random.Generator, spec: Any, shape: tuple[int, ...]) -> Any:
    dtype = spec.dtype
    if is_map(spec.meaning):
        item = replace(spec, meaning=STRING_IDS if spec.meaning.kind == "string map" else PLAIN)
        return dict(zip(spec.meaning.keys or range(shape[0]), _random(random, item, shape).tolist(), strict=True))
    if spec.meaning == STRING_IDS:
        return random.integers(0, 2, shape).astype(np.str_)
    if dtype.is_float:
        return random.standard_normal(shape).astype(dtype.numpy)
    if dtype.is_bool:
        return np.ones(shape, np.bool_)
    return random.integers(0, 2, shape).astype(dtype.numpy)


def parse_sizes(texts: Sequence[str]) -> dict[str, int]:
    """`["batch=8", "seq=128"]` as a mapping."""
    found = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name or not number.isdecimal():
            raise fail("option", f"--dim takes NAME=SIZE, got {text!r}", help="for example --dim batch=8")
        found[name] = int(number)
    return found
