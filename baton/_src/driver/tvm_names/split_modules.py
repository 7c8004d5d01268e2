"""Modules of TVM v0.19 that baton does not split off: their names are served by the package they lie in.

`from tvm.relay.op.nn.nn import conv2d` finds `relay.op.nn.conv2d`. Only modules whose name is not also that of
something else in the package are listed: an import binds the module under its name.
"""

from __future__ import annotations

_SPLIT = {
    "relay.op.annotation": "annotation",
    "relay.op.image": "image",
    "relay.op.memory": "memory",
    "relay.op.nn": "nn",
    "relay.op.random": "kernel",
    "relay.op.vision": "multibox nms rcnn yolo",
    "relay.op.vm": "vm",
    "relay.qnn.op": "qnn",
    "relay.transform": "fake_quantization_to_integer",
    "target": "target generic_func",
}
SERVED_BY = {f"{package}.{module}": package for package, modules in _SPLIT.items() for module in modules.split()}
"""The package of baton that serves the names of a module, both by their paths below `tvm`."""
