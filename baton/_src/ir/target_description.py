"""How targets are described: the kinds there are, the options of each, and what a string or a dict says.

read_target("llvm -mcpu=znver4 -num-cores=4")     kind llvm, keys (cpu), attributes mcpu and num-cores
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from baton._src.ir.cpu import NAMED
from baton._src.ir.target_tags import tag_names, tagged
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A family of targets."""

    name: str
    default_keys: tuple[str, ...]

    @property
    def options(self) -> dict[str, str]:
        """The attributes that its targets may be described with, and the types of their values in TVM's words."""
        return {key: "IntImm" if key in _INTS else "Array" if key in _LISTS else "runtime.String" for key in _OPTIONS}

    @staticmethod
    def options_from_name(kind_name: str) -> dict[str, str]:
        """The options of the kind of this name; `DiagnosticError` (`target-kind`) if there is none."""
        return read_target(kind_name).kind.options

    def __str__(self) -> str:
        return self.name


TARGET_KINDS = {
    kind.name: kind
    for kind in (
        TargetKind("llvm", ("cpu",)),
        TargetKind("c", ("cpu",)),
        TargetKind("cuda", ("cuda", "gpu")),
        TargetKind("rocm", ("rocm", "gpu")),
        TargetKind("metal", ("metal", "gpu")),
        TargetKind("vulkan", ("vulkan", "gpu")),
        TargetKind("opencl", ("opencl", "gpu")),
        TargetKind("webgpu", ("webgpu", "gpu")),
        TargetKind("hexagon", ("hexagon", "cpu")),
        TargetKind("ext_dev", ()),
    )
}
_INTS = {"num-cores", "max_num_threads", "vector-width", "opt-level"}
_LISTS = {"mattr", "keys", "libs", "cl-opt"}
_FAST_MATH = {f"fast-math{flag}" for flag in ("", "-nnan", "-ninf", "-nsz", "-arcp", "-contract", "-reassoc")}
"""Permissions to compute less exactly. None is made use of."""
_KNOWN = (
    _INTS
    | _LISTS
    | _FAST_MATH
    | {"mcpu", "mtriple", "mfloat-abi", "mabi", "device", "tag", "model", "system-lib", "arch", "runtime", "jit"}
)
_OPTIONS = sorted(_KNOWN)


Description = str | Mapping[str, object]
"""A target in words or as a dict, whose values are of many kinds."""


class TargetDescription(NamedTuple):
    """The parts of a description; `host` is the description of another target, or None."""

    kind: TargetKind
    keys: tuple[str, ...]
    attributes: tuple[tuple[str, object], ...]
    host: object


def read_target(description: object) -> TargetDescription:
    """The parts of a string or a dict. Errors `target`, `target-kind`, `target-attribute`: it cannot be read."""
    if isinstance(description, str):
        found: dict[str, object] = tagged(description) or _read_json(description) or _read_words(description)
    elif isinstance(description, Mapping):
        found = dict(description)
    else:
        raise fail("target", f"a target must be a string or a dict, got {type(description).__name__}", kind=ValueError)
    if "kind" not in found:
        raise fail("target", f"a target needs a kind, {found} has none", help='{"kind": "llvm", ...}', kind=ValueError)
    name = str(found.pop("kind"))
    if name not in TARGET_KINDS:
        hint = did_you_mean(name, [*TARGET_KINDS, *NAMED], "code is made for 'llvm', i.e. CPUs")
        if "/" in name:
            hint = f"tags are {', '.join(tag_names())}, and those of target.tag.register_tag; there are none for GPUs"
        raise fail("target-kind", f"there is no target {name!r}", help=hint, kind=ValueError)
    host = found.pop("host", None)
    kind = TARGET_KINDS[name]
    keys = _words(found.pop("keys", ())) or kind.default_keys
    device = found.get("device")
    if isinstance(device, str) and device not in keys:
        keys = (device, *keys)
    attributes = tuple(sorted((key, _typed(name, key, value)) for key, value in found.items()))
    return TargetDescription(kind, keys, attributes, host)


def _read_json(description: str) -> dict[str, object] | None:
    """The dict that a JSON text describes."""
    if not description.lstrip().startswith("{"):
        return None
    try:
        return dict(json.loads(description))
    except ValueError as error:
        message = f"the target {description!r} is neither words nor JSON: {error}"
        raise fail("target", message, help='{"kind": "llvm", ...}', kind=ValueError) from None


def _read_words(description: str) -> dict[str, object]:
    try:
        words = shlex.split(description)
    except ValueError as error:
        raise fail("target", f"the target {description!r} cannot be read: {error}", kind=ValueError) from None
    if not words:
        raise fail("target", "an empty string is not a target", help="e.g. 'llvm'", kind=ValueError)
    found: dict[str, object] = {"kind": words[0]}
    rest = words[1:]
    while rest:
        word = rest.pop(0)
        key, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            message = f"cannot read {word!r} in the target {description!r}"
            raise fail("target", message, help="attributes are -key=value", kind=ValueError)
        found[key] = value if equals else rest.pop(0) if rest and not rest[0].startswith("-") else "1"
    return found


def _typed(kind: str, key: str, value: object) -> object:
    if kind == "llvm" and key not in _KNOWN:
        near = get_close_matches(key, _KNOWN, 1)
        hint = f"did you mean -{near[0]}?" if near else f"known: {', '.join(sorted(_KNOWN))}"
        raise fail("target-attribute", f"the target llvm has no attribute {key!r}", help=hint, kind=ValueError)
    if key in _INTS:
        least = 0 if key == "opt-level" else 1
        if not str(value).isdecimal() or int(str(value)) < least:
            message = f"the target attribute {key} takes a number from {least} on, got {value!r}"
            raise fail("target-attribute", message, kind=ValueError)
        return int(str(value))
    return _words(value) if key in _LISTS else value


def _words(content: object) -> tuple[str, ...]:
    items = content.split(",") if isinstance(content, str) else content if isinstance(content, Iterable) else (content,)
    return tuple(str(item).strip() for item in items if str(item).strip())
