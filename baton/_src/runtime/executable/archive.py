"""The file of an executable: a zip of a manifest, texts, object code, bytecode and constants.

    manifest.json          format version, tables, checksums of the other members
    ir.txt                 the compiled IR, for people
    code.o                 object code
    bytecode.bin           64-bit words, little endian
    constants.safetensors  aligned, mapped into memory on loading

Nothing is compressed, so that constants can be mapped in place. Reading executes nothing; writing is atomic. Checksums
of everything but the constants are verified on loading (`verify=True` reads the constants as well).
"""

from __future__ import annotations

import hashlib
import json
import mmap
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO

from baton._src.runtime.safetensors_file import ALIGNMENT, header_for, read_tensors, write_tensors
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import BatonError, fail
from baton._src.support.whole_file import whole_file
from baton._src.values.tensor import AnyArray

MAGIC = "baton-executable"
VERSION = 6
MANIFEST = "manifest.json"
CONSTANTS = "constants.safetensors"
_DATE = (1980, 1, 1, 0, 0, 0)
_LOCAL_HEADER = 30
_MANIFEST_LIMIT = 1 << 30
_DAMAGE = (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, struct.error)


@dataclass
class Archive:
    """What is in the file: the manifest (JSON data), small members by name, tensors by name."""

    manifest: dict[str, Any]
    members: dict[str, bytes] = field(default_factory=dict)
    tensors: Mapping[str, AnyArray] = field(default_factory=dict)


def write_archive(archive: Archive, path: str | Path, durable: bool = True, start: bytes = b"") -> None:
    """Write the file as a whole (`support.whole_file`); unless `durable`, a power failure may lose it. `start` is what
    it begins with, such as a shared library: archives are read from their end."""
    target = Path(path)
    if not target.parent.is_dir():
        raise fail("file-missing", f"cannot write {target}: there is no folder {target.parent}")
    if target.is_dir():
        raise fail("file-missing", f"cannot write {target}: it is a folder", help="name a file in it")
    with whole_file(target, durable) as stream:
        stream.write(start)
        _write(archive, stream)


def _write(archive: Archive, stream: BinaryIO) -> None:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in archive.members.items()}
    manifest = {"magic": MAGIC, "version": VERSION, "sha256": sums, **archive.manifest}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as pack:
        pack.writestr(zipfile.ZipInfo(MANIFEST, _DATE), json.dumps(manifest, separators=(",", ":")))
        for name, content in archive.members.items():
            pack.writestr(zipfile.ZipInfo(name, _DATE), content)
        if archive.tensors:
            entry = zipfile.ZipInfo(CONSTANTS, _DATE)
            header, size = header_for(archive.tensors)
            entry.file_size = len(header) + size
            entry.extra = _alignment_field(stream.tell() + _LOCAL_HEADER + len(CONSTANTS), entry.file_size)
            with pack.open(entry, "w", force_zip64=False) as member:
                write_tensors(member, archive.tensors)


_ZIP64_FIELD = 20


def _alignment_field(start: int, size: int) -> bytes:
    """An extra field of the local header that makes the member's data start at a multiple of `ALIGNMENT`."""
    overhead = 4 + (_ZIP64_FIELD if size * 1.05 > zipfile.ZIP64_LIMIT else 0)
    pad = -(start + overhead) % ALIGNMENT
    return struct.pack("<HH", 0xBA70, pad) + bytes(pad)


def read_archive(path: str | Path, verify: bool = False) -> Archive:
    """The contents of `path`, constants mapped. Errors: `file-missing`, `executable-corrupt`, `executable-version`."""
    source = Path(path)
    try:
        stream = source.open("rb")
    except OSError as error:
        raise fail("file-missing", f"cannot read {source}: {error.strerror or error}") from error
    with stream:
        try:
            with zipfile.ZipFile(stream) as pack:
                return _read(pack, stream, source, verify)
        except BatonError:  # says what is wrong already (and is a RuntimeError, which damaged members raise too)
            raise
        except (*_DAMAGE, OSError, ValueError) as error:  # the last two of places beyond the file
            if not zipfile.is_zipfile(source):
                raise _corrupt(source, "it is not an archive, or it is cut off") from error
            raise _corrupt(source, str(error)) from error


def _read(pack: zipfile.ZipFile, stream: BinaryIO, source: Path, verify: bool) -> Archive:
    manifest = _manifest(pack, source)
    members: dict[str, bytes] = {}
    for name, wanted in manifest["sha256"].items():
        try:
            content = pack.read(name)
        except KeyError:
            raise _corrupt(source, f"{name} is missing") from None
        if hashlib.sha256(content).hexdigest() != wanted:
            raise _corrupt(source, f"{name} was changed (checksum)")
        members[name] = content
    tensors: Mapping[str, AnyArray] = {}
    if CONSTANTS in pack.namelist():
        if verify and pack.testzip() is not None:
            raise _corrupt(source, f"{CONSTANTS} is damaged (checksum)")
        tensors = read_tensors(_mapped_member(pack.getinfo(CONSTANTS), stream, source))
    return Archive(manifest, members, tensors)


def _manifest(pack: zipfile.ZipFile, source: Path) -> dict[str, Any]:
    try:
        info = pack.getinfo(MANIFEST)
    except KeyError:
        raise _corrupt(source, f"{MANIFEST} is missing: this is not an executable of baton") from None
    if info.file_size > _MANIFEST_LIMIT:
        raise _corrupt(source, "the manifest is implausibly large")
    try:
        manifest = json.loads(pack.read(MANIFEST))
    except ValueError as error:
        raise _corrupt(source, f"the manifest is damaged ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("magic") != MAGIC:
        raise _corrupt(source, "the manifest is not one of an executable of baton")
    if manifest.get("version") != VERSION:
        raise fail(
            "executable-version",
            f"{source} has format version {manifest.get('version')}, this baton reads version {VERSION}",
            help="compile the model again with this version of baton",
        )
    if not isinstance(manifest.get("sha256"), dict):
        raise _corrupt(source, "the manifest lacks its checksums")
    return manifest


def _mapped_member(info: zipfile.ZipInfo, stream: BinaryIO, source: Path) -> memoryview:
    """The data of a stored member, mapped read-only."""
    stream.seek(info.header_offset)
    header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04" or info.compress_type != zipfile.ZIP_STORED:
        raise _corrupt(source, f"the entry of {info.filename} is damaged")
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = info.header_offset + _LOCAL_HEADER + name_length + extra_length
    mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    if start + info.file_size > len(mapped):
        raise _corrupt(source, f"{info.filename} is cut off")
    return memoryview(mapped)[start : start + info.file_size]


def _corrupt(source: Path, message: str) -> Exception:
    return fail(
        "executable-corrupt", f"{source} cannot be loaded: {message}", help="save or download the artifact again"
    )
