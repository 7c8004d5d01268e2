"""`python -m tvm.exec.query_rpc_tracker`: print which servers a tracker knows."""

from __future__ import annotations

from baton._src.driver.tvm_names.remote.commands import query
from baton._src.driver.wiring import wire

if __name__ == "__main__":
    wire()
    query()
