"""Object code as bytes: a small archive of relocatable objects with a header that says what they export and need.

Layout: `MAGIC`, header length (8 bytes, little endian), CRC-32 of the rest (4 bytes), the header (JSON), the objects
one after the other. The header names the target the code was made for, so that a machine that lacks an instruction
set refuses the code instead of crashing in it. Nothing in it is executed by reading it.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import field

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

MAGIC = b"BATONOBJ1\n"


@dataclass(frozen=True)
class ObjectBundle:
    """Relocatable objects and how to link them.

    `exports` maps public symbols to the names inside the objects (kernels that are equal share one); `imports` are the
    names that the loader has to provide; `triple` and `features` describe the target the code was made for.
    """

    triple: str
    features: tuple[str, ...]
    exports: dict[str, str]
    imports: tuple[str, ...] = ()
    objects: tuple[bytes, ...] = field(default=(), repr=False)

    def to_bytes(self) -> bytes:
        """The archive; equal bundles give equal bytes."""
        header = {
            "triple": self.triple,
            "features": list(self.features),
            "exports": self.exports,
            "imports": list(self.imports),
            "sizes": [len(o) for o in self.objects],
        }
        text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
        rest = text + b"".join(self.objects)
        return MAGIC + len(text).to_bytes(8, "little") + zlib.crc32(rest).to_bytes(4, "little") + rest

    @staticmethod
    def from_bytes(data: bytes) -> ObjectBundle:
        """The bundle in `data`; `DiagnosticError` (`object-corrupt`) unless it is whole."""
        start = len(MAGIC) + 12
        if len(data) < start or not data.startswith(MAGIC):
            raise fail("object-corrupt", "this is not object code of baton", help="compile the model again")
        length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
        checksum = int.from_bytes(data[len(MAGIC) + 8 : start], "little")
        if zlib.crc32(memoryview(data)[start:]) != checksum or start + length > len(data):
            raise fail("object-corrupt", "the object code is damaged (checksum)", help="compile the model again")
        header = json.loads(data[start : start + length])
        objects, position = [], start + length
        for size in header["sizes"]:
            objects.append(data[position : position + size])
            position += size
        return ObjectBundle(
            header["triple"],
            tuple(header["features"]),
            dict(header["exports"]),
            tuple(header["imports"]),
            tuple(objects),
        )
