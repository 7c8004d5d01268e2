"""A chain of LSTM cells (Hochreiter and Schmidhuber 1997) over a constant input, as Relay: one function a cell."""

from __future__ import annotations

from typing import Any

from baton._src.driver.tvm_names.relay.networks.layers import dense_add_bias
from baton._src.driver.tvm_names.relay.networks.workload import create_workload
from baton._src.ir.module import IRModule
from baton._src.ir.types import TupleType
from baton._src.ops.builders import RELAY
from baton._src.relay.analysis import free_vars
from baton._src.relay.nodes import Call, Function, Tuple, TupleGetItem, Var, var
from baton._src.relay.scope_builder import ScopeBuilder
from baton._src.values.tensor import NDArray

_OPS: Any = RELAY


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """(inputs, (hidden, cell), input weight and bias, hidden weight and bias) -> (output, (hidden, cell))."""
    builder = ScopeBuilder()
    inputs = var("inputs", shape=(batch_size, num_hidden), dtype=dtype)
    state = inputs.type_annotation
    assert state is not None
    states = Var("states", TupleType((state, state)))
    weights = [var(f"{side}_weight", shape=(4 * num_hidden, num_hidden), dtype=dtype) for side in ("i2h", "h2h")]
    biases = [var(f"{side}_bias", shape=(4 * num_hidden,), dtype=dtype) for side in ("i2h", "h2h")]
    from_input = dense_add_bias(inputs, weights[0], biases[0], units=4 * num_hidden)
    from_hidden = dense_add_bias(TupleGetItem(states, 0), weights[1], biases[1], units=4 * num_hidden)
    gates = builder.let(f"{name}gates", _OPS.add(from_input, from_hidden))
    parts = builder.let(f"{name}parts", _OPS.split(gates, indices_or_sections=4, axis=1).astuple())
    enters, forgets, leaves = (_OPS.sigmoid(TupleGetItem(parts, i)) for i in (0, 1, 3))
    kept = _OPS.multiply(forgets, TupleGetItem(states, 1))
    cell = builder.let(f"{name}cell", _OPS.add(kept, _OPS.multiply(enters, _OPS.tanh(TupleGetItem(parts, 2)))))
    hidden = builder.let(f"{name}hidden", _OPS.multiply(leaves, _OPS.tanh(cell)))
    builder.ret(Tuple((hidden, Tuple((hidden, cell)))))
    return Function([inputs, states, weights[0], biases[0], weights[1], biases[1]], builder.get())


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """The last output after `iterations` cells that share their weights."""
    builder = ScopeBuilder()
    data = var("data", shape=(batch_size, num_hidden), dtype=dtype)
    zeros = _OPS.zeros((batch_size, num_hidden), dtype)
    states = builder.let("states0", Tuple((zeros, zeros)))
    weights = [
        var(f"{side}_{part}", shape=(4 * num_hidden, *([num_hidden] if part == "weight" else [])), dtype=dtype)
        for side in ("i2h", "h2h")
        for part in ("weight", "bias")
    ]
    output: Any = data
    for number in range(iterations):
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{number}_")
        found = builder.let(f"call{number}", Call(cell, (data, states, *weights)))
        output = builder.let(f"out{number}", TupleGetItem(found, 0))
        states = builder.let(f"states{number + 1}", TupleGetItem(found, 1))
    builder.ret(output)
    body = builder.get()
    return Function(free_vars(body), body)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, NDArray]]:
    """The chain as a module, and its parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
