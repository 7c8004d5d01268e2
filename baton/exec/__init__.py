"""Command lines of servers (`tvm.exec`): `python -m baton.exec.rpc_server`, `rpc_tracker`, `query_rpc_tracker`."""
