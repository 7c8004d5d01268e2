"""The configuration of quantisation: `with relay.quantize.qconfig(global_scale=4.0): ...`. Contexts nest, per
thread.
"""

from __future__ import annotations

import dataclasses
import threading
import warnings
from collections.abc import Sequence
from typing import Any

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType


class QAnnotateKind:
    """The kind of value that a mark annotates."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


def kind2str(kind: int) -> str:
    """The name of a `QAnnotateKind`, as in the fields of the configuration (`nbit_input`)."""
    words = {1: "input", 2: "weight", 3: "activation", 0: "identity"}
    if kind not in words:
        raise fail("relay-quantize", f"there is no kind {kind} of annotations", kind=ValueError)
    return words[kind]


CALIBRATIONS = ("global_scale", "kl_divergence", "percentile")
WEIGHT_SCALES = ("power2", "max")


@dataclass(frozen=True)
class QConfig:
    """Names and defaults are TVM's. The passes use the configuration entered with `with`.

    `round_for_shift`, `rounding` and `partition_conversions="disabled"` are kept for TVM's programs: sums are scaled by
    floats here, so there are no shifts to round for. Errors: `relay-quantize`.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    def __post_init__(self) -> None:
        _one_of("calibrate_mode", self.calibrate_mode, CALIBRATIONS)
        _one_of("weight_scale", self.weight_scale, WEIGHT_SCALES)
        _one_of("dtype_activation", str(self.dtype_activation), ("int32",))
        _one_of("partition_conversions", self.partition_conversions, ("disabled",))
        for field in ("input", "weight"):
            dtype, bits = DataType(getattr(self, f"dtype_{field}")), getattr(self, f"nbit_{field}")
            _one_of(f"dtype_{field}", str(dtype), ("int8",))
            if not 2 <= bits <= dtype.bits:
                raise fail("relay-quantize", f"nbit_{field} must be 2 to {dtype.bits} for {dtype}, got {bits}")
        if not self.global_scale > 0:
            raise fail("relay-quantize", f"global_scale must be positive, got {self.global_scale}")

    def __enter__(self) -> QConfig:
        _STACK.entered.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _STACK.entered.pop()

    def bits(self, is_weight: bool) -> int:
        """The number of bits of the data that layers read, or of their weights."""
        return self.nbit_weight if is_weight else self.nbit_input


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entered: list[QConfig] = []


_STACK = _Stack()


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise fail("relay-quantize", f"{name} is {value!r}", help=f"baton has {', '.join(map(repr, allowed))}")


_DEFAULT = QConfig()


def qconfig(**options: Any) -> QConfig:
    """A configuration with these fields, the others at their defaults.

    TVM drops fields that it does not know, so that scripts of other versions run; here a warning names them, too.
    """
    known = [f.name for f in dataclasses.fields(QConfig)]
    unknown = [name for name in options if name not in known]
    if unknown:
        warnings.warn(f"qconfig has no {', '.join(unknown)}; it has {', '.join(known)}", stacklevel=2)
    return QConfig(**{name: value for name, value in options.items() if name in known})


def current_qconfig() -> QConfig:
    """The innermost configuration that this thread has entered, or the defaults."""
    return _STACK.entered[-1] if _STACK.entered else _DEFAULT
