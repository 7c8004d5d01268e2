"""The command lines of `baton.exec`: a server, a tracker, and a question to a tracker."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.server import Server
from baton._src.driver.tvm_names.remote.session import connect_tracker
from baton._src.driver.tvm_names.remote.tracker import Tracker


def serve(arguments: Sequence[str] | None = None) -> None:
    """Run a server until it is interrupted."""
    parser = argparse.ArgumentParser(prog="rpc_server", description="Serve sessions of scripts on other machines.")
    _listening(parser, 9090)
    parser.add_argument("--tracker", type=_address, help="HOST:PORT of a tracker that is to know this server")
    parser.add_argument("--key", default="", help="what clients ask for")
    parser.add_argument("--custom-addr", help="the address that the tracker tells clients")
    parser.add_argument("--load-library", help="libraries whose functions sessions find, separated by colons")
    parser.add_argument("--no-fork", action="store_true", help="sessions share this process")
    given = parser.parse_args(arguments)
    if given.tracker is not None and not given.key:
        parser.error("a server that a tracker is to know needs a --key")
    try:
        server = Server(
            given.host,
            given.port,
            given.port_end,
            tracker_addr=given.tracker,
            key=given.key,
            load_library=given.load_library,
            custom_addr=given.custom_addr,
            silent=given.silent,
            no_fork=given.no_fork,
        )
    except RPCError as error:
        parser.exit(1, f"{error}\n")
    _until_interrupted(server)


def track(arguments: Sequence[str] | None = None) -> None:
    """Run a tracker until it is interrupted."""
    parser = argparse.ArgumentParser(prog="rpc_tracker", description="Tell scripts which servers are free.")
    _listening(parser, 9190)
    given = parser.parse_args(arguments)
    try:
        tracker = Tracker(given.host, given.port, given.port_end)
    except RPCError as error:
        parser.exit(1, f"{error}\n")
    if not given.silent:
        print(f"rpc tracker: listening at {tracker.host}:{tracker.port}", flush=True)
    _until_interrupted(tracker)


def query(arguments: Sequence[str] | None = None) -> None:
    """Print the servers that a tracker knows; the address may be given by TVM_TRACKER_HOST and TVM_TRACKER_PORT."""
    parser = argparse.ArgumentParser(prog="query_rpc_tracker", description="Print the servers that a tracker knows.")
    parser.add_argument("--host", default=os.environ.get("TVM_TRACKER_HOST", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("TVM_TRACKER_PORT", "9190")))
    given = parser.parse_args(arguments)
    try:
        print(f"Tracker address {given.host}:{given.port}\n")
        print(connect_tracker(given.host, given.port).text_summary())
    except RPCError as error:
        parser.exit(1, f"{error}\n")


def _listening(parser: argparse.ArgumentParser, port: int) -> None:
    """Where to listen."""
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 lets other machines connect, which may run code")
    parser.add_argument("--port", type=int, default=port)
    parser.add_argument("--port-end", type=int, default=9199, help="the first free port before this one is taken")
    parser.add_argument("--silent", action="store_true")


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def _until_interrupted(running: Server | Tracker) -> None:
    try:
        running.join()
    except KeyboardInterrupt:
        pass  # the usual way to end it
    finally:
        running.terminate()
