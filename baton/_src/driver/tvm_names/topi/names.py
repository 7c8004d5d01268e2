"""`tvm.topi`: the operators' computations as functions of `te` tensors.

topi.nn.relu(a);  topi.add(a, b);  topi.nn.softmax(a, axis=-1);  topi.nn.conv2d_nchw(a, w, 1, 0, 1)

Every operator is there by its own names, with its arguments in Relax's order; names and orders of TVM v0.19's topi that
differ are in the tables that `_OWN` joins, a file each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from baton._src.driver.tvm_names.topi.apply import apply
from baton._src.driver.tvm_names.topi.binary_layers import BINARY_LAYERS
from baton._src.driver.tvm_names.topi.convolutions import CONVOLUTIONS
from baton._src.driver.tvm_names.topi.depthwise_gradients import DEPTHWISE_GRADIENTS
from baton._src.driver.tvm_names.topi.dynamic_slices import DYNAMIC_SLICES
from baton._src.driver.tvm_names.topi.elements import ELEMENTS
from baton._src.driver.tvm_names.topi.images import IMAGES
from baton._src.driver.tvm_names.topi.layers import LAYERS
from baton._src.driver.tvm_names.topi.lstm import LSTM
from baton._src.driver.tvm_names.topi.pooling import POOLING
from baton._src.driver.tvm_names.topi.simulated_quantization import SIMULATED_QUANTIZATION
from baton._src.driver.tvm_names.topi.sparse_layers import SPARSE_LAYERS
from baton._src.driver.tvm_names.topi.tensors import TENSORS
from baton._src.driver.tvm_names.topi.transposed_convolutions import TRANSPOSED_CONVOLUTIONS
from baton._src.driver.tvm_names.topi.winograd_convolutions import WINOGRAD_CONVOLUTIONS
from baton._src.ir.op_def import NotApplicable
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.namespace import Namespace

_OWN: Mapping[str, Any] = {
    **ELEMENTS,
    **TENSORS,
    **DYNAMIC_SLICES,
    **CONVOLUTIONS,
    **TRANSPOSED_CONVOLUTIONS,
    **POOLING,
    **LAYERS,
    **BINARY_LAYERS,
    **SPARSE_LAYERS,
    **SIMULATED_QUANTIZATION,
    **DEPTHWISE_GRADIENTS,
    **WINOGRAD_CONVOLUTIONS,
    **LSTM,
    **IMAGES,
}


def topi_functions(namespace: str = "") -> Mapping[str, Any]:
    """The functions below `namespace` (`""`: all, with the namespaces in them)."""
    found: dict[str, Any] = {}
    for definition in CATALOGUE:
        if isinstance(definition.compute, NotApplicable):
            continue
        for name in {definition.name, definition.relay_op.name if definition.relay_op else definition.name}:
            function = partial(apply, definition)
            path = name.split(".")
            vars(function)["__name__"] = path[-1]  # what emit_te names its kernel by
            _put(found, path, function)
    for name, own in _OWN.items():
        path = name.split(".")
        own.__name__ = path[-1]
        _put(found, path, own)
    place: Any = found
    for part in namespace.split(".") if namespace else ():
        place = place.get(part, {})
    return {name: Namespace(entry) if isinstance(entry, dict) else entry for name, entry in place.items()}


def _put(tree: dict[str, Any], path: list[str], entry: Any) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
    tree[path[-1]] = entry
