"""ONNX's own interface for back ends, `onnx.backend.base.Backend`, over `baton.compile`.

import baton.frontend.onnx.backend as backend
(y,) = backend.prepare(model).run([x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from baton._src.driver.compile.compile import compile as compile_model
from baton._src.driver.model.model import Model
from baton._src.frontends.onnx.files.reader import onnx_type_of, read_tensor
from baton._src.frontends.onnx.node import DynamicValueError
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


class BatonBackendRep(BackendRep):
    """A compiled model as ONNX's tests and tools see one.

    ONNX lets axes, paddings and sizes be inputs. A model for which these must be known is compiled when it is first
    run, and again for every further value of these inputs (`KEPT` programs are kept); `Model.run` never does that. The
    same goes for inputs that have a value in the model, if they are given another one.
    """

    KEPT = 16

    def __init__(self, proto: onnx.ModelProto, options: Mapping[str, Any]) -> None:
        self.proto = proto
        self.options = dict(options)
        weights = {t.name for t in proto.graph.initializer}
        self.names = tuple(i.name for i in proto.graph.input if i.name not in weights)
        self.optional = tuple(i.name for i in proto.graph.input if i.name in weights)
        """The inputs that have a value in the model."""
        self.bound: tuple[str, ...] = ()
        """The inputs whose values programs are compiled for."""
        self.programs: dict[Any, Model] = {}
        try:
            self._program({})
        except DynamicValueError as error:
            if not self._may_bind(error):
                raise

    def _may_bind(self, error: DynamicValueError) -> bool:
        """Decide to bind the inputs that the importer asks for; False if there is none that is not bound yet."""
        wanted = dict.fromkeys((*self.bound, *error.inputs))
        if len(wanted) == len(self.bound):
            return False
        self.bound = tuple(wanted)
        return True

    def _program(self, feed: Mapping[str, AnyArray]) -> Model:
        """The program for the values of the bound inputs."""
        fixed = {n: feed[n] for n in (*self.bound, *self.optional) if n in feed}
        key = tuple((n, a.dtype.str, a.shape, a.tobytes()) for n, a in fixed.items())
        if key not in self.programs:
            values = {**self.options.get("params", {}), **fixed}
            model = compile_model(self.proto, **{**self.options, "params": values})
            while len(self.programs) >= self.KEPT:
                del self.programs[next(iter(self.programs))]
            self.programs[key] = model
        return self.programs[key]

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs, as a named tuple, for the inputs in order, by name, or (where there is one) by itself.

        Raises `DiagnosticError` for missing or unknown inputs and wrong dtypes or shapes.
        """
        while True:
            feed = self._feed(inputs)
            try:
                model = self._program(feed)
                break
            except DynamicValueError as error:
                if not self._may_bind(error):
                    raise
        fixed = {*self.bound, *self.optional}
        arrays = model.run({name: array for name, array in feed.items() if name not in fixed})
        return namedtupledict("Outputs", [spec.name for spec in model.outputs])(*arrays)

    def _feed(self, inputs: Any) -> dict[str, AnyArray]:
        if isinstance(inputs, Mapping):
            found = dict(inputs)
        else:
            given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            if len(given) != len(self.names):
                raise fail(
                    "argument-count",
                    f"the model takes {len(self.names)} inputs ({', '.join(self.names)}); {len(given)} given",
                )
            found = dict(zip(self.names, given))
        for name in self.bound:
            if name not in found:
                raise fail("input-missing", f"input {name!r} is missing", help=f"the inputs are: {self.names}")
        read = {n: read_tensor(v, None) if isinstance(v, onnx.TensorProto) else v for n, v in found.items()}
        return {n: np.asarray(v) if n in (*self.bound, *self.optional) else v for n, v in read.items()}


class BatonBackend(Backend):
    """Compiles ONNX models for this machine's CPU."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the device is there; what the model needs shows in `prepare`, which names all that is missing."""
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BatonBackendRep:
        """Compile `model`; `kwargs` are options of `baton.compile` (`num_threads`, `opt_level`, `shapes`, ...).

        Raises `DiagnosticError` for another device than the CPU and for models that cannot be imported.
        """
        if not cls.supports_device(device):
            raise fail("onnx-device", f"there is no device {device!r}", help='models run on "CPU"')
        return BatonBackendRep(model, kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """`prepare(model).run(inputs)`"""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run one node on arrays, in order; `opset_version` among `kwargs` says which version of the operator it is."""
        opset = kwargs.pop("opset_version", None) or onnx.defs.onnx_opset_version()
        names = [name for name in dict.fromkeys(node.input) if name]
        arrays = inputs if isinstance(inputs, Mapping) else _arrays(inputs)
        given = inputs if isinstance(inputs, Mapping) else dict(zip(names, arrays))
        if len(arrays) > len(names) or any(name not in given for name in names):
            message = f"the node takes {len(names)} inputs ({', '.join(names)}); {len(arrays)} given"
            raise fail("argument-count", message)
        model = _single_node_model(node, {n: np.asarray(given[n]) for n in names}, int(opset))
        return cls.run_model(model, given, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the CPU."""
        return bool(Device(device).type == DeviceType.CPU)


def _arrays(inputs: Any) -> list[AnyArray]:
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def _single_node_model(node: onnx.NodeProto, arrays: Mapping[str, AnyArray], opset: int) -> onnx.ModelProto:
    """A model of this node alone whose inputs look like the arrays."""
    inputs = [onnx.helper.make_tensor_value_info(n, onnx_type_of(a.dtype), a.shape) for n, a in arrays.items()]
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], node.op_type, inputs, outputs)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])


is_compatible = BatonBackend.is_compatible
prepare = BatonBackend.prepare
run_model = BatonBackend.run_model
run_node = BatonBackend.run_node
supports_device = BatonBackend.supports_device
