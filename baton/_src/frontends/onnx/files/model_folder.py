"""The folders in which external data of an ONNX model may be."""

from __future__ import annotations

from pathlib import Path

from baton._src.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The folder of a model's path and, where that is a link, the folder of the file that it leads to.

    Download caches keep files under their hashes in one folder and link to them from others: links next to the model
    may point to the folder its own link points to, and nowhere else.
    """

    path: Path
    real: tuple[Path, Path]
    """Both folders, without links."""

    @classmethod
    def of(cls, model: Path) -> ModelFolder:
        path = model.absolute()
        return cls(path.parent, (path.parent.resolve(), path.resolve().parent))

    def find(self, location: str) -> Path | None:
        """The file that a model calls `location`; None if there is none, or if it lies elsewhere."""
        for folder in (self.path, self.real[1]):
            path = folder / location
            try:
                target = path.resolve()
            except (OSError, ValueError):  # loops of links, zeros in names
                continue
            if target.is_file() and any(target.is_relative_to(r) for r in self.real):
                return path
        return None
