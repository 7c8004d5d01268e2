"""Reading scripts: every statement and annotation, what is refused, and where the carets stand."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.check.report import StructInfoWarning
from baton._src.relax.nodes import Call, DataflowBlock, DataflowVar, Function, If, MatchCast, ShapeExpr, TupleGetItem
from baton._src.relax.struct_info import FuncStructInfo, ObjectStructInfo
from baton._src.relax.text.printer import script
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton.script import relax as R
from tests.relax.build import load, module


def function(body: str, params: str = 'x: R.Tensor(("n",), "float32")', ret: str = "", options: str = "") -> Function:
    """A function from its statements."""
    arrow = f" -> {ret}" if ret else ""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    found = load(f"@R.function{options}\ndef main({params}){arrow}:\n{lines}\n")
    assert isinstance(found, Function)
    assert_structural_equal(load(script(found, show_meta=True)), found)
    return found


def bindings(found: Function) -> list[Any]:
    return [b for block in found.body.blocks for b in block.bindings]


def problems(text: str, **options: Any) -> list[Diagnostic]:
    with pytest.raises(DiagnosticError) as error:
        load(text, **options)
    return list(error.value.diagnostics)


def wrong(body: str, params: str = 'x: R.Tensor((3,), "float32")') -> Diagnostic:
    """The one problem of a function."""
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    found = problems(f"@R.function\ndef main({params}):\n{lines}\n")
    assert len(found) == 1, [d.render() for d in found]
    return found[0]


@pytest.mark.rule("RELAX-SCRIPT-03")
@pytest.mark.rule("RELAX-SCRIPT-04")
@pytest.mark.rule("RELAX-SURVEY-1")
@pytest.mark.rule("RELAX-SINFO-04")
@pytest.mark.rule("RELAX-SINFO-06")
@pytest.mark.rule("RELAX-SINFO-07")
@pytest.mark.parametrize(
    ("annotation", "printed"),
    [
        ("R.Tensor", "R.Tensor"),
        ("R.Tensor()", "R.Tensor"),
        ('R.Tensor("float32")', 'R.Tensor(dtype="float32")'),
        ('R.Tensor((2, 3), "int8")', 'R.Tensor((2, 3), dtype="int8")'),
        ('R.Tensor(("n", "n * 2"), dtype="float32")', 'R.Tensor(("n", "n * 2"), dtype="float32")'),
        ("R.Tensor(ndim=2)", "R.Tensor(ndim=2)"),
        ("R.Tensor(())", "R.Tensor(())"),
        ("R.Shape", "R.Shape(ndim=-1)"),
        ("R.Shape(ndim=3)", "R.Shape(ndim=3)"),
        ('R.Shape(["n", 4])', 'R.Shape(["n", 4])'),
        ("R.Tuple", "R.Tuple"),
        ("R.Tuple(R.Tensor, R.Object)", "R.Tuple(R.Tensor, R.Object)"),
        ("R.Tuple([R.Tensor, R.Tuple()])", "R.Tuple(R.Tensor, R.Tuple)"),
        ("R.Callable([R.Tensor], R.Tensor)", "R.Callable((R.Tensor,), R.Tensor, True)"),
        ("R.Callable((R.Tensor, R.Object), R.Tuple, False)", "R.Callable((R.Tensor, R.Object), R.Tuple, False)"),
        ("R.Callable", "R.Callable"),
        ("R.Callable(ret=R.Object, purity=True)", "R.Callable(purity=True)"),
        ('R.Callable(derive_func="default_derive")', 'R.Callable(derive_func="default_derive")'),
        (
            'R.Callable(ret=R.Shape(ndim=2), derive_func="empty_derive", purity=True)',
            'R.Callable(ret=R.Shape(ndim=2), derive_func="empty_derive", purity=True)',
        ),
        (
            'R.Callable(derive_func="tvm.relax.struct_info.infer_by_sinfo_args")',
            'R.Callable(derive_func="default_derive")',
        ),
        ('R.Prim("int64")', 'R.Prim("int64")'),
        ('R.Prim(value="k")', 'R.Prim(value="k")'),
        ("R.Object", "R.Object"),
    ],
)
def test_annotations(annotation: str, printed: str) -> None:
    """Each way to write an annotation, and how it is printed."""
    found = function("return p", params=f"p: {annotation}")
    line = next(line for line in script(found).splitlines() if line.startswith("def "))
    assert line.startswith(f"def main(p: {printed})"), line


@pytest.mark.rule("RELAX-SCRIPT-04")
def test_callable_purity() -> None:
    """Pure exactly when parameters are given, unless stated."""
    with_params = function("return p", params="p: R.Callable([R.Tensor], R.Tensor)").params[0].struct_info
    opaque = function("return p", params="p: R.Callable()").params[0].struct_info
    assert isinstance(with_params, FuncStructInfo)
    assert isinstance(opaque, FuncStructInfo)
    assert (with_params.purity, opaque.purity) == (True, False)
    assert with_params.derive_func is None
    assert opaque.derive_func is not None
    assert (R.Callable([R.Tensor], R.Tensor).purity, R.Callable().purity) == (True, False)  # said in Python, too


@pytest.mark.rule("RELAX-SCRIPT-06")
@pytest.mark.rule("RELAX-SCOPE-6")
@pytest.mark.rule("RELAX-EXPR-01")
def test_assignments() -> None:
    """Tuples unpack, items index, arithmetic becomes operators, numbers constants; a name may be bound anew."""
    found = function(
        """
t = (x, x)
a, b = t
y = a + 1.0
y = y * b
z = t[1]
return (y, z)
"""
    )
    kinds = [type(b.value).__name__ for b in bindings(found)]
    assert kinds == ["Tuple", "TupleGetItem", "TupleGetItem", "Call", "Call", "TupleGetItem"]
    assert [b.var.name_hint for b in bindings(found)] == ["t", "a", "b", "y", "y", "z"]
    assert bindings(found)[3].value.args[1].data.dtype == "float32"


@pytest.mark.rule("RELAX-SCRIPT-05")
@pytest.mark.rule("RELAX-EXPR-11")
@pytest.mark.rule("RELAX-MATCH-11")
def test_casts_and_shape_variables() -> None:
    """Declared variables are bound by casts; a cast may stand without a name; an annotation on its variable wins."""
    found = function(
        """
m = T.int64()
k = T.var("int64", "k")
y: R.Tensor = R.match_cast(x, R.Tensor((m,), "float32"))
R.match_cast(x, R.Tensor((k,)))
return R.shape([m * 2 + k, T.min(m, 3)])
"""
    )
    first, second = bindings(found)
    assert isinstance(first, MatchCast)
    assert repr(first.var.struct_info) == repr(function("return p", params="p: R.Tensor").params[0].struct_info)
    assert isinstance(second, MatchCast)
    assert second.var is None
    assert isinstance(found.body.body, ShapeExpr)


@pytest.mark.rule("RELAX-SCRIPT-08")
@pytest.mark.rule("RELAX-EXPR-10")
def test_dataflow_blocks() -> None:
    """Only what R.output lists is an ordinary variable; the last assignment of a name is the one that leaves."""
    found = function(
        """
with R.dataflow():
    lv = R.exp(x)
    out = R.add(lv, x)
    out = R.exp(out)
    R.output(out)
return out
"""
    )
    block = found.body.blocks[0]
    assert isinstance(block, DataflowBlock)
    assert [isinstance(b.var, DataflowVar) for b in block.bindings] == [True, True, False]


@pytest.mark.rule("RELAX-SCRIPT-07")
@pytest.mark.parametrize(
    ("then", "other"),
    [
        ("with R.dataflow():\n        z = R.abs(x)\n        y = R.exp(z)\n        R.output(y)", "y = x"),
        ("w, y = (x, x)", "with R.dataflow():\n        y = R.exp(x)\n        R.output(y)"),
    ],
)
def test_branches_that_end_with_a_block_or_several_names(then: str, other: str) -> None:
    """What is bound last counts, wherever that stands: such names were lost."""
    found = function(
        f"if c:\n    {then}\nelse:\n    {other}\nreturn y",
        params='x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")',
    )
    assert found.body.body.name_hint == "y"
    assert found.body.blocks[0].bindings[-1].var is found.body.body


@pytest.mark.rule("RELAX-SCRIPT-07")
def test_branches() -> None:
    """A name both branches end with is the value; without one, the branches are unit."""
    found = function(
        """
if c:
    y = R.exp(x)
elif d:
    y = x
else:
    z = R.exp(x)
    y = R.add(z, x)
if c:
    R.print(x)
else:
    R.print("no")
return y
""",
        params='x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool")',
        options="(pure=False)",
    )
    first, second = bindings(found)
    assert isinstance(first.value, If)
    assert first.var.name_hint == "y"
    inner = first.value.false_branch.blocks[0].bindings[0].value
    assert isinstance(inner, If)
    assert second.value.true_branch.body.fields == ()


@pytest.mark.rule("RELAX-SCRIPT-09")
@pytest.mark.rule("RELAX-SCRIPT-02")
def test_statements_for_their_effect() -> None:
    """A call that returns unit may stand alone, any other is dropped by `_`."""
    found = function('R.print(x, format="{}")\n_ = R.exp(x)\nreturn x', options="(pure=False, private=True)")
    assert [type(b.value) for b in bindings(found)] == [Call, Call]
    assert not found.is_pure
    assert "global_symbol" not in found.attrs


@pytest.mark.rule("RELAX-SCRIPT-11")
@pytest.mark.rule("RELAX-EXPR-14")
@pytest.mark.rule("RELAX-EXPR-16")
def test_inner_functions() -> None:
    """They capture what is around them, may call themselves when annotated, and are private."""
    found = function(
        """
@R.function
def inner(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
    z = R.exp(y)
    return z
@R.function
def loop(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
    if R.equal(i, R.const(0, "int64")):
        r = i
    else:
        r = loop(i - 1)
    return r
return inner(x)
"""
    )
    inner = bindings(found)[0].value
    assert isinstance(inner, Function)
    assert "global_symbol" not in inner.attrs


@pytest.mark.rule("RELAX-SCRIPT-01")
@pytest.mark.rule("RELAX-SCRIPT-13")
@pytest.mark.rule("RELAX-MOD-1")
@pytest.mark.rule("RELAX-SCRIPT-12")
def test_a_module_with_everything_prints_and_reads_back() -> None:
    """Attributes, virtual devices, kernels, functions that name each other in any order, constants."""
    found = load(
        '''
import tvm
from tvm.script import ir as I
from tvm.script import relax as R, tir as T

@I.ir_module
class M:
    """A module."""
    I.module_attrs({"version": 3, "names": ["a", "b"]})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1), I.vdevice({"kind": "llvm"}, 2)]})

    @T.prim_func
    def copy(a: T.handle, b: T.handle):
        T.func_attr({"tir.noalias": True})
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("copy"):
                v = T.axis.spatial(n, i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.func_attr({"relax.force_pure": True, "num_input": 1})
        n = T.int64()
        y = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((n,), "float32"))
        z = M.helper(y)
        c = R.const(0.1, "float32")
        d = R.call_packed("f", z, R.prim_value(True), R.str("a\\n\\"b"), R.dtype("int8"), sinfo_args=R.Object)
        w = R.call_dps_packed("g", (z, c), out_sinfo=[R.Tensor((n,), "float32"), R.Tensor((), "int32")])
        v = R.call_pure_packed("h", z, sinfo_args=(R.Tensor((n,), "float32"),))
        u: R.Tensor((n,), "float32", vdevice="llvm:1:global") = R.to_vdevice(v, I.vdevice("llvm", 1))
        s = R.null_value()
        return z

    @R.function(private=True)
    def helper(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        return x
'''
    )
    assert found.attrs == {"version": 3, "names": ["a", "b"]}
    text = script(found, show_meta=True)
    again = load(text)
    assert_structural_equal(again, found)
    assert script(again, show_meta=True) == text


def test_large_constants_live_in_the_metadata_section() -> None:
    """A tensor of rank above 0 reads back bit by bit, without running anything."""
    header = 'metadata = tvm.ir.load_json(\'{"relax.expr.Constant": [{"dtype": "float32", "shape": [2], '
    text = header + '"data": "AACAPwAAAEA="}]}\')\n@R.function\ndef main() -> R.Tensor((2,), "float32"):\n'
    found = load(text + '    return metadata["relax.expr.Constant"][0]\n')
    assert found.body.body.data.numpy().tolist() == [1.0, 2.0]
    assert_structural_equal(load(script(found, show_meta=True)), found)
    assert "Metadata omitted" in script(found)
    assert problems("metadata = tvm.ir.load_json('{')\n@R.function\ndef f() -> R.Tuple:\n    return ()")[0].code


@pytest.mark.rule("RELAX-SCRIPT-01", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-03", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-04", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-05", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-06", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-07", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-08", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-09", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-10", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-11", rejects=True)
@pytest.mark.parametrize(
    ("body", "code", "line", "column"),
    [
        ("y = nothing\nreturn x", "script-name", 3, 9),
        ("y = R.ad(x, x)\nreturn x", "script-name", 3, 9),
        ('y: R.Tensor(("q",)) = x\nreturn x', "script-annotation", 3, 8),
        ("y: R.Prim() = x\nreturn x", "script-annotation", 3, 8),
        ('m = T.var("int64", "k")\nreturn x', "script-name", 3, 9),
        ("a, b = x\nreturn x", "script-value", 3, 12),
        ("if R.const(True):\n    y = x\nreturn x", "script-syntax", 3, 5),
        ("for i in range(3):\n    y = x\nreturn x", "script-syntax", 3, 5),
        ("with R.dataflow():\n    y = x\n    R.output(y)\n    R.output(y)\nreturn x", "script-dataflow", 6, 9),
        ("R.add(x, x)\nreturn x", "script-value", 3, 5),
        ("return x\nreturn x", "script-return", 4, 5),
        ("y = R.exp(x)", "script-return", 3, 5),
        ("def inner(y: R.Tensor):\n    return y\nreturn x", "script-decorator", 3, 5),
        ("y = x[0.5]\nreturn x", "script-value", 3, 11),
        ("y = not x\nreturn x", "script-syntax", 3, 9),
        ("y = R.exp(x, x)\nreturn x", "script-value", 3, 9),
        ("y = lambda: x\nreturn x", "script-syntax", 3, 9),
    ],
)
def test_mistakes_are_reported_where_they_are(body: str, code: str, line: int, column: int) -> None:
    """Code, line and column of the one thing that is wrong."""
    found = wrong(body)
    assert found.code == code, found.render()
    assert found.span is not None
    assert (found.span.line, found.span.column) == (line, column), found.render()


@pytest.mark.rule("RELAX-SCRIPT-10", rejects=True)
@pytest.mark.rule("RELAX-SCRIPT-02", rejects=True)
def test_mistakes_in_signatures() -> None:
    """An unannotated parameter, an unknown option."""
    assert wrong("return x", params="x").message == "parameter x has no annotation"
    found = problems("@R.function(purr=False)\ndef f(x: R.Object):\n    return x\n")
    assert "purr" in found[0].message


def test_several_mistakes_are_reported_at_once() -> None:
    """What depends on a wrong name is not complained about."""
    found = problems(
        """
@I.ir_module
class M:
    @R.function
    def f(x: R.Tensor((3,))) -> R.Tensor((3,)):
        a = R.unknown(x)
        b = R.add(a, x)
        c = missing
        return b

    @R.function
    def g(x: R.Tensor((3,))) -> R.Tensor((3,)):
        y = cls.nothing(x)
        return y
"""
    )
    assert [(d.code, d.span.line if d.span else 0) for d in found] == [
        ("script-name", 6),
        ("script-name", 8),
        ("script-name", 13),
    ]
    assert "^^^" in found[0].render()


@pytest.mark.rule("RELAX-SINFO-02")
def test_what_cannot_be_decided_warns_once() -> None:
    """The warning suggests a match_cast."""
    text = """
@R.function(private=True)
def f(x: R.Tensor((3,))) -> R.Tensor((3,)):
    return x

@R.function
def main(x: R.Tensor(ndim=1)) -> R.Tensor((3,)):
    y = cls.f(x)
    return y
"""
    with pytest.warns(StructInfoWarning, match="match_cast") as found:
        module(text)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(text.replace("ndim=1", "(3,)"))


@pytest.mark.rule("RELAX-WF-27", rejects=True)
def test_check_well_formed_can_be_left_out() -> None:
    """An ill-formed function is an error unless the check is switched off."""
    text = """
@R.function{options}
def main(x: R.Tensor((3,))) -> R.Tensor((3,)):
    with R.dataflow():
        lv = R.exp(x)
        gv = R.exp(lv)
        R.output(gv)
    return lv
"""
    assert problems(text.format(options=""))[0].code == "RELAX-WF-1b"
    load(text.format(options="(check_well_formed=False)"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "def f(): pass",
        "@R.function",
        "@R.function\nclass A: pass",
        "@I.ir_module\ndef f(): pass",
        "@R.function\ndef f(x: 1):\n    return x",
        "@R.function\ndef f(x: R.Tensor((1.5,))):\n    return x",
        "@R.function\ndef f(*x: R.Tensor):\n    return x",
        "@__import__('os').system\ndef f(): pass",
        "import os\n@R.function\ndef f(): return ()",
        "@R.function\ndef f() -> R.Tuple:\n    y = ().__class__\n    return y",
        "@R.function\ndef f() -> R.Tuple:\n    y = open('x')\n    return y",
        "@R.function\ndef f() -> R.Object:\n    y = R.const(2 ** 999999999)\n    return y",
        "@R.function\ndef f() -> R.Object:\n    y = R.add.__globals__\n    return y",
        "(" * 2000,
        "\x00",
    ],
)
def test_bad_texts_are_diagnosed(text: str) -> None:
    """Nothing but diagnostics comes out, and nothing of the text is run."""
    assert problems(text)


def test_object_is_the_default_of_missing_knowledge() -> None:
    """An opaque result is an object."""
    found = function('y = R.call_packed("f", x)\nreturn y', options="(pure=False)")
    assert isinstance(bindings(found)[0].var.struct_info, ObjectStructInfo)
    assert isinstance(bindings(function("t = (x, x)\nreturn t[0]"))[1].value, TupleGetItem)


def test_attributes_of_a_module_one_by_one() -> None:
    """`I.module_set_attr`: once each, unless overwriting is allowed."""
    text = "@I.ir_module\nclass M:\n{}    @R.function\n    def main(x: R.Object) -> R.Object:\n        return x\n"
    line = '    I.module_set_attr("a", {}{})\n'
    found = load(text.format(line.format(1, "") + line.format(2, ", allow_overwrite=True")))
    assert found.attrs["a"] == 2
    with pytest.raises(DiagnosticError, match="has an attribute 'a' already"):
        load(text.format(line.format(1, "") + line.format(2, "")))


def test_calls_of_operators_by_name() -> None:
    """`R.emit_with_sinfo`: any operator with its StructInfo arguments."""
    found = load(
        "@R.function(pure=False)\ndef main(x: R.Tensor((2,), 'float32')) -> R.Object:\n"
        "    y = R.emit_with_sinfo('relax.add', (x, x), [])\n    return y\n"
    )
    assert "R.add(x, x)" in found.script()


def test_functions_that_promise_some_tuple_return_any() -> None:
    """TVM's programs annotate `-> R.Tuple` where they return several values; with parentheses it is the empty one."""
    text = """
@I.ir_module
class M:
    @R.function
    def pair(x: R.Tensor((2,), "float32")) -> R.Tuple:
        return (x, x)

    @R.function(pure=False)
    def effect(x: R.Tensor((2,), "float32")) -> R.Tuple:
        R.print(x)
        return ()
"""
    module = load(text)
    pair = module.get_global_var("pair")
    assert len(module[pair].ret_struct_info.fields) == 2
    assert module[pair].struct_info is pair.struct_info
    assert module["effect"].ret_struct_info.fields == ()
    with pytest.raises(DiagnosticError, match="promises"):
        load(text.replace("R.Tuple:", "R.Tuple():"))


def test_words_of_scripts_for_nodes_and_devices() -> None:
    """`R.ShapeExpr`, `R.TupleGetItem`, `R.device`, and kernels by name in `R.vm.call_tir_dyn`."""
    text = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), t: R.Tuple(R.Tensor((2,), "float32"), R.Object)):
    n = T.int64()
    y = R.hint_on_device(x, R.device(1, 0))
    u = R.TupleGetItem(t, 0)
    R.vm.call_tir_dyn("kernel", (y, u, R.ShapeExpr((n,))))
    return y
"""
    found = load(text)
    printed = script(found)
    assert "R.hint_on_device(x, R.device(dev_type=1, dev_id=0))" in printed
    assert '(R.ExternFunc("kernel"), (y, u, R.shape([n])))' in printed
    assert_structural_equal(load(printed), found)
