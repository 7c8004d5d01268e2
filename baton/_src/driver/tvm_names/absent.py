"""Names of TVM v0.19 that baton does not have, by path below `tvm`, with the reasons: the text of the errors that
scripts get.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from baton._src.driver.tvm_names.left_out.kernels import KERNEL_NAMES
from baton._src.driver.tvm_names.left_out.others import OTHER_NAMES
from baton._src.driver.tvm_names.left_out.relax import RELAX_NAMES
from baton._src.driver.tvm_names.left_out.relay import RELAY_NAMES
from baton._src.driver.tvm_names.left_out.tuning import TUNING_NAMES


def _by_path(table: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """A table's names as whole paths, each with the reason."""
    for why, places in table.items():
        for parent, names in places.items():
            yield from ((f"{parent}.{name}".lstrip("."), why) for name in names.split())


_TABLES = (RELAY_NAMES, RELAX_NAMES, KERNEL_NAMES, TUNING_NAMES, OTHER_NAMES)
REASONS: Mapping[str, str] = {path: why for table in _TABLES for path, why in _by_path(table)}
"""By path below `tvm` why it is not served."""


def reason(path: str) -> str | None:
    """Why `path` (below `tvm`), or a package that contains it, is left out; None if no reason is recorded."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        found = REASONS.get(".".join(parts[:size]))
        if found is not None:
            return found
    return None
