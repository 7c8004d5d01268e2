"""`baton.compile`, `Model`, artifacts: right numbers, and errors that name what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from baton import relax, script
from baton._src.driver.compile.compile import compile as compile_model
from baton._src.driver.compile.open_model import open_model
from baton._src.driver.model.load import load
from baton._src.driver.model.model import Model
from baton._src.support.diagnostics import DiagnosticError

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.onnx"


@pytest.fixture(scope="module")
def digits() -> Model:
    return compile_model(DIGITS, keep_stages=True)


def images(count: int) -> np.ndarray:
    return np.random.default_rng(count).random((count, 1, 8, 8), "float32")


def test_a_real_model_for_any_batch(digits: Model) -> None:
    """One compiled model, several batch sizes, against onnxruntime."""
    session = onnxruntime.InferenceSession(str(DIGITS))
    assert [str(s) for s in digits.inputs] == ["image: float32[n, 1, 8, 8]"]
    for count in (1, 3, 64):
        (expected,) = session.run(None, {"image": images(count)})
        (found,) = digits.run({"image": images(count)})
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        (again,) = digits(images(count), num_threads=1)
        np.testing.assert_allclose(again, expected, rtol=1e-4, atol=1e-6)


def test_inputs_of_other_libraries(digits: Model) -> None:
    """Lists and anything with DLPack are taken as arrays."""

    class Other:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: object) -> object:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    (expected,) = digits.run({"image": images(2)})
    for given in (Other(images(2)), images(2).tolist()):
        np.testing.assert_array_equal(digits.run({"image": given})[0], expected)


def test_artifacts_give_the_same(digits: Model, tmp_path: Path) -> None:
    path = tmp_path / "digits.baton"
    digits.save(path)
    for again in (load(path), open_model(path), load(str(path), num_threads=1)):
        assert again.inputs == digits.inputs
        assert again.outputs == digits.outputs
        np.testing.assert_array_equal(again.run({"image": images(5)})[0], digits.run({"image": images(5)})[0])


def test_looking_inside(digits: Model) -> None:
    records = digits.profile({"image": images(4)})
    assert records[0].seconds >= records[-1].seconds
    assert {r.name for r in records} == {k.name for k in digits.kernels}
    assert "FuseOps" in digits.stages
    assert "R.function" in digits.stage("LegalizeOps")
    assert "native" in digits.stage("bytecode")
    assert "arena of" in digits.memory_plan
    with pytest.raises(DiagnosticError, match="no stage 'nope'"):
        digits.stage("nope")


@pytest.mark.parametrize(
    ("feed", "code", "text"),
    [
        ({}, "input-missing", "input 'image' is missing"),
        (np.zeros((1, 1)), "input-names", r"call the model itself with the arrays in order"),
        ([np.zeros(1)], "input-names", "run takes arrays by name, not a list"),
        (None, "input-names", "not a NoneType"),
        ({"imagee": 0}, "input-unknown", "did you mean 'image'"),
        ({"image": 0, "mask": 1}, "input-unknown", "no input 'mask'"),
        ({"image": np.zeros((1, 1, 8, 9), "float32")}, "value-mismatch", "dimension 3 is 9, expected 8"),
        ({"image": np.zeros((1, 8, 8), "float32")}, "value-mismatch", "a tensor of rank 4, found rank 3"),
        ({"image": np.zeros((1, 1, 8, 8))}, "value-mismatch", "dtype float32, found dtype float64"),
        ({"image": "text"}, "value-mismatch", "input image"),
        ({"image": np.array(["a"])}, "tensor-dtype", "is not a tensor"),
    ],
)
def test_wrong_inputs(digits: Model, feed: dict[str, object], code: str, text: str) -> None:
    with pytest.raises(DiagnosticError, match=text) as caught:
        digits.run(feed)
    assert caught.value.code == code


def test_wrong_number_of_arrays(digits: Model) -> None:
    with pytest.raises(DiagnosticError, match=r"takes 1 inputs \(image\); 2 given"):
        digits(images(1), images(1))


def test_wrong_files(tmp_path: Path) -> None:
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(DIGITS.read_bytes()[:1000])
    text = tmp_path / "model.txt"
    text.write_text("hello")
    broken = tmp_path / "broken.baton"
    broken.write_bytes(b"PK\x03\x04 nothing")
    script = tmp_path / "broken.py"
    script.write_text("@R.function\ndef f(x: R.Tensor((2,), 'float32')):\n    return R.ad(x, x)\n")
    for path, code in (
        (tmp_path / "none.onnx", "file-missing"),
        (cut, "onnx-file"),
        (text, "model-kind"),
        (broken, "executable-corrupt"),
        (script, "script-name"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            open_model(path)
        assert caught.value.code == code
    with pytest.raises(DiagnosticError, match="cannot compile a int"):
        compile_model(3)
    with pytest.raises(DiagnosticError, match="cannot compile for cuda"):
        compile_model(DIGITS, target="cuda")


def test_programs_from_text(tmp_path: Path) -> None:
    """TVMScript and Relay text files, and ModelProtos in memory, all become models."""
    x = np.array([1, 2, 3], "float32")
    script = tmp_path / "double.py"
    script.write_text(
        "from tvm.script import relax as R\n\n@R.function\n"
        "def main(x: R.Tensor(('n',), 'float32')):\n    y = R.add(x, x)\n    return y\n"
    )
    np.testing.assert_array_equal(open_model(script).run({"x": x})[0], x * 2)
    relay = tmp_path / "double.relay"
    relay.write_text("def @main(%x: Tensor[(3), float32]) { %x + %x }")
    np.testing.assert_array_equal(open_model(relay).run({"x": x})[0], x * 2)
    for path in (script, relay):  # with the mark that editors on Windows write in front, and their ends of lines
        path.write_text(path.read_text(), encoding="utf-8-sig", newline="\r\n")
        np.testing.assert_array_equal(open_model(path).run({"x": x})[0], x * 2)
    node = helper.make_node("Add", ["x", "x"], ["y"])
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["k"])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k"])
    proto = helper.make_model(
        helper.make_graph([node], "g", [info], [out]), opset_imports=[helper.make_opsetid("", 17)]
    )
    onnx.checker.check_model(proto)
    np.testing.assert_array_equal(compile_model(proto).run({"x": x})[0], x * 2)


def test_modules_without_an_entry() -> None:
    """Guards that compiling says what a model calls, and who takes other modules: calls failed later."""
    module = script.from_source(
        "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Tensor((2,), 'float32')):\n        return x\n"
    )
    with pytest.raises(DiagnosticError, match=r"no function 'main'.*it has: f\n.*relax\.build"):
        compile_model(module)


def test_several_threads_and_models_at_once(digits: Model) -> None:
    import threading

    expected = [digits.run({"image": images(n)})[0] for n in (1, 9)]
    wrong: list[int] = []

    def work(index: int, count: int) -> None:
        for _ in range(20):
            if not np.array_equal(digits.run({"image": images(count)})[0], expected[index]):
                wrong.append(count)

    threads = [threading.Thread(target=work, args=(i, n)) for i, n in enumerate((1, 9))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(("given", "said"), [("llvm", "target='llvm'"), (0, "all cores"), (1.5, "all cores")])
def test_numbers_of_threads(given: Any, said: str) -> None:
    """A target as the second argument, as other compilers have it, was compared with a number."""
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with pytest.raises(DiagnosticError, match=f"at least 1, got {given!r}\n.*{said}"):
        compile_model(relax.Function([x], x), given)


def test_a_tuple_is_no_array() -> None:
    """Its dtype, which is no tensor's, was looked up in NumPy: an error about void."""
    pair = relax.TupleStructInfo([relax.TensorStructInfo((2,), "float32")] * 2)
    items = relax.Var("items", pair)
    model = compile_model(relax.Function([items], relax.TupleGetItem(items, 0)))
    with pytest.raises(DiagnosticError, match=r"input items is of no known dtype\n.*VirtualMachine takes tuples"):
        model((images(1)[0], images(1)[0]))


NESTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tuple(
        R.Tuple(R.Tensor(("n",), "float32"), R.Tensor((), "float32")), R.Shape(["n"]), R.Prim("float32"), R.Tuple
    ):
        n = T.int64()
        a = R.exp(x)
        b = R.sum(a)
        return ((a, b), R.shape([n]), R.prim_value(T.float32(0.5)), R.tuple())
"""


SHARING = """
@R.function
def main(x: R.Tensor((3,), "float32")):
    y = R.add(x, R.const(1.0))
    return x, (x,), y, (y, R.const([5.0]))
"""


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_outputs_share_no_memory(mode: str) -> None:
    """Outputs that are inputs, or one another, were these arrays: what was written into one changed the others."""
    model = compile_model(script.from_source(SHARING), exec_mode=mode)
    x = np.zeros(3, "float32")
    for _ in range(3):  # the first runs are checked, later ones of the same shapes take the short way
        outputs = model(x)
        for number, output in enumerate(outputs):
            output[:] = number + 7
        assert [o.tolist() for o in outputs] == [[7] * 3, [8] * 3, [9] * 3, [10] * 3, [11]]
        assert x.tolist() == [0] * 3
        assert [o.tolist() for o in model.run({"x": x})] == [[0] * 3, [0] * 3, [1] * 3, [1] * 3, [5]]


def test_outputs_are_told_one_by_one_as_runs_give_them() -> None:
    """A tuple in the result was one output of no known kind, and those after it had one another's names."""
    model = compile_model(script.from_source(NESTED))
    told = ["float32[n]", "float32[]", "int64[1]", "float32[]"]
    assert [str(output) for output in model.outputs] == [f"output_{n}: {kind}" for n, kind in enumerate(told)]
    found = model(np.zeros(3, "float32"))
    assert [(str(array.dtype), array.shape) for array in found] == [
        ("float32", (3,)),
        ("float32", ()),
        ("int64", (1,)),
        ("float32", ()),
    ]


@pytest.mark.parametrize("kind", ["module", "function", "file"])
def test_shapes_are_for_models_that_leave_them_open(kind: str, tmp_path: Path) -> None:
    """They were ignored, wrong ones too."""
    module = script.from_source(NESTED)
    path = tmp_path / "nested.py"
    path.write_text("from tvm.script import ir as I, relax as R, tir as T\n" + NESTED)
    model = {"module": module, "function": module["main"], "file": path}[kind]
    with pytest.raises(DiagnosticError, match="shapes are for ONNX models"):
        compile_model(model, shapes={"x": (4,)})
