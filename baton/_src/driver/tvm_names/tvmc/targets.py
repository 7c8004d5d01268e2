"""`--target`: what users write for a target, and options of it by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from baton._src.driver.targets import BUILT, built_target
from baton._src.driver.tvm_names.tvmc.errors import raising_tvmc, refuse
from baton._src.ir.target import Target


@raising_tvmc
def target_from_cli(
    target: Any,
    additional_target_options: Mapping[str, Mapping[str, Any]] | None = None,
    target_host: Any = None,
) -> Target:
    """The target that code is made for: a `Target`, "llvm -mcpu=haswell", JSON, or the path of a file with either.

    `additional_target_options`: `{"llvm": {"mcpu": "haswell"}}`, added to those of that kind. `TVMCException` for
    what is no CPU, and for lists of several: no part of a program is handed to other libraries. `target_host` has to be
    a CPU, too.
    """
    if isinstance(target, str):
        target = _described(target)
    for kind in additional_target_options or {}:
        if kind not in BUILT:
            raise refuse(f"there are options for the target {kind!r}", 'code is made for CPUs: target "llvm" or "c"')
    found = built_target(target, target_host)
    options = dict((additional_target_options or {}).get(str(found.kind), {}))
    return Target({**found.export(), **options}) if options else found


def _described(text: str) -> Any:
    if os.path.isfile(text):  # false, not an error as pathlib's is, for a text too long for a name
        text = Path(text).read_text(encoding="utf-8").strip()
    if text.startswith("{"):
        try:
            return json.loads(text)
        except ValueError as error:
            raise refuse(f"the target is not JSON: {error}", '{"kind": "llvm"}') from error
    if "," in text.split(" -")[0]:
        help = 'baton generates all code itself: target "llvm"'
        raise refuse(f"{text!r} names several targets", help)
    return text
