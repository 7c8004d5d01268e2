"""The command line as users meet it: what it prints, its exit status; mistakes are diagnostics, not tracebacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from typer.testing import CliRunner

from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.tools.main import app

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
POWER = ROOT / "examples" / "power.relay"
SCRIPT = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            y: R.Tensor(("n", 4), "float32") = R.add(x, x)
            R.output(y)
        return y
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cache for these tests, away from the user's."""
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cli-cache"))


def baton(*args: object, status: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in args])
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return result


def refused(code: str, *args: object) -> str:
    """The diagnostic, on standard error, of a command that ends with status 1."""
    result = baton(*args, status=1)
    assert result.stderr.startswith(f"error[{code}]"), result.stderr
    assert not result.stdout
    return str(result.stderr)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("artifact") / "digits.baton"
    baton("compile", DIGITS, "-o", path)
    return path


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(SCRIPT)
    return path


# ------------------------------------------------------------------------------------------ what works


def test_model_and_artifact_give_the_same(artifact: Path, tmp_path: Path) -> None:
    """`compile`, then `run` of the artifact: the outputs of the model itself."""
    image = np.random.default_rng(0).random((3, 1, 8, 8), np.float32)
    (spec,) = json.loads(baton("inspect", artifact, "--json").stdout)["inputs"]
    np.savez(tmp_path / "in.npz", **{spec["name"]: image})
    for model, name in ((DIGITS, "a.npz"), (artifact, "b.npz")):
        baton("run", model, "--input", tmp_path / "in.npz", "--output", tmp_path / name)
    a, b = (np.load(tmp_path / n) for n in ("a.npz", "b.npz"))
    assert a.files == b.files
    for name in a.files:
        assert a[name].shape[0] == 3
        np.testing.assert_array_equal(a[name], b[name])


def test_relay_text_runs(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.array([1, 2, 3], np.float32), n=np.int32(3))
    found = json.loads(baton("run", POWER, "-i", tmp_path / "in.npz", "--json").stdout)
    assert found["output_0"] == {"dtype": "float32", "shape": [3], "values": [1.0, 8.0, 27.0]}


def test_tvmscript_runs_with_a_size_for_its_symbolic_dim(script: Path) -> None:
    found = json.loads(baton("run", script, "--random", "--dim", "n=5", "--json").stdout)
    assert found["output_0"]["shape"] == [5, 4]


def test_outputs_may_be_called_what_numpy_calls_its_parameters(tmp_path: Path) -> None:
    """`numpy.savez` would take an output called `file` for its own, and drop one called `allow_pickle`."""
    info = helper.make_tensor_value_info
    names = ("file", "allow_pickle")
    nodes = [helper.make_node(op, ["x"], [name]) for op, name in zip(("Neg", "Identity"), names)]
    outputs = [info(name, onnx.TensorProto.FLOAT, [2]) for name in names]
    graph = helper.make_graph(nodes, "g", [info("x", onnx.TensorProto.FLOAT, [2])], outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.array([1, -2], np.float32))
    baton("run", tmp_path / "m.onnx", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as written:
        assert {n: written[n].tolist() for n in written.files} == {"file": [-1, 2], "allow_pickle": [1, -2]}


def test_strings_and_dictionaries(tmp_path: Path) -> None:
    """A classifier as scikit-learn exports it: a file has a column for each class."""
    tensor, learned = helper.make_tensor_value_info, {"domain": "ai.onnx.ml"}
    classes = {"classlabels_strings": ["cat", "dog"]}
    scorer = {"coefficients": [1.0, -1.0], "intercepts": [0.0, 0.5], **classes}
    nodes = [
        helper.make_node("LabelEncoder", ["x"], ["code"], keys_strings=["a"], values_floats=[2.0], **learned),
        helper.make_node("LinearClassifier", ["code"], ["label", "scores"], **scorer, **learned),
        helper.make_node("ZipMap", ["scores"], ["by_class"], **classes, **learned),
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("label", "by_class")]
    graph = helper.make_graph(nodes, "g", [tensor("x", onnx.TensorProto.STRING, ["n", 1])], outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "classes.onnx")
    np.savez(tmp_path / "x.npz", x=np.array([["a"], ["b"]]))
    run = ("run", tmp_path / "classes.onnx")
    found = json.loads(baton(*run, "-i", tmp_path / "x.npz", "-o", tmp_path / "y.npz", "--json").stdout)
    assert found["label"]["values"] == ["cat", "dog"]
    assert found["by_class.dog"]["values"] == [-1.5, 0.5]
    with np.load(tmp_path / "y.npz", allow_pickle=False) as written:
        assert written["label"].tolist() == ["cat", "dog"]
    np.savez(tmp_path / "objects.npz", x=np.array([["a"]], dtype=object))
    said = refused("input-file", *run, "-i", tmp_path / "objects.npz")
    assert "objects.npz holds arrays of objects\n  help: save strings as numpy.array(strings, str)" in said
    assert "label" in baton(*run, "--random").stdout
    assert "string" in baton("inspect", tmp_path / "classes.onnx").stdout


def test_names_and_texts_are_printed_as_they_are(tmp_path: Path) -> None:
    """Not as marks of the library that prints: brackets are no styles, words between colons no pictures."""
    name, texts = "[red]y:cat:", ["[bold]a[/bold]", ":smile:", "[/none]"]
    given = helper.make_tensor_value_info("t", onnx.TensorProto.STRING, ["n"])
    node = helper.make_node("Identity", ["t"], [name])
    onnx.save(
        helper.make_model(helper.make_graph([node], "g", [given], [helper.make_empty_tensor_value_info(name)])),
        tmp_path / "odd.onnx",
    )
    np.savez(tmp_path / "t.npz", t=np.array(texts))
    shown = baton("run", tmp_path / "odd.onnx", "-i", tmp_path / "t.npz").stdout
    assert all(text in shown for text in [name, *texts])
    printed = json.loads(baton("run", tmp_path / "odd.onnx", "-i", tmp_path / "t.npz", "--json").stdout)
    assert printed[name]["values"] == texts


def test_numbers_that_json_has_none_of(script: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[np.nan, np.inf, -np.inf, 1]], np.float32))
    text = baton("run", script, "-i", tmp_path / "x.npy", "--json").stdout
    (output,) = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON")).values()
    assert output["values"] == [["NaN", "Infinity", "-Infinity", 2.0]]


def test_one_array_file_serves_one_input(script: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    found = json.loads(baton("run", script, "-i", tmp_path / "x.npy", "--json").stdout)
    assert found["output_0"]["values"] == [[2.0] * 4] * 2


def test_compile_binds_arrays(script: Path, tmp_path: Path) -> None:
    """`--params`: inputs become constants of the artifact."""
    plain = 'main(x: R.Tensor(("n", 4), "float32"))'
    text = SCRIPT.replace(plain, 'main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((2, 4), "float32"))')
    script.write_text(text.replace('("n", 4)', "(2, 4)").replace("R.add(x, x)", "R.add(x, w)"))
    np.savez(tmp_path / "w.npz", w=np.full((2, 4), 5, np.float32))
    baton("compile", script, "-o", tmp_path / "a.baton", "--params", tmp_path / "w.npz")
    assert [i["name"] for i in json.loads(baton("inspect", tmp_path / "a.baton", "--json").stdout)["inputs"]] == ["x"]
    np.save(tmp_path / "x.npy", np.ones((2, 4), np.float32))
    found = json.loads(baton("run", tmp_path / "a.baton", "-i", tmp_path / "x.npy", "--json").stdout)
    assert found["output_0"]["values"] == [[6.0] * 4] * 2


def test_a_bound_input_fixes_the_sizes_it_leaves_open(script: Path, tmp_path: Path) -> None:
    """Binding the only input with an open size was an internal error: nothing was left to say how large it is."""
    np.savez(tmp_path / "x.npz", x=np.arange(8, dtype=np.float32).reshape(2, 4))
    baton("compile", script, "-o", tmp_path / "s.baton", "--params", tmp_path / "x.npz")
    found = json.loads(baton("run", tmp_path / "s.baton", "--json").stdout)["output_0"]
    assert found["shape"] == [2, 4]
    assert found["values"][1] == [8, 10, 12, 14]


def test_dtypes_that_numpy_does_not_have(script: Path, tmp_path: Path) -> None:
    """A file says of bfloat16 only that its elements take two bytes: the model knows the rest."""
    script.write_text(SCRIPT.replace("float32", "bfloat16").replace("R.add(x, x)", "R.negative(R.negative(x))"))
    baton("run", script, "--random", "--dim", "n=2", "-o", tmp_path / "y.npz")
    with np.load(tmp_path / "y.npz") as written:
        np.savez(tmp_path / "x.npz", x=written["output_0"])
    again = baton("run", script, "-i", tmp_path / "x.npz", "--json")
    assert again.stdout == baton("run", script, "--random", "--dim", "n=2", "--json").stdout


def test_arrays_without_names(script: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", np.zeros((1, 4), np.float32))
    assert "'x': ..." in refused("input-file", "run", script, "-i", tmp_path / "x.npz")


def test_inspect_shows_the_layers(script: Path) -> None:
    assert "double.py" not in baton("inspect", script).stdout
    stages = baton("inspect", script, "--stage", "list").stdout.split()
    assert {"final", "bytecode"} <= set(stages)
    for stage in stages:
        assert baton("inspect", script, "--stage", stage).stdout.strip()
    shown = baton("inspect", script, "--kernels", "--memory").stdout
    assert "add" in shown


def test_bench_prints_a_row_and_writes_what_it_measured(artifact: Path, tmp_path: Path) -> None:
    shown = baton("bench", DIGITS, "--seconds", "0.1", "--dim", "n=1", "--json", tmp_path / "b.json").stdout
    assert "digits" in shown
    assert json.loads((tmp_path / "b.json").read_text())
    assert artifact.stem in baton("bench", artifact, "--seconds", "0").stdout


def test_inspect_checks_the_weights(artifact: Path, tmp_path: Path) -> None:
    """`run` maps them unread; a changed bit in them should be found by somebody."""
    content = bytearray(artifact.read_bytes())
    content[len(content) * 3 // 4] ^= 1
    damaged = tmp_path / "damaged.baton"
    damaged.write_bytes(content)
    assert "constants.safetensors is damaged" in refused("executable-corrupt", "inspect", damaged)


def test_doctor() -> None:
    facts = json.loads(baton("doctor", "--json").stdout)
    assert facts["LLVM"]
    assert "cli-cache" in facts["cache"]


def test_the_package_runs_as_the_command() -> None:
    """Guards environments whose scripts are not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "baton", "doctor", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["LLVM"]


def test_terminals_without_unicode(artifact: Path) -> None:
    """An ellipsis of ours, or a model's name in another script, was reported as a bug of baton's."""
    command = [sys.executable, "-m", "baton", "run", str(artifact), "--random"]
    done = subprocess.run(
        command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u2026" in done.stdout


def test_help_by_its_short_name() -> None:
    """Guards `-h`, which was no option."""
    assert baton("-h").stdout == baton("--help").stdout
    assert "--random" in baton("run", "-h").stdout


def test_version() -> None:
    assert baton("--version").stdout.startswith("baton 0.")


def test_help_and_doctor_load_no_compiler() -> None:
    """Help comes at once: neither it nor `doctor` imports the IRs, the operators or the passes."""
    for arguments in (["--help"], ["doctor"]):
        code = (
            "import sys; from typer.testing import CliRunner; from baton._src.tools.main import app;"
            f"r = CliRunner().invoke(app, {arguments!r}); assert r.exit_code == 0, r.output;"
            "bad = [m for m in sys.modules if m.startswith('baton._src.') and m.split('.')[2] in "
            "('relax', 'relay', 'tir', 'te', 'ops', 'passes', 'driver', 'lower')]; print(bad); sys.exit(bool(bad))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------------------------- bad input


def test_missing_files(tmp_path: Path) -> None:
    for model in ("no.onnx", "no.relay", "no.py", "no.baton"):
        assert model in refused("file-missing", "run", tmp_path / model, "--random")


def test_unknown_kind_of_file(tmp_path: Path) -> None:
    for name, expected in (("model.h5", ".onnx"), ("model.pt", "torch.export.save")):
        (tmp_path / name).write_text("hello")
        assert expected in refused("model-kind", "run", tmp_path / name, "--random")


@pytest.mark.parametrize("size", [0, 1, 100, 5000])
def test_truncated_onnx(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.onnx"
    path.write_bytes(DIGITS.read_bytes()[:size])
    assert "cut.onnx" in refused("onnx-file", "compile", path, "-o", tmp_path / "out.baton")
    assert [p.name for p in tmp_path.iterdir()] == ["cut.onnx"]


@pytest.mark.parametrize("change", ["cut", "flipped", "empty"])
def test_corrupted_artifact(artifact: Path, tmp_path: Path, change: str) -> None:
    content = bytearray(artifact.read_bytes())
    path = tmp_path / "bad.baton"
    if change == "flipped":
        for i in range(2000, 2100):
            content[i] ^= 255
    path.write_bytes({"cut": content[: len(content) // 2], "empty": content[:4]}.get(change, content))
    assert "bad.baton" in refused("executable-corrupt", "run", path, "--random")


def test_what_is_no_model(artifact: Path, tmp_path: Path) -> None:
    """An artifact, a folder; arrays that no name is given for, or the wrong one."""
    assert "is an artifact" in refused("model-kind", "compile", artifact, "-o", tmp_path / "out.baton")
    (tmp_path / "folder.onnx").mkdir()
    assert "is a folder" in refused("file-missing", "compile", tmp_path / "folder.onnx", "-o", tmp_path / "out.baton")
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.savez(tmp_path / "wrong.npz", image=np.zeros(3))
    compiling = ("compile", DIGITS, "-o", tmp_path / "out.baton", "--params")
    assert "bound by name" in refused("input-file", *compiling, tmp_path / "one.npy")
    assert "float32 (n, 1, 8, 8)" in refused("onnx-input", *compiling, tmp_path / "wrong.npz")


def test_inputs_that_do_not_fit(artifact: Path, tmp_path: Path) -> None:
    """Wrong shapes, dtypes and names are told before anything runs; a near miss gets a suggestion."""
    name = json.loads(baton("inspect", artifact, "--json").stdout)["inputs"][0]["name"]
    path = tmp_path / "in.npz"
    for array in (np.zeros((1, 1, 8, 9), np.float32), np.zeros((1, 1, 8, 8)), np.zeros((8, 8), np.float32)):
        np.savez(path, **{name: array})
        assert name in refused("value-mismatch", "run", artifact, "-i", path)
    good = np.zeros((1, 1, 8, 8), np.float32)
    np.savez(path, **{f"{name}s": good})
    assert f"did you mean '{name}'" in refused("input-unknown", "run", artifact, "-i", path)
    np.savez(path)
    assert name in refused("input-missing", "run", artifact, "-i", path)
    path.write_bytes(b"junk")
    refused("input-file", "run", artifact, "-i", path)
    refused("input-file", "run", artifact, "-i", tmp_path / "none.npz")


def test_options_that_do_not_fit(script: Path) -> None:
    assert "there are: n" in refused("option", "run", script, "--random", "--dim", "m=3")
    refused("option", "run", script, "--random", "--dim", "n")
    assert "got 'x'" in refused("option", "bench", DIGITS, "--threads", "x")
    assert "onnxruntime" in refused("option", "bench", DIGITS, "--against", "nothing")
    assert "--dim applies to random inputs" in refused("option", "run", script, "-i", "x.npz", "--dim", "n=2")
    assert "measure ONNX models" in refused("option", "bench", script, "--against", "onnxruntime")
    for wrong in ((), ("-i", "x.npz", "--random"), ("--random", "--threads", "0")):
        baton("run", script, *wrong, status=2)
    baton("tune", script, "--trials", "-1", status=2)


def test_digits_that_are_no_numbers(script: Path) -> None:
    """Guards against texts that Python calls digits and does not read as a number: an internal error."""
    assert "got 'n=²'" in refused("option", "run", script, "--random", "--dim", "n=²")
    assert "got '²'" in refused("option", "bench", script, "--threads", "²")


def test_peers_that_do_not_take_the_model() -> None:
    """What a peer raises, and what its translation does not cover, is a remark and no bug of baton's."""
    found = baton("bench", DIGITS, "--against", "torch", "--seconds", "0")
    assert "digits" in found.stdout
    if "torch" not in found.stdout:
        assert "torch without digits n=1: " in found.stderr


def test_processors_that_do_not_exist(script: Path, tmp_path: Path) -> None:
    """Guards against LLVM, which repeats itself and then ends the process."""
    out = refused("target-cpu", "compile", script, "-o", tmp_path / "x.baton", "--target", "llvm -mcpu=hasswell")
    assert "did you mean haswell?" in out
    assert out.count("hasswell") == 1
    for code, target, says in (
        ("target-triple", "llvm -mtriple=moon-buggy", "LLVM makes no code for 'moon-buggy'"),
        ("target-attribute", "llvm -mattr=+avx22", "LLVM knows no feature 'avx22'"),
        ("target-attribute", "llvm -num-cores=0", "num-cores takes a number from 1 on, got '0'"),
    ):
        assert says in refused(code, "compile", script, "-o", tmp_path / "x.baton", "--target", target)


def test_ill_typed_programs(tmp_path: Path) -> None:
    """A type error and a syntax error, in both languages: the place, and nothing written."""
    out = tmp_path / "out.baton"
    wrong = SCRIPT.replace("R.add(x, x)", 'R.add(x, R.const([1.0, 2.0], "float32"))')
    for name, text in (
        ("a.py", wrong),
        ("b.py", SCRIPT.replace("R.add(x, x)", "R.add(x, ")),
        (
            "c.relay",
            '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { add(%x, ones(shape=[4], dtype="float32")) }',
        ),
        ("d.relay", '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { add(%x, '),
    ):
        (tmp_path / name).write_text(text)
        result = baton("compile", tmp_path / name, "-o", out, status=1)
        assert result.stderr.startswith("error["), result.stderr
        assert not out.exists()


def test_output_that_cannot_be_written(script: Path, tmp_path: Path) -> None:
    """Nothing half-written stays behind, and what stood there before does."""
    for command in (("compile", script), ("run", script, "--random"), ("bench", DIGITS)):
        option = "--json" if command[0] == "bench" else "-o"
        assert "there is no folder" in refused("output-file", *command, option, tmp_path / "none" / "x.baton")
    folder = tmp_path / "taken"
    folder.mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    baton("compile", script, "-o", folder, status=1)
    baton("run", script, "--random", "-o", folder, status=1)
    assert "it is a folder" in refused("output-file", "run", script, "--random", "-o", ".")
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_model_is_not_overwritten_by_what_is_made_of_it(script: Path) -> None:
    """`-o` with the name of the model was taken, and the program was gone."""
    for command in (("compile", script, "-o", script), ("run", script, "--random", "-o", script)):
        assert "is the model itself" in refused("output-file", *command)
    assert script.read_text() == SCRIPT


def test_where_nothing_can_be_remembered(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searching for nothing is refused; a cache that is a file, or whose name is too long, costs time only, and
    `doctor` says so.
    """
    (tmp_path / "file").touch()
    beneath, long = tmp_path / "file" / "cache", tmp_path / ("x" * 300)
    for database in (beneath, long):
        refused("tuning-database", "tune", script, "--seconds", "0", "--database", database)
    for folder in (beneath, long, tmp_path / "file"):
        monkeypatch.setenv("BATON_CACHE_DIR", str(folder))
        baton("run", script, "--random")
        assert "cannot be written" in json.loads(baton("doctor", "--json").stdout)["cache"]


def test_corrupted_cache_entries_are_rebuilt_silently(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATON_CACHE_DIR", str(tmp_path / "cache"))
    first = baton("run", script, "--random", "--json")
    entries = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:40] + b"damage")
    again = baton("run", script, "--random", "--json")
    assert again.stdout == first.stdout
    assert not again.stderr


def test_replay_runs_the_passes_of_a_reproducer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It exits with 2 while a pass fails and names it, with 0 when all succeed; another file is refused."""
    path = tmp_path / "fault.baton"
    header = "// pass: DeadCodeElimination\n// error: KeyError: 'x'\n// context: PassContext(opt_level=3)\n"
    path.write_text(f"{header}// pipeline: DeadCodeElimination()\n\n{SCRIPT}")
    assert "1 passes succeed; recorded: DeadCodeElimination failed" in baton("replay", path).stdout
    assert "R.add(x, x)" in baton("replay", path, "--print").stdout

    def fails(self: Any, module: Any, ctx: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(DeadCodeElimination, "run", fails)
    shown = baton("replay", path, status=2).stderr
    assert "DeadCodeElimination fails: KeyError: 'x'\nas recorded" in shown
    path.write_text("// pass: DeadCodeElimination\n")
    assert "no error, context, pipeline" in refused("reproducer-format", "replay", path)
