"""Parameters in a folder, as LLM projects ship them: the files, and reading them (`tvm.contrib.tvmjs`).

    ndarray-cache.json        metadata, and of each shard the tensors in it: name, shape, dtype, format, place
    params_shard_<n>.bin      the bytes of the tensors, one after another
    ndarray-cache-b16.json    the same for who reads bfloat16, if float32 was stored so

The format of a tensor is "raw", or "f32-to-bf16": float32 stored as its upper half, rounded.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.device import CPU, Device
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray, array

INDEX = "ndarray-cache.json"
HALF_INDEX = "ndarray-cache-b16.json"
HALVED = "f32-to-bf16"

Record = dict[str, Any]


def load_ndarray_cache(cachepath: str, device: Device = CPU) -> tuple[dict[str, NDArray], Any]:
    """The parameters by name, and the metadata, of a folder or of an index in it.

    Errors: `file-missing`; `tvm-format` for an index that is malformed, or names files outside of its folder, or places
    beyond their ends.
    """
    path = Path(cachepath)
    index = path if path.suffix == ".json" else path / INDEX
    found = index_content(index)
    params: dict[str, NDArray] = {}
    try:
        for shard in found["records"]:
            content = shard_content(index.parent, shard)
            params |= {str(r["name"]): array(_decoded(content, r), device) for r in shard["records"]}
        return params, found.get("metadata", {})
    except (KeyError, TypeError, ValueError) as error:
        raise fail("tvm-format", f"{index} is malformed: {error!r}") from error


def _decoded(content: bytes, record: Record) -> AnyArray:
    start, size, shape = int(record["byteOffset"]), int(record["nbytes"]), tuple(int(d) for d in record["shape"])
    halved = record["format"] == HALVED and record["dtype"] == "float32"
    dtype = np.dtype(np.uint16) if halved else DataType(record["dtype"]).numpy
    if min(start, *shape, 0) < 0 or start + size > len(content) or size != math.prod(shape) * dtype.itemsize:
        raise fail("tvm-format", f"the parameter {record['name']!r} does not lie in its file")
    found = np.frombuffer(content, dtype, math.prod(shape), start).reshape(shape)
    return (found.astype(np.uint32) << np.uint32(16)).view(np.float32) if halved else found


def shard_content(folder: Path, shard: Record) -> bytes:
    """The bytes of a shard, which lies in the folder of its index."""
    name = str(shard["dataPath"])
    if shard["format"] != "raw-shard" or Path(name).name != name:
        raise fail("tvm-format", f"{name!r} is not a file of raw data beside its index")
    content = _read(folder / name)
    if len(content) != shard["nbytes"]:
        raise fail("tvm-format", f"{folder / name} has {len(content)} bytes, {shard['nbytes']} were written")
    return content


def index_content(path: Path) -> Record:
    """The data of an index: `records` of shards, and `metadata`."""
    try:
        found = json.loads(_read(path))
    except ValueError as error:
        raise fail("tvm-format", f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("records"), list):
        raise fail("tvm-format", f"{path} is not an index of parameters")
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise fail("file-missing", f"cannot read {path}: {error.strerror or error}") from error


__all__ = ["HALF_INDEX", "HALVED", "INDEX", "Record", "index_content", "load_ndarray_cache", "shard_content"]
