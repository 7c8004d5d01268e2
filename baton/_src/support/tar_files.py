"""`tvm.contrib.tar`: packs files into an archive and unpacks them."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def tar(output: str, files: str | Path | Sequence[str | Path]) -> None:
    """An archive (`.tar`, packed for `.tar.gz`) with these files, each under its name without folders.

    `ValueError`: two of them have one name.
    """
    listed = [Path(file) for file in ([files] if isinstance(files, (str, Path)) else files)]
    names = [file.name for file in listed]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise ValueError(f"duplicate file name {twice}")
    with tarfile.open(output, "w:gz" if str(output).endswith("gz") else "w") as archive:
        for file in listed:
            archive.add(file, arcname=file.name)


vars(tar)["output_format"] = "tar"


def untar(tar_file: str, directory: str) -> None:
    """Take the files out, into `directory`; members that would land elsewhere are refused (`tarfile.TarError`)."""
    with tarfile.open(tar_file) as archive:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            archive.extractall(directory, filter="data")
            return
        whole = Path(directory).resolve()
        for member in archive.getmembers():
            if not (member.isfile() or member.isdir()) or not (whole / member.name).resolve().is_relative_to(whole):
                raise tarfile.TarError(f"{member.name} is not a file or folder within {directory}")
        archive.extractall(directory)


def normalize_file_list_by_unpacking_tars(temp: Any, file_list: Sequence[str]) -> list[str]:
    """The files, and instead of each `.tar` the files in it, unpacked into a folder of its own below `temp` (what
    `contrib.utils.tempdir` gives)."""
    found: list[str] = []
    for number, file in enumerate(file_list):
        if not str(file).endswith(".tar"):
            found.append(file)
            continue
        folder = Path(temp.relpath(f"{number}_{Path(file).stem}"))
        folder.mkdir(parents=True)
        untar(file, str(folder))
        found += sorted(str(member) for member in folder.rglob("*") if member.is_file())
    return found
