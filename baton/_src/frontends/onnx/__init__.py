"""ONNX to Relax or Relay: one table of converters serves both languages through `frontends/graph_builder`.

`files` opens a model safely; `importer` imports it as a whole, with its `inputs` and `initializers`, `nodes` its nodes
one by one, in `order`, those of `old_opsets` rewritten; `supported`, `definitions`, `attributes` (and
`attribute_values`), `operands` and `agreements` validate nodes; `relax_graph` and `relay_graph` are the two entry
points; `symbolic` computes with shapes while importing, `strings` are numbers, `narrow` floats are widened; `functions`
has the bodies of composite operators. `node` is the converters' view of a node, `table` lists the converters. They are
grouped by subject: `tensors`, `nn`, `image`, `control`, and by domain: `learning` (ai.onnx.ml), `microsoft`
(com.microsoft).
"""
