"""What users read after a typical slip: every message names the node, its line, the shapes and the way out.

The slips stand in `mistakes/<group>.txt`, a snippet of a user's script under `# its name`; the golden texts are what is
said about them. A new message is looked at before it is accepted with --update.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import baton
from baton import relax, relay, te
from baton._src.support.diagnostics import InternalError
from baton.contrib import graph_executor
from baton.runtime import vm as relay_vm
from baton.script import from_source
from baton.script import relax as R

FOLDER = Path(__file__).with_name("mistakes")
f32 = "float32"


def v(name: str, *shape: int, dtype: str = f32) -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def infer(expr: Any) -> Any:
    function = relay.Function(relay.analysis.free_vars(expr), expr)
    return relay.transform.InferType()(baton.IRModule.from_expr(function))


def dense_model() -> Any:
    x, w = v("x", 2, 8), v("w", 4, 8)
    return baton.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))


def gm() -> Any:
    """The dense model with its weight bound, ready for `set_input`."""
    library = relay.build(dense_model(), "llvm", params={"w": np.ones((4, 8), f32)})
    return graph_executor.GraphModule(library["default"](baton.cpu()))


def vm() -> Any:
    return relay_vm.VirtualMachine(relay.vm.compile(dense_model(), "llvm"), baton.cpu())


def relaxmod() -> Any:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((2, 3), f32))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    return builder.get()


def relaxvm() -> Any:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((2, 3), f32))
    w = relax.Var("w", relax.TensorStructInfo((3, 5), f32))
    with builder.function("main", [x, w]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, w)))
    return relax.VirtualMachine(relax.build(builder.get(), "llvm"), baton.cpu())


def graph(nodes: Any, ins: Any = (("x", (2, 3)),), inits: Any = ()) -> Any:
    """An ONNX model of float32 inputs whose output is `y`."""
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ins]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(
        helper.make_graph(nodes, "g", inputs, [output], list(inits)), opset_imports=[helper.make_opsetid("", 17)]
    )


NAMES: dict[str, Any] = {
    "np": np,
    "baton": baton,
    "relay": relay,
    "relax": relax,
    "te": te,
    "R": R,
    "helper": helper,
    "P": TensorProto,
    "from_source": from_source,
    "f32": f32,
    **{f.__name__: f for f in (v, infer, dense_model, gm, vm, relaxmod, relaxvm, graph)},
}


def said_about(snippet: str) -> str:
    """The message that the snippet ends with, as a user reads it."""
    linecache.cache["model.py"] = (len(snippet), None, snippet.splitlines(keepends=True), "model.py")
    try:
        exec(compile(snippet, "model.py", "exec"), {**NAMES, "__name__": "model"})
    except InternalError as error:
        raise AssertionError("a slip of the user is taken for one of the compiler") from error
    except baton.error.TVMError as error:
        return str(error)
    except (AttributeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"nothing is said about: {snippet}")


@pytest.mark.parametrize("group", sorted(path.stem for path in FOLDER.glob("*.txt")))
def test_messages_of_slips(group: str, golden: Any) -> None:
    pieces = re.split(r"^# (\w+)\n", (FOLDER / f"{group}.txt").read_text("utf-8"), flags=re.MULTILINE)
    told = [f"# {name}\n{said_about(snippet.strip())}\n" for name, snippet in zip(pieces[1::2], pieces[2::2])]
    golden.check("\n".join(told))
