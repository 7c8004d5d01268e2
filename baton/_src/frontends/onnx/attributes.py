"""Check a node's attributes against ONNX's definition of its operator: their names, types, and values.

Otherwise a converter that compares an attribute with one value would take any other value for the alternative, and a
misspelt name for a missing attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from baton._src.frontends.onnx.definitions import definition
from baton._src.frontends.onnx.files.reader import onnx_library
from baton._src.frontends.onnx.microsoft.definitions import FLOAT, INT, STRING, contributed
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean

MICROSOFT = "com.microsoft"
FLAGS = frozenset({
    "align_corners", "allowzero", "antialias", "causal", "ceil_mode", "center_point_box", "channels_last",
    "count_include_pad", "detect_negative", "detect_positive", "do_rotary", "exclude_outside", "exclusive", "fmod",
    "input_forget", "interleaved", "inverse", "is_causal", "keepdims", "largest", "layout", "linear_before_reset",
    "new_axis", "noop_with_empty_axes", "normalize_routing_weights", "one_class", "onesided", "periodic", "reverse",
    "rotary_interleaved", "saturate", "select_last_index", "sorted", "storage_order", "training_mode", "transA",
    "transB", "transBatchA", "transBatchB", "unidirectional", "upper", "use_sparse_mixer", "zeros",
})  # fmt: skip
"""Attributes that must be 0 or 1. Tools interpret other numbers differently."""
POSITIVE = frozenset({"blocksize", "group", "hidden_size", "num_groups", "num_outputs", "offset_group", "p", "size"})
"""Attributes that must be 1 or more."""
COUNTED = {"k": ("MoE", "QMoE")}
"""Attributes that must be 1 or more of some operators: EyeLike's `k` may be anything."""
NOT_NEGATIVE = frozenset({"softcap"})
"""Attributes that must be 0.0 or more."""
CHOICES: dict[str, dict[str, tuple[object, ...]]] = {
    "auto_pad": {"": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")},
    "approximate": {"Gelu": ("none", "tanh")},
    "coordinate_transformation_mode": {
        "RoiAlign": ("half_pixel", "output_half_pixel"),
        "Resize": (
            "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
            "tf_half_pixel_for_nn", "tf_crop_and_resize",
        ),
    },
    "direction": {"BitShift": ("LEFT", "RIGHT")},
    "keep_aspect_ratio_policy": {"Resize": ("stretch", "not_larger", "not_smaller")},
    "mode": {
        "DepthToSpace": ("DCR", "CRD"), "SpaceToDepth": ("DCR", "CRD"), "Pad": ("constant", "reflect", "edge", "wrap"),
        "TensorScatter": ("linear", "circular"), "Upsample": ("nearest", "linear", "bilinear"),
    },
    "p": {"LpNormalization": (1, 2)},
    "qk_matmul_output_mode": {"": (0, 1, 2, 3)},
    "swiglu_fusion": {"": (0, 1, 2)},
    "reduction": {
        **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), ("none", "sum", "mean")),
        **dict.fromkeys(("ScatterElements", "ScatterND"), ("none", "add", "mul", "min", "max")),
    },
}  # fmt: skip
"""The allowed values of an attribute by operator; "" means all operators that have it."""


def check_values(operator: str, attributes: Iterable[Any]) -> None:
    """Refuse attributes (protos) with invalid values (`onnx-node`), whatever the operator's domain."""
    for attribute in attributes:
        _check_value(operator, attribute)


def check_attributes(domain: str, operator: str, attributes: Iterable[Any], version: int | None) -> None:
    """Refuse attributes (protos) that the operator does not have or that are of another type than ONNX says, and nodes
    without one they need (`onnx-node`), and operators that came with later versions of their domain (`onnx-opset`).

    Of `com.microsoft` names and types are checked; nothing of other operators that ONNX does not define, nor of a
    domain whose `version` the model does not tell.
    """
    defined = _defined(domain, operator, version)
    if defined is None:
        return
    kinds, required = defined
    given = {a.name: a.type for a in attributes}
    for name, kind in given.items():
        if name not in kinds:
            help = did_you_mean(name, kinds, f"it has {', '.join(sorted(kinds)) or 'none'}")
            where = "" if domain == MICROSOFT else f" in opset {version}"
            raise fail("onnx-node", f"{operator} has no attribute {name!r}{where}", help=help)
        if kind != kinds[name]:
            say = onnx_library().AttributeProto.AttributeType.Name
            raise fail("onnx-node", f"attribute {name!r} is {say(kind)}; {operator} takes {say(kinds[name])} for it")
    missing = sorted(required - given.keys())
    if missing:
        raise fail("onnx-node", f"attribute {missing[0]!r} is missing", help=f"{operator} needs it in opset {version}")


def _check_value(operator: str, attribute: Any) -> None:
    choices = CHOICES.get(attribute.name, {})
    allowed = choices.get(operator, choices.get("", ()))
    if attribute.name in FLAGS and attribute.type == INT:
        allowed = (0, 1)
    given = attribute.s.decode("utf-8", "replace") if attribute.type == STRING else attribute.i
    if allowed and attribute.type in (INT, STRING) and given not in allowed:
        meant = ", ".join(map(str, allowed))
        raise fail("onnx-node", f"attribute {attribute.name!r} is {given!r}", help=f"{operator} takes one of {meant}")
    is_count = attribute.name in POSITIVE or operator in COUNTED.get(attribute.name, ())
    if is_count and attribute.type == INT and attribute.i < 1:
        raise fail("onnx-node", f"attribute {attribute.name!r} is {given}", help=f"{operator} takes 1 or more")
    if attribute.name in NOT_NEGATIVE and attribute.type == FLOAT and not attribute.f >= 0:
        raise fail("onnx-node", f"attribute {attribute.name!r} is {attribute.f}", help=f"{operator} takes 0 or more")


@cache
def _defined(domain: str, operator: str, version: int | None) -> tuple[dict[str, int], frozenset[str]] | None:
    """The types of an operator's attributes by name, and the names of those that have no default."""
    if domain == MICROSOFT:
        kinds = contributed(operator)
        return None if kinds is None else (kinds, frozenset())
    schema = None if version is None else definition(domain, operator, version)
    if schema is None:
        return None
    found = schema.attributes
    return {n: int(a.type.value) for n, a in found.items()}, frozenset(n for n, a in found.items() if a.required)
