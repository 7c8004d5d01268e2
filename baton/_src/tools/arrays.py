"""Arrays in and out of the command line: `.npz` and `.npy` files, and made-up inputs of the right shape."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.meaning import STRING_IDS
from baton._src.values.tensor import AnyArray

WITHOUT_OBJECTS = "save strings as numpy.array(strings, str); arrays of objects are pickles"


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, AnyArray]:
    """The arrays of an `.npz` by name, or of an `.npy` for a model with one input. Pickled objects are refused."""
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise fail(
            "input-file", f"cannot read arrays from {path}: {error}", help="write it with numpy.savez"
        ) from error
    if isinstance(loaded, np.ndarray):
        if len(names) != 1:
            wanted = f"the model has {len(names)} inputs" if names else "arrays are bound by name"
            raise fail("input-file", f"{path} holds one array, {wanted}", help="use an .npz file")
        return {names[0]: loaded}
    with loaded:
        try:
            return {name: loaded[name] for name in loaded.files}
        except (ValueError, zipfile.BadZipFile, EOFError) as error:
            help = WITHOUT_OBJECTS if "pickle" in str(error) else None
            raise fail("input-file", f"{path} is damaged: {error}", help=help) from error


def as_arrays(name: str, output: Any) -> dict[str, AnyArray]:
    """An output as arrays by name: of a sequence each item, of dictionaries each key's column."""
    if not isinstance(output, list):
        return {name: _plain(output)}
    if output and isinstance(output[0], dict):
        return {f"{name}.{key}": np.array([row[key] for row in output]) for key in output[0]}
    return {f"{name}.{k}": _plain(item) for k, item in enumerate(output)}


def _plain(array: AnyArray) -> AnyArray:
    """Strings as NumPy's own, so that a file of them holds no pickles."""
    return array.astype(np.str_) if array.dtype.hasobject else array


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write an `.npz`, whole or not at all."""
    temporary = path.with_name(f".{path.name}.partial")
    try:
        # Not by numpy.savez: outputs may be called what its parameters are (`file`, `allow_pickle`).
        with temporary.open("wb") as stream, zipfile.ZipFile(stream, "w") as pack:
            for name, array in arrays.items():
                with pack.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise fail("output-file", f"cannot write {path}: {error.strerror or error}") from error


def made_up(inputs: Sequence[Any], sizes: Mapping[str, int], seed: int = 0) -> dict[str, AnyArray]:
    """Random arrays for a model's inputs; `sizes` gives symbolic dims their numbers (default 1)."""
    random = np.random.default_rng(seed)
    known = {str(d) for spec in inputs for d in spec.shape or () if not isinstance(d, int)}
    for name in sizes:
        if name not in known:
            help = f"there are: {', '.join(sorted(known))}" if known else "all its dims are numbers"
            raise fail("option", f"the model has no dim {name!r}", help=help)
    return {spec.name: _random(random, spec, _numbers(spec, sizes)) for spec in inputs}


def _numbers(spec: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:
    shape = spec.shape
    if shape is None:
        raise fail("option", f"the rank of input {spec.name!r} is not known", help="give --input FILE")
    return tuple(d if isinstance(d, int) else sizes.get(str(d), 1) for d in shape)


def _random(random: np.random.Generator, spec: Any, shape: tuple[int, ...]) -> AnyArray:
    dtype = spec.dtype
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
        if not name or not number.isdigit():
            raise fail("option", f"--dim takes NAME=SIZE, got {text!r}", help="for example --dim batch=8")
        found[name] = int(number)
    return found
