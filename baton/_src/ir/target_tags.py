"""Names for whole descriptions of targets: `Target("raspberry-pi/4b-aarch64")`. Scripts add their own.

Those known from the start are of CPUs, after TVM v0.19.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.support.diagnostics import fail

_AWS = {
    "c5.large": ("skylake-avx512", 1), "c5.xlarge": ("skylake-avx512", 2), "c5.2xlarge": ("skylake-avx512", 4),
    "c5.4xlarge": ("skylake-avx512", 8), "c5.9xlarge": ("skylake-avx512", 18), "c5.12xlarge": ("cascadelake", 24),
    "c5.18xlarge": ("skylake-avx512", 36), "c5.24xlarge": ("cascadelake", 48),
}  # fmt: skip
_RASPBERRY_4B = {"kind": "llvm", "mcpu": "cortex-a72", "mattr": ["+neon"], "num-cores": 4}

_tags: dict[str, dict[str, object]] = {
    **{f"aws/cpu/{name}": {"kind": "llvm", "mcpu": cpu, "num-cores": cores} for name, (cpu, cores) in _AWS.items()},
    "raspberry-pi/4b-aarch64": {**_RASPBERRY_4B, "mtriple": "aarch64-linux-gnu"},
}


def tagged(name: str) -> dict[str, object] | None:
    """The target description of a tag."""
    found = _tags.get(name)
    return None if found is None else dict(found)


def tag_names() -> list[str]:
    """The tags there are."""
    return list(_tags)


def add_tag(name: str, description: Mapping[str, object], override: bool = False) -> None:
    """Register the tag `name` for a description. `ValueError` if it is registered already, unless `override`."""
    if name in _tags and not override:
        help = "pass override=True to replace it"
        raise fail("target-tag", f"the tag {name!r} already stands for a target", help=help, kind=ValueError)
    _tags[name] = dict(description)
