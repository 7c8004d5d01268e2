"""The encoder of all-MiniLM-L6-v2 in Relax: one function for any batch size and any sequence length."""

from __future__ import annotations

import math

import numpy as np

from baton import relax, tir
from baton.ir import IRModule
from baton.relax import op
from examples.embed.config import Config, Weights


class RelaxEncoder:
    """Builds the function `main(ids, mask)`; every method emits bindings and returns the last one's variable."""

    def __init__(self, config: Config, weights: Weights) -> None:
        self.config = config
        self.weights = weights
        self.builder = relax.BlockBuilder()
        self.batch = tir.Var("batch", "int64")
        self.sequence = tir.Var("sequence", "int64")

    def weight(self, name: str) -> relax.Constant:
        return relax.const(self.weights[name])

    def emit(self, expr: relax.Expr) -> relax.Var:
        return self.builder.emit(expr)

    def scalar(self, value: float) -> relax.Constant:
        return relax.const(np.float32(value))

    # ------------------------------------------------------------------------------------------ layers

    def dense(self, name: str, x: relax.Expr) -> relax.Var:
        """x · weightᵀ + bias; the transpose of a constant is computed once, when compiling."""
        weight = self.emit(op.permute_dims(self.weight(f"{name}.weight")))
        return self.emit(op.add(self.emit(op.matmul(x, weight)), self.weight(f"{name}.bias")))

    def norm(self, name: str, x: relax.Expr) -> relax.Var:
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.emit(op.nn.layer_norm(x, scale, shift, axes=[-1], epsilon=self.config.epsilon))

    def embed_tokens(self, ids: relax.Expr) -> relax.Var:
        """Word, position and type embeddings, added and normalised: (batch, sequence, hidden)."""
        words = self.emit(op.take(self.weight("embeddings.word_embeddings.weight"), ids, axis=0))
        positions = self.emit(op.arange(0, self.sequence, 1, "int64"))
        places = self.emit(op.take(self.weight("embeddings.position_embeddings.weight"), positions, axis=0))
        kind = relax.const(self.weights["embeddings.token_type_embeddings.weight"][0])
        x = self.emit(op.add(self.emit(op.add(words, places)), kind))
        return self.norm("embeddings.LayerNorm", x)

    def attention(self, layer: str, x: relax.Expr, bias: relax.Expr) -> relax.Var:
        """Scaled dot-product attention of every head, and the projection of what it gathers."""
        batch, sequence, heads, head = self.batch, self.sequence, self.config.heads, self.config.head

        def split(name: str, axes: list[int]) -> relax.Var:
            y = self.dense(f"{layer}.attention.self.{name}", x)
            y = self.emit(op.reshape(y, (batch, sequence, heads, head)))
            return self.emit(op.permute_dims(y, axes))

        query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
        scores = self.emit(op.multiply(self.emit(op.matmul(query, key)), self.scalar(1 / math.sqrt(head))))
        weights = self.emit(op.nn.softmax(self.emit(op.add(scores, bias)), axis=-1))
        gathered = self.emit(op.permute_dims(self.emit(op.matmul(weights, value)), [0, 2, 1, 3]))
        joined = self.emit(op.reshape(gathered, (batch, sequence, self.config.hidden)))
        return self.dense(f"{layer}.attention.output.dense", joined)

    def block(self, number: int, x: relax.Expr, bias: relax.Expr) -> relax.Var:
        """Attention, then two dense layers, each added to its input and normalised."""
        layer = f"encoder.layer.{number}"
        x = self.emit(op.add(x, self.attention(layer, x, bias)))
        x = self.norm(f"{layer}.attention.output.LayerNorm", x)
        inner = self.emit(op.nn.gelu(self.dense(f"{layer}.intermediate.dense", x)))
        x = self.emit(op.add(x, self.dense(f"{layer}.output.dense", inner)))
        return self.norm(f"{layer}.output.LayerNorm", x)

    def pool(self, x: relax.Expr, present: relax.Expr) -> relax.Var:
        """The mean over the tokens that are present, scaled to length one: (batch, hidden)."""
        kept = self.emit(op.multiply(x, self.emit(op.expand_dims(present, axis=2))))
        count = self.emit(op.sum(present, axis=[1], keepdims=True))
        mean = self.emit(op.divide(self.emit(op.sum(kept, axis=[1])), count))
        square = self.emit(op.sum(self.emit(op.multiply(mean, mean)), axis=[1], keepdims=True))
        return self.emit(op.divide(mean, self.emit(op.sqrt(square))))

    # ----------------------------------------------------------------------------------------- function

    def build(self) -> IRModule:
        """The module: `main(ids, mask)`, int64 (batch, sequence) each, gives float32 (batch, hidden)."""
        shape = relax.TensorStructInfo((self.batch, self.sequence), "int64")
        ids, mask = relax.Var("ids", shape), relax.Var("mask", shape)
        with self.builder.function("main", [ids, mask]):
            with self.builder.dataflow():
                present = self.emit(op.astype(mask, "float32"))
                absent = self.emit(op.subtract(self.scalar(1), present))
                bias = self.emit(op.multiply(absent, self.scalar(-1e9)))
                bias = self.emit(op.expand_dims(bias, axis=[1, 2]))
                x = self.embed_tokens(ids)
                for number in range(self.config.layers):
                    x = self.block(number, x, bias)
                embedding = self.builder.emit_output(self.pool(x, present))
            self.builder.emit_func_output(embedding)
        return self.builder.get()


def build_encoder(config: Config, weights: Weights) -> IRModule:
    """The encoder as a module of one function, ready to be compiled."""
    return RelaxEncoder(config, weights).build()
