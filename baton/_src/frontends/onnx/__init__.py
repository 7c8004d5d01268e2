"""ONNX to Relax or Relay: one table of converters serves both languages through `frontends/graph_builder`.

`reader` opens a model safely; `importer` walks it; `relax_graph` and `relay_graph` are the two entrances; `symbolic`
computes with shapes while importing; `table` lists the converters, which live by subject in `elementwise`, `nn`,
`reduction`, `shape`, `index`, `matrix`, `recurrent`.
"""
