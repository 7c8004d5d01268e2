"""Writing parameters to a folder, as LLM projects ship them (`tvm.contrib.tvmjs.dump_ndarray_cache`).

The files, and how they are read: `runtime.param_shards`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.runtime.param_shards import (
    HALF_INDEX,
    HALVED,
    INDEX,
    Record,
    index_content,
    load_ndarray_cache,
    shard_content,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.whole_file import whole_file
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

_LIMIT = np.uint32(0x7F7F0000).view(np.float32)
"""The largest bfloat16."""


def dump_ndarray_cache(
    params: Mapping[str, Any] | Iterable[tuple[str, Any]],
    cache_dir: str,
    encode_format: str = HALVED,
    meta_data: Any = None,
    shard_cap_mb: int = 32,
    show_progress: bool = True,
    update_if_exists: bool = False,
) -> None:
    """Write parameters to the folder `cache_dir`, in files of about `shard_cap_mb` MiB.

    `encode_format`: "raw", or "f32-to-bf16" to store float32 as bfloat16. `meta_data` is JSON data, or a function that
    gives it in the end. `update_if_exists` keeps what the folder has, and replaces parameters of the same name and
    size. `show_progress` prints the names. Errors: `api` for another format; `tvm-format` for a parameter that is given
    twice, or does not fit its old place.
    """
    if encode_format not in ("raw", HALVED):
        raise fail("api", f"there is no format {encode_format!r}", help=f'"raw" or "{HALVED}"', kind=ValueError)
    folder = Path(cache_dir)
    folder.mkdir(parents=True, exist_ok=True)
    old = index_content(folder / INDEX) if update_if_exists and (folder / INDEX).exists() else {"records": []}
    writer = _Writer(folder, shard_cap_mb << 20, old["records"])
    for name, value in params.items() if isinstance(params, Mapping) else params:
        writer.add(name, _as_numpy(value), encode_format)
        if show_progress:
            print(f"saved {name}")
    shards = writer.finish()
    told = meta_data() if callable(meta_data) else old.get("metadata", {}) if meta_data is None else meta_data
    _write_index(folder / INDEX, told, shards)
    if any(r["format"] == HALVED and r["dtype"] == "float32" for shard in shards for r in shard["records"]):
        _write_index(folder / HALF_INDEX, told, [_as_halves(shard) for shard in shards])


@dataclass
class _Writer:
    """Collects tensors in shards."""

    folder: Path
    capacity: int
    shards: list[Record]
    content: bytearray = field(default_factory=bytearray)
    records: list[Record] = field(default_factory=list)
    added: set[str] = field(default_factory=set)

    def add(self, name: str, value: AnyArray, encode_format: str) -> None:
        dtype = str(DataType(value.dtype))
        data = (_halved(value) if encode_format == HALVED and dtype == "float32" else value).tobytes()
        record: Record = {"name": name, "shape": list(value.shape), "dtype": dtype, "format": encode_format}
        record["nbytes"] = len(data)
        if name in self.added:
            raise fail("tvm-format", f"there are two parameters {name!r}", kind=ValueError)
        self.added.add(name)
        if self._replaced(record, data):
            return
        if self.records and len(self.content) + len(data) > self.capacity:
            self._end_shard()
        self.records.append({**record, "byteOffset": len(self.content)})
        self.content += data

    def _replaced(self, record: Record, data: bytes) -> bool:
        """Whether the folder had the parameter, which is overwritten."""
        for shard in self.shards:
            for place, old in enumerate(shard["records"]):
                if old["name"] == record["name"]:
                    self._overwrite(shard, place, record, data)
                    return True
        return False

    def _overwrite(self, shard: Record, place: int, record: Record, data: bytes) -> None:
        old = shard["records"][place]
        if old["nbytes"] != len(data):
            message = f"the parameter {record['name']!r} has {len(data)} bytes, and had {old['nbytes']}"
            raise fail("tvm-format", message, help="write the folder anew: update_if_exists=False", kind=ValueError)
        content = bytearray(shard_content(self.folder, shard))
        content[old["byteOffset"] : old["byteOffset"] + len(data)] = data
        shard["md5sum"] = self._write(shard["dataPath"], content)
        shard["records"][place] = {**record, "byteOffset": old["byteOffset"]}

    def _end_shard(self) -> None:
        if self.records:
            name = f"params_shard_{len(self.shards)}.bin"
            shard = {"dataPath": name, "format": "raw-shard", "nbytes": len(self.content), "records": self.records}
            self.shards.append({**shard, "md5sum": self._write(name, self.content)})
            self.content, self.records = bytearray(), []

    def _write(self, name: str, content: bytearray) -> str:
        with whole_file(self.folder / name) as stream:
            stream.write(content)
        return hashlib.md5(content, usedforsecurity=False).hexdigest()

    def finish(self) -> list[Record]:
        """All shards, written."""
        self._end_shard()
        return self.shards


def _as_numpy(value: Any) -> AnyArray:
    found: AnyArray = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    return np.ascontiguousarray(found)


def _halved(value: AnyArray) -> AnyArray:
    """The upper halves of float32, rounded to even; what would round to infinity is cut off."""
    bits = value.view(np.uint32)
    bias = np.where(np.abs(value) < _LIMIT, ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF), np.uint32(0))
    upper: AnyArray = ((bits + bias) >> np.uint32(16)).astype(np.uint16)
    return upper


def _write_index(path: Path, metadata: Any, shards: list[Record]) -> None:
    with whole_file(path) as stream:
        stream.write(json.dumps({"metadata": metadata, "records": shards}, indent=4).encode())


def _as_halves(shard: Record) -> Record:
    """A shard's record with its halved tensors as the bfloat16 that they are."""
    records = [
        {**r, "format": "raw", "dtype": "bfloat16"} if (r["format"], r["dtype"]) == (HALVED, "float32") else r
        for r in shard["records"]
    ]
    return {**shard, "records": records}


__all__ = ["dump_ndarray_cache", "load_ndarray_cache"]
