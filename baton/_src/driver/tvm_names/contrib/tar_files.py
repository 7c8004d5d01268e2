"""`tvm.contrib.tar`: files packed into an archive and taken out of it again."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path


def tar(output: str, files: str | Path | Sequence[str | Path]) -> None:
    """An archive (`.tar`, packed for `.tar.gz`) with these files, each under its name without folders."""
    with tarfile.open(output, "w:gz" if str(output).endswith("gz") else "w") as archive:
        for file in [files] if isinstance(files, (str, Path)) else files:
            archive.add(file, arcname=Path(file).name)


vars(tar)["output_format"] = "tar"


def untar(tar_file: str, directory: str) -> None:
    """Take the files out, into `directory`; members that would land elsewhere are refused (`tarfile.TarError`)."""
    with tarfile.open(tar_file) as archive:
        archive.extractall(directory, filter="data")
