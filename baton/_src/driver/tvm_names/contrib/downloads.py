"""`tvm.contrib.download`: a file from a URL, fetched once."""

from __future__ import annotations

import os
import shutil
import tempfile
import urllib.request
from pathlib import Path

from baton._src.support.cache_folder import cache_folder
from baton._src.support.diagnostics import fail


def download(url: str, path: str, overwrite: bool = False, size_compare: bool = False, retries: int = 3) -> None:
    """Fetch `url` into the file `path`, unless it is there already. `path` never holds half a file.

    `size_compare` is accepted; an existing file is taken for whole. `api-download` if the server cannot be reached.
    """
    target = Path(path)
    if target.is_file() and not overwrite:
        return
    problem: OSError | None = None
    for _ in range(max(1, retries)):
        try:
            _fetch(url, target)
            return
        except OSError as error:
            problem = error
    raise fail("api-download", f"{url}: {problem}", help=f"fetch it yourself and put it at {target}") from problem


def _fetch(url: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=target.parent) as folder,
        urllib.request.urlopen(url, timeout=30) as answer,
    ):
        part = Path(folder, "part")
        with part.open("wb") as file:
            shutil.copyfileobj(answer, file)
        os.replace(part, target)


def download_testdata(url: str, relpath: str, module: str | None = None, overwrite: bool = False) -> str:
    """The path of the file from `url`, kept as `module`/`relpath` in baton's cache folder."""
    path = cache_folder() / "testdata" / (module or "") / relpath
    download(url, str(path), overwrite)
    return str(path)
