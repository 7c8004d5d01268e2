"""`tvm.contrib.utils.filelock`: locks between the processes of a machine, on systems with `fcntl`."""

from __future__ import annotations

import fcntl


class FileLock:
    """The only holder of a lock file, among all processes, until `release()` or the end of the `with` block."""

    def __init__(self, path: str) -> None:
        self.lock_file = open(path, "w", encoding="utf-8")  # noqa: SIM115
        fcntl.lockf(self.lock_file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let others have it."""
        if not self.lock_file.closed:
            fcntl.lockf(self.lock_file, fcntl.LOCK_UN)
            self.lock_file.close()

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


def filelock(path: str) -> FileLock:
    """The lock of a file, which is made if there is none; waits while another process holds it."""
    return FileLock(path)
