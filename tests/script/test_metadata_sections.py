"""Constants beside a script: the metadata section as baton and TVM print it, and sequences of Python's."""

from __future__ import annotations

import ast
import base64
import json
import struct

import numpy as np

import baton
from baton import relax
from baton._src.relax.text.printer import script
from baton.script import relax as R
from tests.relax.build import load


def test_metadata_is_read_as_a_statement_and_as_tvm_prints_it() -> None:
    """Guards programs that were printed with their constants and pasted into a file, baton's and TVM's."""
    own = script(load('@R.function\ndef main():\n    return R.const([1.0, 2.0], "float32")\n'), show_meta=True)
    (statement,) = (line for line in own.splitlines() if line.startswith("metadata = tvm.ir.load_json('"))
    found = baton.ir.load_json(ast.literal_eval(statement.partition("load_json(")[2].rpartition(")")[0]))
    assert found["relax.expr.Constant"][0].data.numpy().tolist() == [1.0, 2.0]
    header = struct.pack("<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 2, 8)
    tensor = base64.b64encode(header + np.array([3, 4], "float32").tobytes()).decode()
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relax.expr.Constant"], "data": [2]},
        {"type_key": "Array", "data": [3]},
        {"type_key": "relax.expr.Constant", "attrs": {"data": "0", "span": "0", "struct_info_": "0"}},
    ]
    section = json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": [tensor], "attrs": {"tvm_version": "0.19.0"}})
    program = '@R.function\ndef main():\n    return metadata["relax.expr.Constant"][0]\n'
    printed = load(f"metadata = tvm.ir.load_json({section!r})\n{program}")
    assert printed.body.body.data.numpy().tolist() == [3.0, 4.0]


def test_items_of_tuples_around_a_script_are_chosen_at_once() -> None:
    """Guards sequences of Python's: they became tuples of the program, of which an item was taken."""
    constants = (relax.const(1.0), relax.const(2.0))

    @R.function
    def chosen(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(x, constants[1])
        return (x, y)[1]

    first, second = chosen.body.blocks[0].bindings[0].value.args[1], chosen.body.body
    assert first is constants[1]
    assert isinstance(second, relax.TupleGetItem | relax.Var)
