"""ONNX to Relax or Relay: one table of converters serves both languages through `frontends/graph_builder`.

`files` opens a model safely; `importer` imports it as a whole, `nodes` what is in it one by one; `supported`,
`definitions`, `attributes` and `operands` say what is wrong with its nodes; `relax_graph` and `relay_graph` are the two
entrances; `symbolic` computes with shapes while importing; `functions` gives the bodies of operators that are defined
by others. `node` is what a converter sees, `table` lists the converters. They live by subject: `tensors`, `nn`,
`image`, `control`, and by domain: `learning` (ai.onnx.ml), `microsoft` (com.microsoft).
"""
