"""What stands here for objects of another machine: devices, tensors, functions, modules and whatever else.

A tensor's contents are fetched when they are looked at, and written where they are. A stub that is no longer used lets
the object go.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.runtime.module_face import ModuleFace
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.device import Device
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray

ROOT = 0
"""The number of what a server shows first."""


class Caller(Protocol):
    """What speaks with the other side: a `Peer`."""

    def call(self, number: int, method: str, given: Sequence[Any], named: Mapping[str, Any], *, copies: bool) -> Any:
        """What the other side's object `number` returns."""

    def get(self, number: int, name: str) -> Any:
        """An attribute of the other side's object `number`."""

    def drop(self, number: int) -> None:
        """Nothing here refers to the other side's object `number` any more."""


class Stub:
    """The number of an object of the other side; `peer` speaks with it."""

    def __init__(self, peer: Caller, number: int) -> None:
        self.peer = peer
        self.number = number
        weakref.finalize(self, peer.drop, number)

    def call(self, method: str, *given: Any, **named: Any) -> Any:
        """What a method, or with "" the object itself, returns; tensors among the arguments are the other side's."""
        return self.peer.call(self.number, method, given, named, copies=False)

    def call_with_copies(self, method: str, *given: Any, **named: Any) -> Any:
        """The same with tensors of this side copied there."""
        return self.peer.call(self.number, method, given, named, copies=True)


@dataclass(frozen=True, slots=True, repr=False)
class RemoteDevice(Device):
    """A device of the other side."""

    peer: Any = None

    @property
    def exist(self) -> bool:
        return bool(self.peer.call(ROOT, "has_device", (self,), {}, copies=False))

    def place(self, tensor: NDArray) -> NDArray:
        """A copy of the tensor that is there."""
        found: NDArray = self.peer.call(ROOT, "tensor", (tensor, self), {}, copies=True)
        return found

    def __str__(self) -> str:
        return f"remote[0]:{Device.__str__(self)}"

    __repr__ = __str__


class RemoteArray(NDArray):
    """A tensor of the other side."""

    __slots__ = ("_dtype", "_shape", "stub")

    def __init__(self, stub: Stub, shape: tuple[int, ...], dtype: DataType, device: Device) -> None:
        self.stub = stub
        self.device = device
        self._shape = shape
        self._dtype = dtype

    @property
    def data(self) -> AnyArray:  # type: ignore[override]  # a slot there
        """The contents as they are now: a copy, which says so when it is written to."""
        found: AnyArray = self.stub.call("numpy")
        found.flags.writeable = False
        return found

    def numpy(self) -> AnyArray:
        return self.data.copy()

    asnumpy = numpy

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def dtype(self) -> DataType:
        return self._dtype

    def copyfrom(self, source_array: object) -> NDArray:
        source = source_array if isinstance(source_array, NDArray) else np.asarray(source_array)
        self.stub.call_with_copies("copyfrom", source)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        whole = self.numpy()
        whole[index] = value.data if isinstance(value, NDArray) else value
        self.copyfrom(whole)

    def _create_view(self, shape: tuple[int, ...], dtype: object = None, relative_byte_offset: int = 0) -> NDArray:
        raise fail("api", "a view of another machine's tensor would be none", help="x.numpy() brings a copy here")


class RemoteFunction:
    """A function of the other side. Its tensors are there as well."""

    def __init__(self, stub: Stub) -> None:
        self.stub = stub

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.stub.call("", *args, **kwargs)


class RemoteModule(ModuleFace):
    """A library of the other side, or an instance of one."""

    type_key: ClassVar[str] = "rpc"
    is_binary_serializable: ClassVar[bool] = False

    def __init__(self, stub: Stub) -> None:
        self.stub = stub

    def __getitem__(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = self.stub.call("__getitem__", name)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.stub.call("", *args, **kwargs)

    @property
    def entry_name(self) -> str:
        """The name of what a call of the module calls."""
        return str(self.stub.peer.get(self.stub.number, "entry_name"))

    @property
    def entry_func(self) -> Callable[..., Any]:
        """What a call of the module calls."""
        found: Callable[..., Any] = self.stub.peer.get(self.stub.number, "entry_func")
        return found

    @property
    def imported_modules(self) -> list[ModuleFace]:
        return list(self.stub.peer.get(self.stub.number, "imported_modules"))

    def import_module(self, module: RemoteModule) -> None:
        """Let the functions of another module of the same session be found from here."""
        self.stub.call("import_module", module)

    def time_evaluator(self, func_name: str, dev: Any = None, *args: Any, **options: Any) -> Callable[..., Any]:
        """A function that measures another one, where it is; arguments are those of `KernelModule.time_evaluator`."""
        found: Callable[..., Any] = self.stub.call("time_evaluator", func_name, dev, *args, **options)
        return found

    def get_source(self, fmt: str = "") -> str:
        """The code as text, if the other side has it."""
        return str(self.stub.call("get_source", fmt))

    def create(self, *devices: Any) -> Any:
        """An instance of a graph, ``lib["default"](device)``."""
        return self.stub.call("create", *devices)

    def opened(self, kind: str, *args: Any, **kwargs: Any) -> RemoteObject:
        """An executor of the library: `kind` is the name of its class."""
        found: RemoteObject = self.stub.peer.call(ROOT, "opened", (kind, self, *args), kwargs, copies=False)
        return found


class RemoteObject:
    """Anything else of the other side; it has the methods that it has there."""

    def __init__(self, stub: Stub) -> None:
        self.stub = stub

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self.stub.call_with_copies, name)

    @property
    def module(self) -> Any:
        """The module of an executor, whose `time_evaluator("run", device)` measures where it is."""
        return self.stub.peer.get(self.stub.number, "module")

    def __getitem__(self, key: str) -> Callable[..., Any]:
        found: Callable[..., Any] = self.stub.call("__getitem__", key)
        return found


def stub_of(value: object) -> Stub | None:
    """The stub within what stands for an object of another machine; None for anything else."""
    if isinstance(value, (RemoteArray, RemoteFunction, RemoteModule, RemoteObject)):
        return value.stub
    return None


def standing_for(peer: Caller, text: Mapping[str, Any]) -> Any:
    """What stands for an object that a message speaks of."""
    stub, kind = Stub(peer, text["mine"]), text["is"]
    if kind == "tensor":
        return RemoteArray(stub, tuple(text["shape"]), DataType(text["dtype"]), RemoteDevice(peer=peer))
    known: Mapping[str, Callable[[Stub], Any]] = {
        "function": RemoteFunction, "module": RemoteModule, "object": RemoteObject,
    }  # fmt: skip
    if kind not in known:
        raise RPCError(f"a message speaks of a {kind!r}")
    return known[kind](stub)
