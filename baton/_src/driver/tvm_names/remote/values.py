"""Values in messages: data by value, everything else by number.

[1, 2.5, "s", null]  as they are      {"bytes": 0}  {"array": 0, "dtype": "float32", "shape": [2, 3]}
{"tuple": [...]}  {"list": [...]}  {"dict": [[key, value], ...]}  {"device": [1, 0]}  {"dtype": "int8"}
{"yours": 4}  an object of the receiver's    {"mine": 7, "is": "module"}  one of the sender's
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from baton._src.driver.tvm_names.remote import stubs
from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.runtime.module_face import ModuleFace
from baton._src.runtime.timing import BenchmarkResult, Profile
from baton._src.values.device import Device
from baton._src.values.dtype import DataType
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import AnyArray, NDArray


class Side(stubs.Caller, Protocol):
    """An end of a session, which keeps objects for the other one."""

    serves: bool
    objects: dict[int, Any]

    def keep(self, value: object) -> int:
        """Keep an object for the other side; its number."""


class Coder:
    """Texts of values, and the bytes of the arrays among them."""

    def __init__(self, peer: Side, *, copies: bool) -> None:
        self.peer = peer
        self.copies = copies
        self.arrays: list[bytes | memoryview] = []

    def text(self, value: Any) -> Any:
        """What stands for a value in a message."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return self.text(value.item())
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"bytes": self._bytes(value)}
        if isinstance(value, ShapeTuple):
            return {"shape": [int(d) for d in value]}
        if isinstance(value, (tuple, list)):
            return {"tuple" if isinstance(value, tuple) else "list": [self.text(v) for v in value]}
        if isinstance(value, dict):
            return {"dict": [[self.text(k), self.text(v)] for k, v in value.items()]}
        if isinstance(value, Device):
            return {"device": [value.device_type, value.device_id]}
        if isinstance(value, DataType):
            return {"dtype": str(value)}
        if isinstance(value, BenchmarkResult):
            return {"seconds": list(value.results)}
        if isinstance(value, Profile):
            return {"profile": value.json()}
        return self._object(value)

    def _object(self, value: Any) -> dict[str, Any]:
        stub = stubs.stub_of(value)
        if stub is not None:
            if stub.peer is not self.peer:
                raise RPCError("an object of one session cannot be given to another: bring it here first")
            return {"yours": stub.number}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, NDArray):
            return self._tensor(value)
        kind = "module" if isinstance(value, ModuleFace) else "function" if callable(value) else "object"
        return {"mine": self.peer.keep(value), "is": kind}

    def _tensor(self, value: NDArray) -> dict[str, Any]:
        if self.copies:
            return self._array(value.data)
        if not self.peer.serves:
            raise RPCError(
                f"a tensor of this machine, of shape {value.shape}, is given to a function of another: "
                "make it there, baton.nd.array(x, remote.cpu())"
            )
        facts = {"shape": list(value.shape), "dtype": str(value.dtype)}
        return {"mine": self.peer.keep(value), "is": "tensor", **facts}

    def _array(self, value: AnyArray) -> dict[str, Any]:
        dense = np.ascontiguousarray(value)
        facts = {"dtype": str(DataType(dense.dtype)), "shape": list(value.shape)}
        return {"array": self._bytes(dense.reshape(-1).view(np.uint8).data), **facts}

    def _bytes(self, content: bytes | bytearray | memoryview) -> int:
        self.arrays.append(bytes(content) if isinstance(content, bytearray) else content)
        return len(self.arrays) - 1


class Reader:
    """Values of texts, given the bytes of the arrays among them."""

    def __init__(self, peer: Side, arrays: list[bytearray]) -> None:
        self.peer = peer
        self.arrays = arrays

    def value(self, text: Any) -> Any:
        """The value that a text stands for."""
        if not isinstance(text, dict):
            return text
        if "bytes" in text:
            return self.arrays[text["bytes"]]
        if "array" in text:
            return self._array(text)
        if "tuple" in text:
            return tuple(map(self.value, text["tuple"]))
        if "list" in text:
            return list(map(self.value, text["list"]))
        if "dict" in text:
            return {self.value(key): self.value(value) for key, value in text["dict"]}
        if "shape" in text and "mine" not in text:
            return ShapeTuple(text["shape"])
        if "device" in text:
            return self._device(*text["device"])
        if "seconds" in text:
            return BenchmarkResult(tuple(text["seconds"]))
        if "profile" in text:
            return Profile.from_json(text["profile"])
        if "yours" in text:
            return self._own(text["yours"])
        if "mine" in text:
            return stubs.standing_for(self.peer, text)
        return DataType(text["dtype"])

    def _own(self, number: int) -> Any:
        if number not in self.peer.objects:
            raise RPCError(f"there is no object {number} in this session")
        return self.peer.objects[number]

    def _array(self, text: dict[str, Any]) -> AnyArray:
        kind = np.dtype(DataType(text["dtype"]).numpy)
        return np.frombuffer(self.arrays[text["array"]], kind).reshape(text["shape"])

    def _device(self, kind: int, number: int) -> Device:
        return Device(kind, number) if self.peer.serves else stubs.RemoteDevice(kind, number, self.peer)
