"""Memory and cold loading of one runtime, in a process of its own, so that no other runtime's memory counts.

    python -m baton._src.tools.benchmark.footprint RUNTIME MODEL FEED.npz THREADS     # prints JSON

Sizes are the process's resident memory beyond what it took before the model was loaded. baton compiles without its
cache here and torch.compile with an empty one, so that `load_seconds` is a cold one.
"""

from __future__ import annotations

import compileall
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tools.benchmark.peers import PEERS, warm_up
from baton._src.tools.benchmark.prepared import Feed

_STATUS = Path("/proc/self/status")
_TIMEOUT = 1800.0


@dataclass(frozen=True)
class Footprint:
    """Bytes while loading (the peak), bytes a loaded model keeps, the peak of runs; seconds of loading."""

    load_seconds: float
    load_peak: int
    resident: int
    run_peak: int


def footprint(runtime: str, path: Path, feed: Feed, threads: int) -> Footprint | None:
    """Load and run in a fresh process; None where the system does not report memory (only Linux does)."""
    if not _STATUS.exists():
        return None
    _write_byte_code()
    save: Any = np.savez  # its annotation takes names of arrays for options
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "feed.npz"
        save(given, **feed)
        command = [sys.executable, "-m", __spec__.name, runtime, str(path), str(given), str(threads)]
        environment = {**os.environ, "BATON_CACHE": "0", "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "inductor")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    if done.returncode != 0:
        raise fail("bench-process", f"{runtime} on {path.name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return Footprint(**json.loads(done.stdout.splitlines()[-1]))


@lru_cache(maxsize=1)
def _write_byte_code() -> None:
    """An installer has done so for the peers; in a checkout, the first process would compile all that it imports."""
    compileall.compile_dir(Path(__file__).parents[3], quiet=2)


def _bytes(field: str) -> int:
    """`VmRSS` (now) or `VmHWM` (the peak) of this process."""
    found = re.search(rf"^{field}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    return 0 if found is None else int(found[1]) * 1024


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def main(runtime: str, path: str, feed: str, threads: str) -> None:
    """Measure in this process and print."""
    warm_up(runtime)
    with np.load(feed) as given:
        arrays = {name: given[name] for name in given.files}
    _forget_peak()
    before = _bytes("VmRSS")
    prepared = PEERS[runtime](Path(path), arrays, int(threads))
    peak = _bytes("VmHWM") - before
    resident = _bytes("VmRSS") - before
    _forget_peak()
    for _ in range(3):
        prepared.run()
    print(json.dumps(asdict(Footprint(prepared.seconds, peak, resident, _bytes("VmHWM") - before))))


if __name__ == "__main__":
    main(*sys.argv[1:])
