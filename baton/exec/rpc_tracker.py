"""`python -m tvm.exec.rpc_tracker`: tell scripts which servers are free."""

from __future__ import annotations

from baton._src.driver.tvm_names.remote.commands import track
from baton._src.driver.wiring import wire

if __name__ == "__main__":
    wire()
    track()
