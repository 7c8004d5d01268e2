"""ONNX to Relax or Relay: one table of converters serves both languages through one graph builder.

`reader` opens a model safely; `importer` walks it; `value` is what flows between nodes; `graph` is the builder with its
two languages `relax_graph` and `relay_graph`; `symbolic` computes with shapes while importing; `table` lists the
converters, which live by subject in `elementwise`, `nn`, `reduction`, `shape`, `index`, `matrix`, `recurrent`.
"""
