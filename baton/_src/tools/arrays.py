"""Arrays in and out of the command line: `.npz` and `.npy` files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.support.damaged_files import DAMAGE
from baton._src.support.diagnostics import fail
from baton._src.support.whole_file import whole_file
from baton._src.values.tensor import AnyArray

WITHOUT_OBJECTS = "save strings as numpy.array(strings, str); arrays of objects are pickles"


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, AnyArray]:
    """The arrays of an `.npz` by name, or of an `.npy` for a model with one input. Pickled objects are refused."""
    try:
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise fail("input-file", f"cannot read {path}: {error.strerror or error}") from error
    except DAMAGE as error:
        message = f"{path} is damaged, or no .npz or .npy file of plain arrays"
        raise fail("input-file", message, help=f"write it with numpy.savez; {WITHOUT_OBJECTS}") from error
    if isinstance(loaded, np.ndarray):
        if len(names) != 1:
            wanted = f"the model has {len(names)} inputs" if names else "arrays are bound by name"
            raise fail("input-file", f"{path} holds one array, {wanted}", help="use an .npz file")
        return {names[0]: loaded}
    with loaded:
        try:
            return {name: loaded[name] for name in loaded.files}
        except (*DAMAGE, OSError) as error:
            if "pickle" in str(error):
                raise fail("input-file", f"{path} holds arrays of objects", help=WITHOUT_OBJECTS) from error
            raise fail("input-file", f"{path} is damaged: {error}") from error


def as_arrays(name: str, output: Any) -> dict[str, AnyArray]:
    """An output as arrays by name: each item of a sequence, each key's column of dictionaries."""
    if not isinstance(output, list):
        return {name: _plain(output)}
    if output and isinstance(output[0], dict):
        return {f"{name}.{key}": np.array([row[key] for row in output]) for key in output[0]}
    return {f"{name}.{k}": _plain(item) for k, item in enumerate(output)}


def _plain(array: AnyArray) -> AnyArray:
    """Strings in NumPy's own dtype, so that a file contains no pickles."""
    return array.astype(np.str_) if array.dtype.hasobject else array


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write an `.npz`, atomically."""
    try:
        # Not by numpy.savez: outputs may be called what its parameters are (`file`, `allow_pickle`).
        with whole_file(path, durable=False) as stream, zipfile.ZipFile(stream, "w") as pack:
            for name, array in arrays.items():
                with pack.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    except OSError as error:
        raise fail("output-file", f"cannot write {path}: {error.strerror or error}") from error
