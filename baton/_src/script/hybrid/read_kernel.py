"""Read statements of hybrid kernels as TIR: loops, branches, stores, buffers that a kernel allocates or returns.

c = output_tensor((n, m), a.dtype)        a buffer for the result
for i in parallel(n):                     For(i, 0, n, PARALLEL)
    s = 0.0                               a buffer of one element, allocated within the loop
    s += a[i, 0]                          s[0] = s[0] + a[i, 0]
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.script.hybrid.read_expressions import BINARY, ExpressionReader, Scalar, fitted
from baton._src.script.hybrid.words import BUFFERS, LOOPS
from baton._src.script.read_source import ScriptSource
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import FloatImm, IntImm, StringImm, Var
from baton._src.tir.stmt import Allocate, AssertStmt, BufferStore, Evaluate, For, ForKind, IfThenElse, Stmt, stmt_seq

_KINDS = {
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}
Inner = Callable[[Any, list[Any]], "tuple[Stmt, list[Buffer]] | None"]
"""Reads a call of another kernel, given its arguments; None if the callee is not a kernel."""


class KernelReader(ExpressionReader):
    """Reads the body of one kernel; `outputs` are the buffers it returns."""

    def __init__(self, source: ScriptSource, closure: Mapping[str, Any], inner: Inner) -> None:
        super().__init__(source, closure)
        self.inner = inner
        self.outputs: list[Buffer] = []
        self._made: list[Buffer] = []
        """Results of `output_tensor` that the kernel has not returned yet."""
        self._inputs: set[Buffer] = set()
        self._scopes: list[list[Buffer]] = []
        """The buffers that each scope (the kernel, a loop) allocates."""
        self._stores: Counter[str] = Counter()

    def kernel(self, node: ast.FunctionDef, args: Sequence[Any]) -> Stmt:
        """The body of a kernel, its parameters bound to `args`."""
        names = [arg.arg for arg in node.args.args]
        if len(names) != len(args):
            raise self.wrong(node, f"{node.name} takes {len(names)} arguments, got {len(args)}")
        self.names.update(zip(names, args))
        self._inputs = {one for arg in args for one in (arg if isinstance(arg, tuple) else (arg,)) if _is_buffer(one)}
        kept = (ast.Store, ast.Del)
        self._stores = Counter(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kept))
        *before, last = node.body
        if not isinstance(last, ast.Return) or last.value is None:
            raise self.wrong(node, f"{node.name} returns nothing at its end", help="return the result of output_tensor")
        return self._scope(before, last.value)

    # -------------------------------------------------------------------------------------------- statements

    def _scope(self, body: Sequence[ast.stmt], returned: ast.expr | None = None) -> Stmt:
        """Read statements with the buffers they allocate, and what is returned behind them; names defined in them go
        out of scope at the end.
        """
        before = set(self.names)
        self._scopes.append([])
        found = self._sequence(body)
        if returned is not None:
            self._return(returned)
        for buffer in reversed(self._scopes.pop()):
            found = Allocate(buffer.data, buffer.dtype, buffer.shape, True, found)
        self.names = {name: value for name, value in self.names.items() if name in before}
        return found

    def _sequence(self, body: Sequence[ast.stmt]) -> Stmt:
        found: list[Stmt] = []
        for number, node in enumerate(body):
            if isinstance(node, ast.Assert):
                rest = self._sequence(body[number + 1 :])
                found.append(self._assertion(node, rest))
                break
            made = self._statement(node)
            found += [] if made is None else [made]
        return stmt_seq(*found) if found else Evaluate(IntImm("int32", 0))

    def _statement(self, node: ast.stmt) -> Stmt | None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return self._assign(node, [name], value)
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if names := _plain_names(parts):
                return self._assign(node, names, value)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self._store(target, self.number(value), value)
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in BINARY:
                return self._store(target, BINARY[type(op)](self.number(target), self.number(value)), value)
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as domain, body=body, orelse=[]):
                return self._loop(node, name, domain, body)
            case ast.If():
                return self._branch(node)
            case ast.Return():
                raise self.wrong(node, "a kernel returns once, at its end")
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return None
            case _:
                first = ast.unparse(node).splitlines()[0]
                raise self.wrong(node, f"{first!r} is not supported in hybrid kernels")

    def _assign(self, node: ast.stmt, names: list[str], value: ast.expr) -> Stmt | None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            if value.func.id in BUFFERS and len(names) == 1:
                self.names[names[0]] = self._buffer(value, names[0])
                return None
            called = self.inner(self.closure.get(value.func.id), [self.read(arg) for arg in value.args])
            if called is not None:
                return self._bind_results(node, names, *called)
        if len(names) != 1:
            raise self.wrong(node, "only the results of another kernel can be assigned to several names")
        return self._scalar(node, names[0], self.number(value), value)

    def _bind_results(self, node: ast.stmt, names: list[str], body: Stmt, results: list[Buffer]) -> Stmt:
        if len(names) != len(results):
            raise self.wrong(node, f"the kernel gives {len(results)} tensors for {len(names)} names")
        self.names.update(zip(names, results))
        self._scopes[-1] += results
        return body

    def _buffer(self, call: ast.Call, name: str) -> Buffer:
        given = dict(zip(("shape", "dtype", "scope"), map(self.read, call.args)))
        given |= {option.arg: self.read(option.value) for option in call.keywords if option.arg}
        if "shape" not in given or set(given) - {"shape", "dtype", "scope"}:
            raise self.wrong(call, f"{ast.unparse(call)}: buffers have shape, dtype and scope")
        shape = given["shape"] if isinstance(given["shape"], tuple) else (given["shape"],)
        dims = [Analyzer().simplify(ops.convert(dim)) for dim in shape]
        is_output = isinstance(call.func, ast.Name) and call.func.id == "output_tensor"
        scope = "" if is_output or given.get("scope") == "global" else given.get("scope", "")
        made = decl_buffer(dims, given.get("dtype", "float32"), name, scope=scope)
        (self._made if is_output else self._scopes[-1]).append(made)
        return made

    def _scalar(self, node: ast.stmt, name: str, value: Any, text: ast.expr) -> Stmt | None:
        known = self.names.get(name)
        if known is None and self._stores[name] == 1 and isinstance(value, IntImm | FloatImm):
            self.names[name] = value
            return None
        if known is None:
            known = self.names[name] = Scalar(decl_buffer((1,), value.dtype, name))
            self._scopes[-1].append(known.buffer)
        if not isinstance(known, Scalar):
            raise self.wrong(node, f"{name} cannot be assigned: it is a parameter, a loop's variable or a buffer")
        return self._stored(node, known.buffer, value, (0,), text)

    def _store(self, target: ast.expr, value: Any, text: ast.expr) -> Stmt | None:
        if isinstance(target, ast.Name):
            return self._scalar_again(target, value, text)
        assert isinstance(target, ast.Subscript)
        buffer = self.read(target.value)
        if not isinstance(buffer, Buffer):
            raise self.wrong(target, f"{ast.unparse(target.value)} is not a buffer")
        if buffer in self._inputs:
            raise self.wrong(
                target, f"{buffer.name} is an argument: a kernel writes only what it makes", help="c = output_tensor(…)"
            )
        return self._stored(target, buffer, value, self.indices(target, buffer, target.slice), text)

    def _scalar_again(self, target: ast.Name, value: Any, text: ast.expr) -> Stmt:
        known = self.names.get(target.id)
        if not isinstance(known, Scalar):
            raise self.wrong(target, f"{target.id} is not a number that was assigned before")
        return self._stored(target, known.buffer, value, (0,), text)

    def _stored(self, node: ast.AST, buffer: Buffer, value: Any, indices: tuple[Any, ...], text: ast.expr) -> Stmt:
        found = fitted(value, buffer.dtype)
        if found is None:
            raise self.wrong(
                node,
                f"{buffer.name} is {buffer.dtype}, and {ast.unparse(text)} is {value.dtype}",
                help=f"convert it: {buffer.dtype}({ast.unparse(text)})",
            )
        return BufferStore(buffer, found, indices)

    def _assertion(self, node: ast.Assert, rest: Stmt) -> Stmt:
        message = self.read(node.msg) if node.msg is not None else "assertion failed"
        return AssertStmt(self.number(node.test), StringImm(str(message)), rest)

    # ------------------------------------------------------------------------------------- loops and branches

    def _loop(self, node: ast.For, name: str, domain: ast.Call, body: Sequence[ast.stmt]) -> Stmt:
        word = domain.func.id if isinstance(domain.func, ast.Name) else ""
        if word not in LOOPS or domain.keywords or not 1 <= len(domain.args) <= 2:
            raise self.wrong(domain, f"{ast.unparse(domain)} is not a loop", help=f"there are {', '.join(LOOPS)}")
        if name in self.names:
            raise self.wrong(node, f"{name} is in use: a loop needs a name of its own")
        bounds = [self.number(arg) for arg in (domain.args[1:] if word == "bind" else domain.args)]
        begin, end = (ops.const(0, bounds[0].dtype), bounds[0]) if len(bounds) == 1 else bounds
        if word == "const_range":
            return self._written_out(node, name, begin, end, body)
        var = Var(name, end.dtype)
        extent = Analyzer().simplify(ops.subtract(end, begin))
        self.names[name] = var
        inside = self._scope(body)
        del self.names[name]
        return For(var, begin, extent, _KINDS.get(word, ForKind.SERIAL), inside)

    def _written_out(self, node: ast.For, name: str, begin: Any, end: Any, body: Sequence[ast.stmt]) -> Stmt:
        if not (isinstance(begin, IntImm) and isinstance(end, IntImm)):
            raise self.wrong(
                node, "const_range takes bounds that are known when the kernel is read", help="unroll takes any"
            )
        found = []
        for value in range(begin.value, end.value):
            self.names[name] = IntImm(end.dtype, value)
            found.append(self._scope(body))
        self.names.pop(name, None)
        return stmt_seq(*found) if found else Evaluate(IntImm("int32", 0))

    def _branch(self, node: ast.If) -> Stmt:
        condition = Analyzer().simplify(self.number(node.test))
        if isinstance(condition, IntImm):
            return self._sequence(node.body if condition.value else node.orelse)
        other = self._sequence(node.orelse) if node.orelse else None
        return IfThenElse(condition, self._sequence(node.body), other)

    def _return(self, value: ast.expr) -> None:
        results = self.read(value)
        listed = list(results) if isinstance(results, tuple) else [results]
        if set(listed) != set(self._made) or len(listed) != len(self._made):
            made = ", ".join(b.name for b in self._made) or "nothing"
            raise self.wrong(value, f"a kernel returns what output_tensor made, each once: {made}")
        self.outputs = listed


def _plain_names(parts: Sequence[ast.expr]) -> list[str] | None:
    """The names that a tuple assigns; None if one of its parts is anything else."""
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else None


def _is_buffer(value: Any) -> bool:
    return isinstance(value, Buffer)
